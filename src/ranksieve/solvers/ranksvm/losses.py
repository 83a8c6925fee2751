"""Statistics: violated margins between the documents of a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve._kernels.pairs import ActivePairs, add_spread, count_active, order_active
from ranksieve.data import Block
from ranksieve.engine import changes_state, starts_over
from ranksieve.metrics.ranking import number_levels
from ranksieve.sums.chunks import CHUNK, row_weights_of, weights_of


class Pairs:
    """Base of both losses: the pairs of documents of a block."""

    title = "RankSVM"

    def __init__(self, block: Block) -> None:
        block.check_finite()
        self.X, self.query_ptr = block.X, block.query_ptr
        self.starts, self.lengths = self.query_ptr[:-1], np.diff(self.query_ptr)
        n_rows = len(block.y)
        levels, self.n_pairs = number_levels(block.y, self.query_ptr)
        self.levels = levels.astype(np.int32)
        self.n_levels = np.maximum.reduceat(levels, self.starts) + 1
        self.order, self.reach = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int32)
        self.worse, self.better, self.sums = np.empty((3, n_rows))
        self.pairs = ActivePairs(self.query_ptr, self.levels, self.n_levels, self.order, self.reach)
        self.query_weights = weights_of(block)
        self.weights = row_weights_of(block, self.query_weights)

    def totals(self) -> tuple[float, float]:
        """Number of pairs and of queries, both weighted."""
        return float(self.query_weights @ self.n_pairs), float(self.query_weights.sum())

    def _scores(self, w: np.ndarray) -> np.ndarray:
        """Scores minus their query's mean, so that differences of large scores are precise."""
        products = [part @ w for _, part in self._parts()]
        z = products[0] if len(products) == 1 else np.concatenate(products)
        z -= np.repeat(np.add.reduceat(z, self.starts) / self.lengths, self.lengths)
        return z

    def _weight_gradient(self, slope: np.ndarray) -> np.ndarray:
        """Derivative by weights, given that by scores."""
        return sum(part.T @ slope[rows] for rows, part in self._parts())

    def _parts(self) -> Iterator[tuple[slice, Any]]:
        """Slices of rows, and these rows of the features with weights."""
        return float_parts(self.X)

    def _count(self, z: np.ndarray) -> None:
        """Find the active pairs, and count and sum the scores of each document's partners."""
        order_active(z, self.pairs)
        count_active(z, self.pairs, self.worse, self.better, self.sums)


def float_parts(X: Any) -> Iterator[tuple[slice, Any]]:
    """Slices of rows, and these rows of a matrix: all at once unless they must be converted."""
    if X.dtype == np.float64:
        yield slice(None), X
        return
    step = max(1, CHUNK // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        yield rows, X[rows].astype(np.float64)


class SquaredHinge(Pairs):
    """Statistic: half of the sum of squared violations of the margin, and its derivatives."""

    @starts_over()
    def loss_and_gradient_at(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient at ``w``."""
        self._move_to(self._scores(w))
        return self.loss_and_gradient()

    @changes_state
    def search_direction(self, step: np.ndarray) -> float:
        """Choose a direction, and return the derivative along it at the end of the step."""
        self.origin, self.step = self.z, self._scores(step)
        return self.line_derivative(1.0)

    @changes_state
    def line_derivative(self, t: float) -> float:
        """Derivative along the direction, ``t`` steps from its start."""
        self._move_to(self.origin + t * self.step)
        return float(self.slope @ self.step)

    def line_curvature(self) -> float:
        """Second derivative along the direction at the current point."""
        return float(self._score_hessian_product(self.step) @ self.step)

    def loss_and_gradient(self) -> tuple[float, np.ndarray]:
        """Loss and gradient at the current point."""
        return self._loss(), self._weight_gradient(self.slope)

    def hessian_product(self, v: np.ndarray) -> np.ndarray:
        """Product of the Hessian at the current point with ``v``."""
        return self._weight_gradient(self._score_hessian_product(self._scores(v)))

    def hessian_diagonal(self) -> np.ndarray:
        """Approximate diagonal of the Hessian, with partners replaced by their query's mean."""
        spread = np.zeros(self.X.shape[1])
        if not sparse.issparse(self.X):
            add_spread(self.X, self.degree, self.query_ptr, spread)
            return spread
        degree, rows = self.degree, np.arange(len(self.degree))
        by_query = sparse.csr_matrix((degree, rows, self.query_ptr))
        totals = np.add.reduceat(degree, self.starts)
        inverse = np.divide(1.0, totals, out=np.zeros(len(totals)), where=totals > 0)
        squares = self.X.multiply(self.X).T @ degree
        return np.maximum(0.0, squares - (by_query @ self.X).power(2).T @ inverse)

    def _loss(self) -> float:
        return 0.5 * float(self.weights @ self.worse + self.z @ (self.slope + self.net))

    def _move_to(self, z: np.ndarray) -> None:
        self.z = z
        self._count(z)
        self.degree = self.weights * (self.worse + self.better)
        self.net = self.weights * (self.better - self.worse)
        self.slope = self.degree * z - self.weights * self.sums + self.net

    def _score_hessian_product(self, v: np.ndarray) -> np.ndarray:
        """Product of the Hessian by scores with ``v``."""
        count_active(v, self.pairs, self.worse, self.better, self.sums)  # the same counts
        return self.degree * v - self.weights * self.sums


class Hinge(Pairs):
    """Statistic: sum of violations of the margin, and its cutting planes.

    A plane (a, b) says that the sum is at least b - a.w for all w.
    """

    @starts_over()
    def start_at(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Start from ``w``, and return its plane."""
        self.z = self._scores(w)
        self.step = np.zeros(len(self.z))
        return self.step_and_cut(0.0, 0.0)

    @changes_state
    def search_direction(self, step: np.ndarray) -> tuple[float, float]:
        """Choose a direction; return loss and derivative along it at the end of the step."""
        self.step = self._scores(step)
        return self.line_loss_and_derivative(1.0)

    def line_loss_and_derivative(self, t: float) -> tuple[float, float]:
        """Loss and its derivative along the direction, ``t`` steps from ``w``."""
        z = self.z + t * self.step
        self._count(z)
        net = self.weights * (self.worse - self.better)
        return float(self.weights @ self.worse - net @ z), -float(net @ self.step)

    @changes_state
    def step_and_cut(self, t: float, at: float) -> tuple[np.ndarray, float]:
        """Take ``t`` steps along the direction; return the plane ``at`` steps from its start."""
        self._count(self.z + at * self.step)
        self.z += t * self.step
        net = self.weights * (self.worse - self.better)
        return self._weight_gradient(net), float(self.weights @ self.worse)
