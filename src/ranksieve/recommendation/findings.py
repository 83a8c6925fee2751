"""What an answer reports about the choice: facts about features, the front, the evidence."""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import takewhile
from math import fsum, isfinite
from typing import Any

import numpy as np

from ranksieve.data import RankingData
from ranksieve.recommendation.answer import (
    DroppedFeature,
    FrontPoint,
    KeptFeature,
    Recommendation,
    Substitute,
    dropped_features,
    front_of,
)
from ranksieve.recommendation.cells import PlannedCell, Procedure, RecommendationLog, together
from ranksieve.recommendation.division import TrainingSet
from ranksieve.recommendation.evidence import Alone, Evidence, Likeness, Spent, StageOutcome
from ranksieve.recommendation.procedure import Choice
from ranksieve.recommendation.task import ALL, NONE, Candidate, Task
from ranksieve.significance import claim_chains, claim_non_inferiority
from ranksieve.significance.samples import Sample
from ranksieve.study.first_fold import installed_versions
from ranksieve.sums.grades import varying_features
from ranksieve.sums.importance import Importance
from ranksieve.sums.similarity import Similarity

MOST_COMPARED = 150
"""Largest number of features whose similarity is stored."""

_DIGITS = 4  # decimals of a stored similarity
_ALIKE = 0.9  # features that are at least this similar are near-copies
_CONFIDENCE = 0.95
_FEW_FOLDS, _FEW_PAIRS = 1, 3  # limits for large data, to save time


@dataclass
class FeatureFacts:
    """Losses, selections and similarities from which the features are described."""

    # Feature -> loss without it and the ends of its interval, relative to all features.
    losses: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    # Features selected on each half of the queries.
    selections: list[set[int]] = field(default_factory=list)
    # (features, features): how similarly features order documents.
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


class Effort:
    """Counts the fits of a recommendation, each once, and adds up their time."""

    def __init__(self, command: Sequence[str] = ()) -> None:
        self.command, self.started = list(command), time.monotonic()
        self._seconds: dict[str, tuple[str, float]] = {}
        self._computed: set[str] = set()

    def note(self, cells: Sequence[PlannedCell], new: Set[str], ledger: RecommendationLog) -> None:
        """Count cells of the ledger; those with keys in ``new`` were computed by this run."""
        for cell in cells:
            key, seconds = str(cell.key()), float(ledger.get(cell.key())["seconds"])
            self._seconds[key] = (cell.cell.method.name, seconds)
            if key in new:
                self._computed.add(key)

    @property
    def n_resumed(self) -> int:
        """Number of fits that an earlier run had finished."""
        return len(self._seconds) - len(self._computed)

    @property
    def spent(self) -> list[Spent]:
        """Fits and seconds by method, the longest first."""
        by_method: dict[str, list[float]] = {}
        for method, seconds in self._seconds.values():
            by_method.setdefault(method, []).append(seconds)
        spent = [Spent(name, len(times), fsum(times)) for name, times in by_method.items()]
        return sorted(spent, key=lambda item: (-item.seconds, item.method))


def gather_evidence(
    task: Task,
    choices: Sequence[Choice | None],
    similarity: np.ndarray,
    answer: Recommendation,
    effort: Effort,
) -> Evidence:
    """Gather the evidence of an answer."""
    settings = answer.settings
    alone = alone_of(task.division.whole, settings["measure"], settings["convention"])
    copies = [other.feature for kept in answer.kept for other in kept.substitutes]
    others = sorted(task.allowed, key=lambda feature: -alone.values[feature])
    return Evidence(
        outcomes=outcomes_of(task, choices),
        alone=alone,
        likeness=likeness_of(similarity, [*answer.features, *copies], others),
        spent=effort.spent,
        elapsed=time.monotonic() - effort.started,
        n_resumed=effort.n_resumed,
        versions=installed_versions(),
        command=effort.command,
    )


def outcomes_of(task: Task, choices: Sequence[Choice | None]) -> list[StageOutcome]:
    """Return the outcome for each part of the queries that judged."""
    division, outcomes = task.division, []
    for stage, choice in zip(division.stages, choices, strict=True):
        if stage.judge is None or choice is None or choice.values is None or choice.base is None:
            continue
        queries = division.whole.query_ids[division.parts[stage.judge]]
        weights = division.weights([stage.judge])
        outcomes.append(
            StageOutcome(
                stage.judge,
                choice.candidate.selector,
                choice.candidate.size,
                task.costs.total(choice.features),
                [int(feature) for feature in choice.features],
                [str(query) for query in queries.tolist()],
                choice.base.tolist(),
                choice.values.tolist(),
                None if weights is None else weights.tolist(),
            )
        )
    return outcomes


def alone_of(data: RankingData, measure: str, convention: str) -> Alone:
    """Measure how well each feature ranks alone."""
    quality = Importance(measure, convention=convention)(data)
    return Alone(np.abs(quality.values).tolist(), quality.directions.tolist())


def likeness_of(similarity: np.ndarray, first: Sequence[int], others: Sequence[int]) -> Likeness:
    """Return the similarities of the first ``MOST_COMPARED`` features, sorted by index."""
    features = sorted(list(dict.fromkeys([*first, *others]))[:MOST_COMPARED])
    values = similarity[np.ix_(features, features)].round(_DIGITS)
    return Likeness(features, [values[i, :i].tolist() for i in range(len(features))])
