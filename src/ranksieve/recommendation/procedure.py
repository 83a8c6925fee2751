"""The procedure that a recommendation is about: make candidates, judge them, choose one.

It runs once for each part of the queries, which it does not see and which judges it then, and once
for the features to recommend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING
from ranksieve.costs import AlignedCosts
from ranksieve.recommendation.asking import Lookup, Placed, Procedure, together
from ranksieve.recommendation.cells import RankingCell
from ranksieve.recommendation.division import Division, Place, Stage
from ranksieve.recommendation.pruning import pruning
from ranksieve.significance.samples import Sample
from ranksieve.study.cells import SelectionCell

ALL, NONE = "all", "none"
"""Candidates that no selector makes: all features, and no feature."""
RuleName = Literal["half-margin", "safe", "one-se", "best"]
RULES = ("half-margin", "safe", "one-se", "best")

_FIRST = 60  # features that a selector is asked for at first
_STEP = 1.5  # between sizes
_CLOSE = 1.12  # sizes within this factor need none between them
_MOST_REMOVALS = 8  # tried to save costs


class Candidate(NamedTuple):
    """The first ``size`` features of a selector, on each of the places that choose.

    Attributes
    ----------
    selector : str
    size : int
    cost : float
        Mean over the places.
    values : array of shape (queries,)
        Value of each query that chooses.
    """

    selector: str
    size: int
    cost: float
    values: np.ndarray


class Choice(NamedTuple):
    """What a stage has chosen.

    Attributes
    ----------
    candidate : Candidate
    features : tuple of int
        In the order of the selector.
    candidates : list of Candidate
        All that were judged, with those of all features and of none.
    values, base : array of shape (queries,) or None
        Values of the queries that the stage has not seen, with the features and with all of them.
    """

    candidate: Candidate
    features: tuple[int, ...]
    candidates: list[Candidate]
    values: np.ndarray | None
    base: np.ndarray | None


@dataclass(frozen=True)
class Rule:
    """Which of the candidates to take, given values of the queries that choose.

    Attributes
    ----------
    name : {"half-margin", "safe", "one-se", "best"}
        The cheapest candidate is taken that is enough. A mean is enough if it is at least that of
        all features times 1 - margin / 2; or if its loss plus one standard error is within the
        margin; or if its loss is within one standard error. ``"best"``: the best mean is taken.
    margin : float
        Relative to the mean with all features.
    budget : float or None
        Largest cost. If no candidate within it is enough, the best one is taken.
    """

    name: RuleName = "half-margin"
    margin: float = 0.01
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.name not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {self.name!r:.60}")
        if not 0 < self.margin < 1:
            raise ValueError(f"margin must lie between 0 and 1, got {self.margin!r:.60}")
        if self.budget is not None and not self.budget >= 0:
            raise ValueError(f"budget must be at least 0, got {self.budget!r:.60}")

    def is_enough(self, values: np.ndarray, base: np.ndarray, weights: np.ndarray | None) -> bool:
        """Whether values are nearly as good as those with all features."""
        loss = Sample.of(base - values, weights)
        allowed = self.margin * Sample.of(base, weights).mean
        if self.name == "half-margin":
            return loss.mean <= allowed / 2 + ROUNDING
        if self.name == "safe":
            return loss.mean + loss.error <= allowed + ROUNDING
        return self.name == "one-se" and loss.mean <= loss.error + ROUNDING

    def is_affordable(self, cost: float) -> bool:
        """Whether a cost is within the budget."""
        return self.budget is None or cost <= self.budget * (1 + ROUNDING)

    def choose(
        self, candidates: Sequence[Candidate], base: np.ndarray, weights: np.ndarray | None
    ) -> Candidate:
        """The cheapest that is enough, the better of equals; else the best."""
        affordable = [one for one in candidates if self.is_affordable(one.cost)]
        enough = [one for one in affordable if self.is_enough(one.values, base, weights)]

        def mean(one: Candidate) -> float:
            return Sample.of(one.values, weights).mean

        if enough and self.budget is None:
            return min(enough, key=lambda one: (round(one.cost, 9), -mean(one), one.size))
        return max(affordable, key=lambda one: (round(mean(one), 12), -one.cost, -one.size))


@dataclass(frozen=True)
class Member:
    """A selector of the portfolio: ``make(k)`` is the cell that selects ``k`` features."""

    name: str
    make: Callable[[int], SelectionCell]


@dataclass(frozen=True)
class Task:
    """What all stages share.

    Attributes
    ----------
    division : Division
    members : sequence of Member
    rank : callable
        From features, ascending, to the cell that trains a ranker on them.
    costs : AlignedCosts
    rule : Rule
    include, allowed : tuple of int
        Features that are always chosen, and all that may be.
    allows_none : bool
        Whether to consider no features at all.
    is_over : callable
        Whether the time is up: then nothing more is tried than what a choice needs.
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

    def sizes(self) -> list[int]:
        """Numbers of features to try, ascending, in growing steps; fewer than all."""
        sizes, size = [], max(1, len(self.include))
        while size < len(self.allowed):
            sizes.append(size)
            size = max(size + 1, round(size * _STEP))
        return sizes

    def ranked(self, place: Place, features: Sequence[int]) -> Placed:
        """The training of the ranker on features at a place."""
        return Placed(place, self.rank(tuple(sorted(features))))


