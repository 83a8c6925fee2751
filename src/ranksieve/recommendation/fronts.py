"""Compare the cost and the quality of all candidates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import isfinite

import numpy as np

from ranksieve.recommendation.answer import FrontPoint, front_of
from ranksieve.recommendation.procedure import Choice
from ranksieve.recommendation.rules import ALL, Candidate
from ranksieve.recommendation.task import Task
from ranksieve.significance import claim_chains, claim_non_inferiority
from ranksieve.significance.samples import Sample


def points_of(task: Task, chosen: Choice, level: float) -> list[FrontPoint]:
    """Return the candidates of the last stage, sorted by cost, with tests of their loss.

    Queries held out from selection and training judge them, so each size that was fixed in advance
    can be tested: from the largest size of a selector down until a test fails, at a level that is
    divided among the selectors.
    """
    if not chosen.candidates:
        return []
    stage = task.division.stages[-1]
    weights = task.division.weights([part for _, part in stage.inner])
    base = next(c.values for c in chosen.candidates if c.selector == ALL)
    shown = _shown(task, chosen.candidates, base, weights, level) if stage.judge is None else {}
    points = []
    for candidate in chosen.candidates:
        name, size, values = candidate.selector, candidate.size, candidate.values
        value = Sample.of(values, weights).mean
        claim = claim_non_inferiority(values, base, task.rule.margin, level, weights)
        change, lower = (claim.change, claim.lower) if name != ALL else (0.0, 0.0)
        change = change if isfinite(change) else 0.0  # the mean with all features is 0
        is_shown = shown.get((name, size))
        points.append(FrontPoint(name, size, candidate.cost, value, change, lower, is_shown, False))
    return front_of(points)


def _shown(
    task: Task,
    candidates: Sequence[Candidate],
    base: np.ndarray,
    weights: np.ndarray | None,
    level: float,
) -> dict[tuple[str, int], bool]:
    """Test which candidates lose less than the margin: (selector, size) -> whether shown."""
    chains = {member.name: _chain(task, candidates, member.name) for member in task.members}
    values = {name: [candidate.values for candidate in chain] for name, chain in chains.items()}
    are_whole = all(chain and chain[-1].size == task.least for chain in chains.values())
    claims = claim_chains(values, base, task.rule.margin, level, weights, pass_on=are_whole)
    shown = {(ALL, len(task.allowed)): True}
    for name, chain in chains.items():
        for candidate, claim in zip(chain, claims[name], strict=True):
            shown[name, candidate.size] = claim.shown
    return shown


def _chain(task: Task, candidates: Sequence[Candidate], selector: str) -> list[Candidate]:
    """Return a selector's candidates of fixed sizes, from the largest down to the first gap.

    Sizes that exceed the budget are skipped.
    """
    by_size = {c.size: c for c in candidates if c.selector == selector}
    sizes = task.sizes()[::-1]
    if task.rule.budget is not None:
        sizes = [size for size in sizes if size <= max(by_size, default=0)]
    known = takewhile(lambda size: size in by_size, sizes)
    return [by_size[size] for size in known]
