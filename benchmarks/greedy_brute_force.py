"""Greedy RankRLS beside brute force: training without each query, for every candidate of a step.

The data is so small that brute force ends; run with ``--threads 1``. The time of brute force grows
with the square of the number of rows, that of greedy RankRLS linearly.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from benchmarks.greedy_rankrls import centered, make_data, names, ranksieve
from benchmarks.harness import Task

PARAMETERS = {"rows": 3800, "features": 46, "documents": 19, "k": 10}
TINY = {"rows": 200, "features": 5, "documents": 10, "k": 2}


def brute_force(rows: int, features: int, documents: int, k: int) -> Task:
    """Forward selection that solves a ridge regression for every query left out."""
    data = make_data(rows, features, documents)
    X, y = centered(data)

    def error(model: list[int]) -> float:
        return sum(_left_out(X[:, model], y, *span) for span in pairwise(data.query_ptr))

    def run(steps: int = k) -> list[int]:
        chosen: list[int] = []
        for _ in range(steps):
            others = [i for i in range(features) if i not in chosen]
            chosen.append(min(others, key=lambda i: error([*chosen, i])))
        return chosen

    return Task(run, lambda: error([0]), names)


def _left_out(X: np.ndarray, y: np.ndarray, start: int, end: int) -> float:
    """Return the squared error of one query under the model of all others."""
    rest = np.ones(len(y), dtype=bool)
    rest[start:end] = False
    own = X[rest]
    weights = np.linalg.solve(own.T @ own + np.eye(own.shape[1]), own.T @ y[rest])
    return float(np.sum((y[start:end] - X[start:end] @ weights) ** 2))


CONTENDERS = {"ranksieve": ranksieve, "brute force": brute_force}
