"""The procedure behind a recommendation: search for candidates, choose one, and judge it.

It runs once for each part of the queries, which is held out and then judges the choice, and once
to find the features to recommend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError
from ranksieve.recommendation.cells import Procedure, together
from ranksieve.recommendation.division import Stage, TrainingSet
from ranksieve.recommendation.pruning import Enough, pruning
from ranksieve.recommendation.task import ALL, NONE, Candidate, Task
from ranksieve.recommendation.timing import OutOfTimeError, TimeLimit
from ranksieve.sums.similarity import Similarity

_CLOSE = 1.12  # no size is tried between two that are within this factor
_FEW_SIZES = 3  # number of sizes tried within a budget, if data is large
_MOST_TRIES, _FEW_TRIES = 16, 8  # limits on the sets tried to save costs: usually, for large data
_MOST_SIZES, _STEP = 4, 1.12  # sizes tried if the chosen one is not enough; factor between them
_ALIKE = 0.5  # a feature may replace another that is at least this similar
_MOST_SUBSTITUTES = 3  # largest number for each feature


class Choice(NamedTuple):
    """The candidate and the features that a stage has chosen."""

    candidate: Candidate
    features: tuple[int, ...]  # in the order of the selector
    candidates: list[Candidate]  # all that were evaluated, including all features and no features
    values: np.ndarray | None  # (queries,): of the judging queries, with the chosen features
    base: np.ndarray | None  # (queries,): the same with all features


def run_stages(
    task: Task, run: Callable[[Procedure[Any]], Any], limit: TimeLimit
) -> list[Choice | None]:
    """Run all stages in parallel or, with a time limit, one after the other until time is up.

    With a time limit, the last stage runs first, because its features are recommended.
    """
    stages = task.division.stages
    last = len(stages) - 1
    if not limit.is_set:
        each = [run_stage(task, stage, stage is stages[last]) for stage in stages]
        choices: list[Choice | None] = run(together(each))
        return choices
    choices = [None] * len(stages)
    for n_before, number in enumerate([last, *range(last)]):
        task.is_over = limit.share(len(stages) - n_before)
        try:
            choices[number] = run(run_stage(task, stages[number], shows_front=number == last))
        except OutOfTimeError:
            break
    return choices


def choose_all(task: Task) -> Choice:
    """Choose all features, if there was no time to try anything else."""
    every, cost = task.allowed, task.costs.total(task.allowed)
    if not task.rule.is_affordable(cost):
        raise DataError("there was no time to find features within the budget: allow more time")
    return Choice(Candidate(ALL, len(every), cost, np.empty(0)), every, [], None, None)


def run_stage(task: Task, stage: Stage, shows_front: bool = False) -> Procedure[Choice]:
    """Choose features on the inner folds of a stage, and judge the choice.

    ``shows_front`` says whether to evaluate the sizes that are fixed in advance, too, in the end.
    """
    weights = task.division.weights([part for _, part in stage.inner])
    search = Search(task, stage.inner, weights)
    yield from search.run()
    chosen = task.rule.choose(search.found, search.base, weights)
    features = yield from _chosen(task, stage, chosen, search)
    values = base_values = None
    if stage.judge is not None:
        where = [(stage.final, stage.judge)]
        pair = together([task.judged(where, [features]), task.judged(where, [task.allowed])])
        values, base_values = yield from pair
    if shows_front:
        yield from search.extend(chosen)
    return Choice(chosen, tuple(features), search.found, values, base_values)


class Search:
    """Evaluates candidates of a stage on the choosing queries.

    Folds are pairs of what to select and train on, and which part of the queries chooses; weights
    are those of the choosing queries. ``base`` (queries,) has the values with all features.
    """

    def __init__(
        self, task: Task, folds: Sequence[tuple[TrainingSet, str]], weights: np.ndarray | None
    ) -> None:
        self.task, self.folds, self.weights = task, folds, weights
        self._found: dict[tuple[str, int], Candidate] = {}

    @property
    def found(self) -> list[Candidate]:
        """All candidates evaluated so far."""
        return list(self._found.values())

    def is_enough(self, values: np.ndarray) -> bool:
        """Whether values are nearly as good as those with all features."""
        return self.task.rule.is_enough(values, self.base, self.weights)

    @property
    def _is_exhaustive(self) -> bool:
        """Whether to look for the best candidate, not for the cheapest that is enough."""
        return self.task.rule.name == "best" or self.task.rule.budget is not None

    def run(self) -> Procedure[None]:
        """Evaluate all features, no features, and the sets of selectors that may be chosen."""
        task = self.task
        fixed = {(ALL, len(task.allowed)): task.allowed}
        if task.allows_none and not task.include:
            fixed[NONE, 0] = ()
        asked = [task.judged(self.folds, [own] * len(self.folds)) for own in fixed.values()]
        values = yield from together(asked)
        for (name, size), own in zip(fixed, values, strict=True):
            self._found[name, size] = Candidate(
                name, size, task.costs.total(fixed[name, size]), own
            )
        self.base = values[0]
        if self._is_exhaustive:
            yield from together([self._largest_first(member) for member in task.members])
            if not any(task.rule.is_affordable(one.cost) for one in self.found):
                raise DataError(f"the budget of {task.rule.budget:.4g} allows no feature: raise it")
        else:
            for member in task.members:
                yield from self._cheapest(member)

    def extend(self, chosen: Candidate) -> Procedure[None]:
        """Evaluate the sizes that are fixed in advance; only some of them if data is large."""
        if self._is_exhaustive or self.task.is_over():
            return
        least, members = 0, list(self.task.members)
        if self.task.division.is_large:
            least, members = chosen.size, [one for one in members if one == chosen.selector]
        sizes = [size for size in self.task.sizes() if size >= least]
        yield from together([self._judge_all(member, sizes[::-1]) for member in members])

    def _cheapest(self, member: str) -> Procedure[None]:
        """Find the smallest size that is enough and costs less than the best candidate so far.

        Bisects on a logarithmic scale between a size that is too small and one that is enough.
        """
        # All features count as enough.
        enough = [one for one in self.found if one.selector == ALL or self.is_enough(one.values)]
        best, low = min(enough, key=lambda one: one.cost), self.task.least - 1
        if best.cost <= 0 or self.task.is_over():
            return
        high = len(self.task.allowed)
        if best.selector != ALL:
            high = 1 + (yield from self._largest_below(member, best.cost))
        if best.selector != ALL and high - 1 > low:
            candidate = yield from self._judge(member, high - 1)
            if not self.is_enough(candidate.values):
                return  # no size of this selector saves anything
            high -= 1
        while high - low > 1 and high > _CLOSE * low and not self.task.is_over():
            middle = min(high - 1, max(low + 1, round(sqrt(max(low, 1) * high))))
            candidate = yield from self._judge(member, middle)
            low, high = (low, middle) if self.is_enough(candidate.values) else (middle, high)

    def _largest_below(self, member: str, cost: float) -> Procedure[int]:
        """Return a selector's largest size below a cost; ``least - 1`` if there is none."""
        size = self.task.least - 1
        while size + 1 < len(self.task.allowed):
            paths = yield from self._paths(member, size + 1)
            most = min(map(len, paths))
            if most <= size:
                return size
            for more in range(size + 1, most + 1):
                if self._cost(paths, more) >= cost - ROUNDING * cost:
                    return size
                size = more
        return size

    def _largest_first(self, member: str) -> Procedure[None]:
        """Evaluate sizes from the largest down, starting with the largest within the budget."""
        sizes = self.task.sizes()
        if self.task.rule.budget is not None:
            paths = yield from self._paths(member, len(self.task.allowed) - 1)
            most = min(map(len, paths))
            sizes = sorted({most, *(size for size in sizes if size < most)} - {0})
            sizes = sizes[-_FEW_SIZES:] if self.task.division.is_large else sizes
        yield from self._judge_all(member, sizes[::-1])

    def _judge_all(self, member: str, sizes: Iterable[int]) -> Procedure[None]:
        """Evaluate sizes in order until time is up, but at least the first one."""
        for size in sizes:
            yield from self._judge(member, size)
            if self.task.is_over():
                return

    def _judge(self, member: str, size: int) -> Procedure[Candidate]:
        """Evaluate the first ``size`` features that a selector finds in each fold."""
        if (member, size) not in self._found:
            paths = yield from self._paths(member, size)
            values = yield from self.task.judged(self.folds, [path[:size] for path in paths])
            candidate = Candidate(member, size, self._cost(paths, size), values)
            self._found[member, size] = candidate
        return self._found[member, size]

    def _paths(self, member: str, size: int) -> Procedure[list[list[int]]]:
        """Return a selector's order of at least ``size`` features in each fold."""
        return together([self.task.path(member, training, size) for training, _ in self.folds])

    def _cost(self, paths: Sequence[Sequence[int]], size: int) -> float:
        return float(np.mean([self.task.costs.total(path[:size]) for path in paths]))