def run_stage(task: Task, stage: Stage, all_sizes: bool = False) -> Procedure[Choice]:
    """Choose features by the inner places, and judge them.

    Parameters
    ----------
    task : Task
    stage : Stage
    all_sizes : bool
        Whether to judge also sizes that can no longer be chosen, because a smaller one is enough.
    """
    weights = task.division.weights([part for _, part in stage.inner])
    base = yield from judged(task, stage.inner, task.allowed)
    whole = Candidate(ALL, len(task.allowed), task.costs.total(task.allowed), base)
    candidates = [whole]
    if task.allows_none and not task.include:
        found = yield from judged(task, stage.inner, ())
        candidates.append(Candidate(NONE, 0, 0.0, found))
    chains = [_Chain(task, stage, member, base, weights, all_sizes) for member in task.members]
    for found_by_one in (yield from together([chain.run() for chain in chains])):
        candidates += found_by_one
    chosen = task.rule.choose(candidates, base, weights)
    features = yield from _selected(task, stage, chosen)
    features = yield from _cheaper(task, stage, features, base, weights)
    values = base_values = None
    if stage.judge is not None:
        where = [(stage.final, stage.judge)]
        pair = together([judged(task, where, features), judged(task, where, task.allowed)])
        values, base_values = yield from pair
    return Choice(chosen, tuple(features), candidates, values, base_values)


def judged(
    task: Task, places: Sequence[tuple[Place, str]], features: Sequence[int]
) -> Procedure[np.ndarray]:
    """Values of the queries of parts, each ranked by what was trained on features at its place."""
    return _judged_each(task, places, [features] * len(places))


def _judged_each(
    task: Task, places: Sequence[tuple[Place, str]], features: Sequence[Sequence[int]]
) -> Procedure[np.ndarray]:
    """The same, with features of each place."""
    asked = [task.ranked(place, own) for (place, _), own in zip(places, features, strict=True)]
    lookup = yield asked
    found = [lookup(cell)["values"][part] for cell, (_, part) in zip(asked, places, strict=True)]
    return np.concatenate([np.asarray(values) for values in found])


def selected(member: Member, place: Place, size: int, most: int) -> Procedure[list[int]]:
    """The first features of a selector at a place."""
    cell = Placed(place, member.make(min(most, _FIRST) if size <= _FIRST else most))
    lookup = yield [cell]
    return list(lookup(cell)["features"][:size])


def _selected(task: Task, stage: Stage, chosen: Candidate) -> Procedure[list[int]]:
    if chosen.selector in (ALL, NONE):
        return list(task.allowed) if chosen.selector == ALL else []
    member = next(one for one in task.members if one.name == chosen.selector)
    return (yield from selected(member, stage.final, chosen.size, len(task.allowed) - 1))


class _Chain:
    """Sizes of one selector, from small to large."""

    def __init__(
        self,
        task: Task,
        stage: Stage,
        member: Member,
        base: np.ndarray,
        weights: np.ndarray | None,
        all_sizes: bool,
    ) -> None:
        self.task, self.stage, self.member = task, stage, member
        self.base, self.weights, self.all_sizes = base, weights, all_sizes
        self.found: dict[int, Candidate] = {}

    def run(self) -> Procedure[list[Candidate]]:
        """Judge sizes until one is enough, then those between it and the one before."""
        before, rule = 0, self.task.rule
        enough = None
        for size in self.task.sizes():
            if enough is not None and not self.all_sizes and rule.name != "best":
                break
            if self.task.is_over() and self.found:
                break
            candidate = yield from self._judge(size)
            if candidate is None:
                enough = enough or size  # too expensive: what fits lies below
                break
            if enough is None and self._is_enough(candidate):
                enough = size
            before = size if enough is None else before
        if enough is not None:
            yield from self._refine(before, enough)
        return [self.found[size] for size in sorted(self.found)]

    def _refine(self, low: int, high: int) -> Procedure[None]:
        """Halve the distance between a size that is too small and one that is enough."""
        while high - low > 1 and high > _CLOSE * low and not self.task.is_over():
            middle = (low + high + 1) // 2
            candidate = yield from self._judge(middle)
            is_high = candidate is None or self._is_enough(candidate)
            low, high = (low, middle) if is_high else (middle, high)

    def _is_enough(self, candidate: Candidate) -> bool:
        if self.task.rule.budget is not None:
            return False  # the best is wanted: as many as the budget allows
        return self.task.rule.is_enough(candidate.values, self.base, self.weights)

    def _judge(self, size: int) -> Procedure[Candidate | None]:
        """Judge a size, unless it costs too much."""
        places, most = [place for place, _ in self.stage.inner], len(self.task.allowed) - 1
        asked = [selected(self.member, place, size, most) for place in places]
        features = yield from together(asked)
        cost = float(np.mean([self.task.costs.total(own) for own in features]))
        if not self.task.rule.is_affordable(cost):
            return None
        values = yield from _judged_each(self.task, self.stage.inner, features)
        self.found[size] = Candidate(self.member.name, size, cost, values)
        return self.found[size]


def _cheaper(
    task: Task, stage: Stage, features: list[int], base: np.ndarray, weights: np.ndarray | None
) -> Procedure[list[int]]:
    """Leave out what is dear while the rest is enough, the largest saving first."""
    if not task.costs.vary or task.rule.name == "best" or len(features) < 2:
        return features
    search = pruning(features, task.costs, 1.0, task.include, _MOST_REMOVALS)
    asked = next(search)
    while not task.is_over():
        values = yield from judged(task, stage.inner, asked)
        try:
            asked = search.send(float(task.rule.is_enough(values, base, weights)))
        except StopIteration as end:
            return list(end.value.features)
    return features


__all__ = [
    "ALL", "NONE", "RULES", "Candidate", "Choice", "Lookup", "Member", "Rule", "RuleName", "Task",
    "judged", "run_stage", "selected",
]  # fmt: skip
