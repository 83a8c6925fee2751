"""The procedure behind a recommendation: make candidates, evaluate them, choose one.

It runs once for each part of the queries, which is held out and then judges the choice, and once
to find the features to recommend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.recommendation.asking import Procedure, together
from ranksieve.recommendation.division import Stage, TrainingSet
from ranksieve.recommendation.pruning import pruning
from ranksieve.recommendation.rules import ALL, NONE, Candidate
from ranksieve.recommendation.searching import Search
from ranksieve.recommendation.task import Task
from ranksieve.sums.similarity import Similarity

_MOST_TRIES, _FEW_TRIES = 16, 8  # limits on the sets tried to save costs: usually, for large data
_MOST_SIZES, _STEP = 4, 1.12  # sizes tried if the chosen one is not enough; factor between them
_ALIKE = 0.5  # a feature may replace another that is at least this similar
_MOST_SUBSTITUTES = 3  # largest number for each feature

Enough = Callable[[Sequence[int]], Procedure[bool]]
"""Whether a set of features is enough on the choosing queries; False once time is up."""


class Choice(NamedTuple):
    """The candidate and the features that a stage has chosen.

    Attributes
    ----------
    candidate : Candidate
    features : tuple of int
        Chosen features in the order of the selector.
    candidates : list of Candidate
        All evaluated candidates, including all features and no features.
    values, base : array of shape (queries,) or None
        Values of the judging queries, with the chosen features and with all features.
    """

    candidate: Candidate
    features: tuple[int, ...]
    candidates: list[Candidate]
    values: np.ndarray | None
    base: np.ndarray | None


def run_stage(task: Task, stage: Stage, shows_front: bool = False) -> Procedure[Choice]:
    """Choose features on the inner folds of a stage, and judge the choice.

    Parameters
    ----------
    task : Task
    stage : Stage
    shows_front : bool
        Whether to evaluate the sizes that are fixed in advance as well, after the choice.
    """
    weights = task.division.weights([part for _, part in stage.inner])
    search = Search(task, stage.inner, weights)
    yield from search.run()
    chosen = task.rule.choose(list(search.found), search.base, weights)
    features = yield from _chosen(task, stage, chosen, search)
    values = base_values = None
    if stage.judge is not None:
        where = [(stage.final, stage.judge)]
        pair = together([task.judged(where, [features]), task.judged(where, [task.allowed])])
        values, base_values = yield from pair
    if shows_front:
        yield from search.extend(chosen)
    return Choice(chosen, tuple(features), list(search.found), values, base_values)


def _chosen(task: Task, stage: Stage, chosen: Candidate, search: Search) -> Procedure[list[int]]:
    """Select the features of the chosen candidate on all queries of the stage.

    If costs vary, exactly these features must be enough: more are added if necessary, then
    expensive ones are removed or replaced.
    """
    if chosen.selector == NONE:
        return []
    path, size = list(task.allowed), chosen.size
    if chosen.selector != ALL:
        member = next(one for one in task.members if one.name == chosen.selector)
        path = yield from task.path(member, stage.final, size)
    if not task.costs.vary or task.rule.name == "best":
        return path[:size]

    def is_enough(features: Sequence[int]) -> Procedure[bool]:
        if task.is_over():
            return False
        values = yield from task.judged(stage.inner, [features] * len(stage.inner))
        return search.is_enough(values)

    if task.rule.budget is None:
        size = yield from _large_enough(path, size, is_enough)
    return (yield from _cheaper(task, stage, path[:size], is_enough))


def _large_enough(path: list[int], size: int, is_enough: Enough) -> Procedure[int]:
    """Return the first size, from the given one up, that is enough; the given size if none is."""
    larger = size
    for _ in range(_MOST_SIZES):
        if (yield from is_enough(path[:larger])):
            return larger
        larger = min(len(path), max(larger + 1, round(_STEP * larger)))
    return size


def _cheaper(
    task: Task, stage: Stage, features: list[int], is_enough: Enough
) -> Procedure[list[int]]:
    """Remove expensive features or replace them with similar ones, while the set is enough."""
    tries = _FEW_TRIES if task.division.is_large else _MOST_TRIES
    others = _substitutes(task, stage.final)
    steps = pruning(features, task.costs, 1.0, task.include, others, tries)
    asked = next(steps)
    while True:
        value = yield from is_enough(asked)
        try:
            asked = steps.send(float(value))
        except StopIteration as end:
            return list(end.value.features)


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
