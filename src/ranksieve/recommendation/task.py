"""The data, selectors, ranker, costs and rule that all runs of the procedure share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ranksieve.costs import AlignedCosts
from ranksieve.recommendation.asking import PlannedCell, Procedure
from ranksieve.recommendation.cells import RankingCell
from ranksieve.recommendation.division import Division, TrainingSet
from ranksieve.recommendation.rules import Rule
from ranksieve.study.cells import SelectionCell

_FIRST = 60  # number of features first requested from a selector
_STEP = 1.5  # factor between sizes


@dataclass(frozen=True)
class Member:
    """A selector of the portfolio; ``make(k)`` returns the cell that selects ``k`` features."""

    name: str
    make: Callable[[int], SelectionCell]


@dataclass(frozen=True)
class Task:
    """Data, selectors, ranker, costs and rule that all stages share.

    Attributes
    ----------
    division : Division
    members : sequence of Member
    rank : callable
        Returns the cell that trains a ranker on some features, given in ascending order.
    costs : AlignedCosts
    rule : Rule
    include, allowed : tuple of int
        Features that are always chosen, and all features that may be chosen.
    allows_none : bool
        Whether an empty set of features is a candidate.
    is_over : callable
        Returns whether time is up; then only work that a choice requires is done.
    """

    division: Division
    members: Sequence[Member]
    rank: Callable[[tuple[int, ...]], RankingCell]
    costs: AlignedCosts
    rule: Rule
    include: tuple[int, ...]
    allowed: tuple[int, ...]
    allows_none: bool
    is_over: Callable[[], bool] = field(default=lambda: False)

    @property
    def least(self) -> int:
        """Smallest number of features to request from a selector."""
        return max(1, len(self.include))

    def sizes(self) -> list[int]:
        """Return the sizes that are fixed in advance, ascending and smaller than all features."""
        sizes, size = [], self.least
        while size < len(self.allowed):
            sizes.append(size)
            size = max(size + 1, round(size * _STEP))
        return sizes

    def ranked(self, training: TrainingSet, features: Sequence[int]) -> PlannedCell:
        """Return the cell that trains the ranker on some features and queries."""
        return PlannedCell(training, self.rank(tuple(sorted(features))))

    def path(self, member: Member, training: TrainingSet, size: int) -> Procedure[list[int]]:
        """Order at least ``size`` features by a selector, on the queries of a training set.

        Features that would exceed the budget, given the features before them, are skipped.
        """
        most = len(self.allowed) - 1
        for k in dict.fromkeys((min(most, _FIRST), most)):
            cell = PlannedCell(self.division.to_select(training), member.make(k))
            lookup = yield [cell]
            path = self._within_budget(lookup(cell)["features"])
            if len(path) >= size:
                break
        return path

    def _within_budget(self, path: Sequence[int]) -> list[int]:
        if self.rule.budget is None:
            return list(path)
        within: list[int] = []
        for feature in path:
            if self.rule.is_affordable(self.costs.total([*within, feature])):
                within.append(feature)
        return within

    def judged(
        self, folds: Sequence[tuple[TrainingSet, str]], features: Sequence[Sequence[int]]
    ) -> Procedure[np.ndarray]:
        """Train the ranker for each fold and rank its part; return the values of the queries.

        ``features`` lists the features to train on in each fold.
        """
        cells = [self.ranked(training, f) for (training, _), f in zip(folds, features, strict=True)]
        lookup = yield cells
        parts = [part for _, part in folds]
        values = [lookup(cell)["values"][part] for cell, part in zip(cells, parts, strict=True)]
        return np.concatenate([np.asarray(of_part) for of_part in values])
