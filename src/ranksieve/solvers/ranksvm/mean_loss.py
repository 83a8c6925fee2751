"""The loss that sparse rankers minimize: squared violations of margins, for few features.

:class:`ActiveSet` is its statistic, which lives beside a block; :class:`MeanLoss` is the mean over
all blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from scipy import sparse

from ranksieve._kernels.pairs import ActivePairs, curve_columns
from ranksieve.data import Block, DataError
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.engine import (
    Source,
    Workers,
    changes_state,
    engine_of,
    fits_in_memory,
    starts_over,
)
from ranksieve.solvers.ranksvm.losses import SquaredHinge, float_parts
from ranksieve.sums.chunks import CHUNK, chunks
from ranksieve.sums.varying import count_varying

P = ParamSpec("P")
T = TypeVar("T")

_BLOCK = 2**20  # bytes; for smaller blocks, calling a worker takes longer than its work


class ActiveSet(SquaredHinge):
    """Statistic: half of the sum of squared violations, for weights of some columns."""

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self.block = block
        self.set_active(np.zeros(0, dtype=np.intp), True, np.zeros(0))

    @starts_over()
    def set_active(
        self, columns: np.ndarray, keep: bool, w: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Set the columns with weights, and return loss and gradient at ``w``."""
        self.columns, self.kept = columns, None
        self.kept = self._take_columns() if keep else None
        return self.loss_and_gradient_at(w)

    @starts_over(keeping=("set_active",))
    def loss_and_gradient_at(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient at ``w``, the weights of the active columns."""
        return super().loss_and_gradient_at(w)

    def full_gradient(self) -> np.ndarray:
        """Gradient by the weights of all features at the current point."""
        return sum(part.T @ self.slope[rows] for rows, part in float_parts(self.block.X))

    def count_varying(self) -> np.ndarray:
        """Number of queries with pairs and a positive weight in which each feature varies."""
        return count_varying(self.block, (self.n_levels > 1) & (self.query_weights > 0))

    @changes_state
    def loss_after(self, step: np.ndarray) -> float:
        """Choose a direction, and return the loss at its end."""
        self.search_direction(step)
        return self._loss()

    @changes_state
    def line_loss(self, t: float) -> float:
        """Loss ``t`` steps along the direction."""
        self.line_derivative(t)
        return self._loss()

    @changes_state
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

    @changes_state
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


class MeanLoss:
    r"""Mean over all pairs of the squared violation of the margin, at a current point.

    .. math:: \frac1P \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2

    Initially all weights are 0, and the loss is 1. Pairs count by the weights of their queries.
    """

    varies: np.ndarray  # (features,): within some query with pairs and a positive weight
    # (features,): standard deviation of each feature around the mean of a query, documents weighted
    # by the number of their pairs; 1 for features that do not vary.
    deviations: np.ndarray

    def __init__(self, source: Source, workers: Workers[ActiveSet]) -> None:
        self.source, self.workers = source, workers
        self.scale = 2.0 / workers.sum(ActiveSet.totals)[0]  # the statistic is half of the sum
        self.n_features = source.n_features
        self.varies = workers.sum(ActiveSet.count_varying) > 0
        # A pair is counted in two documents.
        variances = workers.sum(ActiveSet.hessian_diagonal) * self.scale / 4
        squares = variances[self.varies]
        if not ((squares >= np.finfo(np.float64).tiny) & np.isfinite(squares)).all():
            raise DataError(f"some features are too large or too small to multiply; {SCALE_FIRST}")
        self.deviations = np.where(self.varies, np.sqrt(variances), 1.0)

    def mean(
        self,
        method: Callable[Concatenate[ActiveSet, P], T],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        """Result of a method of :class:`ActiveSet`, or all of them, as a mean over all pairs."""
        sums: Any = self.workers.sum(method, *arguments, **named)
        if isinstance(sums, tuple):
            sums = tuple(self.scale * part for part in sums)
            return cast(T, sums)
        return cast(T, self.scale * sums)

    def set_active(self, columns: np.ndarray, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Move to weights ``w`` of some features, all others being 0; return loss and slopes."""
        keep = fits_in_memory(self.source, 8 * self.source.n_rows * len(columns))
        return self.mean(ActiveSet.set_active, columns, keep, w)

    def full_gradient(self) -> np.ndarray:
        """Slopes by the weights of all features; 0 for those that do not vary."""
        return np.where(self.varies, self.mean(ActiveSet.full_gradient), 0.0)

    def make_loss_and_gradient(
        self, scales: np.ndarray
    ) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """Activate all features that vary; return a function from weights to loss and slopes.

        Weights are those of features divided by their ``scales``. The function takes and returns
        one number for each feature; slopes of features that do not vary are 0.
        """
        columns = np.flatnonzero(self.varies)
        self.set_active(columns, np.zeros(len(columns)))

        def loss_and_gradient(weights: np.ndarray) -> tuple[float, np.ndarray]:
            at = (weights / scales)[columns]
            loss, own = self.mean(ActiveSet.loss_and_gradient_at, at)
            slopes = np.zeros(self.n_features)
            slopes[columns] = own / scales[columns]
            return loss, slopes

        return loss_and_gradient


@contextmanager
def mean_loss(source: Source) -> Iterator[MeanLoss]:
    """Context manager that yields the loss and frees its memory at the end of the block."""
    with engine_of(source, _BLOCK).start(ActiveSet) as workers:
        yield MeanLoss(source, workers)
