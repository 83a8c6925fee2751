"""Pairwise least squares on all features: products, and queries left out, for many lambdas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ranksieve.data import Block
from ranksieve.metrics import Convention, Measure
from ranksieve.metrics.ranking import ColumnSums
from ranksieve.solvers.rankrls.rotation import CenteredRows


class Ridge(NamedTuple):
    """Models for several regularizations, from one decomposition of the products of features."""

    vectors: np.ndarray  # (features, features): eigenvectors of X'X, as columns
    values: np.ndarray  # (features,): eigenvalues
    lams: np.ndarray  # regularizations
    coefs: np.ndarray  # (lams, features): weights


def decompose(xx: np.ndarray, xy: np.ndarray, lams: np.ndarray) -> Ridge:
    r"""Models for all regularizations: :math:`(X'X + \lambda I)^{-1} X'y`."""
    values, vectors = np.linalg.eigh(xx)
    values = np.maximum(values, 0.0)
    turned = vectors.T @ xy
    coefs = (turned / (values + np.asarray(lams)[:, None])) @ vectors.T
    return Ridge(vectors, values, np.asarray(lams, dtype=float), coefs)


class RidgeRows:
    """Statistic: products of centered rows, and residuals of queries that are left out.

    Parameters
    ----------
    block : Block
    queries : bool array of shape (queries of all blocks,), optional
        The queries that count; all by default.
    """

    title = "RankRLS"

    def __init__(self, block: Block, queries: np.ndarray | None = None) -> None:
        self.block = block
        self.rows = CenteredRows(block, queries)

    def gram(self) -> tuple[np.ndarray, np.ndarray]:
        """Products of features (features, features), and with labels."""
        n = self.rows.n_features
        xx, xy = np.zeros((n, n)), np.zeros(n)
        for piece in self.rows.pieces():
            xx += piece.X.T @ piece.X
            xy += piece.X.T @ self.rows.y[piece.rows]
        return xx, xy

    def errors(self, ridge: Ridge) -> tuple[int, float, np.ndarray, np.ndarray]:
        """Queries of two documents or more, and their weight; sums of errors and of squares."""
        sums, squares = np.zeros((2, len(ridge.lams)))
        for (_, left), weight in zip(self._left_out(ridge), self.rows.weights, strict=True):
            error = (left**2).sum(axis=1)  # weighted, as the rows are
            sums += error
            squares += error**2 / (weight or 1.0)
        return *self._counts(), sums, squares

    def _counts(self) -> tuple[int, float]:
        weights = self.rows.weights
        return int(np.count_nonzero(weights)), float(weights.sum())

    def measured(
        self, ridge: Ridge, measure: Measure, convention: Convention
    ) -> tuple[int, float, np.ndarray, np.ndarray]:
        """The same of a measure of the predictions for queries that are left out."""
        rows = self.rows
        predicted = np.empty((len(rows.y), len(ridge.lams)))
        for own, left in self._left_out(ridge):
            predicted[own] = (rows.y[own] - left).T
        labels = np.asarray(self.block.y)[rows.kept]
        prepared = measure.prepare(labels, rows.query_ptr, convention)
        sums = ColumnSums(len(ridge.lams))
        ties = convention.averages_ties
        prepared.add_columns(predicted, rows.query_ptr, ties, sums, weights=rows.weights)
        return *self._counts(), sums.values[0], sums.squares[0]

    def _left_out(self, ridge: Ridge) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of each query, and its residuals without it (lams, rows)."""
        inverse = 1.0 / (ridge.values + ridge.lams[:, None])
        pointer = self.rows.query_ptr
        for piece in self.rows.pieces():
            turned = piece.X @ ridge.vectors
            residuals = self.rows.y[piece.rows, None] - piece.X @ ridge.coefs.T
            for query in range(piece.queries.start, piece.queries.stop):
                rows = slice(int(pointer[query]), int(pointer[query + 1]))
                own = slice(rows.start - piece.rows.start, rows.stop - piece.rows.start)
                yield rows, _without(turned[own], residuals[own].T, inverse)


def _without(Z: np.ndarray, residual: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Residuals (lams, rows) of a query's rows Z by models that were trained without them.

    Residuals by the model of all rows are those times I - Z D Z', with D = ``inverse`` of a
    lambda; what is inverted has as many rows as the query, or as there are features if these are
    fewer.
    """
    n_rows, n_features = Z.shape
    if n_rows <= n_features:
        inner = np.eye(n_rows) - (Z * inverse[:, None, :]) @ Z.T
        return np.linalg.solve(inner, residual[:, :, None])[:, :, 0]
    inner = -Z.T @ Z + np.eye(n_features) / inverse[:, None, :]
    moved = np.linalg.solve(inner, (residual @ Z)[:, :, None])[:, :, 0]
    return residual + moved @ Z.T
