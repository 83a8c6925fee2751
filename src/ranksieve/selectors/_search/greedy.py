"""Choose features, or groups of them, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ranksieve.base import Choices


class Step(NamedTuple):
    """A step of a selection: the feature that was chosen, and its score then."""

    feature: int
    score: float


def choose_in_turn(
    choices: Choices, varies: np.ndarray, score: Callable[[list[int]], np.ndarray]
) -> list[Step]:
    """Choose groups, each the best by ``score(groups chosen so far)``, one number per group.

    Steps have places of groups, which are the features if there are no groups; ``varies`` is about
    groups, too. Those to start with come first. Ties go to the lowest place. Groups whose features
    are constant within every query come last, whatever their scores.
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


def spread_steps(steps: Iterable[Step], choices: Choices) -> list[Step]:
    """Steps of features instead of groups: those of a group come together, with its score."""
    return [Step(f, step.score) for step in steps for f in choices.features_of([step.feature])]


def best_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose the features with the largest scores; a group has the score of its best feature."""
    leaders = choices.leaders(scores, varies)
    values = scores[leaders]
    return spread_steps(choose_in_turn(choices, varies[leaders], lambda chosen: values), choices)
