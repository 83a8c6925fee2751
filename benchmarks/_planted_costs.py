"""Synthetic data with costs, the true loss of features, and the cheapest sets with a small loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ranksieve import FeatureCosts, RankingData
from ranksieve.costs import AlignedCosts
from ranksieve.metrics import get_convention, parse_measure
from ranksieve.metrics.ranking import Ranking
from ranksieve.rankers import RankRLS
from ranksieve.rankers.base import Ranker
from ranksieve.solvers.rankrls.ridge import decompose
from ranksieve.sums.gram import centered_gram

_WEIGHTS = np.array([1.0, 0.8, 0.6, 0.5, 0.4, 0.3])
_COPIES = [(0.0, 0.3, 0.6), (0.2, 0.5), (0.0, 0.3, 0.8), (0.1, 0.3), (0.0, 0.4), (0.2,)]
_WEAK, _USELESS = 4, 7  # features; a weak one has a signal of its own
_WEAKNESS = 0.08
_CALLS = 6
_SMALL = 1e-3  # noise of an exact copy, which must not be zero
_TRIES = 200  # sets that promise most, among those that cost less than the best so far


class Planted(NamedTuple):
    """Data with costs, a population of other queries, and where the signals are.

    ``sources`` has the weight of each signal, and the features that show it, with their noise.
    """

    data: RankingData
    world: RankingData
    costs: FeatureCosts
    sources: list[tuple[float, list[tuple[int, float]]]]

    @property
    def aligned(self) -> AlignedCosts:
        return self.costs.aligned([str(name) for name in self.data.feature_names])


def draw(number: int, queries: int, population: int) -> Planted:
    """Draw signals of decreasing weight, observed through copies with more or less noise."""
    n_copies = sum(map(len, _COPIES))
    n_features = n_copies + _WEAK + _USELESS
    rng = np.random.default_rng([number, 0])
    place = rng.permutation(n_features)  # of each feature, in the order of its making
    own = rng.integers(1, 11, n_features).tolist()
    calls = rng.integers(0, 12, _CALLS).tolist()
    data, world = (
        _rows(np.random.default_rng([number, 1 + part]), n, name, place)
        for part, (n, name) in enumerate(((queries, "q"), (population, "w")))
    )
    names = [str(name) for name in data.feature_names]
    groups = {name: f"call {feature % _CALLS}" for feature, name in enumerate(names)}
    once = {f"call {call}": cost for call, cost in enumerate(calls)}
    costs = FeatureCosts(dict(zip(names, own, strict=True)), groups, once)
    places = iter(place.tolist())
    sources = [
        (float(weight), [(next(places), max(noise, _SMALL)) for noise in noises])
        for weight, noises in zip(_WEIGHTS, _COPIES, strict=True)
    ]
    sources += [(_WEAKNESS, [(next(places), _SMALL)]) for _ in range(_WEAK)]
    return Planted(data, world, costs, sources)


def _rows(rng: np.random.Generator, n_queries: int, name: str, place: np.ndarray) -> RankingData:
    lengths = rng.integers(5, 15, n_queries)
    n = int(lengths.sum())
    signals, weak = rng.normal(size=(n, len(_WEIGHTS))), rng.normal(size=(n, _WEAK))
    utility = signals @ _WEIGHTS + _WEAKNESS * weak.sum(axis=1) + 0.5 * rng.normal(size=n)
    copies = [
        signals[:, signal] + noise * rng.normal(size=n)
        for signal, noises in enumerate(_COPIES)
        for noise in noises
    ]
    X = np.empty((n, len(place)))
    X[:, place] = np.column_stack([*copies, weak, rng.normal(size=(n, _USELESS))])
    y = np.digitize(utility, [0.5, 1.5, 2.5]).astype(float)
    return RankingData(X, y, np.repeat([f"{name}{query}" for query in range(n_queries)], lengths))


class Truth:
    """The true loss of sets of features: in the population, with the ranker trained on the data.

    RankRLS needs only the products of all features, which are added up once.
    """

    def __init__(self, planted: Planted, ranker: Ranker, measure: str = "ndcg@10") -> None:
        self.data, self.world, self.ranker = planted.data, planted.world, ranker
        convention = get_convention("standard")
        self._averages_ties = convention.averages_ties
        self._measure = parse_measure(measure).prepare(
            self.world.y, self.world.query_ptr, convention
        )
        self._products = centered_gram(self.data) if type(ranker) is RankRLS else None
        self._known: dict[tuple[int, ...], float] = {}
        self.base = self.mean(range(self.data.n_features))

    def loss(self, features: Iterable[int]) -> float:
        """Return the loss of the measure, relative to all features."""
        return 1 - self.mean(features) / self.base

    def mean(self, features: Iterable[int]) -> float:
        """Return the mean of the measure over the population."""
        key = tuple(sorted(int(feature) for feature in features))
        if key not in self._known:
            scores = self._scores(list(key)) if key else np.zeros(self.world.n_rows)
            ranking = Ranking.of(scores, self.world.query_ptr, average_ties=self._averages_ties)
            self._known[key] = float(self._measure.per_query(ranking).mean())
        return self._known[key]

    def _scores(self, columns: list[int]) -> np.ndarray:
        if self._products is None:
            ranker: Any = self.ranker.fit(self.data.take_features(columns))
            return ranker.predict(self.world.take_features(columns))
        xx, xy, _ = self._products
        lams = np.array([self.ranker.lam])
        return (
            self.world.X[:, columns]
            @ decompose(xx[np.ix_(columns, columns)], xy[columns]).models(lams).coefs[0]
        )


def cheapest(planted: Planted, truth: Truth, margin: float, starts: int, seed: int) -> float:
    """Return the cost of the cheapest set found whose loss is less than the margin.

    The search knows the truth. Signals are independent, so a formula gives the share of the utility
    that a set explains. Of all sets of features that show a signal, the search first evaluates
    those that explain most at their cost, and then those that explain most among the sets that are
    cheaper than the best one so far. The best set, and sets left by dropping features at random,
    are then improved by dropping features and by exchanging one or two features for another one.
    """
    costs = planted.aligned
    useful, explained, totals = _all_sets(planted)
    bits = np.arange(len(useful))

    def members(number: int) -> set[int]:
        return {feature for feature, bit in zip(useful, bits, strict=True) if number >> bit & 1}

    by_cost = np.lexsort((-explained, totals))
    most = np.maximum.accumulate(explained[by_cost])
    front = by_cost[np.append(True, most[1:] > most[:-1])]
    best = set(range(truth.data.n_features))
    tried = set()
    while True:
        enough = next((own for own in front if truth.loss(members(own)) < margin), None)
        if enough is not None and totals[enough] < costs.total(best) - 1e-9:
            best = members(enough)
        tried.update(front.tolist())
        cheaper = np.flatnonzero(totals < costs.total(best) - 1e-9)
        promising = cheaper[np.argsort(-explained[cheaper], kind="stable")][:_TRIES]
        front = np.array([own for own in promising.tolist() if own not in tried], dtype=int)
        front = front[np.argsort(totals[front], kind="stable")]
        if not len(front):
            break
    rng = np.random.default_rng([seed, 9])
    every = set(range(truth.data.n_features))
    found = [_descend(truth, costs, margin, best)]
    found += [_descend(truth, costs, margin, every, rng) for _ in range(starts)]
    return min(costs.total(own) for own in found)


def _all_sets(planted: Planted) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return the features that show a signal, and what each set of them explains and costs."""
    costs = planted.aligned
    useful = [feature for _, shown in planted.sources for feature, _ in shown]
    bit = {feature: place for place, feature in enumerate(useful)}
    sets = np.arange(2 ** len(useful))
    explained, totals = np.zeros((2, len(sets)))
    for weight, shown in planted.sources:
        precision = sum(((sets >> bit[feature]) & 1) / noise**2 for feature, noise in shown)
        explained += weight**2 * precision / (1 + precision)
    for feature in useful:
        totals += costs.features[feature] * ((sets >> bit[feature]) & 1)
    for group, cost in enumerate(costs.groups):
        touched = sum(1 << bit[f] for f in useful if costs.group_of[f] == group)
        totals += cost * ((sets & touched) > 0)
    return useful, explained, totals


def _descend(
    truth: Truth,
    costs: AlignedCosts,
    margin: float,
    start: set[int],
    rng: np.random.Generator | None = None,
) -> set[int]:
    """Drop a feature, or exchange one or two for another, while that is cheaper and still enough.

    The change that saves most comes first; with a generator, savings have random weights.
    """
    every, n_gone, current = set(range(truth.data.n_features)), 1, start
    while n_gone <= 2:
        cost = costs.total(current)
        news: Sequence[set[int]] = [set(), *({one} for one in sorted(every - current))]
        parts = combinations(sorted(current), n_gone)
        steps = [current.difference(part) | new for part in parts for new in news]
        savings = np.array([cost - costs.total(step) for step in steps])
        weight = 1.0 if rng is None else rng.uniform(0.3, 1.0, len(steps))
        order = np.argsort(-savings * weight, kind="stable")
        able = (steps[place] for place in order if savings[place] > 1e-9)
        found = next((step for step in able if step and truth.loss(step) < margin), None)
        current, n_gone = (current, n_gone + 1) if found is None else (found, 1)
    return current
