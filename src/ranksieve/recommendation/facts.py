"""What an answer says of features and candidates: losses, stability, copies, tests, evidence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ranksieve.data import RankingData
from ranksieve.data.encoding import encode_categories
from ranksieve.experiments import Runner, gather
from ranksieve.metrics import parse_measure
from ranksieve.recommendation.answer import (
    DroppedFeature,
    DroppedGroup,
    KeptFeature,
    KeptGroup,
    Reference,
    Substitute,
)
from ranksieve.recommendation.evidence import Alone, Likeness
from ranksieve.recommendation.task import Task
from ranksieve.significance.samples import Sample
from ranksieve.sums.drift import describe_values
from ranksieve.sums.file_order import random_order
from ranksieve.sums.importance import Importance, importance_sums
from ranksieve.sums.varying import varying_features

MOST_COMPARED = 150
"""Largest number of features whose similarity is stored."""

_DIGITS = 4  # decimals of a stored similarity
_ALIKE = 0.9  # features that are at least this similar are near-copies
_CONFIDENCE = 0.95
_MOST_DIVISIONS = 2  # in which each kept feature is left out
# Trainings on all features that may be spent on leaving out features, and groups: usually, and for
# large data.
_WORTH, _WORTH_OF_GROUPS = (40, 2), (20, 1)

Key = TypeVar("Key", bound=Hashable)


class Loss(NamedTuple):
    """Loss without some features, relative to the mean with all, and the ends of its interval."""

    loss: float
    lower: float
    upper: float


def cells_without(task: Task, n_features: int) -> int:
    """Number of cells that leaving out features and groups awaits at most, for progress."""
    n_groups = min(n_features, len(task.groups_of(task.allowed)))
    cells = 0
    for n_sets, worth in ((n_features, _WORTH), (n_groups, _WORTH_OF_GROUPS)):
        divisions, parts = _divisions_without(task, n_sets, n_features, worth)
        cells += divisions * parts * (n_sets + 2)
    return cells


def _divisions_without(
    task: Task, n_sets: int, n_features: int, worth: tuple[float, float]
) -> tuple[int, int]:
    """Number of divisions in which each set is left out, and of their parts; 0 if too many."""
    each = (n_sets + 1) * n_features / len(task.allowed)  # trainings on all features, for one part
    most = worth[task.queries.is_large]
    parts = min(task.effort.parts, int(most / each)) if n_sets and each else 0
    if not parts:
        return 0, 0
    return min(_MOST_DIVISIONS, task.effort.divisions, max(1, int(most / (each * parts)))), parts


async def losses_without_features(
    task: Task, features: Sequence[int], run: Runner
) -> dict[int, Loss]:
    """Loss without each feature if the others stay."""
    return await _losses_without({f: {f} for f in features}, task, features, _WORTH, run)


async def losses_without_groups(
    task: Task, features: Sequence[int], run: Runner
) -> dict[str, Loss]:
    """Loss without the features of each group that is paid once, if the others stay."""
    members = {group: set(own) for group, own in task.groups_of(features).items()}
    return await _losses_without(members, task, features, _WORTH_OF_GROUPS, run)


async def _losses_without(
    left_out: Mapping[Key, set[int]],
    task: Task,
    features: Sequence[int],
    worth: tuple[float, float],
    run: Runner,
) -> dict[Key, Loss]:
    """Loss without each of some sets of features, and the ends of its confidence interval.

    It is relative to the mean with all features, and measured in divisions of the cross-fitting:
    on queries that did not train, but that helped to choose the features. Empty if that would take
    more trainings than it is worth, usually or for large data.
    """
    rests = {key: tuple(f for f in features if f not in gone) for key, gone in left_out.items()}
    if not task.allows_none:
        rests = {key: rest for key, rest in rests.items() if rest}
    divisions, parts = _divisions_without(task, len(rests), len(features), worth)
    if not parts:
        return {}
    numbers = [number * (1 + task.effort.extra) for number in range(divisions)]
    trials = [
        (number, trial) for number in numbers for trial in [*task.queries.division(number)][:parts]
    ]
    sets = [task.allowed, features, *rests.values()]
    found = await gather(
        *(task.values(run, trial, own, number) for number, trial in trials for own in sets)
    )
    n, count = task.queries.whole.n_queries, np.zeros(task.queries.whole.n_queries)
    sums = np.zeros((len(sets), n))
    for place, (_, trial) in enumerate(trials):
        (queries,) = trial.sets.judged.values()
        count[queries] += 1
        sums[:, queries] += found[place * len(sets) : (place + 1) * len(sets)]
    own = np.flatnonzero(count)
    base, full, *others = sums[:, own] / count[own]
    weights = task.weights(own)
    mean = Sample.of(base, weights).mean
    if mean <= 0 or len(own) < 2:
        return {}
    losses = {}
    for key, values in zip(rests, others, strict=True):
        loss = Sample.of(full - values, weights)
        half = loss.half_width(_CONFIDENCE)
        ends = loss.mean, loss.mean - half, loss.mean + half
        losses[key] = Loss(*(end / mean for end in ends))
    return losses


class FeatureFacts(NamedTuple):
    """What was found out about the features, and about groups of them."""

    losses: Mapping[int, Loss] = MappingProxyType({})  # without each feature
    group_losses: Mapping[str, Loss] = MappingProxyType({})  # without the features of each group
    paths: Sequence[Sequence[int]] = ()  # the sets of the recommended cost, one for each path


def describe_features(
    task: Task,
    chosen: Sequence[int],
    facts: FeatureFacts,
    similarity: np.ndarray,
    *,
    is_shown: bool,
) -> tuple[list[KeptFeature], list[DroppedFeature]]:
    """Describe each kept feature, and give the reason for each dropped one."""
    alike = [_similar_to(feature, similarity, task) for feature in range(len(task.names))]
    kept = [_describe_kept(feature, alike[feature], facts, task) for feature in chosen]
    added, spent = task.costs.marginal(chosen), task.costs.total(chosen)
    varies, budget = varying_features(task.queries.whole), task.budget
    dropped = []
    for feature in task.allowed:
        if feature in chosen:
            continue
        copy = next((other for other in alike[feature] if other.feature in chosen), None)
        reason = "the features to keep are enough without it"
        if not is_shown:
            reason = "others are worth more at this cost"
        if not varies[feature]:
            reason = "constant within every query"
        elif feature in task.copies:
            reason = f"exact copy of {task.names[task.copies[feature]]}"
        elif copy is not None:
            reason = f"near-copy of {task.names[copy.feature]} (similarity {copy.similarity:.2f})"
        elif budget is not None and spent + added[feature] > budget:
            reason = f"too expensive: it adds {task.price(added[feature])} to the cost"
        cost = float(task.costs.features[feature])
        dropped.append(DroppedFeature(feature, task.names[feature], cost, reason))
    return kept, dropped


def describe_groups(
    task: Task, chosen: Sequence[int], facts: FeatureFacts
) -> tuple[list[KeptGroup], list[DroppedGroup]]:
    """Describe each group of features that is paid once, the largest saving first."""
    kept: list[KeptGroup] = []
    dropped: list[DroppedGroup] = []
    needed = task.groups_of(chosen)
    for name, every in task.groups_of(task.allowed).items():
        own = needed.get(name, every)
        parts = name, task.named_costs.group_costs[name], own, task.costs.total(own)
        if name in needed:
            found = facts.group_losses.get(name)
            kept.append(KeptGroup(*parts, **({} if found is None else found._asdict())))
        else:
            dropped.append(DroppedGroup(*parts))
    kept.sort(key=lambda group: -group.saving)
    dropped.sort(key=lambda group: -group.saving)
    return kept, dropped


def _describe_kept(
    feature: int, alike: Sequence[Substitute], facts: FeatureFacts, task: Task
) -> KeptFeature:
    found: dict[str, Any] = {}
    if feature in facts.losses:
        found = facts.losses[feature]._asdict()
    if facts.paths:
        cluster = {feature, *(other.feature for other in alike)}
        found["stability"] = float(np.mean([feature in own for own in facts.paths]))
        found["cluster_stability"] = float(
            np.mean([not cluster.isdisjoint(own) for own in facts.paths])
        )
    cost = float(task.costs.features[feature])
    return KeptFeature(feature, task.names[feature], cost, substitutes=tuple(alike), **found)


def _similar_to(feature: int, similarity: np.ndarray, task: Task) -> list[Substitute]:
    """Return the near-copies of a feature, most similar first."""
    near = [
        Substitute(other, task.names[other], likeness, float(task.costs.features[other]))
        for other in task.allowed
        for likeness in [_likeness(feature, other, similarity, task)]
        if other != feature and likeness >= _ALIKE
    ]
    return sorted(near, key=lambda other: (-other.similarity, other.feature))


def _likeness(one: int, other: int, similarity: np.ndarray, task: Task) -> float:
    """Similarity of two features; 1 for exact copies, although queries with ties lower the mean."""
    is_copy = task.copies.get(one) == other or task.copies.get(other) == one
    return 1.0 if is_copy else float(similarity[one, other])


def references(
    data: RankingData, given: RankingData, features: Sequence[int], measure: str, convention: str
) -> dict[str, Reference]:
    """Describe each feature, by name, for later comparison by :func:`check`.

    ``given`` is the data before missing values were treated and features scaled.
    """
    if not features:
        return {}
    columns, _ = encode_categories(data.take_features(list(features)))
    quality = Importance(measure, convention=convention)(columns)
    errors = np.sqrt(quality.variance / max(1, data.n_queries)).tolist()
    own = [feature for feature in features if feature < given.n_features]  # others are indicators
    taken = given.take_features(own)
    described = describe_values(taken, np.flatnonzero(taken.categorical).tolist())
    values = dict(zip(own, described, strict=True))
    return {
        str(name): Reference(
            alone, error, direction, values.get(feature), given.categories.get(str(name), ())
        )
        for feature, name, alone, error, direction in zip(
            features,
            columns.feature_names,
            quality.values.tolist(),
            errors,
            quality.directions.tolist(),
            strict=True,
        )
    }


def rank_in_directions(
    data: RankingData,
    features: Sequence[int],
    directions: Sequence[int],
    measure: str,
    convention: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the measure by each feature alone in a given direction, and its standard error."""
    columns, _ = encode_categories(data.take_features(list(features)))
    sums = importance_sums(columns, measure, convention)
    rows, places = (1 - np.array(directions)) // 2, np.arange(len(features))
    sign = 1 if parse_measure(measure).greater_is_better else -1  # as in a Reference
    errors = np.sqrt(sums.variance[rows, places] / max(1, data.n_queries))
    return sign * sums.mean[rows, places], errors


def rank_alone(task: Task) -> Alone:
    """Measure how well each feature, and a random order, ranks all queries."""
    whole, measure, convention = task.queries.as_numbers, task.plan.tune, task.plan.convention
    quality = Importance(measure, convention=convention)(whole)
    chance = random_order(whole, measure, convention)
    return Alone(np.abs(quality.values).tolist(), quality.directions.tolist(), chance)


def likeness_of(similarity: np.ndarray, first: Sequence[int], others: Sequence[int]) -> Likeness:
    """Return the similarities of the first ``MOST_COMPARED`` features, sorted by index."""
    features = sorted(list(dict.fromkeys([*first, *others]))[:MOST_COMPARED])
    values = similarity[np.ix_(features, features)].round(_DIGITS)
    return Likeness(features, [values[i, :i].tolist() for i in range(len(features))])
