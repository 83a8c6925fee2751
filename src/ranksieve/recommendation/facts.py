"""What an answer says of features and candidates: losses, stability, copies, tests, evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import RankingData
from ranksieve.data.missing import count_missing
from ranksieve.experiments import Runner, gather
from ranksieve.recommendation.answer import (
    Alone,
    DroppedFeature,
    KeptFeature,
    Likeness,
    Substitute,
)
from ranksieve.recommendation.task import ALL, NONE, Found, Task
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


async def examine_features(task: Task, found: Found, n_pairs: int, run: Runner) -> FeatureFacts:
    """Leave out each chosen feature in turn, and select again on halves of the queries."""
    if task.queries.is_large:
        n_pairs = min(n_pairs, _FEW_PAIRS)
    both = _losses(task, found, run), _selections(task, found, n_pairs, run)
    facts: list[Any] = await gather(*both)
    return FeatureFacts(*facts)


async def _losses(task: Task, found: Found, run: Runner) -> dict[int, tuple[float, float, float]]:
    features, folds = found.features, task.queries.judged
    if task.queries.is_large:
        folds = folds[:_FEW_FOLDS]
    if found.selector == ALL:  # one training per feature could be far too many
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


async def _selections(task: Task, found: Found, n_pairs: int, run: Runner) -> list[set[int]]:
    """Run the winning selector on both halves of several random divisions of the queries."""
    queries, selector, size = task.queries, found.selector, found.size
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


def rank_alone(task: Task) -> Alone:
    """Measure how well each feature ranks all queries alone."""
    quality = Importance(task.plan.tune, convention=task.plan.convention)(task.queries.whole)
    return Alone(np.abs(quality.values).tolist(), quality.directions.tolist())


def likeness_of(similarity: np.ndarray, first: Sequence[int], others: Sequence[int]) -> Likeness:
    """Return the similarities of the first ``MOST_COMPARED`` features, sorted by index."""
    features = sorted(list(dict.fromkeys([*first, *others]))[:MOST_COMPARED])
    values = similarity[np.ix_(features, features)].round(_DIGITS)
    return Likeness(features, [values[i, :i].tolist() for i in range(len(features))])
