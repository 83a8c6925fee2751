"""Costs of features, and of groups of features, which are paid once."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ranksieve.costs.catalogue import (
    Catalogue,
    catalogue_of_features,
    catalogue_of_groups,
    is_empty,
    number_of,
)
from ranksieve.costs.units import check_unit
from ranksieve.data import DataError
from ranksieve.data.inputs import is_frame
from ranksieve.io.records import PathLike
from ranksieve.io.small_tables import TableRow, read_small_table, table_of_frame
from ranksieve.text import list_names, nearest_name, quantity

_NAMED = 5  # features and groups that a message names
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
    Costs may be a catalogue, which has more features and groups than any one data set.

    Parameters
    ----------
    features : mapping of str to float
        Cost of each feature by name, at least 0. Features without names have the numbers of the
        file, from ``"1"`` on.
    groups : mapping of str to str
        Group of each feature that has one.
    group_costs : mapping of str to float
        Cost of each group, at least 0. The group of every feature that is used needs one.
    unit : str
        Unit of all costs, such as ``"ms"``, for tables and texts; empty if it is not known.

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
    unit: str = ""
    # Where each feature and group comes from, for messages: (what, name) -> place. Without a name,
    # where all of them do.
    _places: Mapping[tuple[str, str], str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for part in _PARTS:
            if not isinstance(part_value := getattr(self, part), Mapping):
                raise DataError(f"costs: {part} must be a mapping by name, got {part_value!r:.60}")
        check_unit(self.unit)
        groups = {str(name): str(group) for name, group in self.groups.items()}
        object.__setattr__(self, "groups", groups)
        for part, what in (("features", "feature"), ("group_costs", "group")):
            part_value = getattr(self, part)
            costs = {str(n): _cost(c, what, n, self._place(what, n)) for n, c in part_value.items()}
            object.__setattr__(self, part, costs)
        self._check_sum()
        for name in self.groups.keys() - self.features.keys():
            raise DataError(
                f"{self._place('feature', name)}: feature {name!r} has a group but no cost"
            )

    @classmethod
    def read(cls, path: PathLike, groups: PathLike | None = None) -> FeatureCosts:
        r"""Read costs from files: CSV, TSV (``.tsv``) or Parquet (``.parquet``).

        The first has a column ``feature`` (or ``feature_name``, ``name``), a column of costs and,
        if there are groups, ``group``, which is empty for features in no group. The costs are in
        ``cost``, in the column whose name begins with it, such as ``cost_ms``, or in the only
        column of numbers. The name may say the unit. A row without a feature has the cost of its
        group; the second file, with the columns ``group`` and ``cost``, has more of them. Other
        columns, and rows without a cost, are ignored.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from ranksieve import FeatureCosts
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "costs.csv"
        >>> _ = path.write_text("feature,cost_ms,owner\nbm25,1.5,search\nclicks,0.25,data\n")
        >>> costs = FeatureCosts.read(path)
        >>> costs.total(["bm25", "clicks"]), costs.unit
        (1.75, 'ms')
        """
        more = None if groups is None else catalogue_of_groups(read_small_table(groups))
        return cls._of_catalogues(catalogue_of_features(read_small_table(path)), more)

    @classmethod
    def from_frame(cls, frame: Any, groups: Any = None) -> FeatureCosts:
        """Make costs from frames (pandas, polars, pyarrow) with the columns of :meth:`read`."""
        more = None
        if groups is not None:
            more = catalogue_of_groups(table_of_frame(groups, "costs of groups"))
        return cls._of_catalogues(catalogue_of_features(table_of_frame(frame, "costs")), more)

    @classmethod
    def make(cls, costs: Any, names: Sequence[str] | np.ndarray) -> FeatureCosts:
        """Make costs of the features with these names alone from any accepted form.

        A mapping has the cost of each feature by name, or the fields of :meth:`to_record`; an array
        one cost for each feature, in order. Frames and paths are read; None is 1 for every feature.
        Raises a DataError if a feature has no cost.
        """
        return cls.convert(costs, names).only(names)

    @classmethod
    def convert(cls, costs: Any, names: Sequence[str] | np.ndarray) -> FeatureCosts:
        """Make costs from what :meth:`make` takes, also those of features without these names."""
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
        return costs

    def only(self, names: Sequence[str] | np.ndarray) -> FeatureCosts:
        """Costs of the features with these names alone, and of their groups.

        Raises a DataError if one of them has no cost.
        """
        wanted = dict.fromkeys(map(str, names))
        self._check_features(list(wanted))
        groups = {name: group for name, group in self.groups.items() if name in wanted}
        self._check_groups(groups)
        paid = set(groups.values())
        return replace(
            self,
            features={name: cost for name, cost in self.features.items() if name in wanted},
            groups=groups,
            group_costs={name: cost for name, cost in self.group_costs.items() if name in paid},
        )

    def with_unit(self, unit: str | None) -> FeatureCosts:
        """The same costs in a unit of another name; None is the one that they have."""
        return self if unit is None else replace(self, unit=unit)

    def describe_others(self, names: Sequence[str] | np.ndarray) -> str:
        """Say which features and groups are not those of some data; empty if there are none."""
        known = set(map(str, names))
        others = [name for name in self.features if name not in known]
        used = {group for name, group in self.groups.items() if name in known}
        groups = [group for group in self.group_costs if group not in used]
        parts = [
            f"{quantity(len(own), what)} ({list_names(own, _NAMED)})"
            for own, what in ((others, "feature"), (groups, "group"))
            if own
        ]
        return f"The costs also list {' and '.join(parts)} without use in this data." * bool(parts)

    def aligned(self, names: Sequence[str] | np.ndarray) -> AlignedCosts:
        """Costs as arrays in the order of the features of some data, checked as in :meth:`make`."""
        return self.only(names)._align(names)

    def _align(self, names: Iterable[Any]) -> AlignedCosts:
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
        """Costs as JSON values, which :meth:`make` accepts, without their unit."""
        return {part: dict(getattr(self, part)) for part in _PARTS}

    def __repr__(self) -> str:
        counts = quantity(len(self.features), "feature")
        if self.group_costs:
            counts += f", {quantity(len(self.group_costs), 'group')}"
        return f"{type(self).__name__}({counts})"

    @classmethod
    def _of_catalogues(cls, features: Catalogue, more: Catalogue | None) -> FeatureCosts:
        of_features: list[TableRow] = []
        of_groups: list[TableRow] = []
        for row in features.rows:
            is_group = row.text("group") and not row.text("feature")
            (of_groups if is_group else of_features).append(row)
        if more is not None:
            of_groups += more.rows
            if features.unit and more.unit and features.unit != more.unit:
                raise DataError(
                    f"{more.place}: these costs are in {more.unit}, but those of {features.place} "
                    f"in {features.unit}: convert one of them"
                )
        places = {("feature", ""): features.place}
        parts = _by_name(of_features, "feature", places), _by_name(of_groups, "group", places)
        costs, group_costs = ({n: row.values["cost"] for n, row in part.items()} for part in parts)
        group_of = {name: row.text("group") for name, row in parts[0].items()}
        unit = features.unit or (more.unit if more is not None else "")
        return cls(costs, {n: g for n, g in group_of.items() if g}, group_costs, unit, places)

    @cached_property
    def _arrays(self) -> AlignedCosts:
        return self._align(self.features)

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.features)}

    def _index(self, name: str) -> int:
        if name not in self._indices:
            raise DataError(f"costs: no feature is named {name!r}")
        if name in self.groups:
            self._check_groups({name: self.groups[name]})
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

    def _check_groups(self, groups: Mapping[str, str]) -> None:
        """Raise a DataError unless the group of each of some features has a cost."""
        for name, group in groups.items():
            if group not in self.group_costs:
                unused = self.group_costs.keys() - self.groups.values()
                raise DataError(
                    f"{self._place('feature', name)}: group {group!r} of feature {name!r} has no "
                    "cost: list it in the costs of groups (--group-costs), with 0 if it costs "
                    f"nothing{nearest_name(group, sorted(unused))}"
                )

    def _check_features(self, names: Sequence[str]) -> None:
        """Raise a DataError that names the features without a cost, if there are any."""
        missing = [name for name in names if name not in self.features]
        if not missing:
            return
        verb = "has" if len(missing) == 1 else "have"
        known = set(names)
        others = [name for name in self.features if name not in known]
        questions = (nearest_name(name, others).removeprefix(".") for name in missing[:_NAMED])
        raise DataError(
            f"{self._place('feature', '')}: {quantity(len(missing), 'feature')} of the data {verb} "
            f"no cost: {list_names(missing, _NAMED)}: add {'it' if verb == 'has' else 'them'}, "
            f"with 0 for what is free, or leave {'it' if verb == 'has' else 'them'} out of the "
            f"data (--ignore).{''.join(dict.fromkeys(questions))}"
        )


def _by_name(
    rows: Iterable[TableRow], what: str, places: dict[tuple[str, str], str]
) -> dict[str, TableRow]:
    """Rows with a cost by name, which must be unique; records their places in ``places``."""
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
    return {name: row for name, row in found.items() if not is_empty(row.values["cost"])}


def _cost(value: Any, what: str, name: Any, place: str) -> float:
    """Cost as a number, from a number or text."""
    subject = f"{place}: the cost of {what} {str(name)!r}"
    if is_empty(value):
        raise DataError(f"{subject} is missing")
    cost = number_of(value)
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
