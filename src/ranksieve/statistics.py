"""Sums over queries that selectors share: how good features are, and how alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ranksieve.conventions import Convention
from ranksieve.data import RankingData
from ranksieve.metrics import Measure, Ranking, parse_measure

_BLOCK = 2**21  # numbers in a block of rows: 16 MB


def feature_importance(
    data: RankingData,
    measure: str | Measure = "ndcg@10",
    convention: str | Convention = "standard",
    *,
    ties: Literal["stable", "average"] = "average",
) -> np.ndarray:
    """How well each feature alone ranks the documents.

    Parameters
    ----------
    data : RankingData
    measure : str or Measure
    convention : str or Convention
    ties : {"average", "stable"}
        Average over all orders of documents with equal values (default), or keep their order in
        the data, which in some collections tells about the labels.

    Returns
    -------
    array of shape (2, features)
        Mean over queries of the measure, ranked by descending (row 0) and ascending (row 1)
        value.

    Notes
    -----
    O(f m log n) for f features and m rows in queries of n documents.
    """
    data.check_finite()
    prepared = parse_measure(measure).prepare(data.y, data.query_ptr, convention)
    importance = np.empty((2, data.n_features))
    for feature, column in enumerate(_columns(data)):
        for row, scores in enumerate((column, -column)):
            ranking = Ranking.of(scores, data.query_ptr, average_ties=ties == "average")
            importance[row, feature] = prepared.per_query(ranking).mean()
    return importance


def _columns(data: RankingData) -> Iterator[np.ndarray]:
    matrix = data.X.tocsc() if data.is_sparse else data.X
    for feature in range(data.n_features):
        column = matrix[:, [feature]].toarray() if data.is_sparse else matrix[:, feature]
        yield column.ravel().astype(np.float64)


def centered_gram(data: RankingData) -> np.ndarray:
    """Gram matrix of the features after subtracting each query's mean.

    Entry (i, j) is the sum over queries and their documents of the product of the centered
    values: zero in row i if feature i is constant within every query. O(m f^2), a block of
    queries at a time.
    """
    data.check_finite()
    gram = np.zeros((data.n_features, data.n_features))
    for block, starts in dense_blocks(data):
        counts = np.diff(starts, append=len(block))
        means = np.add.reduceat(block, starts, axis=0) / counts[:, None]
        centered = block - np.repeat(means, counts, axis=0)
        gram += centered.T @ centered
    return gram


def dense_blocks(data: RankingData) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Features of runs of whole queries as float64, with the first row of each query."""
    rows = max(1, _BLOCK // max(1, data.n_features))
    first = 0
    while first < data.n_queries:
        last = int(np.searchsorted(data.query_ptr, data.query_ptr[first] + rows, side="right")) - 1
        last = max(last, first + 1)
        part = data.X[data.query_ptr[first] : data.query_ptr[last]]
        block = part.toarray() if data.is_sparse else part
        starts = data.query_ptr[first:last] - data.query_ptr[first]
        yield block.astype(np.float64, copy=False), starts
        first = last
