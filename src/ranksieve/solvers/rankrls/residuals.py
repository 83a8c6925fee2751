"""Statistics: leave-query-out residuals of pairwise least squares, as features are changed.

:class:`LeaveQueryOut` keeps residuals of all features; :class:`ReplayedLeaveQueryOut` computes them
from the data each time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.leave_query_out import (
    History,
    ModelStep,
    NextChanges,
    Pending,
    add_removal_errors,
    all_errors,
    begin_sums,
    change_model,
    column_of,
    pass_over,
    predict_left_out,
    replay_columns,
    replay_errors,
)
from ranksieve.data import Block
from ranksieve.data.inputs import query_runs
from ranksieve.engine import changes_state, starts_over
from ranksieve.metrics import Convention, Measure
from ranksieve.metrics.ranking import ColumnSums
from ranksieve.solvers.rankrls.centered_rows import CenteredRows, centered_rows, error_sums
from ranksieve.sums.chunks import CHUNK

MORE_COLUMNS = 8  # columns by which arrays grow
_DTYPES = {"float64": np.float64, "float32": np.float32}


class Change(NamedTuple):
    """A feature that enters or leaves the model, and numbers that all blocks need for it."""

    feature: int
    model: np.ndarray  # features in the model before the change
    weights: np.ndarray  # weights of regressing the feature on these
    inverse: float  # 1 / c of the feature
    d: float  # d of the feature
    t: np.ndarray  # (features,): multiple of the feature's column of C to subtract from each


Errors = tuple[np.ndarray, float, float]  # after adding each feature; of the model; its square


class Residuals:
    """Base of both statistics: residuals of labels, and columns of the features in the model."""

    title = "Leave-query-out"

    rows: CenteredRows
    y: np.ndarray
    query_ptr: np.ndarray

    def n_queries(self) -> tuple[int, float]:
        """Number and weight of the queries with two documents or more and a weight above 0."""
        return self.rows.n_queries()

    def _begin(self, lam: float) -> None:
        self.lam = lam
        self.a, self.p = self.y / lam, self.y.copy()
        self.facts = np.zeros((len(self.query_ptr) - 1, 7))
        if len(self.y):
            self.facts[:, 6] = np.add.reduceat(self.p**2, self.query_ptr[:-1])

    def removal_errors(self, model: np.ndarray, inner: np.ndarray, xy: np.ndarray) -> np.ndarray:
        """Errors after removing each feature of the model, given products of all rows."""
        columns = np.column_stack([self.rows.column(feature) for feature in model.tolist()])
        errors = np.zeros(len(model))
        add_removal_errors(columns, self.p, self.y, self.query_ptr, inner, xy, errors)
        return errors

    def _change(self, change: Change, u: np.ndarray, g: np.ndarray) -> None:
        change_model(u, g, self.a, self.p, self.query_ptr, change.inverse, change.d, self.facts)

    def _error(self) -> tuple[float, float]:
        """Sums over queries of the model's error and of its square."""
        return error_sums(self.facts[:, 6], self.rows.weights)


