"""How often a recommendation claims too much, on synthetic data where the truth is known.

Each run draws data, recommends features with a margin, and measures the true loss of every set that
the answer names, trained on all of the data, on a large population of queries. The margin is set
where the decision is hard: near the loss from leaving out the weakest feature.

A recommendation is false if its set is shown to lose less than the margin but truly loses more; the
offers are if one of them is. An adversary picks the set that looks best on the curve, and quotes
its bound; the last row counts runs in which the bound of any set at all is false. The naive way
takes the cheapest set that passes a test of its own on the same queries. The share of false claims
per run must not exceed the level, 5 %, except for the naive way.

With costs=random, features cost 1 to 9, and features with odd numbers share a call that costs 5
once. With ranker=lambdamart, trees are trained on random halves of the rows, so models vary. With
features=32, three noisy copies of each feature make paths vary, too.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from scipy import special

from ranksieve import FeatureCosts, RankingData, recommend
from ranksieve.metrics import evaluate
from ranksieve.rankers.registry import make_ranker
from ranksieve.recommendation import Recommendation

PARAMETERS = {
    "runs": 300, "first": 0, "queries": 60, "population": 2000, "margin": 0.02, "level": 0.95,
    "costs": "equal", "ranker": "rankrls", "features": 8,
}  # fmt: skip
TINY = {"runs": 2, "queries": 20, "population": 50, "margin": 0.1, "costs": "random"}

_WEIGHTS = np.array([1.0, 0.7, 0.5, 0.4, 0.3, 0.25, 0.0, 0.0])
_SETTINGS: dict[str, Any] = {
    "rankrls": {},
    "lambdamart": {
        "n_estimators": 20,
        "num_leaves": 5,
        "params": {"bagging_fraction": 0.5, "bagging_freq": 1, "num_threads": 1},
    },
}
_TRUTH = {"rankrls": 1, "lambdamart": 5}  # trainings whose mean is the truth


class Outcome(NamedTuple):
    """Whether a claim is made, and whether it is true."""

    shown: bool
    is_true: bool


def run(
    runs: int,
    first: int,
    queries: int,
    population: int,
    margin: float,
    level: float,
    costs: str,
    ranker: str,
    features: int,
) -> Table:
    """Run all draws, and return a table."""
    outcomes: dict[str, list[Outcome]] = {}
    for number in range(first, first + runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _one(number, queries, population, margin, level, costs, ranker, features)
        print(f"run {number}: {found}", file=sys.stderr, flush=True)
        for way, outcome in found.items():
            outcomes.setdefault(way, []).append(outcome)
    how = f"{ranker}, {features} features, margin {margin:.1%}, level {level:.0%}, {costs} costs"
    table = Table(title=f"{runs} runs, {queries} queries, {how}")
    for column in ("way", "claims shown", "of which false", "false claims per run"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for way, own in outcomes.items():
        false = sum(one.shown and not one.is_true for one in own)
        shown = sum(one.shown for one in own)
        table.add_row(way, f"{shown / runs:.1%}", str(false), f"{false / runs:.1%}")
    return table


def _one(
    number: int,
    queries: int,
    population: int,
    margin: float,
    level: float,
    costs: str,
    ranker: str,
    features: int,
) -> dict[str, Outcome]:
    data = _draw(np.random.default_rng(number), queries, "q", features)
    other = _draw(np.random.default_rng([number, 3]), queries, "c", features)
    world = _draw(np.random.default_rng([number, 1]), population, "w", features)
    answer = recommend(
        data,
        ranker,
        parameters={ranker: _SETTINGS[ranker]},
        costs=_costs(number, features) if costs == "random" else None,
        margin=margin,
        level=level,
        confirm=other,
        seed=number,
        details=False,
    )
    base = _values(ranker, data, world, range(data.n_features))

    def loss(features: Any) -> float:
        return float(1 - _values(ranker, data, world, features) / base)

    true = [loss(point.features) for point in answer.curve]
    offers = [loss(offer.point.features) < offer.margin for offer in answer.offers]
    holds = [own < -one.bound for own, one in zip(true, answer.curve, strict=True)]
    best = int(np.argmax([point.change for point in answer.curve]))
    named = loss(answer.features)
    naive = _naive(answer, margin, level)
    is_confirmed = answer.confirmed is not None and answer.confirmed.is_shown
    return {
        "the recommendation": Outcome(answer.claim.is_shown, named < margin),
        "all offers": Outcome(bool(offers), all(offers)),
        "an adversary: the best-looking set": Outcome(True, holds[best]),
        "the set, by --confirm": Outcome(is_confirmed, named < margin),
        "naive: the cheapest that passes": Outcome(
            naive is not None, naive is None or true[naive] < margin
        ),
        "any set of the curve": Outcome(True, all(holds)),
    }


def _draw(rng: np.random.Generator, n_queries: int, name: str, features: int) -> RankingData:
    lengths = rng.integers(5, 12, n_queries)
    n, n_known = int(lengths.sum()), len(_WEIGHTS)
    X = rng.normal(size=(n, n_known))
    y = np.digitize(X @ _WEIGHTS + rng.normal(size=n), [0.5, 1.5]).astype(float)
    copies = X[:, np.arange(features - n_known) % n_known]
    X = np.hstack([X, copies + 0.4 * rng.normal(size=copies.shape)])
    return RankingData(X, y, np.repeat([f"{name}{q}" for q in range(n_queries)], lengths))


def _costs(number: int, features: int) -> FeatureCosts:
    """Return the costs of the features of a run; every other feature shares a call."""
    names = [str(1 + feature) for feature in range(features)]
    drawn = np.random.default_rng([number, 2]).integers(1, 10, len(names)).tolist()
    groups = dict.fromkeys(names[::2], "call")
    return FeatureCosts(dict(zip(names, drawn, strict=True)), groups, {"call": 5.0})


def _values(ranker: str, train: RankingData, test: RankingData, features: Any) -> float:
    """Return the mean value of the test queries, over several trainings if they vary."""
    columns = sorted(features)
    scores = [np.zeros(test.n_rows)]
    if columns:
        own, rows = train.take_features(columns), test.take_features(columns)
        seeds = [{"random_state": seed} for seed in range(_TRUTH[ranker])]
        settings = [_SETTINGS[ranker] | (seed if len(seeds) > 1 else {}) for seed in seeds]
        scores = [make_ranker(ranker, **how).fit(own).predict(rows) for how in settings]
    values = [evaluate(test.y, one, test.qid, ["ndcg@10"]).per_query["NDCG@10"] for one in scores]
    return float(np.mean(values))


def _naive(answer: Recommendation, margin: float, level: float) -> int | None:
    """Return the place of the cheapest set that passes its own test."""
    z = float(special.ndtri(level))
    passing = [
        (point.cost, place)
        for place, point in enumerate(answer.curve)
        if point.change - z * point.error > -margin
    ]
    return min(passing)[1] if passing else None
