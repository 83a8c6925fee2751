"""Query-centered Gram matrix by the engine, beside BLAS on a matrix that is already centered.

BLAS gets the centered matrix for free. "ranksieve" centers block by block. "engine, centered
before" gets the same centered matrix, and shows the cost of the engine alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {"rows": 200_000, "features": 136, "documents": 100}
TINY = {"rows": 4000, "features": 6, "documents": 20}


def _data(rows: int, features: int, documents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows -= rows % documents
    qid = np.repeat(np.arange(rows // documents), documents)
    return rng.random((rows, features)), rng.integers(0, 5, rows).astype(float), qid


def _facts(gram: np.ndarray) -> dict[str, Any]:
    return {"trace": f"{np.trace(gram):.6f}"}


def ranksieve(rows: int, features: int, documents: int) -> Task:
    """Center and multiply, block by block."""
    from ranksieve import RankingData
    from ranksieve.sums.gram import centered_gram

    data = RankingData(*_data(rows, features, documents))

    def run() -> np.ndarray:
        return centered_gram(data).xx

    return Task(run, run, _facts)


class Products:
    """Statistic: products of the columns of a block, without centering."""

    def __init__(self, block: Any) -> None:
        self.X = block.X

    def sums(self) -> np.ndarray:
        """Return the products of all pairs of columns."""
        return self.X.T @ self.X


def engine(rows: int, features: int, documents: int) -> Task:
    """Multiply the centered matrix block by block."""
    from ranksieve import RankingData
    from ranksieve.engine import engine_of

    X, y, qid = _data(rows, features, documents)
    data = RankingData(_centered(X, documents), y, qid)

    def run() -> np.ndarray:
        with engine_of(data).start(Products) as workers:
            return workers.sum(Products.sums)

    return Task(run, run, _facts)


def _centered(X: np.ndarray, documents: int) -> np.ndarray:
    blocks = X.reshape(-1, documents, X.shape[1])
    return (blocks - blocks.mean(axis=1, keepdims=True)).reshape(X.shape)


def blas(rows: int, features: int, documents: int) -> Task:
    """Multiply the centered matrix."""
    X, _, _ = _data(rows, features, documents)
    centered = _centered(X, documents)

    def run() -> np.ndarray:
        return centered.T @ centered

    return Task(run, run, _facts)


CONTENDERS = {
    "ranksieve": ranksieve,
    "engine, centered before": engine,
    "BLAS, centered before": blas,
}
