"""Sums over queries that selectors share: how good features are, and how alike.

Each statistic is a small class for :mod:`ranksieve.engine`, beside a function that runs it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.engine.memo import shared
from ranksieve.metrics import Convention, Measure, parse_measure
from ranksieve.metrics.ranking import ColumnSums
from ranksieve.sums.chunks import chunks, locating, wanted_queries


class Importance:
    """Statistic: each query's value of a measure when its documents are ranked by one feature."""

    title = "Importance"

    def __init__(
        self,
        block: Block,
        measure: Measure,
        convention: Convention | str,
        average_ties: bool,
        queries: np.ndarray | None = None,
    ) -> None:
        self.block = block
        self.wanted = wanted_queries(block, queries)
        self.prepared = measure.prepare(block.y, block.query_ptr, convention)
        self.average_ties = average_ties

    def sums(self) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        """Queries, sums over them of values and squared values, and queries that tell.

        The arrays (2, features) have ranking by descending value in row 0, by ascending in row 1.
        The last one (features,) counts the queries in which a feature is not constant.
        """
        sums = ColumnSums(self.block.X.shape[1])
        all_finite = True
        for chunk in chunks(self.block):
            all_finite &= self.prepared.add_columns(
                chunk.X,
                chunk.query_ptr,
                self.average_ties,
                sums,
                first_query=chunk.queries.start,
                first_row=chunk.rows.start,
                wanted=self.wanted[chunk.queries],
            )
        if not all_finite:
            self.block.check_finite()
        return int(self.wanted.sum()), sums.values, sums.squares, sums.varying


def feature_importance(
    source: Source,
    measure: str | Measure = "ndcg@10",
    convention: str | Convention = "standard",
    *,
    ties: Literal["stable", "average"] = "average",
) -> np.ndarray:
    """How well each feature alone ranks the documents.

    Parameters
    ----------
    source : RankingData or opened shards
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
    O(f m log n) for f features and m rows in queries of n documents; one sort serves both
    directions.

    Examples
    --------
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.importance import feature_importance
    >>> data = RankingData([[1.0, 9.0], [2.0, 5.0], [3.0, 7.0]], y=[0, 0, 1], qid=[4, 4, 4])
    >>> feature_importance(data, "mrr").round(3).tolist()
    [[1.0, 0.5], [0.333, 0.5]]
    """
    return importance_sums(source, measure, convention, ties=ties).mean


class ImportanceSums(NamedTuple):
    """Sums over queries of each feature's value; see :class:`Importance`."""

    n_queries: int
    values: np.ndarray  # (2, features): by descending and by ascending value
    squares: np.ndarray
    varying: np.ndarray  # (features,)

    @property
    def mean(self) -> np.ndarray:
        """Mean over queries, (2, features)."""
        return self.values / self.n_queries

    @property
    def variance(self) -> np.ndarray:
        """Sample variance over queries, (2, features)."""
        n = self.n_queries
        return np.maximum(0.0, self.squares - self.values**2 / n) / max(1, n - 1)


@shared
def importance_sums(
    source: Source,
    measure: str | Measure,
    convention: str | Convention = "standard",
    *,
    ties: Literal["stable", "average"] = "average",
    queries: np.ndarray | None = None,
) -> ImportanceSums:
    """Sums behind :func:`feature_importance`, for those who need more than the mean.

    With ``queries``, a boolean mask over all queries, only those count.
    """
    parameters = parse_measure(measure), convention, ties == "average", queries
    with locating(source), engine_of(source).start(Importance, *parameters) as workers:
        return ImportanceSums(*workers.sum("sums"))
