"""What a recommendation costs, beside the cheapest features that truly are enough.

Planted data with costs, as in practice: six signals of falling weight, each seen through several
features that are copies with more or less noise at different costs, some weak features and some
without any use, in calls that cost something once. Each run recommends features and asks a large
population of queries for the truth. The cheapest set that loses less than the margin there is
looked for by dropping, adding and exchanging features from many starts; the best one counts, also
if it is the recommendation. Beside it, what other orders reach within the cost of the
recommendation: LightGBM's gain, elimination around the ranker, and random orders.
"""

from __future__ import annotations

import tempfile
import warnings
from itertools import combinations
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.honesty import _values
from ranksieve import FeatureCosts, RankingData, limit_threads, recommend
from ranksieve.costs import AlignedCosts
from ranksieve.recommendation.rules import RULES
from ranksieve.selectors.registry import make_selector

PARAMETERS = {
    "runs": 20, "queries": 200, "population": 500, "margin": 0.03, "starts": 6, "first": 0,
    "rules": "half-margin",
}  # fmt: skip
TINY = {
    "runs": 1, "queries": 15, "population": 20, "margin": 0.1, "starts": 1, "first": 0,
    "rules": ",".join(RULES),
}  # fmt: skip

_WEIGHTS = np.array([1.0, 0.8, 0.6, 0.5, 0.4, 0.3])
_COPIES = [(0.0, 0.3, 0.6), (0.2, 0.5), (0.0, 0.3, 0.8), (0.1, 0.3), (0.0, 0.4), (0.2,)]
_WEAK, _USELESS = 4, 7  # features; a weak one has a signal of its own
_WEAKNESS = 0.08
_CALLS = 6
_PEERS = ("gain of trees", "elimination", "random")


def run(
    runs: int, queries: int, population: int, margin: float, starts: int, first: int, rules: str
) -> Table:
    """Run all, and return a table."""
    ways = [*rules.split(","), *_PEERS]
    found: dict[str, list[tuple[float, float, bool]]] = {way: [] for way in ways}
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + runs):
            for way, outcome in _one(
                number, queries, population, margin, starts, rules.split(",")
            ).items():
                found[way].append(outcome)
    title = f"{runs} runs, {queries} queries, margin {margin:.0%}; peers at the cost of the first"
    table = Table(title=title)
    columns = ("way", "cost / cheapest", "9 of 10", "true loss", "margin or more", "shown")
    for column in columns:
        table.add_column(column, justify="left" if column == "way" else "right")
    for way, outcomes in found.items():
        ratios, losses, shown = (np.array(column) for column in zip(*outcomes, strict=True))
        spread = np.std(losses) / np.sqrt(runs)
        table.add_row(
            way,
            f"{np.median(ratios):.2f}",
            f"{np.quantile(ratios, 0.9):.2f}",
            f"{np.mean(losses):.2%} +- {spread:.2%}",
            f"{np.mean(losses >= margin):.0%}",
            f"{np.mean(shown):.0%}" if way in RULES else "",
        )
    return table


def _one(
    number: int, queries: int, population: int, margin: float, starts: int, rules: list[str]
) -> dict[str, tuple[float, float, bool]]:
    """Relative cost, true loss and whether the claim is shown, of each way."""
    data, world, costs = _draw(number, queries, population)
    aligned = costs.aligned([str(name) for name in data.feature_names])
    truth = _Truth(data, world)
    sets, shown = {}, {}
    with tempfile.TemporaryDirectory() as directory:  # rules share what they train
        for rule in rules:
            how: dict[str, Any] = {"rule": rule, "margin": margin, "details": False}
            answer = recommend(data, "rankrls", costs=costs, out=directory, **how)
            sets[rule], shown[rule] = list(answer.features), answer.claim.is_shown
    spent = aligned.total(sets[rules[0]])
    for name in _PEERS:
        sets[name] = _within(_order(name, data, number), aligned, spent)
    rng = np.random.default_rng([number, 1])
    cheapest = _cheapest(truth, aligned, margin, list(sets.values()), starts, rng)
    return {
        way: (aligned.total(own) / cheapest, truth.loss(own), shown.get(way, False))
        for way, own in sets.items()
    }


