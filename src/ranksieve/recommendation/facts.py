"""What an answer says of features and candidates: losses, stability, copies, tests, evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from math import isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ranksieve.choosing import pareto_front
from ranksieve.data import RankingData
from ranksieve.data.missing import count_missing
from ranksieve.experiments import Runner, gather
from ranksieve.recommendation.answer import (
    Alone,
    DroppedFeature,
    FrontPoint,
    JudgedPart,
    KeptFeature,
    Likeness,
    Substitute,
)
from ranksieve.recommendation.nested import Choice, Stage
from ranksieve.recommendation.task import ALL, NONE, Candidate, Task
from ranksieve.significance import claim_chains, claim_non_inferiority
from ranksieve.significance.samples import Sample
from ranksieve.sums.importance import Importance
from ranksieve.sums.varying import varying_features

MOST_COMPARED = 150
"""Largest number of features whose similarity is stored."""

_DIGITS = 4  # decimals of a stored similarity
_ALIKE = 0.9  # features that are at least this similar are near-copies
_CONFIDENCE = 0.95
_FEW_FOLDS, _FEW_PAIRS = 1, 3  # limits for large data, to save time


class FeatureFacts(NamedTuple):
    """What was found out about the chosen features one by one; empty if nothing was."""

    # Feature -> loss without it and the ends of its interval, relative to all features.
    losses: Mapping[int, tuple[float, float, float]] = MappingProxyType({})
    selections: Sequence[set[int]] = ()  # features selected on each half of the queries


async def examine_features(task: Task, chosen: Choice, n_pairs: int, run: Runner) -> FeatureFacts:
    """Leave out each chosen feature in turn, and select again on halves of the queries."""
    if task.queries.is_large:
        n_pairs = min(n_pairs, _FEW_PAIRS)
    both = _losses(task, chosen, run), _selections(task, chosen, n_pairs, run)
    found: list[Any] = await gather(*both)
    return FeatureFacts(*found)


async def _losses(task: Task, chosen: Choice, run: Runner) -> dict[int, tuple[float, float, float]]:
    features, folds = chosen.features, task.queries.judged
    if task.queries.is_large:
        folds = folds[:_FEW_FOLDS]
    if chosen.candidate.selector == ALL:  # one training per feature could be far too many
        return {}
    rests = [tuple(f for f in features if f != gone) for gone in features]
    if not task.allows_none:
        rests = [rest for rest in rests if rest]
    sets = [task.allowed, features, *rests]
    base, full, *others = await gather(*(task.values(run, folds, subset) for subset in sets))
    weights = task.queries.weights([part for _, part in folds])
    with_all = Sample.of(base, weights)
    mean = with_all.mean
    if mean <= 0 or len(with_all.values) < 2 or len(others) < len(features):
        return {}
    losses = {}
    for feature, values in zip(features, others, strict=True):
        loss = Sample.of(full - values, weights)
        half = loss.half_width(_CONFIDENCE)
        losses[feature] = (loss.mean / mean, (loss.mean - half) / mean, (loss.mean + half) / mean)
    return losses


async def _selections(task: Task, chosen: Choice, n_pairs: int, run: Runner) -> list[set[int]]:
    """Run the winning selector on both halves of several random divisions of the queries."""
    queries, (selector, size, _, _) = task.queries, chosen.candidate
    if selector in (ALL, NONE) or len(queries.to_deploy.sets.train) < 4:
        return []
    sides = [(number, side) for number in range(n_pairs) for side in (0, 1)]
    halves = [queries.half(queries.to_deploy, *one) for one in sides]
    paths = await gather(*(task.path(run, selector, half, size) for half in halves))
    return [set(path[:size]) for path in paths]


def describe_features(
    task: Task, chosen: Sequence[int], facts: FeatureFacts, similarity: np.ndarray
) -> tuple[list[KeptFeature], list[DroppedFeature]]:
    """Describe each kept feature, and give the reason for each dropped one."""
    alike = [_similar_to(feature, similarity, task) for feature in range(len(task.names))]
    kept = [_describe_kept(feature, alike[feature], facts, task) for feature in chosen]
    added, spent = task.costs.marginal(chosen), task.costs.total(chosen)
    varies, budget = varying_features(task.queries.whole), task.rule.budget
    dropped = []
    for feature in task.allowed:
        if feature in chosen:
            continue
        copy = next((other for other in alike[feature] if other.feature in chosen), None)
        reason = "the features to keep are enough without it"
        if not varies[feature]:
            reason = "constant within every query"
        elif copy is not None:
            reason = f"near-copy of {task.names[copy.feature]} (similarity {copy.similarity:.2f})"
        elif budget is not None and spent + added[feature] > budget:
            reason = f"too expensive: it adds {added[feature]:.4g} to the cost"
        dropped.append(DroppedFeature(feature, float(task.costs.features[feature]), reason))
    return kept, dropped


def _describe_kept(
    feature: int, alike: Sequence[Substitute], facts: FeatureFacts, task: Task
) -> KeptFeature:
    found: dict[str, Any] = {}
    if feature in facts.losses:
        found = dict(zip(("loss", "lower", "upper"), facts.losses[feature], strict=True))
    if facts.selections:
        cluster = {feature, *(other.feature for other in alike)}
        found["stability"] = float(np.mean([feature in s for s in facts.selections]))
        found["cluster_stability"] = float(
            np.mean([not cluster.isdisjoint(s) for s in facts.selections])
        )
    cost = float(task.costs.features[feature])
    return KeptFeature(feature, cost, substitutes=tuple(alike), **found)


def _similar_to(feature: int, similarity: np.ndarray, task: Task) -> list[Substitute]:
    """Return the near-copies of a feature, most similar first."""
    near = [
        Substitute(other, float(similarity[feature, other]), float(task.costs.features[other]))
        for other in task.allowed
        if other != feature and similarity[feature, other] >= _ALIKE
    ]
    return sorted(near, key=lambda other: (-other.similarity, other.feature))


def reference_of(
    data: RankingData, features: Sequence[int], measure: str, convention: str
) -> dict[str, list[float]]:
    """Measure how well each feature ranks alone, for later comparison by :func:`check`.

    Maps a name to the mean of the measure, its standard error, the better direction, and the share
    of missing values.
    """
    if not features:
        return {}
    columns = data.take_features(list(features))
    quality = Importance(measure, convention=convention)(columns)
    errors = np.sqrt(quality.variance / max(1, data.n_queries))
    missing = count_missing(columns.X) / max(1, data.n_rows)
    parts = quality.values, errors, quality.directions, missing
    rows = zip(*(np.asarray(part, dtype=float).tolist() for part in parts), strict=True)
    names = [str(name) for name in columns.feature_names]
    return {name: list(row) for name, row in zip(names, rows, strict=True)}


def describe_candidates(task: Task, stage: Stage, chosen: Choice) -> list[FrontPoint]:
    """Return the candidates of the last stage, sorted by cost, with tests of their loss.

    Queries held out from selection and training judge them, so each size that was fixed in advance
    can be tested: from the largest size of a selector down until a test fails, at a level that is
    divided among the selectors.
    """
    if not chosen.candidates:
        return []
    weights = task.queries.weights([part for _, part in stage.folds])
    base = next(c.values for c in chosen.candidates if c.selector == ALL)
    shown = _shown(task, chosen.candidates, base, weights) if stage.judge is None else {}
    points = []
    for candidate in chosen.candidates:
        name, size, values = candidate.selector, candidate.size, candidate.values
        value = Sample.of(values, weights).mean
        claim = claim_non_inferiority(values, base, task.rule.margin, task.level, weights)
        change, lower = (claim.change, claim.lower) if name != ALL else (0.0, 0.0)
        change = change if isfinite(change) else 0.0  # the mean with all features is 0
        is_shown = shown.get((name, size))
        points.append(FrontPoint(name, size, candidate.cost, value, change, lower, is_shown))
    ordered = sorted(points, key=lambda p: (p.cost, -p.value, p.size, p.selector))
    front = set(pareto_front([p.cost for p in ordered], [p.value for p in ordered]))
    return [replace(point, is_front=i in front) for i, point in enumerate(ordered)]


def _shown(
    task: Task, candidates: Sequence[Candidate], base: np.ndarray, weights: np.ndarray | None
) -> dict[tuple[str, int], bool]:
    """Test which candidates lose less than the margin: (selector, size) -> whether shown."""
    chains = {selector: _chain(task, candidates, selector) for selector in task.selections}
    values = {name: [candidate.values for candidate in chain] for name, chain in chains.items()}
    are_whole = all(chain and chain[-1].size == task.least for chain in chains.values())
    claims = claim_chains(values, base, task.rule.margin, task.level, weights, pass_on=are_whole)
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


def describe_parts(
    task: Task, stages: Sequence[Stage], choices: Sequence[Choice | None]
) -> list[JudgedPart]:
    """Return what was chosen without each part of the queries that judged, and their values."""
    found = []
    for stage, choice in zip(stages, choices, strict=True):
        if stage.judge is None or choice is None or choice.values is None or choice.base is None:
            continue
        weights = task.queries.weights([stage.judge])
        ids = task.queries.whole.query_ids[task.queries.parts[stage.judge]]
        found.append(
            JudgedPart(
                stage.judge,
                choice.candidate.selector,
                choice.candidate.size,
                task.costs.total(choice.features),
                [int(feature) for feature in choice.features],
                [str(query) for query in ids.tolist()],
                choice.base.tolist(),
                choice.values.tolist(),
                None if weights is None else weights.tolist(),
            )
        )
    return found


def rank_alone(task: Task) -> Alone:
    """Measure how well each feature ranks all queries alone."""
    quality = Importance(task.plan.tune, convention=task.plan.convention)(task.queries.whole)
    return Alone(np.abs(quality.values).tolist(), quality.directions.tolist())


def likeness_of(similarity: np.ndarray, first: Sequence[int], others: Sequence[int]) -> Likeness:
    """Return the similarities of the first ``MOST_COMPARED`` features, sorted by index."""
    features = sorted(list(dict.fromkeys([*first, *others]))[:MOST_COMPARED])
    values = similarity[np.ix_(features, features)].round(_DIGITS)
    return Likeness(features, [values[i, :i].tolist() for i in range(len(features))])
