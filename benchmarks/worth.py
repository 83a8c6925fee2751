"""What recommended features cost, compared with the cheapest features that are truly enough.

The data is synthetic, with costs as in practice: six signals of decreasing weight, each observed
through several features, which are copies with more or less noise at different costs; some weak and
some useless features; and calls whose cost is paid once. Each run recommends features, and measures
their true loss on a large population of queries. A search that knows where the signals are, and
does not see the recommendation, finds the cheapest set that loses less than the margin there; a set
that loses more counts as infinitely expensive.

The second way is the same procedure with another path: the ranks of selectors that take costs into
account. The others are orders without any cross-fitting, cut off at the cost of the first way:
LightGBM's gain, elimination around the ranker, and random orders.

If no set is shown to be enough, all features are kept. The table counts such runs, and leaves them
out otherwise, except in the column "all runs", where they cost what all features do.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from benchmarks._planted_costs import Planted, Truth, cheapest, draw
from ranksieve import limit_threads, recommend
from ranksieve.costs import AlignedCosts
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.recommendation.task import default_selectors
from ranksieve.selectors.registry import make_selector

PARAMETERS = {
    "runs": 20, "queries": 200, "population": 2000, "margin": 0.03, "starts": 2, "first": 0,
    "ranker": "rankrls", "selectors": "",
}  # fmt: skip
TINY = {
    "runs": 1, "queries": 15, "population": 20, "margin": 0.1, "starts": 0, "selectors": "gas-e"
}  # fmt: skip

_SETTINGS: dict[str, dict[str, Any]] = {
    "rankrls": {},
    "lambdamart": {"n_estimators": 30, "num_leaves": 7},
}
_PEERS = ("gain of trees", "elimination", "random")


class Outcome(NamedTuple):
    """The set that a way chose: its cost relative to the cheapest, and its true loss.

    ``cost`` is infinite if the loss is the margin or more; ``is_shown`` says whether the set is
    claimed to lose less.
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
    ranker: str,
    selectors: str,
) -> Table:
    """Run all draws, and return a table. Without selectors, take the default ones of the ranker."""
    named = selectors.split(",") if selectors else default_selectors(RANKERS[ranker])
    found: dict[str, list[Outcome]] = {}
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + runs):
            planted = draw(number, queries, population)
            truth = Truth(planted, make_ranker(ranker, **_SETTINGS[ranker]))
            least = cheapest(planted, truth, margin, starts, number)
            for way, (own, is_shown) in _choose(planted, number, margin, ranker, named).items():
                loss = truth.loss(own)
                cost = planted.aligned.total(own) / least if loss < margin else np.inf
                outcome = Outcome(cost, loss, is_shown, len(own))
                found.setdefault(way, []).append(outcome)
                print(f"run {number}: {way} {outcome}", file=sys.stderr, flush=True)
    return _table(found, f"{runs} runs, {queries} queries, {ranker}, margin {margin:.0%}")


def _choose(
    planted: Planted, number: int, margin: float, ranker: str, selectors: list[str]
) -> dict[str, tuple[list[int], bool]]:
    """Return the set of each way, and whether it is shown or, without a claim, to be compared."""
    data, costs, sets = planted.data, planted.aligned, {}
    for way, own in (("recommended", None), (f"ranks of {', '.join(selectors)}", selectors)):
        answer = recommend(
            data,
            ranker,
            costs=planted.costs,
            margin=margin,
            selectors=own,
            parameters={ranker: _SETTINGS[ranker]},
            details=False,
        )
        sets[way] = answer.features, answer.claim.is_shown
    features, is_shown = sets["recommended"]
    orders = {
        "gain of trees": make_selector("bt-influence", data.n_features),
        "elimination": make_selector(
            "elimination", data.n_features, ranker=make_ranker(ranker, **_SETTINGS[ranker])
        ),
    }
    for way in _PEERS:
        order = (
            np.random.default_rng(number).permutation(data.n_features)
            if way == "random"
            else orders[way].fit(data).selected_
        )
        sets[way] = _within(order.tolist(), costs, costs.total(features)), is_shown
    return sets


def _within(order: list[int], costs: AlignedCosts, budget: float) -> list[int]:
    """Return features in order as long as they fit; those that do not fit are skipped."""
    chosen: list[int] = []
    for feature in order:
        if costs.total([*chosen, feature]) <= budget:
            chosen.append(feature)
    return chosen


def _table(found: dict[str, list[Outcome]], title: str) -> Table:
    table = Table(title=f"{title}; the last three at the cost of the first")
    columns = (
        "way", "shown", "cost / cheapest", "9 of 10", "all runs", "cheaper", "features",
        "true loss", "more than first", "margin or more",
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="left" if column == "way" else "right")
    first = np.array([one.loss for one in next(iter(found.values()))])
    shown_first = np.array([one.is_shown for one in next(iter(found.values()))])
    for way, outcomes in found.items():
        costs, losses, shown, sizes = (np.array(c) for c in zip(*outcomes, strict=True))
        row = [way, "" if way in _PEERS else f"{shown.sum()} of {len(shown)}"]
        if shown.any():
            more = (losses - first)[shown & shown_first]
            row += [
                f"{np.median(costs[shown]):.2f}",
                f"{np.quantile(costs[shown], 0.9, method='higher'):.2f}",
                f"{np.median(costs):.2f}",
                f"{np.sum(costs[shown] < 1 - 1e-9)}",
                f"{np.mean(sizes[shown]):.1f}",
                f"{np.mean(losses[shown]):.2%}",
                f"{np.mean(more):+.2%} +- {np.std(more) / np.sqrt(len(more)):.2%}",
                f"{np.sum(np.isinf(costs[shown]))}",
            ]
        table.add_row(*row)
    return table
