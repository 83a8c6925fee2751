"""What recommended features cost, compared with the cheapest features that are truly enough.

The data is synthetic, with costs as in practice: six signals of decreasing weight, each observed
through several features, which are copies with more or less noise at different costs; some weak and
some useless features; and calls whose cost is paid once. Each run recommends features, and measures
their true loss on a large population of queries. A search that knows where the signals are, and
does not see the recommendation, finds the cheapest set that loses less than the margin there; a set
that loses more counts as infinitely expensive. The table also shows what other orders achieve
within the cost of the recommendation: LightGBM's gain, elimination around the ranker, and random
orders.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from benchmarks._planted_costs import Truth, cheapest, draw
from ranksieve import RankingData, limit_threads, recommend
from ranksieve.costs import AlignedCosts
from ranksieve.rankers.registry import make_ranker
from ranksieve.recommendation.task import RULES
from ranksieve.selectors.registry import make_selector

PARAMETERS = {
    "runs": 20, "queries": 200, "population": 2000, "margin": 0.03, "starts": 2, "first": 0,
    "rules": "half-margin", "ranker": "rankrls", "selectors": "",
}  # fmt: skip
TINY = {
    "runs": 1, "queries": 15, "population": 20, "margin": 0.1, "starts": 0,
    "rules": ",".join(RULES), "selectors": "gas-e",
}  # fmt: skip

_SETTINGS = {"rankrls": {}, "lambdamart": {"n_estimators": 30, "num_leaves": 7}}
_PEERS = ("gain of trees", "elimination", "random")


class Outcome(NamedTuple):
    """The set that a method chose: its cost relative to the cheapest, its true loss, and its claim.

    ``n_features`` is its size; ``cost`` is infinite if the loss is the margin or more.
    """

    cost: float
    loss: float
    is_shown: bool
    n_features: int


def run(
    runs: int,
    queries: int,
    population: int,
    margin: float,
    starts: int,
    first: int,
    rules: str,
    ranker: str,
    selectors: str,
) -> Table:
    """Run all draws, and return a table."""
    found: dict[str, list[Outcome]] = {}
    chosen = selectors.split(",") if selectors else None
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + runs):
            task = _Task(number, queries, population, margin, ranker)
            for way, outcome in task.run(rules.split(","), chosen, starts).items():
                found.setdefault(way, []).append(outcome)
                print(f"run {number}: {way} {outcome}", file=sys.stderr, flush=True)
    return _table(found, f"{runs} runs, {queries} queries, {ranker}, margin {margin:.0%}")


def _table(found: dict[str, list[Outcome]], title: str) -> Table:
    table = Table(title=f"{title}; others at the cost of the first")
    columns = (
        "way", "cost / cheapest", "9 of 10", "cheaper", "features", "true loss", "more than first",
        "margin or more", "shown",
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="left" if column == "way" else "right")
    first = np.array([one.loss for one in next(iter(found.values()))])
    for way, outcomes in found.items():
        costs, losses, shown, sizes = (np.array(c) for c in zip(*outcomes, strict=True))
        more = losses - first
        table.add_row(
            way,
            f"{np.median(costs):.2f}",
            f"{np.quantile(costs, 0.9, method='higher'):.2f}",
            f"{np.sum(costs < 1 - 1e-9)}",
            f"{np.mean(sizes):.1f}",
            f"{np.mean(losses):.2%}",
            f"{np.mean(more):+.2%} +- {np.std(more) / np.sqrt(len(more)):.2%}",
            f"{np.mean(np.isinf(costs)):.0%}",
            f"{np.mean(shown):.0%}" if way in RULES else "",
        )
    return table


class _Task:
    """A draw, and the settings of the recommendation."""

    def __init__(
        self, number: int, queries: int, population: int, margin: float, ranker: str
    ) -> None:
        self.number, self.margin, self.ranker = number, margin, ranker
        self.planted = draw(number, queries, population)
        self.truth = Truth(self.planted, make_ranker(ranker, **_SETTINGS[ranker]))

    def run(self, rules: list[str], selectors: list[str] | None, starts: int) -> dict[str, Outcome]:
        """Return the outcome of each rule, and of what others choose at the cost of the first."""
        planted, costs, margin = self.planted, self.planted.aligned, self.margin
        sets, shown = {}, {}
        how: dict[str, Any] = {
            "costs": planted.costs,
            "margin": margin,
            "selectors": selectors,
            "parameters": {self.ranker: _SETTINGS[self.ranker]},
            "details": False,
        }
        with tempfile.TemporaryDirectory() as directory:  # rules share what they train
            for rule in rules:
                answer = recommend(planted.data, self.ranker, rule=rule, out=directory, **how)
                sets[rule], shown[rule] = answer.features, answer.claim.is_shown
        spent = costs.total(sets[rules[0]])
        for name in _PEERS:
            sets[name] = _within(self._order(name, planted.data), costs, spent)
        least = cheapest(planted, self.truth, margin, starts, self.number)
        outcomes = {}
        for way, own in sets.items():
            loss = self.truth.loss(own)
            cost = costs.total(own) / least if loss < margin else np.inf
            outcomes[way] = Outcome(cost, loss, shown.get(way, False), len(own))
        return outcomes

    def _order(self, name: str, data: RankingData) -> list[int]:
        n = data.n_features
        if name == "random":
            return np.random.default_rng(self.number).permutation(n).tolist()
        if name == "gain of trees":
            return make_selector("bt-influence", n).fit(data).selected_.tolist()
        ranker = make_ranker(self.ranker, **_SETTINGS[self.ranker])
        return make_selector("elimination", n, ranker=ranker).fit(data).selected_.tolist()


def _within(order: list[int], costs: AlignedCosts, budget: float) -> list[int]:
    """Return features in order as long as they fit; those that do not fit are skipped."""
    chosen: list[int] = []
    for feature in order:
        if costs.total([*chosen, feature]) <= budget:
            chosen.append(feature)
    return chosen
