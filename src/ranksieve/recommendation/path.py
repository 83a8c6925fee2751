"""The path: how training queries become sets of features of rising cost, and nothing else.

A path is built again for each training set of the cross-fitting, and once more for all queries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ranksieve.choosing import ROUNDING, sum_ranks
from ranksieve.costs import AlignedCosts
from ranksieve.data import RankingData
from ranksieve.data.encoding import encode_categories
from ranksieve.data.missing import count_missing
from ranksieve.data.ranking_data import OF_ROWS
from ranksieve.engine.clock import work_seconds
from ranksieve.experiments import Key, Record, Runner, Select, Trial, TrialData, gather
from ranksieve.experiments.cells import Seconds
from ranksieve.io.records import Count
from ranksieve.recommendation.cheap_sets import Basis, sets_of_worth
from ranksieve.recommendation.queries import Queries
from ranksieve.sums.copies import multiples, same_splits
from ranksieve.sums.varying import varying_features

Subset = tuple[int, ...]

_N_LEVELS, _FACTOR, _LARGE_FACTOR = 13, 1.35, 2.0  # between levels: usually, for large data
_FEW_LEAVE = (
    0.8  # share of the features that are left, from which on little is saved without copies
)
# What sets lack of the worth of the best one: most, least, number of sets; usually, for large data.
_LACKING = (0.5, 0.003, 21), (0.4, 0.005, 9)


@dataclass(frozen=True)
class Candidates:
    """Features that may be chosen, and what they cost."""

    features: Subset  # that are neither excluded, nor constant within all queries, nor copies
    include: Subset  # that are in every set
    costs: AlignedCosts  # of all features of the data

    def within(self, level: float, order: Sequence[int]) -> Subset:
        """The first features of an order, but for those that would exceed a cost."""
        kept: list[int] = []
        for feature in [*self.include, *(f for f in order if f not in self.include)]:
            if is_within(self.costs.total([*kept, feature]), level):
                kept.append(feature)
        return tuple(kept)


def is_within(cost: float, level: float) -> bool:
    """Whether a cost is at most a level, up to rounding."""
    return cost <= level * (1 + ROUNDING)


def cost_levels(
    candidates: Sequence[int],
    include: Sequence[int],
    costs: AlignedCosts,
    n_all: int,
    budget: float | None,
    *,
    is_large: bool,
) -> list[float]:
    """Costs that sets may have, about evenly spaced in proportion, below the cost of all.

    If features do not differ in cost, these are numbers of features. A budget is the last level.
    """
    factor = _LARGE_FACTOR if is_large else _FACTOR
    total = costs.total(candidates)
    levels = []
    if costs.vary:
        least = costs.total(include)
        alone = [costs.total([*include, feature]) for feature in candidates]
        if not include or any(cost <= least for cost in alone):
            levels = [min(least, *alone)] if alone else [least]
        positive = min((cost for cost in alone if cost > least), default=total)
        n_levels = round(_N_LEVELS * np.log(_FACTOR) / np.log(factor))
        factor = max(factor, (total / positive) ** (1 / n_levels) if positive > 0 else factor)
        level = positive
        while level < total / factor**0.5:
            levels.append(float(level))
            level *= factor
    else:
        unit = float(costs.features[0]) if len(costs.features) else 1.0
        size: int = max(1, len(include))
        most = min(len(candidates), n_all)
        while size < (most / factor**0.5 if is_large else most):  # large sets take long
            levels.append(size * unit)
            size = max(size + 1, round(size * factor))
    if len(candidates) < (_FEW_LEAVE if is_large else 1) * n_all:  # the set of all candidates
        levels.append(total)
    if budget is not None:
        levels = [level for level in levels if level < budget] + [min(budget, total)]
    return sorted(set(levels))


class Path(ABC):
    """A procedure that turns the training queries of a trial into sets of features."""

    queries: Queries
    candidates: Candidates

    @abstractmethod
    async def build(self, run: Runner, trial: Trial) -> list[Subset]:
        """Return sets that are worth ever more, as many in each trial."""


@dataclass(frozen=True)
class Consensus(Path):
    """The features with the smallest sums of ranks in the lists of several selectors."""

    queries: Queries
    candidates: Candidates
    levels: Sequence[float]  # largest cost of each set, ascending
    selections: Sequence[Select]  # cells that order all candidates
    takes_missing: Sequence[bool]

    async def build(self, run: Runner, trial: Trial) -> list[Subset]:
        """Return the first features by their sums of ranks; ties go to the lowest index."""
        n = len(self.candidates.features)
        if not n:
            return [self.candidates.include for _ in self.levels]
        lists = await gather(
            *(
                run(replace(cell, k=n), self.queries.to_select(trial, filled=not takes))
                for cell, takes in zip(self.selections, self.takes_missing, strict=True)
            )
        )
        ranks = sum_ranks([one.features for one in lists], len(self.candidates.costs.features))
        order = sorted(self.candidates.features, key=lambda feature: (ranks[feature], feature))
        return [self.candidates.within(level, order) for level in self.levels]


class SetsFound(Record):
    """Sets of features, one for each share of worth."""

    sets: list[list[Count]]
    seconds: Seconds


class SetsKey(Key, tag="cheap-sets"):
    """Key of a search for cheap sets."""

    basis: str
    features: list[Count]
    include: list[Count]
    shares: list[float]
    most: float | None
    costs: dict[str, list[float]]
    Result = SetsFound


@dataclass(frozen=True)
class CheapSets(Path):
    """The cheapest sets with a share of the worth, by a fast model of the training queries."""

    queries: Queries
    candidates: Candidates
    shares: Sequence[float]  # of the worth of the best set, ascending
    most: float | None  # cost of the last set; None for any
    basis: Basis

    async def build(self, run: Runner, trial: Trial) -> list[Subset]:
        """Find a set for each share."""
        if not self.candidates.features:
            return [self.candidates.include for _ in self.shares]
        where = self.queries.to_select(trial, filled=self.basis == "linear")
        found = await run(FindSets(self), where)
        return [tuple(one) for one in found.sets]


@dataclass(frozen=True)
class FindSets:
    """The cell of a search for cheap sets."""

    path: CheapSets
    method: None = None

    def key(self, trial: str) -> SetsKey:
        """Everything except the data that the result depends on."""
        path, own = self.path, self.path.candidates
        given = {name: np.asarray(getattr(own.costs, name)).tolist() for name in own.costs._fields}
        costs = {name: [float(one) for one in values] for name, values in given.items()}
        which = [*own.features], [*own.include], [*path.shares]
        return SetsKey(trial, path.basis, *which, path.most, costs)

    def run(self, trial: TrialData) -> SetsFound:
        """Search on the training queries."""
        path, own, start = self.path, self.path.candidates, work_seconds()
        columns = sorted({*own.features, *own.include})
        found = sets_of_worth(
            encode_categories(trial.without(OF_ROWS).train.take_features(columns))[0],
            own.costs.take(columns),
            path.shares,
            [columns.index(feature) for feature in own.include],
            np.inf if path.most is None else path.most,
            basis=path.basis,
        )
        sets = [[columns[feature] for feature in one] for one in found]
        return SetsFound(sets, max(0.0, work_seconds() - start))


def worth_shares(*, allows_none: bool, is_large: bool) -> list[float]:
    """Shares of worth that sets have; what they lack of 1 falls in proportion."""
    most, least, number = _LACKING[is_large]
    lacking = np.geomspace(most, least, number).tolist()
    return [*([0.0] if allows_none else []), *(1 - share for share in lacking), 1.0]


def leave_out(
    data: RankingData,
    features: Sequence[int],
    include: Sequence[int],
    costs: AlignedCosts,
    *,
    for_trees: bool,
) -> tuple[Subset, dict[int, int]]:
    """Features without those that are constant in every query, and without exact copies.

    Returns the others, and for each copy the feature that it copies: in the order of rows for
    trees, else in values within queries up to a factor. Of several copies the cheapest stays, and
    those of other groups of costs. Labels are not looked at.
    """
    varies = varying_features(data)
    left = [f for f in features if varies[f] or f in include]
    copies: dict[int, int] = {}
    free = [f for f in left if varies[f]]
    n_missing = count_missing(data.X)
    groups = multiples(data, [f for f in free if not n_missing[f]])
    for group in same_splits(data, free, groups) if for_trees else groups:
        group.sort(key=lambda f: (f not in include, costs.features[f], f))
        for place, feature in enumerate(group):
            for other in group[:place]:
                is_paid = costs.group_of[other] in (-1, costs.group_of[feature])
                if is_paid and other not in copies and feature not in include:
                    copies[feature] = other
                    break
    return tuple(f for f in left if f not in copies), copies
