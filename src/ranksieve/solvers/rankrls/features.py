"""Pairwise least squares on some features, with the error after adding each other one.

Residuals of all features are kept, so that the errors of all candidates take a single pass over
them; :mod:`ranksieve.solvers.rankrls.groups` computes them again each time. The notation is that of
:mod:`ranksieve._kernels.leave_query_out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ranksieve._kernels.group_errors import add_removal_errors
from ranksieve._kernels.leave_query_out import (
    N_FACTS,
    ModelStep,
    NextChanges,
    Pending,
    all_errors,
    begin_sums,
    change_model,
    column_of,
    pass_over,
    predict_left_out,
)
from ranksieve.data import Block
from ranksieve.data.inputs import query_runs
from ranksieve.engine import Workers, changes_state, starts_over
from ranksieve.metrics import Convention, Measure
from ranksieve.metrics.ranking import ColumnSums
from ranksieve.sums.centered_rows import CenteredRows, error_sums
from ranksieve.sums.checks import finite
from ranksieve.sums.chunks import CHUNK
from ranksieve.sums.gram import GramSums

_MORE_COLUMNS = 8  # columns by which arrays grow
# A query is rotated if that leaves at most this fraction of its rows: then rotation pays off within
# about ten rounds.
_WORTH = 0.7


class Change(NamedTuple):
    """A feature that enters or leaves the model, and numbers that all blocks need for it."""

    feature: int
    model: np.ndarray  # features in the model before the change
    weights: np.ndarray  # weights of regressing the feature on these
    inverse: float  # 1 / c of the feature
    d: float  # d of the feature
    t: np.ndarray  # (features,): multiple of the feature's column of C to subtract from each


Errors = tuple[np.ndarray, float, float]  # after adding each feature; of the model; its square


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


class KeptResiduals:
    """Statistic: keeps the leave-query-out residuals of all features, and sums of each query.

    Columns are stored as ``dtype``; sums are float64. ``rotate`` replaces queries of more documents
    than features by fewer rows with the same squared errors.
    """

    title = "Leave-query-out"

    def __init__(self, block: Block, dtype: str = "float64", rotate: bool = True) -> None:
        lengths, width = np.diff(block.query_ptr), block.X.shape[1] + 1
        is_worth = rotate and np.any(lengths * _WORTH > width)
        self.rows = RotatedRows(block, width) if is_worth else CenteredRows(block)
        self.y, self.query_ptr = self.rows.y, self.rows.query_ptr
        self.U = np.empty((len(self.y), block.X.shape[1]), dtype=dtype)
        self.rows.fill(self.U)
        self.is_fresh = True  # whether U has the rows themselves

    def n_queries(self) -> tuple[int, float]:
        """Number and weight of the queries with two documents or more and a weight above 0."""
        return self.rows.n_queries()

    def gram(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Products of centered features (features, features), with labels, and of labels."""
        self._refresh()
        X = self.U.astype(np.float64, copy=False)
        return X.T @ X, X.T @ self.y, float(self.y @ self.y)

    @starts_over()
    def start(self, lam: float, inverse: np.ndarray, d: np.ndarray) -> Errors:
        """Start from the empty model; return errors after adding each feature, and of the model.

        ``inverse`` and ``d`` are 1 / c and d of all features.
        """
        self._refresh()
        self.is_fresh = False
        self.lam = lam
        self.a, self.p = self.y / lam, self.y.copy()
        self.positions: dict[int, int] = {}  # feature -> its column among those of the model
        self.columns = np.empty((0, len(self.y)))
        n_queries, (n_rows, n_features) = len(self.query_ptr) - 1, self.U.shape
        self.facts, self.residuals = np.zeros((n_queries, N_FACTS)), np.zeros(n_queries)
        if n_rows:
            self.residuals[:] = np.add.reduceat(self.p**2, self.query_ptr[:-1])
        # Number of changes to collect before they are written to U. More of them save writes, but
        # are read in each round: this minimizes rows / capacity + capacity / 2.
        capacity = max(1, round(np.sqrt(2 * n_rows / max(1, n_queries))))
        self.sums = np.empty((n_queries, 4, n_features))
        self.pending_u = np.empty((n_rows, capacity))
        self.pending_r = np.empty((n_queries, capacity, n_features), dtype=self.U.dtype)
        self.n_pending = 0
        begin_sums(self.U, self.y, self.query_ptr, lam, self.sums)
        errors = np.zeros(n_features)
        all_errors(self.sums, self.residuals, inverse, d, errors)
        return errors, *error_sums(self.residuals, self.rows.weights)

    @changes_state
    def change(self, change: Change, inverse: np.ndarray, d: np.ndarray) -> Errors:
        """Change the model; return errors after adding each feature, and of the model.

        ``inverse`` and ``d`` are those of all features after the change.
        """
        pending = Pending(self.pending_u, self.pending_r, self.n_pending)
        u, g = np.empty(len(self.y)), self._regress(change)
        column_of(self.U, change.feature, self.query_ptr, pending, u)
        labels = self.a, self.p, self.query_ptr, change.inverse, change.d
        change_model(u, g, *labels, self.facts, self.residuals)
        apply_pending = self.n_pending == self.pending_u.shape[1]
        errors = np.zeros(self.U.shape[1])
        pass_over(
            self.U,
            self.query_ptr,
            pending,
            apply_pending,
            ModelStep(u, g, self.facts, self.residuals, change.d, change.t),
            NextChanges(inverse, d),
            self.sums,
            errors,
        )
        self.n_pending = 1 if apply_pending else self.n_pending + 1
        return errors, *error_sums(self.residuals, self.rows.weights)

    def removal_errors(self, model: np.ndarray, inner: np.ndarray, xy: np.ndarray) -> np.ndarray:
        """Errors after removing each feature of the model, given products of all rows."""
        columns = np.column_stack([self.rows.column(feature) for feature in model.tolist()])
        errors, ptr = np.zeros(len(model)), np.arange(len(model) + 1)
        add_removal_errors(columns, self.y, self.query_ptr, inner, xy, ptr, errors)
        return errors

    def _refresh(self) -> None:
        """Write the rows to U again after changes of a model."""
        if not self.is_fresh:
            self.rows.fill(self.U)
            self.is_fresh = True

    def _regress(self, change: Change) -> np.ndarray:
        """Column of C: residual of the feature after regressing it on the model, over lambda."""
        position = self.positions.setdefault(change.feature, len(self.positions))
        if position == len(self.columns):
            more = np.empty((_MORE_COLUMNS, len(self.y)))
            self.columns = np.concatenate([self.columns, more])
        if position == len(self.positions) - 1:
            self.columns[position] = self.rows.column(change.feature)
        weights = np.zeros(len(self.positions))
        weights[[self.positions[feature] for feature in change.model.tolist()]] = change.weights
        return (self.columns[position] - weights @ self.columns[: len(weights)]) / self.lam


