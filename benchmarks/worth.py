"""What a recommendation costs, beside the cheapest features that truly are enough.

Planted data with costs: eight features of falling weight, in three groups that cost something once.
Each run recommends features and asks a large population of queries for the truth: every subset of
the features is tried to find the cheapest that loses less than the margin. Beside it, what other
orders reach within the cost of the recommendation: LightGBM's gain, elimination around the ranker,
and random orders.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.honesty import _values
from ranksieve import FeatureCosts, RankingData, limit_threads, recommend
from ranksieve.costs import AlignedCosts
from ranksieve.selectors.registry import make_selector

PARAMETERS = {
    "runs": 20,
    "queries": 150,
    "population": 600,
    "margin": 0.03,
    "selectors": "usual",  # or names, with commas
}
TINY = {"runs": 1, "queries": 15, "population": 30, "margin": 0.1, "selectors": "greedy-rankrls"}

_WEIGHTS = np.array([1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.0])
_PEERS = ("gain of trees", "elimination", "random")


def run(runs: int, queries: int, population: int, margin: float, selectors: str) -> Table:
    """Run all, and return a table."""
    how = {} if selectors == "usual" else {"selectors": selectors.split(",")}
    ratios, losses, shown = [], {name: [] for name in ("recommend", *_PEERS)}, 0
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(runs):
            data, world, costs = _draw(number, queries, population)
            answer = recommend(data, "rankrls", costs=costs, margin=margin, details=False, **how)
            aligned = costs.aligned([str(name) for name in data.feature_names])
            truth = _Truth(data, world)
            ratios.append(answer.cost / _cheapest(truth, aligned, margin))
            shown += answer.claim.is_shown
            losses["recommend"].append(truth.loss(answer.features))
            for name in _PEERS:
                chosen = _within(_order(name, data, number), aligned, answer.cost)
                losses[name].append(truth.loss(chosen))
    table = Table(title=f"{runs} runs, {queries} queries, margin {margin:.0%}")
    for column in ("way", "cost / cheapest that is enough", "true loss", "shown"):
        table.add_column(column, justify="left" if column == "way" else "right")
    middle = f"{np.median(ratios):.2f} ({np.quantile(ratios, 0.9):.2f} in 9 of 10)"
    for name, found in losses.items():
        ours = name == "recommend"
        loss = f"{np.mean(found):.2%} +- {np.std(found) / np.sqrt(runs):.2%}"
        table.add_row(
            name if ours else f"{name}, at the same cost",
            middle if ours else "",
            loss,
            f"{shown} of {runs}" if ours else "",
        )
    return table


def _draw(number: int, queries: int, population: int) -> tuple[Any, Any, FeatureCosts]:
    rng = np.random.default_rng(number)
    order = rng.permutation(len(_WEIGHTS))
    parts = []
    for n_queries, name in ((queries, "q"), (population, "w")):
        lengths = rng.integers(5, 15, n_queries)
        n = int(lengths.sum())
        Z = rng.normal(size=(n, len(_WEIGHTS)))
        y = np.digitize(Z @ _WEIGHTS + 0.5 * rng.normal(size=n), [0.5, 1.5, 2.5]).astype(float)
        ids = np.repeat([f"{name}{q}" for q in range(n_queries)], lengths)
        parts.append(RankingData(Z[:, order], y, ids))
    names = [str(name) for name in parts[0].feature_names]
    own = dict(zip(names, rng.integers(1, 10, len(names)).tolist(), strict=True))
    groups = {name: f"call {place % 3}" for place, name in enumerate(names)}
    once = {f"call {place}": int(cost) for place, cost in enumerate(rng.integers(0, 10, 3))}
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


def _cheapest(truth: _Truth, costs: AlignedCosts, margin: float) -> float:
    """Cost of the cheapest set that is enough."""
    n = truth.data.n_features
    every = [subset for k in range(n + 1) for subset in combinations(range(n), k)]
    every.sort(key=costs.total)
    return next(costs.total(own) for own in every if truth.loss(own) < margin)


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
