"""Query-centered Gram matrix through the engine, and BLAS on a matrix centered before.

The direct call gets the centered matrix for free; the engine centers as it goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {"rows": 200_000, "features": 136, "documents": 100}


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
    from ranksieve.statistics import centered_gram

    data = RankingData(*_data(rows, features, documents))

    def run() -> np.ndarray:
        return centered_gram(data).xx

    return Task(run, run, _facts)


def blas(rows: int, features: int, documents: int) -> Task:
    """Multiply what is centered already."""
    X, _, _ = _data(rows, features, documents)
    blocks = X.reshape(-1, documents, features)
    centered = (blocks - blocks.mean(axis=1, keepdims=True)).reshape(-1, features)

    def run() -> np.ndarray:
        return centered.T @ centered

    return Task(run, run, _facts)


CONTENDERS = {"ranksieve": ranksieve, "BLAS, centered before": blas}
