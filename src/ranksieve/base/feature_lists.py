"""Resolve features that users list by name or index, alone or in groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError
from ranksieve.text import on_one_line

Group = tuple[int, ...]


class FeatureLists(NamedTuple):
    """Indices of the features that parameters list."""

    include: list[int]
    exclude: list[int]
    groups: list[Group] | None


def listed_features(
    include: Any, exclude: Any, groups: Any, names: Sequence[str] | np.ndarray
) -> FeatureLists:
    """Resolve lists of features; raise a DataError if they are inconsistent or unknown."""
    found = FeatureLists(
        feature_indices("include", include, names),
        feature_indices("exclude", exclude, names),
        None if groups is None else feature_groups(groups, names),
    )
    for feature in sorted(set(found.include) & set(found.exclude))[:1]:
        raise DataError(f"feature {on_one_line(names[feature])} is both included and excluded")
    if len(found.exclude) == len(names):
        raise DataError("all features are excluded")
    return found


def feature_indices(what: str, items: Any, names: Sequence[str] | np.ndarray) -> list[int]:
    """Indices of features given by name or index; errors start with ``what``.

    A single feature counts as a list of one, None as an empty list. A set is sorted in the order of
    the data.
    """
    if items is None:
        return []
    is_list = isinstance(items, Iterable) and not isinstance(items, str)
    listed = list(items) if is_list else [items]
    known: dict[str, int] = {}
    if any(isinstance(item, str) for item in listed):
        known = {name: index for index, name in enumerate(names)}
    found = [_index(what, item, known, len(names)) for item in listed]
    if len(set(found)) != len(found):
        raise DataError(f"{what} lists a feature twice")
    return sorted(found) if isinstance(items, (set, frozenset)) else found


def _index(what: str, item: Any, known: Mapping[str, int], n_features: int) -> int:
    if isinstance(item, str):
        if item not in known:
            raise DataError(f"{what}: no feature is named {item!r}")
        return known[item]
    if not isinstance(item, Integral) or isinstance(item, bool):
        raise DataError(f"{what}: {item!r:.60} is neither a name nor an index of a feature")
    index = int(item)
    if not 0 <= index < n_features:
        raise DataError(f"{what}: no feature {index}; indices are 0 to {n_features - 1}")
    return index


def feature_groups(groups: Any, names: Sequence[str] | np.ndarray) -> list[Group]:
    """Resolve groups of features, sorted by the first feature of each group.

    Parameters
    ----------
    groups : list of lists of features, mapping of names to them, or sequence of labels
        Features in no list are groups by themselves. Labels are one per feature.
    names : sequence of str
        Names of all features.
    """
    listed = list(groups.values() if isinstance(groups, Mapping) else groups)
    several = (list, tuple, set, frozenset, np.ndarray)
    if isinstance(groups, Mapping) or any(isinstance(group, several) for group in listed):
        found = [tuple(feature_indices("groups", group, names)) for group in listed]
        together = {feature for group in found for feature in group}
        if len(together) != sum(map(len, found)):
            raise DataError("groups: a feature is in two groups; list it once")
        found += [(feature,) for feature in range(len(names)) if feature not in together]
        return sorted((group for group in found if group), key=min)
    if len(listed) != len(names):
        raise DataError(
            f"groups has {len(listed)} labels for {len(names)} features; give lists of features, a "
            "mapping of names to such lists, or one label for each feature"
        )
    by_label: dict[Any, list[int]] = {}
    for feature, label in enumerate(listed):
        if not isinstance(label, Hashable):
            raise DataError(f"groups: {label!r:.60} is not a label or a list of features")
        by_label.setdefault(label, []).append(feature)
    return [tuple(group) for group in by_label.values()]
