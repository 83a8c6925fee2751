"""What a user may ask of a search: features that must be there, and features that must not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ranksieve.data import DataError


def feature_indices(what: str, items: Iterable[int | str], names: np.ndarray) -> list[int]:
    """Indices of features that are named or numbered; ``what`` says whose they are in errors."""
    known = names.tolist()
    found = []
    for item in items:
        if isinstance(item, str):
            if item not in known:
                raise DataError(f"{what}: no feature is named {item!r}")
            item = known.index(item)
        if not 0 <= item < len(known):
            raise DataError(f"{what}: {item}, but features are 0 to {len(known) - 1}")
        found.append(int(item))
    if len(set(found)) != len(found):
        raise DataError(f"{what} lists a feature twice")
    return found


def check_choices(
    k: int, names: Sequence[str] | np.ndarray, include: Sequence[int], exclude: Sequence[int]
) -> None:
    """Raise a DataError if ``k`` of the features cannot be selected."""
    both = set(include) & set(exclude)
    if both:
        raise DataError(f"feature {names[min(both)]} is both included and excluded")
    if len(include) > k:
        raise DataError(f"include lists {len(include)} features, but {k} are to be selected")
    if k > len(names) - len(exclude):
        raise DataError(
            f"{k} features are to be selected, but only {len(names) - len(exclude)} of "
            f"{len(names)} are not excluded"
        )