def _draw(number: int, queries: int, population: int) -> tuple[Any, Any, FeatureCosts]:
    rng = np.random.default_rng(number)
    n_features = sum(map(len, _COPIES)) + _WEAK + _USELESS
    order = rng.permutation(n_features)
    parts = []
    for n_queries, name in ((queries, "q"), (population, "w")):
        lengths = rng.integers(5, 15, n_queries)
        n = int(lengths.sum())
        signals = rng.normal(size=(n, len(_WEIGHTS)))
        weak = rng.normal(size=(n, _WEAK))
        utility = signals @ _WEIGHTS + _WEAKNESS * weak.sum(axis=1) + 0.5 * rng.normal(size=n)
        y = np.digitize(utility, [0.5, 1.5, 2.5]).astype(float)
        copies = [
            signals[:, signal] + noise * rng.normal(size=n)
            for signal, noises in enumerate(_COPIES)
            for noise in noises
        ]
        X = np.column_stack([*copies, weak, rng.normal(size=(n, _USELESS))])
        ids = np.repeat([f"{name}{q}" for q in range(n_queries)], lengths)
        parts.append(RankingData(X[:, order], y, ids))
    names = [str(name) for name in parts[0].feature_names]
    own = dict(zip(names, rng.integers(1, 11, n_features).tolist(), strict=True))
    groups = {name: f"call {place % _CALLS}" for place, name in enumerate(names)}
    once = {f"call {n}": int(cost) for n, cost in enumerate(rng.integers(0, 12, _CALLS))}
    return parts[0], parts[1], FeatureCosts(own, groups, once)


class _Truth:
    """What sets of features lose in the population, if the ranker is trained on the data."""

    def __init__(self, data: RankingData, world: RankingData) -> None:
        self.data, self.world = data, world
        self.base = _values(data, world, range(data.n_features)).mean()
        self.known: dict[tuple[int, ...], float] = {}

    def loss(self, features: Any) -> float:
        key = tuple(sorted(int(feature) for feature in features))
        if key not in self.known:
            self.known[key] = float(1 - _values(self.data, self.world, key).mean() / self.base)
        return self.known[key]


def _cheapest(
    truth: _Truth,
    costs: AlignedCosts,
    margin: float,
    sets: list[list[int]],
    starts: int,
    rng: np.random.Generator,
) -> float:
    """Cost of the cheapest set that is found to be enough."""
    every = range(truth.data.n_features)
    best = [_descend(truth, costs, margin, set(own)) for own in sets if truth.loss(own) < margin]
    best += [_descend(truth, costs, margin, set(every), rng) for _ in range(starts)]
    return min(costs.total(own) for own in best)


def _descend(
    truth: _Truth,
    costs: AlignedCosts,
    margin: float,
    current: set[int],
    rng: np.random.Generator | None = None,
) -> set[int]:
    """Drop a feature, or exchange one or two for another, while that saves and is enough.

    The largest saving comes first; with a generator, savings are weighed at random.
    """
    every, n_gone = set(range(truth.data.n_features)), 1
    while n_gone <= 2:
        cost = costs.total(current)
        news = [set(), *({one} for one in sorted(every - current))]
        parts = combinations(sorted(current), n_gone)
        steps = [current.difference(part) | new for part in parts for new in news]
        savings = np.array([cost - costs.total(step) for step in steps])
        weight = 1.0 if rng is None else rng.uniform(0.3, 1.0, len(steps))
        order = np.argsort(-savings * weight, kind="stable")
        able = (steps[place] for place in order if savings[place] > 1e-9)
        found = next((step for step in able if step and truth.loss(step) < margin), None)
        current, n_gone = (current, n_gone + 1) if found is None else (found, 1)
    return current


def _order(name: str, data: RankingData, seed: int) -> list[int]:
    n = data.n_features
    if name == "random":
        return np.random.default_rng(seed).permutation(n).tolist()
    selector = make_selector("bt-influence" if name == "gain of trees" else "elimination", n)
    return selector.fit(data).selected_.tolist()


def _within(order: list[int], costs: AlignedCosts, budget: float) -> list[int]:
    """Features in order as long as they fit; those that do not fit are passed over."""
    chosen: list[int] = []
    for feature in order:
        if costs.total([*chosen, feature]) <= budget:
            chosen.append(feature)
    return chosen
