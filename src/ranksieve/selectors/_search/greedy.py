"""Choose features one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    """A step of a selection: the feature that was chosen, and its score then."""

    feature: int
    score: float


def choose_in_turn(
    k: int,
    varies: np.ndarray,
    score: Callable[[list[int]], np.ndarray],
    taken: Sequence[int] = (),
) -> list[Step]:
    """Choose ``k`` features, each the best by ``score(chosen so far)``, one number per feature.

    Features ``taken`` before are not chosen again.

    Ties go to the lowest index. Features that are constant within every query come last, whatever
    their scores.
    """
    steps: list[Step] = []
    free = ~np.isin(np.arange(len(varies)), taken)
    for _ in range(k):
        candidates = free & varies if np.any(free & varies) else free
        scores = np.where(candidates, score([step.feature for step in steps]), -np.inf)
        best = int(np.argmax(scores))
        steps.append(Step(best, float(scores[best])))
        free[best] = False
    return steps
