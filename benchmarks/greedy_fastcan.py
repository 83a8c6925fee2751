"""Greedy RankRLS beside fastcan's forward selection, which does not cross-validate.

Run with ``--threads 1``. fastcan gets query-centered rows and labels for free; ranksieve centers
them itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.greedy_rankrls import centered, make_data, names, ranksieve
from benchmarks.harness import Task

PARAMETERS = {"rows": 100_000, "features": 136, "documents": 100, "k": 30}
TINY = {"rows": 3000, "features": 6, "documents": 10, "k": 2}


def fastcan(rows: int, features: int, documents: int, k: int, eta: bool = False) -> Task:
    """Run FastCan with its default algorithm, or with eta-cosines."""
    from fastcan import FastCan

    X, y = centered(make_data(rows, features, documents))

    def run(n_rows: int = rows, n_features: int = k) -> Any:
        selector = FastCan(n_features, eta=eta, verbose=0)
        return selector.fit(X[:n_rows], y[:n_rows, None]).indices_

    def describe(chosen: np.ndarray) -> dict[str, Any]:
        return names(chosen.tolist())

    return Task(run, lambda: run(2000, 2), describe)


def fastcan_eta(**parameters: int) -> Task:
    """Run FastCan with eta-cosines."""
    return fastcan(**parameters, eta=True)


CONTENDERS = {"ranksieve": ranksieve, "fastcan": fastcan, "fastcan, eta": fastcan_eta}
