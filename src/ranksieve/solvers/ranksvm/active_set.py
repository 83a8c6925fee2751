"""Statistic: the squared hinge loss where only a few features have weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve._kernels.curvature import curve_columns
from ranksieve._kernels.pairs import ActivePairs
from ranksieve.data import Block
from ranksieve.solvers.ranksvm.losses import SquaredHinge, float_parts
from ranksieve.sums.chunks import CHUNK, chunks, count_varying


class ActiveSet(SquaredHinge):
    """Statistic: half of the sum of squared violations, for weights of some columns."""

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self.block = block
        self.set_active(np.zeros(0, dtype=np.intp), True, np.zeros(0))

    def set_active(
        self, columns: np.ndarray, keep: bool, w: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Set the columns with weights, and return loss and gradient at ``w``."""
        self.columns, self.kept = columns, None
        self.kept = self._take_columns() if keep else None
        return self.loss_and_gradient_at(w)

    def full_gradient(self) -> np.ndarray:
        """Gradient by the weights of all features at the current point."""
        return sum(part.T @ self.slope[rows] for rows, part in float_parts(self.block.X))

    def count_varying(self) -> np.ndarray:
        """Number of queries with pairs and a positive weight in which each feature varies."""
        return count_varying(self.block, (self.n_levels > 1) & (self.query_weights > 0))

    def loss_after(self, step: np.ndarray) -> float:
        """Choose a direction, and return the loss at its end."""
        self.search_direction(step)
        return self._loss()

    def line_loss(self, t: float) -> float:
        """Loss ``t`` steps along the direction."""
        self.line_derivative(t)
        return self._loss()

    def direct_to(self, feature: int, weight: float, sign: float) -> tuple[float, float]:
        """Choose the direction to (sign 1) or away from (-1) the model of one feature's ``weight``.

        Returns the first and second derivative along it at its start.
        """
        column = self.block.X[:, [feature]]
        values = column.toarray()[:, 0] if sparse.issparse(column) else column[:, 0]
        lengths = np.diff(self.query_ptr)
        means = np.add.reduceat(values.astype(np.float64), self.query_ptr[:-1]) / lengths
        self.origin = self.z
        self.step = sign * (weight * (values - np.repeat(means, lengths)) - self.z)
        return float(self.slope @ self.step), self.line_curvature()

    def line_derivatives(self, t: float) -> tuple[float, float]:
        """First and second derivative along the direction, ``t`` steps from its start."""
        return self.line_derivative(t), self.line_curvature()

    def hessian(self) -> np.ndarray:
        """Second derivatives (columns, columns) at the current point."""
        n = len(self.columns)
        total = np.zeros((n, n))
        X = self.kept if self.kept is not None else self._take_columns()
        taken = replace(self.block, X=X)
        for part in chunks(taken, most=max(CHUNK, 4 * n * n)):
            rows, queries = part.rows, part.queries
            curved = np.empty(part.X.shape)
            pairs = ActivePairs(
                part.query_ptr,
                self.levels[rows],
                self.n_levels[queries],
                self.order[rows],
                self.reach[rows],
            )
            curve_columns(part.X, self.weights[rows], self.degree[rows], pairs, curved)
            total += part.X.T @ curved
        return total

    def _take_columns(self) -> np.ndarray:
        X: Any = self.block.X[:, self.columns]
        return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    def _parts(self) -> Iterator[tuple[slice, Any]]:
        yield slice(None), self.kept if self.kept is not None else self._take_columns()
