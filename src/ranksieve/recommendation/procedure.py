"""The procedure that a recommendation is about: make candidates, judge them, choose one.

It runs once for each part of the queries, which it does not see and which judges it then, and once
for the features to recommend.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranksieve.recommendation.asking import Procedure, together
from ranksieve.recommendation.division import Stage
from ranksieve.recommendation.pruning import pruning
from ranksieve.recommendation.rules import ALL, NONE, Candidate
from ranksieve.recommendation.searching import Search
from ranksieve.recommendation.task import Task

_MOST_REMOVALS = 8  # tried to save costs


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


def run_stage(task: Task, stage: Stage, shows_front: bool = False) -> Procedure[Choice]:
    """Choose features by the inner places, and judge them.

    Parameters
    ----------
    task : Task
    stage : Stage
    shows_front : bool
        Whether to judge the sizes that are fixed in advance, too, once the choice is made.
    """
    weights = task.division.weights([part for _, part in stage.inner])
    search = Search(task, stage.inner, weights)
    yield from search.run()
    chosen = task.rule.choose(list(search.found), search.base, weights)
    features = yield from _chosen(task, stage, chosen)
    features = yield from _cheaper(task, stage, features, search)
    values = base_values = None
    if stage.judge is not None:
        where = [(stage.final, stage.judge)]
        pair = together([task.judged(where, [features]), task.judged(where, [task.allowed])])
        values, base_values = yield from pair
    if shows_front:
        yield from search.extend(chosen)
    return Choice(chosen, tuple(features), list(search.found), values, base_values)


def _chosen(task: Task, stage: Stage, chosen: Candidate) -> Procedure[list[int]]:
    """Features of the chosen candidate, selected on all queries of the stage."""
    if chosen.selector in (ALL, NONE):
        return list(task.allowed) if chosen.selector == ALL else []
    member = next(one for one in task.members if one.name == chosen.selector)
    path = yield from task.path(member, stage.final, chosen.size)
    return path[: chosen.size]


def _cheaper(task: Task, stage: Stage, features: list[int], search: Search) -> Procedure[list[int]]:
    """Leave out what is dear while the rest is enough, the largest saving first."""
    if not task.costs.vary or task.rule.name == "best" or len(features) < 2:
        return features
    drops = pruning(features, task.costs, 1.0, task.include, _MOST_REMOVALS)
    asked = next(drops)
    while not task.is_over():
        values = yield from task.judged(stage.inner, [asked] * len(stage.inner))
        try:
            asked = drops.send(float(search.is_enough(values)))
        except StopIteration as end:
            return list(end.value.features)
    return features