def _chosen(task: Task, stage: Stage, chosen: Candidate, search: Search) -> Procedure[list[int]]:
    """Select the features of the chosen candidate on all queries of the stage.

    If costs vary, exactly these features must be enough: more are added if necessary, then
    expensive ones are removed or replaced.
    """
    if chosen.selector == NONE:
        return []
    path, size = list(task.allowed), chosen.size
    if chosen.selector != ALL:
        path = yield from task.path(chosen.selector, stage.final, size)
    if not task.costs.vary or task.rule.name == "best":
        return path[:size]

    def is_enough(features: Sequence[int]) -> Procedure[bool]:
        """Whether features are enough on the choosing queries; False once time is up."""
        if task.is_over():
            return False
        values = yield from task.judged(stage.inner, [features] * len(stage.inner))
        return search.is_enough(values)

    if task.rule.budget is None:
        size = yield from _large_enough(path, size, is_enough)
    tries = _FEW_TRIES if task.division.is_large else _MOST_TRIES
    others = _substitutes(task, stage.final)
    found = yield from pruning(path[:size], task.costs, is_enough, task.include, others, tries)
    return list(found)


def _large_enough(path: list[int], size: int, is_enough: Enough) -> Procedure[int]:
    """Return the first size, from the given one up, that is enough; the given size if none is."""
    larger = size
    for _ in range(_MOST_SIZES):
        if (yield from is_enough(path[:larger])):
            return larger
        larger = min(len(path), max(larger + 1, round(_STEP * larger)))
    return size


def _substitutes(task: Task, training: TrainingSet) -> dict[int, list[int]]:
    """Find the features that order documents like each feature does, most similar first."""
    data = task.division.trial(task.division.to_select(training)).train
    similarity = Similarity("tau_b", absolute=True)(data).round(9)
    found = {}
    for feature in task.allowed:
        order = np.argsort(-similarity[feature], kind="stable").tolist()
        near = [other for other in order if similarity[feature, other] >= _ALIKE]
        near = [other for other in near if other != feature and other in task.allowed]
        found[feature] = near[:_MOST_SUBSTITUTES]
    return found
