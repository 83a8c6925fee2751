"""Examine single features of a recommendation: loss without them, stability, near-copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ranksieve.recommendation.answer import (
    DroppedFeature,
    KeptFeature,
    Substitute,
    dropped_features,
)
from ranksieve.recommendation.asking import Procedure, together
from ranksieve.recommendation.division import TrainingSet
from ranksieve.recommendation.procedure import Choice
from ranksieve.recommendation.rules import ALL, NONE
from ranksieve.recommendation.task import Task
from ranksieve.significance.samples import Sample
from ranksieve.sums.grades import varying_features
from ranksieve.sums.similarity import Similarity

_ALIKE = 0.9  # features that are at least this similar are near-copies
_CONFIDENCE = 0.95
_FEW_FOLDS, _FEW_PAIRS = 1, 3  # limits for large data, to save time


@dataclass
class FeatureFacts:
    """Losses, selections and similarities from which the features are described.

    Attributes
    ----------
    losses : dict
        Feature -> loss without it and the ends of its interval, relative to all features.
    selections : list of sets of int
        Features selected on each half of the queries.
    similarity : array of shape (features, features)
        How similarly features order documents.
    """

    losses: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    selections: list[set[int]] = field(default_factory=list)
    similarity: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def features(
        self, task: Task, chosen: Choice, names: Sequence[str]
    ) -> tuple[list[KeptFeature], list[DroppedFeature]]:
        """Describe each kept feature, and give the reason for each dropped one."""
        whole = task.division.whole
        self.similarity = Similarity("tau_b", absolute=True)(whole)
        alike = [_similar_to(feature, self.similarity, task) for feature in range(len(names))]
        kept = [self._kept(feature, alike[feature], task) for feature in chosen.features]
        copies = {
            feature: near[0]
            for feature in task.allowed
            if (near := [other for other in alike[feature] if other.feature in chosen.features])
        }
        dropped = dropped_features(
            task.allowed,
            chosen.features,
            task.costs,
            varying_features(whole),
            copies,
            task.rule.budget,
            names,
        )
        return kept, dropped

    def _kept(self, feature: int, alike: Sequence[Substitute], task: Task) -> KeptFeature:
        facts: dict[str, Any] = {}
        if feature in self.losses:
            facts = dict(zip(("loss", "lower", "upper"), self.losses[feature], strict=True))
        if self.selections:
            cluster = {feature, *(other.feature for other in alike)}
            facts["stability"] = float(np.mean([feature in s for s in self.selections]))
            facts["cluster_stability"] = float(
                np.mean([not cluster.isdisjoint(s) for s in self.selections])
            )
        cost = float(task.costs.features[feature])
        return KeptFeature(feature, cost, substitutes=tuple(alike), **facts)


def describe_features(task: Task, chosen: Choice, n_pairs: int) -> Procedure[FeatureFacts]:
    """Leave out each chosen feature in turn, and select again on halves of the queries."""
    if task.division.is_large:
        n_pairs = min(n_pairs, _FEW_PAIRS)
    both: list[Procedure[Any]] = [_losses(task, chosen), _selections(task, chosen, n_pairs)]
    losses, selections = yield from together(both)
    return FeatureFacts(losses, selections)


def _losses(task: Task, chosen: Choice) -> Procedure[dict[int, tuple[float, float, float]]]:
    features, folds = chosen.features, task.division.judged
    if task.division.is_large:
        folds = folds[:_FEW_FOLDS]
    if chosen.candidate.selector == ALL:  # one training per feature could be far too many
        return {}
    rests = [tuple(f for f in features if f != gone) for gone in features]
    if not task.allows_none:
        rests = [rest for rest in rests if rest]
    sets = [task.allowed, features, *rests]
    base, full, *others = yield from together(
        [task.judged(folds, [subset] * len(folds)) for subset in sets]
    )
    weights = task.division.weights([part for _, part in folds])
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


def _selections(task: Task, chosen: Choice, n_pairs: int) -> Procedure[list[set[int]]]:
    """Run the winning selector on both halves of several random divisions of the queries."""
    left_out = task.division.stages[-1].final.left_out
    is_enough = len(task.division.training_queries(TrainingSet(left_out))) >= 4
    if chosen.candidate.selector in (ALL, NONE) or not is_enough:
        return []
    member = next(m for m in task.members if m.name == chosen.candidate.selector)
    halves = [TrainingSet(left_out, (number, side)) for number in range(n_pairs) for side in (0, 1)]
    size = chosen.candidate.size
    paths = yield from together([task.path(member, half, size) for half in halves])
    return [set(path[:size]) for path in paths]


def _similar_to(feature: int, similarity: np.ndarray, task: Task) -> list[Substitute]:
    """Return the near-copies of a feature, most similar first."""
    near = [
        Substitute(other, float(similarity[feature, other]), float(task.costs.features[other]))
        for other in task.allowed
        if other != feature and similarity[feature, other] >= _ALIKE
    ]
    return sorted(near, key=lambda other: (-other.similarity, other.feature))
