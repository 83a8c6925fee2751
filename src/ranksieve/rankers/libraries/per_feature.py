"""Reduce parameters with values per feature to a subset of the features."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ranksieve.data import DataError

Cut = Callable[[Any, Sequence[int], int], Any]


def reduce_values(value: Any, features: Sequence[int], n_features: int) -> Any:
    """Reduce one value per feature: a sequence, its text, or a mapping from indices."""
    if isinstance(value, Mapping):
        by_feature = dict(zip(_whole(value), value.values(), strict=True))
        return {place: by_feature[f] for place, f in enumerate(features) if f in by_feature}
    if isinstance(value, str):
        stripped = value.strip()
        start, end = ("(", ")") if stripped.startswith("(") else ("", "")
        kept = reduce_values(stripped.strip("()").split(","), features, n_features)
        return start + ",".join(part.strip() for part in kept) + end
    values = list(value)
    if len(values) != n_features:
        raise ValueError(f"it has {len(values)} values for {n_features} features")
    kept = [values[feature] for feature in features]
    return np.array(kept) if isinstance(value, np.ndarray) else type(value)(kept)


def indices(value: Any, features: Sequence[int], n_features: int) -> Any:
    """Reduce indices of features: a sequence, or their text."""
    if isinstance(value, str):
        numbers = [int(part) for part in value.split(",")]
        return ",".join(map(str, indices(numbers, features, n_features)))
    position_of = {feature: position for position, feature in enumerate(features)}
    return [position_of[feature] for feature in _whole(value) if feature in position_of]


def groups(value: Any, features: Sequence[int], n_features: int) -> Any:
    """Reduce lists of indices, or their text as JSON with or without outer brackets."""
    if isinstance(value, str):
        is_whole = value.replace(" ", "").startswith("[[")
        kept = groups(json.loads(value if is_whole else f"[{value}]"), features, n_features)
        text = json.dumps(kept)
        return text if is_whole else text[1:-1]
    return [kept for group in value if (kept := indices(group, features, n_features))]


def refuse_reduction(value: Any, features: Sequence[int], n_features: int) -> Any:
    """Refuse a parameter that cannot be reduced to some of the features."""
    raise ValueError("it cannot be reduced to some of the features")


def reduce_parameters(
    features: Sequence[int],
    n_features: int,
    parameters: Mapping[str, Any],
    known: Mapping[str, Cut],
    library: str,
) -> dict[str, Any]:
    """Reduce parameters with values per feature to some of ``n_features``; keep all others.

    ``features`` are in the order of the new data. ``known`` has the function that reduces each
    parameter, and ``library`` is a name for errors.
    """
    cut = dict(parameters)
    for name in cut.keys() & known.keys():
        if cut[name] is None or (isinstance(cut[name], str) and cut[name] in ("", "auto")):
            continue
        try:
            cut[name] = known[name](cut[name], features, n_features)
        except (TypeError, ValueError, KeyError) as error:
            raise DataError(
                f"{name} of {library}: {error}; it must refer to features by position, because the "
                "ranker is trained on subsets of the features"
            ) from None
    return cut


def _whole(values: Any) -> list[int]:
    for value in values:
        if isinstance(value, str) or int(value) != value:
            raise ValueError(f"{value!r} is not the index of a feature")
    return [int(value) for value in values]


def cut_table(names: Mapping[Cut, str]) -> dict[str, Cut]:
    """Function that reduces each parameter, from the names of the parameters of each function."""
    return {name: reduce for reduce, several in names.items() for name in several.split()}
