"""Rows of a block for squared loss: centered within queries, and weighted.

Rows of a query of weight w are multiplied by the root of w, so that sums of squares over them count
w times.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ranksieve._kernels.rows import center_queries
from ranksieve.data import Block
from ranksieve.sums.chunks import CHUNK, Chunk, chunks, weights_of


class CenteredRows:
    """Rows of a block, centered and weighted on demand, in queries of two documents or more.

    ``queries`` is a mask over the queries of all blocks; those not to be used have weight 0. If
    there are ``factors`` (features,), the features are multiplied by them first.
    """

    def __init__(
        self,
        block: Block,
        queries: np.ndarray | None = None,
        factors: np.ndarray | None = None,
    ) -> None:
        self.block, self.factors = block, factors
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

    def gram(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Products of features (features, features), of features and labels, and of labels."""
        n = self.n_features
        xx, xy, yy = np.zeros((n, n)), np.zeros(n), 0.0
        # For few rows, adding up n^2 numbers would take longer than the product.
        for piece in self.pieces(most=max(CHUNK, 4 * n**2)):
            y = self.y[piece.rows]
            xx += piece.X.T @ piece.X
            xy += piece.X.T @ y
            yy += float(y @ y)
        return xx, xy, yy

    def fill(self, X: np.ndarray) -> None:
        """Write all rows into an array."""
        for piece in self.pieces():
            X[piece.rows] = piece.X

    def pieces(self, features: np.ndarray | None = None, most: int = CHUNK) -> Iterator[Chunk]:
        """All rows of all or of some features, centered and weighted.

        About ``most`` numbers at a time, of whole queries with two documents or more.
        """
        end, n_seen = 0, 0
        # The number of values from which rows are made, not of the values that are made.
        most = most * self.block.X.shape[1] // max(1, self.n_features)
        for chunk in chunks(self.block, most=most):
            X = self._columns(chunk, features)
            part = np.empty(X.shape)
            center_queries(X, chunk.query_ptr, part)
            if not np.isfinite(part.sum()):
                self.block.check_finite()
            is_kept, n_kept = self.kept[chunk.rows], int(np.sum(np.diff(chunk.query_ptr) > 1))
            kept = part if is_kept.all() else part[is_kept]
            rows, queries = slice(end, end + len(kept)), slice(n_seen, n_seen + n_kept)
            self._weigh(kept, rows)
            query_ptr = self.query_ptr[n_seen : n_seen + n_kept + 1] - end
            if len(kept):
                yield Chunk(kept, query_ptr, rows, queries)
            end, n_seen = end + len(kept), n_seen + n_kept

    def _columns(self, chunk: Chunk, features: np.ndarray | None) -> np.ndarray:
        """Rows of a chunk before centering, with all or some columns."""
        X = chunk.X if self.factors is None else chunk.X * self.factors
        return np.ascontiguousarray(X) if features is None else np.take(X, features, axis=1)

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


def error_sums(errors: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Sums over queries of errors and of their squares; the errors are weighted already."""
    once = errors / np.where(weights > 0, weights, 1.0)
    return float(errors.sum()), float(errors @ once)
