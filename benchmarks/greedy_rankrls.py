"""Greedy RankRLS, leave-query-out, beside forward selection with five-fold ridge and brute force.

Random features of which ten carry a part of the label, in queries of about 19 documents. Run with
``--threads 1``. scikit-learn's forward selection gets query-centered rows and labels, so that its
ridge regression is the same model, and judges by five-fold cross-validation over queries. Brute
force trains without each query, for each candidate and step; the fact "all" is what a few of these
trainings took, times all over few.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {"rows": 15_000, "features": 46, "documents": 19, "k": 10}
FEW = 40


def make_data(rows: int, features: int, documents: int) -> Any:
    """Ranking data with ten useful features."""
    from ranksieve import RankingData

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    weights = np.zeros(features)
    weights[rng.choice(features, min(10, features), replace=False)] = rng.uniform(0.2, 1.0, 10)[
        :features
    ]
    utility = X @ weights + rng.normal(size=rows)
    return RankingData(X, np.digitize(utility, [0.5, 2.0]), np.arange(rows) // documents)


def _centered(data: Any) -> tuple[np.ndarray, np.ndarray]:
    starts, counts = data.query_ptr[:-1], data.group_counts
    X = data.X - np.repeat(np.add.reduceat(data.X, starts) / counts[:, None], counts, axis=0)
    return X, data.y - np.repeat(np.add.reduceat(data.y, starts) / counts, counts)


def _names(features: Any) -> dict[str, str]:
    return {"first five": " ".join(str(f + 1) for f in list(features)[:5])}


def ranksieve(rows: int, features: int, documents: int, k: int) -> Task:
    """The selector, from the data to the whole path."""
    from ranksieve.selectors import GreedyRankRLS

    data = make_data(rows, features, documents)
    small = make_data(400, features, documents)

    def run(source: Any = data) -> np.ndarray:
        return GreedyRankRLS(k).fit(source).selected_

    return Task(run, lambda: run(small), _names)


def sequential(rows: int, features: int, documents: int, k: int) -> Task:
    """scikit-learn's SequentialFeatureSelector of Ridge over GroupKFold(5)."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold

    data = make_data(rows, features, documents)
    X, y = _centered(data)

    def run(n_rows: int = rows, n_features: int = k) -> np.ndarray:
        part = slice(0, n_rows)
        folds = list(GroupKFold(5).split(X[part], y[part], data.qid[part]))
        ridge = Ridge(alpha=1.0, fit_intercept=False)
        search = SequentialFeatureSelector(
            ridge, n_features_to_select=n_features, cv=folds, scoring="neg_mean_squared_error"
        )
        return np.flatnonzero(search.fit(X[part], y[part]).get_support())

    return Task(run, lambda: run(400, 1), lambda chosen: {"first five": "has no order"})


def brute_force(rows: int, features: int, documents: int, k: int) -> Task:
    """Train without a query, for a few queries and candidates."""
    data = make_data(rows, features, documents)
    X, y = _centered(data)

    def train(model: list[int], query: int) -> float:
        left = slice(*data.query_ptr[query : query + 2])
        rest = np.ones(len(y), dtype=bool)
        rest[left] = False
        own = X[rest][:, model]
        weights = np.linalg.solve(own.T @ own + np.eye(len(model)), own.T @ y[rest])
        return float(np.sum((y[left] - X[left][:, model] @ weights) ** 2))

    def run() -> float:
        start = time.perf_counter()
        for query in range(FEW):
            train(list(range(query % k + 1)), query)
        return time.perf_counter() - start

    def describe(seconds: float) -> dict[str, Any]:
        trainings = data.n_queries * sum(features - step for step in range(k))
        return {"all": f"{seconds * trainings / FEW:.0f} s, extrapolated"}

    return Task(run, lambda: train([0], 0), describe)


CONTENDERS = {
    "ranksieve": ranksieve,
    "scikit-learn SequentialFeatureSelector": sequential,
    f"brute force, {FEW} trainings": brute_force,
}
