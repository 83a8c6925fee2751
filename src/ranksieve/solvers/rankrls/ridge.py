"""Pairwise least squares on all features: products, and queries left out, for many lambdas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ranksieve.data import Block
from ranksieve.engine import Source
from ranksieve.engine.memo import shared
from ranksieve.metrics import Convention, Measure
from ranksieve.metrics.ranking import ColumnSums
from ranksieve.sums.centered_rows import CenteredRows
from ranksieve.sums.gram import centered_gram

_BATCH = 2**16  # numbers at a time when queries are left out: 0.5 MB, which fit into the cache


class Ridge(NamedTuple):
    """Models for several regularizations, from one decomposition of the products of features."""

    vectors: np.ndarray  # (features, features): eigenvectors of X'X, as columns
    values: np.ndarray  # (features,): eigenvalues
    lams: np.ndarray  # regularizations
    coefs: np.ndarray  # (lams, features): weights


class Decomposition(NamedTuple):
    """Eigenvectors and eigenvalues of X'X, and the products X'y in the basis of the vectors."""

    vectors: np.ndarray  # (features, features), as columns
    values: np.ndarray  # (features,)
    turned: np.ndarray  # (features,)

    def models(self, lams: np.ndarray) -> Ridge:
        r"""Models for all regularizations: :math:`(X'X + \lambda I)^{-1} X'y`."""
        coefs = (self.turned / (self.values + np.asarray(lams)[:, None])) @ self.vectors.T
        return Ridge(self.vectors, self.values, np.asarray(lams, dtype=float), coefs)


def decompose(xx: np.ndarray, xy: np.ndarray) -> Decomposition:
    """Decompose products of features, of which xy are those with the labels."""
    values, vectors = np.linalg.eigh(xx)
    return Decomposition(vectors, np.maximum(values, 0.0), vectors.T @ xy)


@shared
def decompose_features(source: Source) -> Decomposition:
    """Decompose the products of centered features of a source."""
    gram = centered_gram(source)
    return decompose(gram.xx, gram.xy)


class RidgeRows:
    """Statistic: residuals of queries that are left out."""

    title = "RankRLS"

    def __init__(self, block: Block) -> None:
        self.block, self.rows = block, CenteredRows(block)

    def errors(self, ridge: Ridge) -> tuple[int, float, np.ndarray, np.ndarray]:
        """Number and weight of queries of two documents or more; sums of errors and of squares."""
        sums, squares = np.zeros((2, len(ridge.lams)))
        for queries, _, left in self._left_out(ridge):
            errors = (left**2).sum(axis=2)  # rows are weighted already
            weights = self.rows.weights[queries, None]
            sums += errors.sum(axis=0)
            squares += (errors**2 / np.where(weights > 0, weights, 1.0)).sum(axis=0)
        return *self.rows.n_queries(), sums, squares

    def measured(
        self, ridge: Ridge, measure: Measure, convention: Convention
    ) -> tuple[int, float, np.ndarray, np.ndarray]:
        """The same sums for a measure of the predictions for left-out queries."""
        rows = self.rows
        predicted = np.empty((len(rows.y), len(ridge.lams)))
        for _, own, left in self._left_out(ridge):
            predicted[own] = rows.y[own][:, :, None] - left.swapaxes(1, 2)
        labels = np.asarray(self.block.y)[rows.kept]
        prepared = measure.prepare(labels, rows.query_ptr, convention)
        sums = ColumnSums(len(ridge.lams))
        prepared.add_columns(predicted, rows.query_ptr, sums, rows.weights)
        n_queries, _ = rows.n_queries()
        weight = float(rows.weights @ prepared.is_defined)
        return n_queries, weight, sums.values[0], sums.squares[0]

    def _left_out(self, ridge: Ridge) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Queries of one length at a time, their rows (queries, rows), and left-out residuals.

        The residuals have the shape (queries, lams, rows).
        """
        inverse = 1.0 / (ridge.values + ridge.lams[:, None])
        for piece in self.rows.pieces():
            turned = piece.X @ ridge.vectors
            residuals = self.rows.y[piece.rows, None] - piece.X @ ridge.coefs.T
            lengths = np.diff(piece.query_ptr)
            for own in _equally_long(lengths, inverse.size):
                rows = piece.query_ptr[own, None] + np.arange(lengths[own[0]])
                left_out = _without(turned[rows], residuals[rows].swapaxes(1, 2), inverse)
                yield piece.queries.start + own, piece.rows.start + rows, left_out


def _equally_long(lengths: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """Positions of queries of the same length, in batches of limited size."""
    for length in np.unique(lengths):
        queries = np.flatnonzero(lengths == length)
        most = max(1, _BATCH // (int(length) * width))
        for start in range(0, len(queries), most):
            yield queries[start : start + most]


def _without(Z: np.ndarray, residual: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Residuals (queries, lams, rows) of queries' rows Z by models trained without them.

    Residuals by the model of all rows are these times I - Z D Z', with D = ``inverse`` of a
    lambda; the inverted matrix has as many rows as the query, or as there are features if these
    are fewer.
    """
    n_rows, n_features = Z.shape[1:]
    turned = Z.swapaxes(1, 2)
    if n_rows <= n_features:
        inner = Z[:, None] * inverse[:, None, :] @ turned[:, None]
        return np.linalg.solve(np.eye(n_rows) - inner, residual[..., None])[..., 0]
    inner = np.eye(n_features) / inverse[:, None, :] + (-turned @ Z)[:, None]
    moved = np.linalg.solve(inner, (residual @ Z)[..., None])[..., 0]
    return residual + moved @ turned
