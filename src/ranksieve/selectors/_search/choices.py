"""Features that a search must include, must exclude, or must treat as groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ranksieve.data import DataError


def feature_indices(
    what: str, items: Iterable[int | str] | int | str, names: np.ndarray
) -> list[int]:
    """Indices of features given by name or index; errors start with ``what``.

    A single feature counts as a list of one.
    """
    known = names.tolist()
    found = []
    for item in [items] if isinstance(items, (str, int, Integral)) else items:
        if isinstance(item, str):
            if item not in known:
                raise DataError(f"{what}: no feature is named {item!r}")
            item = known.index(item)
        if not 0 <= item < len(known):
            raise DataError(f"{what}: no feature {item}; indices are 0 to {len(known) - 1}")
        found.append(int(item))
    if len(set(found)) != len(found):
        raise DataError(f"{what} lists a feature twice")
    return found


def feature_groups(groups: Any, names: np.ndarray) -> list[tuple[int, ...]]:
    """Groups of features that are added and removed together, in the order of their first ones.

    Parameters
    ----------
    groups : list of lists of features, mapping of names to them, or sequence of labels
        Features in no list are groups of their own. There is one label for each feature.
    names : array
        Names of all features.
    """
    listed = list(groups.values() if isinstance(groups, Mapping) else groups)
    several = (list, tuple, set, np.ndarray)
    if isinstance(groups, Mapping) or any(isinstance(group, several) for group in listed):
        found = [tuple(feature_indices("groups", group, names)) for group in listed]
        together = {feature for group in found for feature in group}
        if len(together) != sum(map(len, found)):
            raise DataError("groups: a feature is in two groups")
        found += [(feature,) for feature in range(len(names)) if feature not in together]
        return sorted((group for group in found if group), key=min)
    if len(listed) != len(names):
        raise DataError(
            f"groups has {len(listed)} labels for {len(names)} features; give lists of features, a "
            "mapping of names to such lists, or one label for each feature"
        )
    by_label: dict[Any, list[int]] = {}
    for feature, label in enumerate(listed):
        by_label.setdefault(label, []).append(feature)
    return [tuple(group) for group in by_label.values()]


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
