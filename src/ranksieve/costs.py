"""Costs of features, and of groups of features, which are paid once."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError
from ranksieve.data.inputs import is_frame
from ranksieve.io.records import PathLike
from ranksieve.io.small_tables import TableRow, read_table_rows, rows_of_frame
from ranksieve.text import parse_number, quantity

_FEATURES, _GROUPS = ("feature", "cost"), ("group", "cost")
_PARTS = ("features", "groups", "group_costs")
# Of a cost, and of the sum of all: what is computed from such numbers is exact and finite, too.
_SMALLEST, _LARGEST = 1e-100, 1e100


class AlignedCosts(NamedTuple):
    """Costs as arrays, in the order of the features of some data."""

    features: np.ndarray  # (features,) cost of each feature alone
    group_of: np.ndarray  # (features,) int: group of each feature; -1 if it has none
    groups: np.ndarray  # (groups,) cost of each group, paid once if any of its features is chosen

    def total(self, chosen: Iterable[int]) -> float:
        """Cost of a set of features; the same bits in any order."""
        indices = sorted({int(feature) for feature in chosen})
        touched = np.flatnonzero(self._is_paid(indices))
        return math.fsum([*self.features[indices], *self.groups[touched]])

    def marginal(self, chosen: Iterable[int]) -> np.ndarray:
        """Cost that each feature would add to a set; 0 for features in the set."""
        indices = [int(feature) for feature in chosen]
        due = np.append(np.where(self._is_paid(indices), 0.0, self.groups), 0.0)
        added = self.features + due[self.group_of]  # group -1 is the last entry, which costs 0
        added[indices] = 0.0
        return added

    @property
    def vary(self) -> bool:
        """Whether sets of the same size can differ in cost."""
        return bool(np.ptp(self.features) > 0 or np.any(self.groups > 0))

    def take(self, columns: Any) -> AlignedCosts:
        """Costs of some features, in the order of ``take_features`` of the data."""
        return self._replace(features=self.features[columns], group_of=self.group_of[columns])

    def _is_paid(self, indices: Sequence[int]) -> np.ndarray:
        paid = np.zeros(len(self.groups) + 1, dtype=bool)
        paid[self.group_of[list(indices)]] = True
        return paid[:-1]


@dataclass(frozen=True, repr=False)
class FeatureCosts:
    r"""Costs of features by name, and of groups of features that are computed together.

    The cost of a set of features S is

    .. math:: c(S) = \sum_{j \in S} c_j + \sum_{g \text{ touched by } S} c_g :

    each feature has its own cost, and features that share a call, an index or a model share the
    cost of their group, which is paid once. The unit is the user's: milliseconds, money, bytes.

    Parameters
    ----------
    features : mapping of str to float
        Cost of each feature by name, at least 0. Features without names have the numbers of the
        file, from ``"1"`` on.
    groups : mapping of str to str
        Group of each feature that has one.
    group_costs : mapping of str to float
        Cost of each group, at least 0.

    Examples
    --------
    >>> from ranksieve import FeatureCosts
    >>> costs = FeatureCosts(
    ...     {"bm25": 1, "cosine": 0.5, "dot": 0.5},
    ...     groups={"cosine": "embedding", "dot": "embedding"},
    ...     group_costs={"embedding": 20},
    ... )
    >>> costs
    FeatureCosts(3 features, 1 group)
    >>> costs.total(["bm25", "cosine"]), costs.total(["bm25", "cosine", "dot"])
    (21.5, 22.0)
    >>> costs.marginal("dot", ["bm25"]), costs.marginal("dot", ["bm25", "cosine"])
    (20.5, 0.5)
    """

    features: Mapping[str, float]
    groups: Mapping[str, str] = field(default_factory=dict)
    group_costs: Mapping[str, float] = field(default_factory=dict)
    _places: Mapping[tuple[str, str], str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for part in _PARTS:
            if not isinstance(part_value := getattr(self, part), Mapping):
                raise DataError(f"costs: {part} must be a mapping by name, got {part_value!r:.60}")
        groups = {str(name): str(group) for name, group in self.groups.items()}
        object.__setattr__(self, "groups", groups)
        for part, what in (("features", "feature"), ("group_costs", "group")):
            part_value = getattr(self, part)
            costs = {str(n): _cost(c, what, n, self._place(what, n)) for n, c in part_value.items()}
            object.__setattr__(self, part, costs)
        self._check_sum()
        self._check_groups()

    @classmethod
    def read(cls, path: PathLike, groups: PathLike | None = None) -> FeatureCosts:
        r"""Read costs from files: CSV, TSV (``.tsv``) or Parquet (``.parquet``).

        The first has the columns ``feature`` and ``cost``, and ``group`` if there are groups, which
        is empty for features in no group; the second has the columns ``group`` and ``cost``.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from ranksieve import FeatureCosts
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "costs.csv"
        >>> _ = path.write_text("feature,cost\nbm25,1.5\nclicks,0.25\n")
        >>> FeatureCosts.read(path).total(["bm25", "clicks"])
        1.75
        """
        entries = read_table_rows(path, _FEATURES, ("group",))
        return cls._of_rows(entries, [] if groups is None else read_table_rows(groups, _GROUPS))

    @classmethod
    def from_frame(cls, frame: Any, groups: Any = None) -> FeatureCosts:
        """Make costs from frames (pandas, polars, pyarrow) with the columns of :meth:`read`."""
        entries = rows_of_frame(frame, "costs", _FEATURES, ("group",))
        of_groups = [] if groups is None else rows_of_frame(groups, "costs of groups", _GROUPS)
        return cls._of_rows(entries, of_groups)

    @classmethod
    def make(cls, costs: Any, names: Sequence[str] | np.ndarray) -> FeatureCosts:
        """Make costs of all features with these names from any accepted form.

        A mapping has the cost of each feature by name, or the fields of :meth:`to_record`; an array
        one cost for each feature, in order. Frames and paths are read; None is 1 for every feature.
        Raises a DataError if a feature has no cost, or a cost belongs to an unknown feature.
        """
        if costs is None:
            return cls(dict.fromkeys(map(str, names), 1.0))
        if isinstance(costs, (str, os.PathLike)):
            costs = cls.read(costs)
        elif is_frame(costs):
            costs = cls.from_frame(costs)
        elif isinstance(costs, Mapping):
            costs = cls(**costs) if _is_record(costs) else cls(costs)
        elif not isinstance(costs, FeatureCosts):
            costs = cls(dict(zip(map(str, names), _as_column(costs, len(names)), strict=True)))
        costs._check_names(names)
        return costs

    def aligned(self, names: Sequence[str] | np.ndarray) -> AlignedCosts:
        """Costs as arrays in the order of the features of some data, checked as in :meth:`make`."""
        self._check_names(names)
        numbers = {group: number for number, group in enumerate(self.group_costs)}
        group_of = [numbers.get(self.groups.get(str(name), ""), -1) for name in names]
        return AlignedCosts(
            np.array([self.features[str(name)] for name in names], dtype=np.float64),
            np.array(group_of, dtype=np.intp),
            np.array(list(self.group_costs.values()), dtype=np.float64),
        )

    def total(self, features: Iterable[str]) -> float:
        """Cost of a set of features, by name."""
        return self._arrays.total(map(self._index, features))

    def marginal(self, feature: str, chosen: Iterable[str]) -> float:
        """Cost that a feature would add to a set; 0 if it is in the set."""
        return float(self._arrays.marginal(map(self._index, chosen))[self._index(feature)])

    def to_record(self) -> dict[str, dict[str, Any]]:
        """Fields as JSON values, which :meth:`make` accepts."""
        return {part: dict(getattr(self, part)) for part in _PARTS}

    def __repr__(self) -> str:
        counts = quantity(len(self.features), "feature")
        if self.group_costs:
            counts += f", {quantity(len(self.group_costs), 'group')}"
        return f"{type(self).__name__}({counts})"

    @classmethod
    def _of_rows(cls, features: Sequence[TableRow], groups: Sequence[TableRow]) -> FeatureCosts:
        places: dict[tuple[str, str], str] = {}
        parts = [_by_name(features, "feature", places), _by_name(groups, "group", places)]
        costs, group_costs = ({n: row.values["cost"] for n, row in part.items()} for part in parts)
        group_of = {name: row.text("group") for name, row in parts[0].items()}
        return cls(costs, {n: g for n, g in group_of.items() if g}, group_costs, places)

    @cached_property
    def _arrays(self) -> AlignedCosts:
        return self.aligned(list(self.features))

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.features)}

    def _index(self, name: str) -> int:
        if name not in self._indices:
            raise DataError(f"costs: no feature is named {name!r}")
        return self._indices[name]

    def _place(self, what: str, name: Any) -> str:
        return self._places.get((what, str(name)), "costs")

    def _check_sum(self) -> None:
        costs = {("feature", name): cost for name, cost in self.features.items()}
        costs |= {("group", name): cost for name, cost in self.group_costs.items()}
        if sum(costs.values()) > _LARGEST:
            (what, name), cost = max(costs.items(), key=lambda item: item[1])
            raise DataError(
                f"{self._place(what, name)}: the costs add up to more than {_LARGEST:g}, the "
                f"largest being {cost:.4g} of {what} {name!r}: use a larger unit"
            )

    def _check_groups(self) -> None:
        for name, group in self.groups.items():
            place = self._place("feature", name)
            if name not in self.features:
                raise DataError(f"{place}: feature {name!r} has a group but no cost")
            if group not in self.group_costs:
                raise DataError(
                    f"{place}: group {group!r} of feature {name!r} has no cost: list it "
                    "in the costs of groups (--group-costs), with 0 if it costs nothing"
                )
        for group in sorted(self.group_costs.keys() - set(self.groups.values()))[:1]:
            raise DataError(f"{self._place('group', group)}: no feature is in group {group!r}")

    def _check_names(self, names: Sequence[str] | np.ndarray) -> None:
        known = {str(name) for name in names}
        for name in self.features:
            if name not in known:
                place = self._place("feature", name)
                raise DataError(f"{place}: the data has no feature named {name!r}")
        for name in names:
            if str(name) not in self.features:
                raise DataError(
                    f"costs: feature {str(name)!r} has no cost: every feature needs one"
                )


def _by_name(
    rows: Iterable[TableRow], what: str, places: dict[tuple[str, str], str]
) -> dict[str, TableRow]:
    """Rows by name, which must be unique; records their places in ``places``."""
    found: dict[str, TableRow] = {}
    for row in rows:
        name = row.text(what)
        if not name:
            raise DataError(f"{row.place}: the {what} has no name")
        if name in found:
            raise DataError(
                f"{row.place}: {what} {name!r} appears twice, first at {found[name].place}"
            )
        found[name] = row
        places[what, name] = row.place
    return found


def _cost(value: Any, what: str, name: Any, place: str) -> float:
    """Cost as a number, from a number or text."""
    subject = f"{place}: the cost of {what} {str(name)!r}"
    if value is None or (isinstance(value, str) and not value.strip()):
        raise DataError(f"{subject} is missing")
    cost = _number(value)
    if cost is None or math.isnan(cost):
        raise DataError(f"{subject} is not a number: {str(value)!r:.60}")
    if not 0 <= cost < math.inf:
        raise DataError(f"{subject} is {value!s:.60}, but must be finite and not negative")
    if 0 < cost < _SMALLEST:
        raise DataError(
            f"{subject} is {value!s:.60}, but must be 0 or at least {_SMALLEST:g}: use a smaller "
            "unit"
        )
    return cost


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return parse_number(value)
    is_number = isinstance(value, (Real, Decimal)) and not isinstance(value, bool)
    try:
        return float(value) if is_number else None
    except OverflowError:  # an integer beyond the range of floats
        return math.inf


def _is_record(costs: Mapping[Any, Any]) -> bool:
    """Whether a mapping has the fields of :meth:`FeatureCosts.to_record`, not costs by name."""
    return set(costs) <= set(_PARTS) and any(isinstance(v, Mapping) for v in costs.values())


def _as_column(costs: Any, n_features: int) -> list[Any]:
    column = np.asarray(costs, dtype=object)
    if column.ndim != 1 or len(column) != n_features:
        raise DataError(
            f"costs must have one number for each of {n_features} features, but the shape is "
            f"{column.shape}"
        )
    return column.tolist()
