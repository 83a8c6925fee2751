"""Constraints of a selection: its size, and features to include, to exclude, and to group.

:class:`Choices` has the constraints by position, and :func:`make_choices` makes it from the
parameters of a selector. :func:`listed_features` and the functions after it resolve the names and
indices by which users list features.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError
from ranksieve.engine import Source
from ranksieve.engine.memo import shared
from ranksieve.text import nearest_name, on_one_line, quantity

Group = tuple[int, ...]  # indices of features


class FeatureLists(NamedTuple):
    """Indices of the features that parameters list."""

    include: list[int]
    exclude: list[int]
    groups: list[Group] | None


@dataclass(frozen=True)
class Choices:
    """Constraints of a selection: number, included features, and groups of features.

    Features are those that are not excluded, numbered from 0. A feature in no group is a group by
    itself, so that without groups the position of a group is the index of its feature.
    """

    columns: np.ndarray  # (features,) index of each in the data, which also has the excluded ones
    n_features_in: int  # features of the data
    groups: list[Group] | None  # features of each group; None without groups
    start: list[int]  # positions of the included groups, which come first, in this order
    k: int  # number of features or groups to choose; all of them if the method chooses the number
    counts_groups: bool  # whether ``k`` is a number of groups

    @property
    def n_features(self) -> int:
        """Number of features that are not excluded."""
        return len(self.columns)

    @property
    def n_groups(self) -> int:
        """Number of groups of these features."""
        return self.n_features if self.groups is None else len(self.groups)

    @property
    def has_several(self) -> bool:
        """Whether a group has several features."""
        return self.n_groups < self.n_features

    @property
    def include(self) -> list[int]:
        """Included features, which come first, in this order."""
        return self.features_of(self.start)

    def features_of(self, positions: Iterable[int]) -> list[int]:
        """Features of some groups."""
        if self.groups is None:
            return list(positions)
        return [feature for position in positions for feature in self.groups[position]]

    def leaders(self, values: np.ndarray, varies: np.ndarray) -> np.ndarray:
        """Feature with the largest value in each group, among those that vary if there are any."""
        if self.groups is None:
            return np.arange(self.n_features)
        order = np.lexsort((-values, ~varies))
        rank = np.argsort(order)
        return np.array([group[np.argmin(rank[list(group)])] for group in self.groups])

    def any_of(self, mask: np.ndarray) -> np.ndarray:
        """Whether a mask is true for any feature of each group."""
        return self._reduce(np.logical_or, mask)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sum over the features of each group."""
        return self._reduce(np.add, values)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Value of the group of each feature."""
        if self.groups is None:
            return values
        found = np.empty(self.n_features, dtype=values.dtype)
        for group, value in zip(self.groups, values, strict=True):
            found[list(group)] = value
        return found

    def most_similar(self, similarity: np.ndarray) -> np.ndarray:
        """Similarity of each pair of groups, which is that of their most similar features."""
        return self._reduce(np.maximum, self._reduce(np.maximum, similarity).T).T

    def _reduce(self, function: np.ufunc, values: np.ndarray) -> np.ndarray:
        """Reduce values of features, along the first axis, to one per group."""
        if self.groups is None:
            return values
        sizes = [len(group) for group in self.groups]
        order = self.features_of(range(len(sizes)))
        return np.asarray(function.reduceat(values[order], np.cumsum([0, *sizes[:-1]])))

    def size_of(self, positions: Collection[int]) -> int:
        """Number of some groups or of their features, whichever ``k`` counts."""
        is_counted = self.groups is None or self.counts_groups
        return len(positions if is_counted else self.features_of(positions))

    def fits(self, positions: Collection[int]) -> bool:
        """Whether the size of some groups is at most the number to select."""
        return self.size_of(positions) <= self.k

    def is_full(self, positions: Collection[int]) -> bool:
        """Whether the size of some groups is at least the number to select."""
        return self.size_of(positions) >= self.k

    def take(self, positions: Sequence[int]) -> list[int]:
        """First groups of an order, as many as fit into the number to select."""
        if self.groups is None or self.counts_groups:
            return list(positions)[: self.k]
        sizes = np.cumsum([len(self.groups[position]) for position in positions])
        taken = list(positions)[: int(np.searchsorted(sizes, self.k, side="right"))]
        if not taken and len(positions):
            raise DataError(
                f"the first group to select has {len(self.groups[positions[0]])} features, but "
                f"n_features_to_select is {self.k}: raise it, or count groups (count='groups')"
            )
        return taken

    def groups_of(self, features: Iterable[int]) -> list[int]:
        """Positions of the groups of some features, in the order of their first features."""
        if self.groups is None:
            return list(features)
        position_of = {f: position for position, group in enumerate(self.groups) for f in group}
        return list(dict.fromkeys(position_of[feature] for feature in features))

    def in_order(self, order: Iterable[int], wanted: np.ndarray | None = None) -> list[int]:
        """Features to select, given an order of all; a group takes the position of its first one.

        Included features come first. With ``wanted``, a mask of features, the selection has the
        groups with a wanted feature, whatever ``k``.
        """
        positions = list(dict.fromkeys([*self.start, *self.groups_of(order)]))
        if wanted is None:
            return self.features_of(self.take(positions))
        n_start, kept = len(self.start), self.any_of(wanted)
        others = [position for position in positions[n_start:] if kept[position]]
        return self.features_of(positions[:n_start] + others)

    def cut(self, source: Source) -> Source:
        """Remove the excluded features from a source."""
        return source if self.n_features == self.n_features_in else _cut(source, self.columns)

    def cut_ranker(self, ranker: Any) -> Any:
        """Copy of a ranker, with per-feature parameters reduced to the features not excluded."""
        if self.n_features == self.n_features_in:
            return ranker
        return ranker._for_features(self.columns.tolist(), self.n_features_in)


@shared
def _cut(source: Source, columns: np.ndarray) -> Source:
    """Some features of a source; selectors that share statistics share one copy."""
    return source.take_features(columns)


def make_choices(selector: Any, source: Source) -> Choices:
    """Resolve ``include``, ``exclude``, ``groups``, ``count`` and the number of a selector."""
    n, counts_groups = source.n_features, selector.count == "groups"
    if counts_groups and selector.groups is None:
        raise DataError("count='groups' needs groups: pass features that are selected together")
    choices = Choices(np.arange(n), n, None, [], n, counts_groups)
    wanted = selector.include, selector.exclude, selector.groups
    if any(part is not None for part in wanted):  # only then are the names needed
        listed = listed_features(*wanted, source.feature_names)
        columns = np.setdiff1d(choices.columns, listed.exclude)
        choices = replace(choices, columns=columns, groups=_without(listed.groups, columns))
        included = np.searchsorted(columns, listed.include).tolist()
        choices = replace(choices, start=choices.groups_of(included))
    n_choices = choices.n_groups if counts_groups else len(choices.columns)
    choices = replace(choices, k=int(selector._number_to_select(n_choices)))
    if choices.k > n_choices:
        raise DataError(_too_few_features(selector, choices, n_choices))
    if choices.start and not choices.fits(choices.start):
        raise DataError(_too_many_included(choices))
    return choices


def _too_few_features(selector: Any, choices: Choices, n: int) -> str:
    problem = f"n_features_to_select={selector.n_features_to_select}, but"
    what = "groups" if choices.counts_groups else "features"
    if choices.n_features == choices.n_features_in or choices.counts_groups:
        return f"{problem} there are only {n} {what}"
    return f"{problem} only {n} of {choices.n_features_in} {what} are not excluded"


def _without(groups: list[Group] | None, columns: np.ndarray) -> list[Group] | None:
    """Groups of the features that are not excluded, with indices among these."""
    if groups is None:
        return None
    position_of = {int(column): position for position, column in enumerate(columns)}
    kept = [tuple(position_of[f] for f in group if f in position_of) for group in groups]
    return [group for group in kept if group]


def _too_many_included(choices: Choices) -> str:
    if choices.counts_groups:
        listed = quantity(len(choices.start), "group")
    else:
        listed = quantity(len(choices.include), "feature")
    whole = "" if choices.groups is None or choices.counts_groups else " in whole groups"
    verb = "is" if choices.k == 1 else "are"
    return f"include lists {listed}{whole}, but {choices.k} {verb} to be selected"


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
    return [] if items is None else _indices(what, items, _positions(names))


def _positions(names: Sequence[str] | np.ndarray) -> dict[str, int]:
    return {name: index for index, name in enumerate(names)}


def _indices(what: str, items: Any, known: Mapping[str, int]) -> list[int]:
    """Like :func:`feature_indices`, given the index of each name."""
    is_list = isinstance(items, Iterable) and not isinstance(items, str)
    found = [_index(what, item, known) for item in (items if is_list else [items])]
    if len(set(found)) != len(found):
        raise DataError(f"{what} lists a feature twice")
    return sorted(found) if isinstance(items, (set, frozenset)) else found


def _index(what: str, item: Any, known: Mapping[str, int]) -> int:
    if isinstance(item, str):
        if item not in known:
            raise DataError(f"{what}: no feature is named {item!r}{nearest_name(item, known)}")
        return known[item]
    if not isinstance(item, Integral) or isinstance(item, bool):
        raise DataError(f"{what}: {item!r:.60} is neither a name nor an index of a feature")
    index = int(item)
    if not 0 <= index < len(known):
        raise DataError(f"{what}: no feature {index}; indices are 0 to {len(known) - 1}")
    return index


def feature_groups(groups: Any, names: Sequence[str] | np.ndarray) -> list[Group]:
    """Resolve groups of features, sorted by the first feature of each group.

    ``groups`` is a list of lists of features, a mapping of names to such lists, or a sequence of
    labels, one per feature. Features in no list are groups by themselves.
    """
    listed = list(groups.values() if isinstance(groups, Mapping) else groups)
    several = (list, tuple, set, frozenset, np.ndarray)
    if isinstance(groups, Mapping) or any(isinstance(group, several) for group in listed):
        known = _positions(names)
        found = [tuple(_indices("groups", group, known)) for group in listed if group is not None]
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
