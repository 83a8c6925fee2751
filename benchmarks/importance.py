"""Importance of all 46 features of MQ2008: NDCG@10, both directions, averaged ties.

scikit-learn's ``ndcg_score``, which averages over ties by default, is called once per query,
feature and direction, as a user would do. It has a linear gain and refuses queries with one
document (MQ2008 has none), so ranksieve uses the convention "sklearn".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Task, mq2008_parts

PARAMETERS = {"queries": 784}
TINY = {"queries": 3}


def _data(queries: int) -> Any:
    from ranksieve import read_letor

    return read_letor(mq2008_parts()).take_queries(np.arange(queries))


def _facts(importance: np.ndarray) -> dict[str, Any]:
    best = int(importance[0].argmax())
    return {"best": best + 1, "its NDCG@10": f"{importance[0, best]:.10f}"}


def ranksieve(queries: int) -> Task:
    """Compute the importance in one pass of the engine."""
    from ranksieve.sums.importance import Importance, feature_importance

    data = _data(queries)

    def run() -> np.ndarray:
        return feature_importance(data, Importance("ndcg@10", "sklearn"))

    return Task(run, run, _facts)


def scikit_learn(queries: int) -> Task:
    """Run a loop over queries, features and directions."""
    from sklearn.metrics import ndcg_score

    data = _data(queries)

    def measure(n_queries: int) -> np.ndarray:
        total = np.zeros((2, data.n_features))
        for query in range(n_queries):
            rows = slice(data.query_ptr[query], data.query_ptr[query + 1])
            labels = data.y[rows][None]
            for feature in range(data.n_features):
                values = data.X[rows, feature][None]
                total[0, feature] += ndcg_score(labels, values, k=10)
                total[1, feature] += ndcg_score(labels, -values, k=10)
        return total / n_queries

    return Task(lambda: measure(data.n_queries), lambda: measure(2), _facts)


CONTENDERS = {"ranksieve": ranksieve, "scikit-learn": scikit_learn}