class LeaveQueryOut(Residuals):
    """Statistic: keeps the leave-query-out residuals of all features, and sums of each query.

    Columns are stored as ``dtype``; sums are float64. ``rotate`` replaces queries of more documents
    than features by fewer rows with the same squared errors.
    """

    def __init__(self, block: Block, dtype: str = "float64", rotate: bool = True) -> None:
        self.rows = centered_rows(block, rotate=rotate)
        self.y, self.query_ptr = self.rows.y, self.rows.query_ptr
        self.U = self.rows.matrix(_DTYPES[dtype])
        self.fresh = True

    def gram(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Products of centered features (features, features), with labels, and of labels."""
        if not self.fresh:
            self.rows.fill(self.U)
            self.fresh = True
        X = self.U.astype(np.float64, copy=False)
        return X.T @ X, X.T @ self.y, float(self.y @ self.y)

    @starts_over()
    def begin(self, lam: float, inverse: np.ndarray, d: np.ndarray) -> Errors:
        """Start from the empty model; return errors after adding each feature, and of the model.

        ``inverse`` and ``d`` are 1 / c and d of all features.
        """
        if not self.fresh:
            self.rows.fill(self.U)
        self.fresh = False
        self._begin(lam)
        self.positions: dict[int, int] = {}  # feature -> its column among those of the model
        self.columns = np.empty((0, len(self.y)))
        n_queries, (n_rows, n_features) = len(self.query_ptr) - 1, self.U.shape
        # Number of changes to collect before they are written to U. More of them save writes, but
        # are read in each round: this minimizes rows / capacity + capacity / 2.
        capacity = max(1, round(np.sqrt(2 * n_rows / max(1, n_queries))))
        self.sums = np.empty((n_queries, 4, n_features))
        self.pending_u = np.empty((n_rows, capacity))
        self.pending_r = np.empty((n_queries, capacity, n_features), dtype=self.U.dtype)
        self.n_pending = 0
        begin_sums(self.U, self.y, self.query_ptr, lam, self.sums)
        errors = np.zeros(n_features)
        all_errors(self.sums, self.facts[:, 6], inverse, d, errors)
        return errors, *self._error()

    @changes_state
    def change(self, change: Change, inverse: np.ndarray, d: np.ndarray) -> Errors:
        """Change the model; return errors after adding each feature, and of the model.

        ``inverse`` and ``d`` are those of all features after the change.
        """
        pending = Pending(self.pending_u, self.pending_r, self.n_pending)
        u, g = np.empty(len(self.y)), self._residual(change)
        column_of(self.U, change.feature, self.query_ptr, pending, u)
        self._change(change, u, g)
        apply_pending = self.n_pending == self.pending_u.shape[1]
        errors = np.zeros(self.U.shape[1])
        pass_over(
            self.U,
            self.query_ptr,
            pending,
            apply_pending,
            ModelStep(u, g, self.facts, change.d, change.t),
            NextChanges(inverse, d),
            self.sums,
            errors,
        )
        self.n_pending = 1 if apply_pending else self.n_pending + 1
        return errors, *self._error()

    def _residual(self, change: Change) -> np.ndarray:
        """Column of C: residual of the feature after regressing it on the model, over lambda."""
        position = self.positions.setdefault(change.feature, len(self.positions))
        if position == len(self.columns):
            more = np.empty((MORE_COLUMNS, len(self.y)))
            self.columns = np.concatenate([self.columns, more])
        if position == len(self.positions) - 1:
            self.columns[position] = self.rows.column(change.feature)
        weights = np.zeros(len(self.positions))
        weights[[self.positions[feature] for feature in change.model.tolist()]] = change.weights
        return (self.columns[position] - weights @ self.columns[: len(weights)]) / self.lam


class MeasuredLeaveQueryOut(LeaveQueryOut):
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

    def begin(self, lam: float, inverse: np.ndarray, d: np.ndarray) -> Errors:
        """Start from the empty model; see :meth:`LeaveQueryOut.begin`."""
        super().begin(lam, inverse, d)
        return self._measure(inverse, d)

    def change(self, change: Change, inverse: np.ndarray, d: np.ndarray) -> Errors:
        """Change the model; see :meth:`LeaveQueryOut.change`."""
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


class ReplayedLeaveQueryOut(Residuals):
    """Statistic: keeps only the changes of the model, and computes the rest from the data.

    For data that fits into memory once but not twice, and for samples of candidates.
    """

    def __init__(self, block: Block) -> None:
        self.rows = CenteredRows(block)
        self.y, self.query_ptr = self.rows.y, self.rows.query_ptr

    def gram(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Products of centered features (features, features), with labels, and of labels."""
        return *self.rows.gram(), float(self.y @ self.y)

    def spread(self) -> np.ndarray:
        """Sum of squares of each centered feature; 0 if it is constant within every query."""
        return sum(
            ((piece.X**2).sum(axis=0) for piece in self.rows.pieces()),
            np.zeros(self.rows.n_features),
        )

    def products(
        self, features: np.ndarray, model: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Products of some features with those of the model, with themselves and with labels."""
        n = len(features)
        with_model = np.zeros((len(model), n))
        own, with_labels = np.zeros((2, n))
        for piece in self.rows.pieces(np.concatenate([features, model])):
            X = piece.X[:, :n]
            with_model += piece.X[:, n:].T @ X
            own += (X**2).sum(axis=0)
            with_labels += self.y[piece.rows] @ X
        return with_model, own, with_labels

    @starts_over()
    def start(self, lam: float) -> tuple[float, float]:
        """Start from the empty model, and return its error."""
        self._begin(lam)
        self.history_u = np.empty((0, len(self.y)))
        self.history_g = np.empty((0, len(self.y)))
        self.gammas = np.empty((0, len(self.query_ptr) - 1))
        self.n_changes = 0
        return self._error()

    @changes_state
    def apply_change(self, change: Change, history: np.ndarray) -> tuple[float, float]:
        """Change the model, and return its error; ``history`` (changes,) is t of the feature."""
        column, position = self.rows.column(change.feature), self.n_changes
        s, t = slice(0, position), np.ascontiguousarray(history[:, None])
        past = History(self.history_u[s], self.history_g[s], self.gammas[s], t, self.lam)
        u = np.empty((len(column), 1))
        replay_columns(column[:, None], self.query_ptr, past, u)
        u = u[:, 0]
        g = column / self.lam - history @ self.history_g[:position]
        self._change(change, u, g)
        if position == len(self.gammas):
            for name in ("history_u", "history_g", "gammas"):
                old = getattr(self, name)
                more = np.empty((MORE_COLUMNS, old.shape[1]))
                setattr(self, name, np.concatenate([old, more]))
        self.history_u[position], self.history_g[position] = u, g
        self.gammas[position] = self.facts[:, 0]
        self.n_changes += 1
        return self._error()

    def errors(
        self, features: np.ndarray | None, history: np.ndarray, inverse: np.ndarray, d: np.ndarray
    ) -> np.ndarray:
        """Errors after adding each of some or of all features.

        ``history`` (changes, features) has their t of each change so far; ``inverse`` and ``d``
        are their current values.
        """
        errors = np.zeros(history.shape[1])
        s = slice(0, self.n_changes)
        for piece in self.rows.pieces(features):
            if len(piece.X) == 0:
                continue
            past_changes = History(
                np.ascontiguousarray(self.history_u[s, piece.rows]),
                np.ascontiguousarray(self.history_g[s, piece.rows]),
                np.ascontiguousarray(self.gammas[s, piece.queries]),
                history,
                self.lam,
            )
            replay_errors(
                piece.X,
                piece.query_ptr,
                past_changes,
                self.a[piece.rows],
                self.p[piece.rows],
                NextChanges(inverse, d),
                errors,
            )
        return errors
