"""Cost against quality of all candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranksieve.recommendation.answer import FrontPoint, front_of
from ranksieve.recommendation.procedure import ALL, NONE, Candidate, Choice, Task
from ranksieve.significance import non_inferiority
from ranksieve.significance.samples import Sample


def points_of(task: Task, chosen: Choice, level: float) -> list[FrontPoint]:
    """The candidates of the last stage, by cost.

    What they were selected and trained without judges them, so that each size of a selector that
    was fixed in advance can be tested: from the largest size down until one fails, at a level that
    is divided between the selectors.
    """
    stage = task.division.stages[-1]
    weights = task.division.weights([part for _, part in stage.inner])
    base = next(one.values for one in chosen.candidates if one.selector == ALL)
    mean = Sample.of(base, weights).mean
    shown = _shown(task, chosen.candidates, base, weights, level) if stage.judge is None else {}
    points = []
    for one in chosen.candidates:
        value = Sample.of(one.values, weights).mean
        lower = change = 0.0
        if one.selector != ALL:
            change, lower = value - mean, -np.inf
            if mean > 0:
                tested = non_inferiority(one.values, base, task.rule.margin, True, level, weights)
                change, lower = tested.change, tested.lower
        is_shown = shown.get((one.selector, one.size), None if stage.judge else False)
        points.append(
            FrontPoint(one.selector, one.size, one.cost, value, change, lower, is_shown, False)
        )
    return front_of(points)


def _shown(
    task: Task,
    candidates: Sequence[Candidate],
    base: np.ndarray,
    weights: np.ndarray | None,
    level: float,
) -> dict[tuple[str, int], bool]:
    """Which candidates are shown to lose less than the margin."""
    fixed = set(task.sizes())
    chains: dict[str, list[Candidate]] = {}
    for one in candidates:
        if one.selector not in (ALL, NONE) and one.size in fixed:
            chains.setdefault(one.selector, []).append(one)
    shown = {(ALL, len(task.allowed)): True}
    if Sample.of(base, weights).mean <= 0:
        return shown
    own_level = 1 - (1 - level) / max(1, len(chains))
    for chain in chains.values():
        for one in sorted(chain, key=lambda each: -each.size):
            margin = task.rule.margin
            tested = non_inferiority(one.values, base, margin, True, own_level, weights)
            if not tested.non_inferior:
                break
            shown[one.selector, one.size] = True
    return shown
