"""Sums over queries that selectors share: how good features are, and how alike.

Each statistic is a small class for :mod:`ranksieve.engine`, beside a function that runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

import numpy as np

from ranksieve._kernels.centering import center_queries
from ranksieve.data import Block, DataError, NonFiniteError, RankingData
from ranksieve.engine import Source, engine_of
from ranksieve.engine.memo import shared
from ranksieve.metrics import Convention, Measure, parse_measure
from ranksieve.metrics.ranking import ColumnSums

_CHUNK = 2**18  # numbers: 2 MB, which the caches near a core hold


class Labels:
    """Statistic: how many queries could be ranked well or badly."""

    title = "Labels"

    def __init__(self, block: Block) -> None:
        self.block = block

    def counts(self) -> tuple[int, int]:
        """Queries with two documents or more, and those whose labels are not all equal."""
        y, starts = self.block.y, self.block.query_ptr[:-1]
        differ = np.minimum.reduceat(y, starts) < np.maximum.reduceat(y, starts)
        return int(np.sum(np.diff(self.block.query_ptr) >= 2)), int(np.sum(differ))


def check_labels_differ(source: Source) -> None:
    """Raise a DataError unless some query has documents with different labels."""
    if isinstance(source, RankingData):  # one look at the labels, without the engine
        several, differ = Labels(Block(source.X, source.y, source.query_ptr)).counts()
    else:
        with engine_of(source).start(Labels) as workers:
            several, differ = workers.sum("counts")
    if several == 0:
        raise DataError(
            "no query has two documents, so there is nothing to rank; does qid say which rows "
            "belong together?"
        )
    if differ == 0:
        raise DataError(
            "all documents of each query have equal labels, so that every ranking is as good as "
            "any other and no feature can be told from the rest"
        )


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


class CenteredGram:
    """Statistic: products of features and labels, centered within each query."""

    title = "Gram matrix"

    def __init__(self, block: Block) -> None:
        self.block = block

    def sums(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Products of features (features, features), of features and labels, and of labels."""
        n_features = self.block.X.shape[1]
        xx, xy, yy = np.zeros((n_features, n_features)), np.zeros(n_features), 0.0
        # A product of few rows would not be worth adding its n_features^2 numbers.
        parts = chunks(self.block, most=max(_CHUNK, 4 * n_features**2))
        space = np.empty((0, n_features))
        for part in parts:
            if len(part.X) > len(space):
                space, labels = np.empty((len(part.X), n_features)), np.empty(len(part.X))
            x, y = space[: len(part.X)], labels[: len(part.X)]
            center_queries(part.X, self.block.y[part.rows], part.query_ptr, x, y)
            xx += x.T @ x
            xy += x.T @ y
            yy += float(y @ y)
        if not np.isfinite(xx).all():
            self.block.check_finite()
        return xx, xy, yy


class GramSums(NamedTuple):
    """Products of query-centered features and labels, summed over all documents."""

    xx: np.ndarray  # (features, features)
    xy: np.ndarray  # (features,)
    yy: float


def centered_gram(source: Source) -> GramSums:
    r"""Products of features and labels after subtracting each query's mean.

    .. math:: \hat X^T \hat X, \qquad \hat X^T \hat y, \qquad \hat y^T \hat y

    Parameters
    ----------
    source : RankingData or opened shards

    Returns
    -------
    GramSums
        ``xx`` has a zero in row i exactly if feature i is constant within every query, but for
        rounding.

    Notes
    -----
    O(m f^2) for m rows and f features, by matrix products of rows that were centered just before,
    so that nothing cancels and no centered copy of the data is made.

    Examples
    --------
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.importance import centered_gram
    >>> data = RankingData([[1.0], [3.0], [8.0], [8.0]], y=[0, 1, 1, 0], qid=[1, 1, 2, 2])
    >>> centered_gram(data)
    GramSums(xx=array([[2.]]), xy=array([1.]), yy=1.0)
    """
    with locating(source), engine_of(source).start(CenteredGram) as workers:
        return GramSums(*workers.sum("sums"))


def wanted_queries(block: Block, queries: np.ndarray | None) -> np.ndarray:
    """Part of a boolean mask over all queries that is about a block; without one, all true."""
    n_queries = len(block.query_ptr) - 1
    if queries is None:
        return np.ones(n_queries, dtype=bool)
    return queries[block.first_query : block.first_query + n_queries]


class Chunk(NamedTuple):
    """Whole queries of a block, as an array."""

    X: np.ndarray
    query_ptr: np.ndarray  # from 0
    rows: slice  # of the block
    queries: slice


def chunks(block: Block, most: int | None = None) -> Iterator[Chunk]:
    """Cut a block into runs of whole queries of about ``most`` numbers, or of one query.

    Without ``most`` an array is one chunk, and a CSR matrix is cut so that little of it is an
    array at a time.
    """
    n_rows, n_columns = block.X.shape
    if most is None:
        most = _CHUNK if block.is_sparse else n_rows * n_columns
    first, n_queries = 0, len(block.query_ptr) - 1
    while first < n_queries:
        end = block.query_ptr[first] + most // max(1, n_columns)
        last = int(np.searchsorted(block.query_ptr, end, side="right")) - 1
        last = min(max(last, first + 1), n_queries)
        rows = slice(int(block.query_ptr[first]), int(block.query_ptr[last]))
        X = block.X[rows].toarray() if block.is_sparse else block.X[rows]
        query_ptr = block.query_ptr[first : last + 1] - rows.start
        yield Chunk(X, query_ptr, rows, slice(first, last))
        first = last


@contextmanager
def locating(source: Source) -> Iterator[None]:
    """Name the input row and the feature of a value that is not finite, where they are known."""
    try:
        yield
    except NonFiniteError:
        if isinstance(source, RankingData):
            source.check_finite()
        raise
