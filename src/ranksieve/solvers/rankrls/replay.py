"""Leave-query-out residuals of candidates, computed on demand."""

from __future__ import annotations

import numpy as np

from ranksieve._kernels.leave_query_out import History, NextChanges, replay_columns, replay_errors
from ranksieve.data import Block
from ranksieve.solvers.rankrls.residuals import MORE_COLUMNS, Change, Residuals
from ranksieve.solvers.rankrls.rotation import CenteredRows


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

    def start(self, lam: float) -> tuple[float, float]:
        """Start from the empty model, and return its error."""
        self._begin(lam)
        self.history_u = np.empty((0, len(self.y)))
        self.history_g = np.empty((0, len(self.y)))
        self.gammas = np.empty((0, len(self.query_ptr) - 1))
        self.n_changes = 0
        return self._error()

    def apply_change(self, change: Change, history: np.ndarray) -> tuple[float, float]:
        """Change the model, and return its error; ``history`` (changes,) is t of the feature."""
        column, position = self.rows.column(change.feature), self.n_changes
        u = self._replay_column(column, history)
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

    def _replay_column(self, column: np.ndarray, history: np.ndarray) -> np.ndarray:
        """Column of U of one feature, given its centered values."""
        u = np.empty((len(column), 1))
        s, t = slice(0, self.n_changes), np.ascontiguousarray(history[:, None])
        past_changes = History(self.history_u[s], self.history_g[s], self.gammas[s], t, self.lam)
        replay_columns(column[:, None], self.query_ptr, past_changes, u)
        return u[:, 0]

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
