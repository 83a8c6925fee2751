"""Cost against quality of all candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranksieve.recommendation.answer import FrontPoint, front_of
from ranksieve.recommendation.procedure import Choice
from ranksieve.recommendation.rules import ALL, NONE, Candidate
from ranksieve.recommendation.task import Task
from ranksieve.significance import claim_chains, claim_non_inferiority
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
    shown = _shown(task, chosen.candidates, base, weights, level) if stage.judge is None else {}
    points = []
    for one in chosen.candidates:
        value = Sample.of(one.values, weights).mean
        claim = claim_non_inferiority(one.values, base, task.rule.margin, level, weights)
        change, lower = (claim.change, claim.lower) if one.selector != ALL else (0.0, 0.0)
        is_shown = shown.get((one.selector, one.size))
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
    for one in sorted(candidates, key=lambda each: -each.size):
        if one.selector not in (ALL, NONE) and one.size in fixed:
            chains.setdefault(one.selector, []).append(one)
    values = {name: [one.values for one in chain] for name, chain in chains.items()}
    claims = claim_chains(values, base, task.rule.margin, level, weights)
    shown = {(ALL, len(task.allowed)): True}
    for name, chain in chains.items():
        for one, claim in zip(chain, claims[name], strict=True):
            shown[name, one.size] = claim.shown
    return shown
