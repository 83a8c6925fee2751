"""A recommendation on MQ2008, beside what other methods choose at the same size.

Each fold tests what was chosen without it: by ``recommend``, and the same number of features by
LightGBM's gain (``bt-influence``), by elimination around the ranker, and at random. All are trained
and tested in the same way, with the verdicts of ``recommend``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.harness import mq2008_parts
from ranksieve import limit_threads, read_letor, recommend
from ranksieve.data.joining import concatenate
from ranksieve.metrics import evaluate
from ranksieve.rankers.registry import make_ranker
from ranksieve.recommendation.answer import JudgedPart
from ranksieve.recommendation.claim import Claim, percent
from ranksieve.selectors.registry import make_selector

PARAMETERS = {
    "ranker": "lambdamart",
    "margin": 0.02,
    "rule": "half-margin",
    "draws": 5,
    "selectors": "",
}
TINY = {"ranker": "rankrls", "margin": 0.1, "draws": 1, "selectors": "top"}


def run(ranker: str, margin: float, rule: str, draws: int, selectors: str) -> Table:
    """Run all methods, and return a table."""
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = mq2008_parts()[0].parent
        how: dict[str, Any] = {"margin": margin, "rule": rule, "details": False}
        how["selectors"] = selectors.split(",") if selectors else None
        answer = recommend(folder, ranker, **how)
        whole = concatenate([read_letor(path) for path in mq2008_parts()])
        found = {"recommend": answer.claim}
        for name in ("gain of trees", "elimination", "random"):
            found[name] = _claim(
                name, answer.evidence.outcomes, whole, make_ranker(ranker), margin, draws
            )
    names = ", ".join(answer.names)
    table = Table(title=f"MQ2008, {ranker}: {len(answer.features)} features ({names})")
    for column in ("way", "features", "NDCG@10", "change", "interval", f"less than {margin:.0%}"):
        table.add_column(column, justify="left" if column == "way" else "right")
    sizes = ", ".join(str(len(one.features)) for one in answer.evidence.outcomes)
    for way, claim in found.items():
        table.add_row(
            way,
            sizes,
            f"{claim.with_chosen:.4f}",
            percent(claim.change, sign=True),
            f"{percent(claim.lower, sign=True)} to {percent(claim.upper, sign=True)}",
            "shown" if claim.is_shown else "not shown",
        )
    return table


def _claim(
    name: str, outcomes: list[JudgedPart], whole: Any, ranker: Any, margin: float, draws: int
) -> Claim:
    """Return the claim about a method; values of random orders are means over several draws."""
    values, base = [], []
    for fold, outcome in enumerate(outcomes):
        judges = np.isin(whole.query_ids.astype(str), outcome.queries)
        train, test = (whole.take_queries(np.flatnonzero(own)) for own in (~judges, judges))
        orders = [_order(name, train, ranker, [fold, draw]) for draw in range(draws)]
        orders = orders if name == "random" else orders[:1]
        drawn = []
        for order in orders:
            drawn.append(_values(train, test, ranker, sorted(order[: len(outcome.features)])))
        values.append(np.mean(drawn, axis=0))
        place = {query: number for number, query in enumerate(outcome.queries)}
        order = [place[query] for query in test.query_ids.astype(str)]
        base.append(np.asarray(outcome.with_all)[order])
    return Claim.test(
        np.concatenate(values), np.concatenate(base), None, "procedure", "NDCG@10", margin, 0.95
    )


def _values(train: Any, test: Any, ranker: Any, columns: list[int]) -> np.ndarray:
    """Return values of queries; without any feature, all documents have the same score."""
    scores = np.zeros(test.n_rows)
    if columns:
        scores = ranker.fit(train.take_features(columns)).predict(test.take_features(columns))
    return evaluate(test.y, scores, test.qid, ["ndcg@10"]).per_query["NDCG@10"]


def _order(name: str, data: Any, ranker: Any, seed: list[int]) -> list[int]:
    if name == "random":
        return np.random.default_rng(seed).permutation(data.n_features).tolist()
    if name == "gain of trees":
        return make_selector("bt-influence", data.n_features).fit(data).selected_.tolist()
    how: dict[str, Any] = {"ranker": ranker, "importance": "gain", "step": 0.1}
    return make_selector("elimination", data.n_features, **how).fit(data).selected_.tolist()
