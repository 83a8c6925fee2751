"""Choose features, or groups of them, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ranksieve.base import Choices


class Step(NamedTuple):
    """A step of a selection: the chosen feature, and its score when it was chosen."""

    feature: int
    score: float


def choose_in_turn(
    choices: Choices, varies: np.ndarray, score: Callable[[list[int]], np.ndarray]
) -> list[Step]:
    """Choose groups one at a time, each the best by ``score(groups chosen so far)``.

    ``score`` returns one number per group, and ``varies`` has one entry per group. Steps have
    positions of groups, which are the features themselves if there are no groups. Included groups
    come first. Ties go to the lowest position. Groups whose features are constant within every
    query come last, whatever their scores.
    """
    steps: list[Step] = []
    free = np.ones(len(varies), dtype=bool)
    for number in range(len(varies)):
        chosen = [step.feature for step in steps]
        if choices.is_full(chosen):
            break
        scores = score(chosen)
        if number < len(choices.start):
            best = choices.start[number]
        else:
            candidates = free & varies if np.any(free & varies) else free
            best = int(np.argmax(np.where(candidates, scores, -np.inf)))
        steps.append(Step(best, float(scores[best])))
        free[best] = False
    taken = choices.take([step.feature for step in steps])
    return steps[: len(taken)]


def scored_steps(features: Iterable[int], scores: np.ndarray) -> list[Step]:
    """Steps that choose these features, or groups, in this order."""
    return [Step(feature, float(scores[feature])) for feature in features]


def spread_steps(steps: Iterable[Step], choices: Choices) -> list[Step]:
    """Replace steps of groups by steps of their features, each with the score of its group."""
    return [Step(f, step.score) for step in steps for f in choices.features_of([step.feature])]


def best_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose the features with the largest scores; a group has the score of its best feature."""
    leaders = choices.leaders(scores, varies)
    return _largest_first(choices, varies[leaders], scores[leaders])


def best_sum_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose the features with the largest scores; a group has the sum over its features."""
    return _largest_first(choices, choices.any_of(varies), choices.total(scores))


def _largest_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose groups by their scores, which do not depend on the groups chosen before."""
    return spread_steps(choose_in_turn(choices, varies, lambda chosen: scores), choices)
