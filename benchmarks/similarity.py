"""Kendall's tau-b of all pairs of features, averaged over queries: MQ2008, or random lists.

``documents=0`` is MQ2008 with all of its features. Any other number of documents per query means
random numbers, of which many are tied, such as ``--set documents=1000 --set queries=20 --set
features=64``. pandas is called once per query. pandas and SciPy return NaN for a feature that is
constant in a query, which counts as 0. SciPy is called once per query and pair of features, and
only for a few evenly spaced queries; "all queries" extrapolates its time to all queries.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Task, mq2008_parts

PARAMETERS = {"queries": 784, "documents": 0, "features": 46, "method": "tau_b"}
TINY = {"queries": 5, "documents": 8, "features": 4}


def _data(queries: int, documents: int, features: int) -> Any:
    from ranksieve import RankingData, read_letor

    if documents == 0:
        return read_letor(mq2008_parts()).take_queries(np.arange(queries))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(queries * documents, features)).round(2)
    return RankingData(X, np.zeros(len(X)), np.repeat(np.arange(queries), documents))


def _lists(data: Any) -> Iterator[np.ndarray]:
    for start, end in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        yield data.X[start:end]


def _facts(similarity: np.ndarray) -> dict[str, Any]:
    return {"mean": f"{similarity[np.triu_indices_from(similarity, 1)].mean():.10f}"}


def ranksieve(queries: int, documents: int, features: int, method: str) -> Task:
    """Compute the similarity in one pass of the engine."""
    from ranksieve.sums.similarity import feature_similarity

    data = _data(queries, documents, features)

    def run() -> np.ndarray:
        return feature_similarity(data, method)

    return Task(run, run, _facts)


def pandas(queries: int, documents: int, features: int, method: str) -> Task:
    """Run a loop over queries; always tau-b."""
    from pandas import DataFrame

    data = _data(queries, documents, features)

    def measure(n_queries: int) -> np.ndarray:
        total = np.zeros((data.n_features, data.n_features))
        for X, _ in zip(_lists(data), range(n_queries), strict=False):
            total += DataFrame(X).corr("kendall").fillna(0.0).to_numpy()
        return total / n_queries

    return Task(lambda: measure(data.n_queries), lambda: measure(1), _facts)


def scipy(queries: int, documents: int, features: int, method: str) -> Task:
    """Run a loop over a few queries and all pairs of features; always tau-b."""
    from scipy.stats import kendalltau

    data = _data(queries, documents, features)
    few = data.take_queries(np.unique(np.linspace(0, data.n_queries - 1, FEW, dtype=int)))

    def run() -> float:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant features
            for X in _lists(few):
                for i in range(data.n_features):
                    for j in range(i):
                        kendalltau(X[:, i], X[:, j])
        return time.perf_counter() - start

    def describe(seconds: float) -> dict[str, Any]:
        return {"all queries": f"{seconds * data.n_queries / few.n_queries:.0f} s, extrapolated"}

    return Task(run, lambda: kendalltau([1, 2, 3], [1, 3, 2]), describe)


FEW = 4
CONTENDERS = {"ranksieve": ranksieve, "pandas": pandas, f"SciPy, {FEW} queries only": scipy}
