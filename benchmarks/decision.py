"""The decision on real queries that it never saw, beside other ways to choose as many features.

Each run draws queries, and recommends features on them. For each margin, the cheapest set that is
shown to lose less is trained on all of these queries, and its true change is measured on the rest
of the collection, as are as many features by other methods: by the gain of LightGBM's own model, of
small trees (``bt-influence``), by CatBoost's ``select_features`` and by scikit-learn's RFE. Every
model is trained several times, because trees are grown on random parts of rows and features. A
claim is false if the true change is a loss of the margin or more, and clearly so if it is by more
than two standard errors of the truth, which rests on finitely many queries, too. Other errors are
over runs.

``--set data=MSRD`` takes the movie search of RANKSIEVE_DATA, ``data=MQ2008`` the other collection
there. ``--set costs=measured`` takes the costs of MSRD; other methods do not know them.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.harness import ROOT, mq2008_parts
from benchmarks.trees import by_catboost, by_gain, by_rfe, ours
from ranksieve import Columns, RankingData, concatenate, limit_threads, read_letor, recommend
from ranksieve.datasets.opening import read_whole
from ranksieve.metrics import evaluate
from ranksieve.rankers import LambdaMART
from ranksieve.recommendation import Recommendation
from ranksieve.recommendation.answer import cheapest_within

PARAMETERS = {
    "data": "MSRD", "queries": 500, "runs": 8, "first": 0, "costs": "equal", "trees": 100,
    "retrainings": 4, "others": "gain;bt-influence",
}  # fmt: skip
TINY = {"data": "planted", "queries": 40, "runs": 2, "trees": 5, "retrainings": 1}

MARGINS = (0.005, 0.01, 0.02, 0.03)
OTHERS = {
    "gain": by_gain,
    "bt-influence": ours("bt-influence"),
    "greedy-rankrls": ours("greedy-rankrls"),
    "select_features of CatBoost": by_catboost,
    "RFE of scikit-learn": by_rfe,
}


def run(
    data: str,
    queries: int,
    runs: int,
    first: int,
    costs: str,
    trees: int,
    retrainings: int,
    others: str,
) -> Table:
    """Run all draws, and return a table."""
    found: dict[float, list[dict[str, float]]] = {margin: [] for margin in MARGINS}
    whole, given = read(data), measured_costs() if costs == "measured" else None
    seconds = []
    with limit_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + runs):
            chosen, world = draw(whole, queries, number)
            start = time.process_time()
            answer = decide(chosen, given, trees, number)
            seconds.append(time.process_time() - start)
            truth = Truth(chosen, world, trees, retrainings)
            for margin, row in judge(answer, truth, filter(None, others.split(";"))).items():
                found[margin].append(row)
                print(f"run {number}, {margin:.1%}:", json.dumps(row), file=sys.stderr, flush=True)
    title = f"{data}, {queries} queries, {runs} runs, {costs} costs"
    return _table(found, f"{title}: {np.mean(seconds):.0f} CPU s each")


def decide(data: RankingData, costs: Any, trees: int, seed: int) -> Recommendation:
    """Recommend features of a draw."""
    settings = {"lambdamart": ranker_settings(trees)}
    how: dict[str, Any] = {"parameters": settings, "costs": costs, "seed": seed, "details": False}
    return recommend(data, "lambdamart", **how)


def judge(
    answer: Recommendation, truth: Truth, others: Iterable[str]
) -> dict[float, dict[str, float]]:
    """For each margin: size, share of the cost, and true changes, of this set and of others."""
    orders = {name: OTHERS[name](truth.train, truth.trees)[0] for name in others}
    found = {}
    for margin in MARGINS:
        point, row = cheapest_within(answer.curve, margin), {}
        if point is not None:
            row["size"], row["cost"] = point.size, point.cost / answer.cost_of_all
            row["change"], row["error"] = truth.change(point.features)
            row |= {name: truth.change(own[: point.size])[0] for name, own in orders.items()}
        found[margin] = row
    return found


class Truth:
    """True changes of sets of features that are trained on a draw."""

    def __init__(self, train: RankingData, world: RankingData, trees: int, retrainings: int):
        self.train, self.world, self.trees = train, world, trees
        self.retrainings = retrainings
        # The luck of the models on all features is in every change.
        self.base = self.values(range(train.n_features), 2 * retrainings)

    def change(self, features: Iterable[int]) -> tuple[float, float]:
        """Relative change of the mean on the rest of the collection, and its standard error."""
        mean, differences = self.base.mean(), self.values(features, self.retrainings) - self.base
        moves = differences - differences.mean() / mean * self.base
        error = moves.std(ddof=1) / np.sqrt(len(moves)) / mean
        return float(differences.mean() / mean), float(error)

    def values(self, features: Iterable[int], n_trainings: int) -> np.ndarray:
        """NDCG@10 of each query, the mean of several trainings."""
        columns, values = sorted(features), []
        for seed in range(n_trainings if columns else 1):
            scores = np.zeros(self.world.n_rows)
            if columns:
                ranker = LambdaMART(**ranker_settings(self.trees), random_state=1000 + seed)
                ranker.fit(self.train.take_features(columns))
                scores = ranker.predict(self.world.take_features(columns))
            found = evaluate(self.world.y, scores, self.world.qid, ["ndcg@10"])
            values.append(found.per_query["NDCG@10"])
        return np.mean(values, axis=0)


def ranker_settings(trees: int) -> dict[str, Any]:
    """Parameters of a ranker as it is used in production: with bagging."""
    bagging = {"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.8}
    return {"n_estimators": trees, "num_leaves": 15, "params": {**bagging, "num_threads": 1}}


def draw(whole: RankingData, queries: int, number: int) -> tuple[RankingData, RankingData]:
    """Return random queries, and all others, whose mean is the truth."""
    order = np.random.default_rng([number, queries]).permutation(whole.n_queries)
    return tuple(whole.take_queries(np.sort(own)) for own in np.split(order, [queries]))  # type: ignore[return-value]


def read(data: str) -> RankingData:
    """Read a collection; end the program if it does not exist."""
    if data == "MQ2008":
        return concatenate([read_letor(path, n_features=46) for path in mq2008_parts()])
    if data == "planted":
        from ranksieve import make_ranking

        return make_ranking(120, n_informative=3, n_noise=4, random_state=0)[0]
    columns = Columns(label="grade", qid="query_id", doc_id="doc_id")
    return read_whole(_msrd() / "msrd_dev.parquet", columns=columns).with_missing("keep")


def measured_costs() -> Any:
    """Costs of the features of MSRD, with those of groups."""
    from ranksieve.cli.parameters import read_costs

    return read_costs(_msrd() / "costs.csv", _msrd() / "groups.csv")


def _msrd() -> Path:
    folder = Path(os.environ.get("RANKSIEVE_DATA", ROOT.parent / "shared" / "data")) / "MSRD"
    if not folder.is_dir():
        raise SystemExit(f"needs {folder} (set RANKSIEVE_DATA)")
    return folder


def _table(found: dict[float, list[dict[str, float]]], title: str) -> Table:
    names = list(dict.fromkeys(key for rows in found.values() for row in rows for key in row))
    others = [name for name in names if name not in ("size", "cost", "change", "error")]
    table = Table(title=f"{title}; changes in %")
    columns = (
        "margin", "shown", "false", "clearly", "features", "cost", "true change", "least", *others
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="right")
    for margin, rows in found.items():
        shown = [row for row in rows if row]
        cells = [f"{margin:.1%}", f"{len(shown)} of {len(rows)}"]
        if shown:
            changes = [row["change"] for row in shown]
            cells += [
                str(sum(change <= -margin for change in changes)),
                str(sum(row["change"] + 2 * row["error"] <= -margin for row in shown)),
                f"{np.median([row['size'] for row in shown]):.0f}",
                f"{np.median([row['cost'] for row in shown]):.0%}",
                _mean(changes),
                f"{100 * min(changes):+.2f}",
                *(_mean([row[name] for row in shown]) for name in others),
            ]
        table.add_row(*cells)
    return table


def _mean(changes: list[float]) -> str:
    error = np.std(changes, ddof=1) / np.sqrt(len(changes)) if len(changes) > 1 else np.nan
    return f"{100 * np.mean(changes):+.2f} +- {100 * error:.2f}"
