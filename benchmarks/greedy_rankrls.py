"""Greedy RankRLS with leave-query-out errors, beside forward selection with five-fold ridge.

The features are random, ten of them contribute to the label, and queries have about 19 documents.
Run with ``--threads 1``. scikit-learn's forward selection gets query-centered rows and labels, so
its ridge regression is the same model; it evaluates by five-fold cross-validation over queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {"rows": 15_000, "features": 46, "documents": 19, "k": 10}
TINY = {"rows": 300, "features": 5, "documents": 10, "k": 2}


def make_data(rows: int, features: int, documents: int) -> Any:
    """Return ranking data with ten useful features."""
    from ranksieve import RankingData

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    weights = np.zeros(features)
    weights[rng.choice(features, min(10, features), replace=False)] = rng.uniform(0.2, 1.0, 10)[
        :features
    ]
    utility = X @ weights + rng.normal(size=rows)
    return RankingData(X, np.digitize(utility, [0.5, 2.0]), np.arange(rows) // documents)


def centered(data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels minus their means in the query."""
    starts, counts = data.query_ptr[:-1], data.group_counts
    X = data.X - np.repeat(np.add.reduceat(data.X, starts) / counts[:, None], counts, axis=0)
    return X, data.y - np.repeat(np.add.reduceat(data.y, starts) / counts, counts)


def names(features: Any) -> dict[str, str]:
    """Return the first five features, which must be the same for all contenders with an order."""
    return {"first five": " ".join(str(f + 1) for f in list(features)[:5])}


def ranksieve(rows: int, features: int, documents: int, k: int) -> Task:
    """Run the selector, from the data to the whole path."""
    from ranksieve.selectors import GreedyRankRLS

    data = make_data(rows, features, documents)
    small = make_data(400, features, documents)

    def run(source: Any = data) -> np.ndarray:
        return GreedyRankRLS(k).fit(source).selected_

    return Task(run, lambda: run(small), names)


def sequential(rows: int, features: int, documents: int, k: int) -> Task:
    """Run scikit-learn's SequentialFeatureSelector with Ridge and GroupKFold(5)."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold

    data = make_data(rows, features, documents)
    X, y = centered(data)

    def run(n_rows: int = rows, n_features: int = k) -> np.ndarray:
        part = slice(0, n_rows)
        folds = list(GroupKFold(5).split(X[part], y[part], data.qid[part]))
        ridge = Ridge(alpha=1.0, fit_intercept=False)
        search = SequentialFeatureSelector(
            ridge, n_features_to_select=n_features, cv=folds, scoring="neg_mean_squared_error"
        )
        return np.flatnonzero(search.fit(X[part], y[part]).get_support())

    return Task(run, lambda: run(400, 1), lambda chosen: {"first five": "has no order"})


CONTENDERS = {"ranksieve": ranksieve, "scikit-learn SequentialFeatureSelector": sequential}
