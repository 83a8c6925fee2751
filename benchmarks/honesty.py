"""How often a recommendation claims too much, on synthetic data where the truth is known.

Each run draws data, recommends features with a margin, and measures the true loss of the chosen
features on a large population of queries. The claim about the procedure is false if it is shown
although the mean true loss of its outcomes is the margin or more. The naive claim, about the best
of all candidates tested on the queries that chose it, is false if it is shown although that set
truly loses the margin or more; so is the claim of --confirm, which other queries test. The share of
false claims must not exceed the level, 5 %. The margin is set where the decision is hard: near the
loss from leaving out the weakest feature. With costs=random, features cost 1 to 9, features with
odd numbers share a call that costs 5 once, and the recommended features are pruned and exchanged by
cost.
"""

from __future__ import annotations

import tempfile
import warnings
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from ranksieve import FeatureCosts, RankingData, recommend
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankRLS
from ranksieve.recommendation import FrontPoint, Recommendation
from ranksieve.selectors.registry import make_selector

PARAMETERS = {
    "runs": 300,
    "queries": 60,
    "population": 1500,
    "margin": 0.02,
    "level": 0.95,
    "costs": "equal",
}
TINY = {"runs": 2, "queries": 20, "population": 50, "margin": 0.1, "costs": "random"}

_WEIGHTS = np.array([1.0, 0.7, 0.5, 0.4, 0.3, 0.25, 0.0, 0.0])
_SELECTORS = ["greedy-rankrls", "gas-e", "top", "ig"]


class Outcome(NamedTuple):
    """Whether each claim is made, and whether it is true."""

    shown: bool
    is_true: bool


def run(runs: int, queries: int, population: int, margin: float, level: float, costs: str) -> Table:
    """Run all draws, and return a table."""
    outcomes: dict[str, list[Outcome]] = {}
    for number in range(runs):
        for way, outcome in _one(number, queries, population, margin, level, costs).items():
            outcomes.setdefault(way, []).append(outcome)
    how = f"margin {margin:.1%}, level {level:.0%}, {costs} costs"
    table = Table(title=f"{runs} runs, {queries} queries, {how}")
    for column in ("way", "claims shown", "of which false", "false claims per run"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for way, found in outcomes.items():
        false = sum(one.shown and not one.is_true for one in found)
        shown = sum(one.shown for one in found)
        table.add_row(way, f"{shown / runs:.1%}", str(false), f"{false / runs:.1%}")
    return table


def _one(
    number: int, queries: int, population: int, margin: float, level: float, costs: str
) -> dict[str, Outcome]:
    rng = np.random.default_rng(number)
    data, other = _draw(rng, queries, "q"), _draw(rng, queries, "c")
    world = _draw(np.random.default_rng([number, 1]), population, "w")
    own = _costs(number) if costs == "random" else None
    with tempfile.TemporaryDirectory(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how: dict[str, Any] = {"selectors": _SELECTORS, "margin": margin, "level": level}
        how |= {"costs": own, "details": False}
        answer = recommend(data, "rankrls", confirm=other, seed=number, **how)
    assert answer.evidence is not None
    losses = []
    for part in answer.evidence.outcomes:
        train = data.take_queries(np.flatnonzero(~np.isin(data.query_ids, part.queries)))
        losses.append(_true_loss(train, world, part.features))
    named = _true_loss(data, world, answer.features)
    naive = _naive(answer, margin)
    holds = naive is None or _true_loss(data, world, _again(data, naive, own)) < margin
    assert answer.confirmed is not None
    return {
        "the procedure": Outcome(answer.claim.is_shown, float(np.mean(losses)) < margin),
        "the set, by --confirm": Outcome(answer.confirmed.is_shown, named < margin),
        "naive: the cheapest, tested where chosen": Outcome(naive is not None, holds),
    }


def _draw(rng: np.random.Generator, n_queries: int, name: str) -> RankingData:
    lengths = rng.integers(5, 12, n_queries)
    n = int(lengths.sum())
    X = rng.normal(size=(n, len(_WEIGHTS)))
    y = np.digitize(X @ _WEIGHTS + rng.normal(size=n), [0.5, 1.5]).astype(float)
    return RankingData(X, y, np.repeat([f"{name}{q}" for q in range(n_queries)], lengths))


def _costs(number: int) -> FeatureCosts:
    """Return the costs of the features of a run; every other feature shares a call."""
    names = [str(1 + feature) for feature in range(len(_WEIGHTS))]
    drawn = np.random.default_rng([number, 2]).integers(1, 10, len(names)).tolist()
    groups = dict.fromkeys(names[::2], "call")
    return FeatureCosts(dict(zip(names, drawn, strict=True)), groups, {"call": 5.0})


def _values(train: RankingData, test: RankingData, features: Any) -> np.ndarray:
    columns, scores = sorted(features), np.zeros(test.n_rows)
    if columns:
        scores = RankRLS().fit(train.take_features(columns)).predict(test.take_features(columns))
    return evaluate(test.y, scores, test.qid, ["ndcg@10"]).per_query["NDCG@10"]


def _true_loss(train: RankingData, world: RankingData, features: Any) -> float:
    base = _values(train, world, range(train.n_features)).mean()
    return float(1 - _values(train, world, features).mean() / base)


def _naive(answer: Recommendation, margin: float) -> FrontPoint | None:
    """Return the cheapest candidate that passes a test on the queries that chose it."""
    shown = [point for point in answer.selected_points if point.lower > -margin]
    return min(shown, key=lambda point: (point.cost, -point.value), default=None)


def _again(data: RankingData, candidate: FrontPoint, costs: FeatureCosts | None) -> Any:
    """Return the features of a candidate, selected on all queries."""
    name, by_cost, _ = candidate.selector.partition(", by cost")
    parameters = {"costs": costs} if by_cost else {}
    selector = make_selector(name, data.n_features, **parameters).fit(data)
    return selector.selected_[: candidate.size]