class MeasuredResiduals(KeptResiduals):
    """Statistic: errors are those of a measure of the leave-query-out predictions."""

    def __init__(
        self, block: Block, dtype: str, measure: Measure, convention: Convention | str
    ) -> None:
        super().__init__(block, dtype, rotate=False)
        # Queries of one document are left out: their ranking never changes.
        self.labels = np.asarray(block.y)[self.rows.kept]
        self.prepared = measure.prepare(self.labels, self.query_ptr, convention)
        self.sign = -1.0 if measure.greater_is_better else 1.0

    def n_queries(self) -> tuple[int, float]:
        """Number of queries with two documents or more, and weight of those with a value."""
        return self.rows.n_queries()[0], float(self.rows.weights @ self.prepared.is_defined)

    def start(self, lam: float, inverse: np.ndarray, d: np.ndarray) -> Errors:
        """Start from the empty model; see :meth:`KeptResiduals.start`."""
        super().start(lam, inverse, d)
        return self._measure(inverse, d)

    def change(self, change: Change, inverse: np.ndarray, d: np.ndarray) -> Errors:
        """Change the model; see :meth:`KeptResiduals.change`."""
        super().change(change, inverse, d)
        return self._measure(inverse, d)

    def _measure(self, inverse: np.ndarray, d: np.ndarray) -> Errors:
        n_columns = self.U.shape[1] + 1
        sums = ColumnSums(n_columns)
        known = self.y - self.p
        for first, last in query_runs(self.query_ptr, CHUNK // n_columns):
            rows = slice(self.query_ptr[first], self.query_ptr[last])
            predicted = np.empty((rows.stop - rows.start, n_columns))
            predict_left_out(
                self.U,
                (first, last),
                self.query_ptr,
                Pending(self.pending_u, self.pending_r, self.n_pending),
                known,
                self.sums,
                NextChanges(inverse, d),
                predicted,
            )
            pointer = self.query_ptr[first : last + 1] - rows.start
            self.prepared.add_columns(
                predicted,
                pointer,
                sums,
                self.rows.weights[first:last],
                first_query=first,
                first_row=rows.start,
            )
        errors = self.sign * sums.values[0]
        return errors[:-1], float(errors[-1]), float(sums.squares[0, -1])


class FeatureModel:
    """Pairwise least squares on some features, with errors after adding each other feature.

    ``workers`` are those of :class:`KeptResiduals`, ``products`` the sum of their method ``gram``,
    and ``lam`` is the regularization.
    """

    error: float  # sum over queries of the leave-query-out error
    square: float  # sum of its square

    def __init__(self, workers: Workers[KeptResiduals], products: GramSums, lam: float) -> None:
        self.workers, self.products, self.lam = workers, products, lam
        self.chosen: list[int] = []  # features in the order in which they were added
        self._regress()
        self._errors, self.error, self.square = workers.sum(
            KeptResiduals.start, lam, self._inverse, self._d
        )

    def change(self, feature: int) -> None:
        """Add a feature, or remove it if it is in the model."""
        half = self._half[:, feature]
        left = self.products.xx[feature] - half @ self._half
        change = Change(
            feature=feature,
            model=np.array(self.chosen, dtype=np.intp),
            weights=solve_triangular(self._factor, half, trans="T", lower=True),
            inverse=float(self._inverse[feature]),
            d=float(self._d[feature]),
            t=left / (self.lam * self._inverse[feature]),
        )
        if feature in self.chosen:
            self.chosen.remove(feature)
        else:
            self.chosen.append(feature)
        self._regress()
        self._errors, self.error, self.square = self.workers.sum(
            KeptResiduals.change, change, self._inverse, self._d
        )

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error after adding each of some features that are not in the model."""
        return self._errors[candidates]

    def removal_errors(self, candidates: Sequence[int]) -> np.ndarray:
        """Error after removing each of some features of the model."""
        chosen, xy = np.array(self.chosen), self.products.xy[self.chosen]
        errors = self.workers.sum(KeptResiduals.removal_errors, chosen, self._inner, xy)
        return errors[[self.chosen.index(feature) for feature in candidates]]

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of the chosen features."""
        return solve_triangular(self._factor, self._labels, trans="T", lower=True)

    def _regress(self) -> None:
        """Regress all features and the labels on those in the model."""
        (xx, xy, _), chosen = self.products, self.chosen
        self._inner = xx[np.ix_(chosen, chosen)] + self.lam * np.eye(len(chosen))
        self._factor = cholesky(finite(self._inner), lower=True) if chosen else self._inner
        self._half = solve_triangular(self._factor, xx[chosen], lower=True)
        self._labels = solve_triangular(self._factor, xy[chosen], lower=True)
        own = (np.diag(xx) - (self._half**2).sum(axis=0)) / self.lam
        self._inverse = 1.0 + own
        # For a feature in the model, 1 / c = -1 + own avoids cancellation.
        root = solve_triangular(self._factor, np.eye(len(chosen)), lower=True)
        self._inverse[chosen] = -self.lam * (root**2).sum(axis=0)
        self._d = (xy - self._labels @ self._half) / (self.lam * self._inverse)
