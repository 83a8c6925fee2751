"""Rows of a block for squared loss: centered within queries, and reduced to as few as possible.

Rows of a query of weight w are multiplied by the root of w, so that sums of squares over them count
w times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ranksieve._kernels.rows import center_queries
from ranksieve.data import Block
from ranksieve.sums.chunks import CHUNK, Chunk, chunks, weights_of

# A query is rotated if that leaves at most this fraction of its rows: then rotation pays off within
# about ten rounds.
_WORTH = 0.7


def centered_rows(block: Block, *, rotate: bool) -> CenteredRows | RotatedRows:
    """Weighted rows of the queries with two documents or more, minus each query's mean."""
    lengths, width = np.diff(block.query_ptr), block.X.shape[1] + 1
    if rotate and np.any(lengths * _WORTH > width):
        return RotatedRows(block, width)
    return CenteredRows(block)


class CenteredRows:
    """Rows of a block, centered and weighted on demand, in queries of two documents or more.

    ``queries`` is a mask over the queries of all blocks; those not to be used have weight 0.
    """

    def __init__(self, block: Block, queries: np.ndarray | None = None) -> None:
        self.block = block
        self.n_features = block.X.shape[1]
        lengths = np.diff(block.query_ptr)
        several = lengths > 1
        self.kept = np.repeat(several, lengths)  # mask of the rows of the block in such queries
        self.query_ptr = np.concatenate([[0], np.cumsum(lengths[several])])
        self.weights = weights_of(block, queries)[several]
        self._roots = None
        if queries is not None or block.query_weights is not None:
            self._roots = np.repeat(np.sqrt(self.weights), lengths[several])
        self.y = self._center_column(np.asarray(block.y)[:, None])

    def _weigh(self, values: np.ndarray, rows: slice) -> None:
        """Multiply values of some rows by the roots of their weights, in place."""
        if self._roots is not None:
            values *= self._roots[rows].reshape(-1, *[1] * (values.ndim - 1))

    def n_queries(self) -> tuple[int, float]:
        """Number and weight of the queries with two documents or more and a weight above 0."""
        return int(np.count_nonzero(self.weights)), float(self.weights.sum())

    def gram(self) -> tuple[np.ndarray, np.ndarray]:
        """Products of features (features, features), and with labels."""
        xx, xy = np.zeros((self.n_features, self.n_features)), np.zeros(self.n_features)
        for piece in self.pieces():
            xx += piece.X.T @ piece.X
            xy += piece.X.T @ self.y[piece.rows]
        return xx, xy

    def matrix(self, dtype: Any) -> np.ndarray:
        """All rows as a new array."""
        X = np.empty((len(self.y), self.block.X.shape[1]), dtype=dtype)
        self.fill(X)
        return X

    def fill(self, X: np.ndarray) -> None:
        """Write all rows into an array."""
        for piece in self.pieces():
            X[piece.rows] = piece.X

    def pieces(self, features: np.ndarray | None = None) -> Iterator[Chunk]:
        """All rows of all or of some features, a few queries at a time, centered and weighted."""
        end, n_seen = 0, 0
        # The number of values from which rows are made, not of the values that are made.
        most = CHUNK * self.block.X.shape[1] // max(1, self.n_features)
        for chunk in chunks(self.block, most=most):
            X = self._columns(chunk, features)
            part = np.empty(X.shape)
            center_queries(X, chunk.query_ptr, part)
            if not np.isfinite(part.sum()):
                self.block.check_finite()
            kept, n_kept = part[self.kept[chunk.rows]], int(np.sum(np.diff(chunk.query_ptr) > 1))
            rows, queries = slice(end, end + len(kept)), slice(n_seen, n_seen + n_kept)
            self._weigh(kept, rows)
            query_ptr = self.query_ptr[n_seen : n_seen + n_kept + 1] - end
            yield Chunk(kept, query_ptr, rows, queries)
            end, n_seen = end + len(kept), n_seen + n_kept

    def _columns(self, chunk: Chunk, features: np.ndarray | None) -> np.ndarray:
        """Rows of a chunk before centering, with all or some columns."""
        return np.ascontiguousarray(chunk.X if features is None else chunk.X[:, features])

    def column(self, feature: int) -> np.ndarray:
        """One centered feature."""
        column = self.block.X[:, [feature]]
        return self._center_column(column.toarray() if self.block.is_sparse else column)

    def _center_column(self, column: np.ndarray) -> np.ndarray:
        """A column (rows of the block, 1), centered and weighted, of the queries that are used."""
        centered = np.empty(column.shape)
        center_queries(column, self.block.query_ptr, centered)
        kept = centered[self.kept, 0]
        self._weigh(kept, slice(None))
        return kept


class RotatedRows(CenteredRows):
    r"""Rows of a block whose long queries are rotated.

    Squared loss of a query's rows :math:`[X_Q, y_Q] = Q R` equals that of the rows of R, as Q is
    orthogonal; R has as many rows as there are features and labels.
    """

    def __init__(self, block: Block, width: int) -> None:
        super().__init__(block)
        parts: list[np.ndarray] = []
        for piece in super().pieces():
            joined = np.column_stack([piece.X, self.y[piece.rows]])
            for query in np.split(joined, piece.query_ptr[1:-1]):
                is_long = len(query) * _WORTH > width
                parts.append(np.asarray(np.linalg.qr(query, mode="r")) if is_long else query)
        self.query_ptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        joined = np.concatenate(parts)
        self.X, self.y = joined[:, :-1], joined[:, -1].copy()

    def fill(self, X: np.ndarray) -> None:
        """Write all rows into an array."""
        X[:] = self.X

    def column(self, feature: int) -> np.ndarray:
        """One feature."""
        return self.X[:, feature].copy()


def error_sums(errors: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Sums over queries of errors and of their squares; the errors are weighted already."""
    once = errors / np.where(weights > 0, weights, 1.0)
    return float(errors.sum()), float(errors @ once)
