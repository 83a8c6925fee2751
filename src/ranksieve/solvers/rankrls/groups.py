r"""Pairwise least squares on groups of columns, with the error after adding each other group.

Rows are centered within queries. For the columns S of the model, let :math:`X_S` be the rows and
:math:`A = X_S' X_S + \lambda I = L L'`. The residual of a column x after regressing it on S is
:math:`r = x - X_S A^{-1} X_S' x` by the model of all rows. By the model without query Q, the
residual of the rows of Q is

.. math:: u_Q = (I - E_Q E_Q')^{-1} r_Q, \qquad E = X_S L^{-T},

and the same holds for the labels, whose :math:`u_Q` is the leave-query-out residual :math:`p_Q` of
the model. Let R and U be these of all columns of a group B. By Woodbury's identity, the weights of
B in the model of S and B that is trained without Q are

.. math:: \kappa_Q = (K - R_Q' U_Q)^{-1} (v - R_Q' p_Q), \qquad
          K = X_B' R + \lambda I, \quad v = R' y,

and the leave-query-out residual of Q becomes :math:`p_Q - U_Q \kappa_Q`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ranksieve._kernels.group_errors import Groups, add_group_errors
from ranksieve.data import Block
from ranksieve.engine import Workers
from ranksieve.solvers.rankrls.centered_rows import CenteredRows, error_sums
from ranksieve.sums.checks import finite
from ranksieve.sums.chunks import Chunk


class Fitted(NamedTuple):
    """A model: its columns, and regressions on them.

    With L the lower Cholesky factor of the model's products: ``root`` is the transpose of its
    inverse, and ``half`` is its inverse times the products of the model with columns to regress
    and, last, with the labels.
    """

    columns: np.ndarray
    root: np.ndarray
    half: np.ndarray


class GroupLeaveQueryOut:
    """Statistic: leave-query-out errors of models, and of models with one more group of columns.

    Only the rows are kept: residuals of columns are computed again each time, a few queries at a
    time. ``rows`` is the class that makes rows from a block and ``parameters``.
    """

    title = "Leave-query-out"

    def __init__(
        self, block: Block, rows: type[CenteredRows] = CenteredRows, *parameters: Any
    ) -> None:
        self.rows = rows(block, *parameters)

    def n_queries(self) -> tuple[int, float]:
        """Number and weight of the queries with two documents or more and a weight above 0."""
        return self.rows.n_queries()

    def own_products(self, groups: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Products of each group's columns with each other, flattened; and with labels."""
        inner = [np.zeros((len(group), len(group))) for group in groups]
        outer = np.zeros(self.rows.n_features)
        for piece in self._pieces():
            outer += piece.X.T @ self.rows.y[piece.rows]
            for total, group in zip(inner, groups, strict=True):
                X = piece.X[:, group]
                total += X.T @ X
        return np.concatenate([total.ravel() for total in inner]), outer

    def products(self, columns: np.ndarray) -> np.ndarray:
        """Products of some columns with all columns."""
        total = np.zeros((len(columns), self.rows.n_features))
        for piece in self._pieces():
            total += piece.X[:, columns].T @ piece.X
        return total

    def error(self, model: Fitted) -> tuple[float, float]:
        """Sums over queries of a model's error and of its square; rows are weighted already."""
        total = square = 0.0
        for piece in self._pieces(model.columns):
            labels = self.rows.y[piece.rows, None]
            left = self._left_out(piece, labels, piece.X @ model.root, model.half[:, -1:])[1]
            errors = np.add.reduceat(left[:, 0] ** 2, piece.query_ptr[:-1])
            added = error_sums(errors, self.rows.weights[piece.queries])
            total, square = total + added[0], square + added[1]
        return total, square

    def addition_errors(self, model: Fitted, columns: np.ndarray, groups: Groups) -> np.ndarray:
        """Error after adding each of some groups, whose ``columns`` are adjacent."""
        errors = np.zeros(len(groups.ptr) - 1)
        n_model = len(model.columns)
        for piece in self._pieces(np.concatenate([model.columns, columns])):
            rows = np.column_stack([piece.X[:, n_model:], self.rows.y[piece.rows]])
            rotated = piece.X[:, :n_model] @ model.root
            within, without = self._left_out(piece, rows, rotated, model.half)
            add_group_errors(within, without, piece.query_ptr, groups, errors)
        return errors

    def _pieces(self, columns: np.ndarray | None = None) -> Iterator[Chunk]:
        """Centered rows, without runs of queries that all have a single document."""
        return (piece for piece in self.rows.pieces(columns) if len(piece.X))

    def _left_out(
        self, piece: Chunk, rows: np.ndarray, rotated: np.ndarray, half: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of rows by the model of all rows, and by models without their queries."""
        if rotated.shape[1] == 0:
            return rows, rows
        within = rows - rotated @ half
        without = np.empty_like(within)
        for start, end in pairwise(piece.query_ptr.tolist()):
            without[start:end] = _leave_out(rotated[start:end], within[start:end])
        return within, without


class GroupProducts:
    """Products of groups of columns over all rows, for models of any regularization.

    Columns that are constant within every query are left out. ``workers`` are those of
    :class:`GroupLeaveQueryOut`, ``groups`` the columns of each group.
    """

    def __init__(
        self, workers: Workers[GroupLeaveQueryOut], groups: Sequence[Sequence[int] | np.ndarray]
    ) -> None:
        self.workers = workers
        self.groups = [np.asarray(group, dtype=np.intp) for group in groups]
        flat, self.xy = workers.sum(
            GroupLeaveQueryOut.own_products, self.groups
        )  # xy: all columns with labels
        ends = np.cumsum([len(group) ** 2 for group in self.groups])
        # Columns of each group that vary within some query, and their products with each other.
        self.columns, self.inner = [], []
        for group, part in zip(self.groups, np.split(flat, ends[:-1]), strict=True):
            inner = part.reshape(len(group), len(group))
            varies = np.diag(inner) > 0
            self.columns.append(group[varies])
            self.inner.append(inner[np.ix_(varies, varies)])
        self._with_all: dict[int, np.ndarray] = {}

    @property
    def varies(self) -> np.ndarray:
        """Mask of the groups with a column that varies within some query."""
        return np.array([len(columns) > 0 for columns in self.columns])

    def with_all(self, group: int) -> np.ndarray:
        """Products of a group's columns with all columns; computed once and kept."""
        if group not in self._with_all:
            self._with_all[group] = self.workers.sum(
                GroupLeaveQueryOut.products, self.columns[group]
            )
        return self._with_all[group]


class GroupModel:
    """Pairwise least squares on some groups of columns, with errors after adding each other one.

    Notes
    -----
    With m rows, c columns, s of them in the model and at most p in a group, the errors of all
    groups take O(m c (s + p)) time, which is linear in the number of columns: products are needed
    only within groups and with columns of the model.
    """

    error: float  # sum over queries of the leave-query-out error
    square: float  # sum of its square

    def __init__(self, products: GroupProducts, lam: float) -> None:
        self.products, self.lam = products, lam
        self.features: list[int] = []  # groups in the order in which they were added
        self._regress()

    def change(self, group: int) -> None:
        """Add a group, or remove it if it is in the model."""
        if group in self.features:
            self.features.remove(group)
        else:
            self.features.append(group)
        self._regress()

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error after adding each of some groups."""
        parts = [self.products.columns[group] for group in candidates.tolist()]
        columns = np.concatenate(parts)
        half = self._model.half[:, np.append(columns, -1)]
        ptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        inner = []
        for group, (start, end) in zip(candidates.tolist(), pairwise(ptr), strict=True):
            own = half[:, start:end]
            left = self.products.inner[group] + self.lam * np.eye(end - start) - own.T @ own
            inner.append(left.ravel())
        outer = self.products.xy[columns] - half[:, -1] @ half[:, :-1]
        groups = Groups(ptr, np.concatenate(inner), outer, self.lam)
        model = self._model._replace(half=half)
        return self.products.workers.sum(GroupLeaveQueryOut.addition_errors, model, columns, groups)

    def removal_errors(self, candidates: Sequence[int]) -> np.ndarray:
        """Error after removing each of some groups of the model."""
        others = ([g for g in self.features if g != group] for group in candidates)
        return np.array([self._error(self._regression_on(left))[0] for left in others])

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of the columns of ``features``; 0 for those that are constant."""
        weights = np.zeros(len(self.products.xy))
        weights[self._model.columns] = self._model.root @ self._model.half[:, -1]
        groups = [self.products.groups[group] for group in self.features]
        return np.concatenate([np.empty(0), *(weights[group] for group in groups)])

    def _regress(self) -> None:
        self._model = self._regression_on(self.features)
        self.error, self.square = self._error(self._model)

    def _regression_on(self, groups: Sequence[int]) -> Fitted:
        """Regress all columns and the labels on those of some groups."""
        known = self.products
        columns = np.concatenate([np.empty(0, np.intp), *(known.columns[g] for g in groups)])
        with_all = np.concatenate(
            [np.empty((0, len(known.xy))), *(known.with_all(g) for g in groups)]
        )
        inner = with_all[:, columns] + self.lam * np.eye(len(columns))
        factor = cholesky(finite(inner), lower=True) if len(inner) else inner
        products = np.column_stack([with_all, known.xy[columns]])
        root = solve_triangular(factor, np.eye(len(columns)), lower=True).T
        return Fitted(columns, root, solve_triangular(factor, products, lower=True))

    def _error(self, model: Fitted) -> tuple[float, float]:
        labels_only = model._replace(half=model.half[:, -1:])
        return self.products.workers.sum(GroupLeaveQueryOut.error, labels_only)


def _leave_out(rotated: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Residuals of a query's rows by the model without them, given ``rotated``, their E.

    The inverted matrix has as many rows as the query, or as the model has columns if these are
    fewer. Multiplying by the inverse takes less time than solving for many columns.
    """
    n_rows, n_columns = rotated.shape
    if n_rows <= 2 * n_columns:
        return np.linalg.inv(np.eye(n_rows) - rotated @ rotated.T) @ within
    inverse = np.linalg.inv(np.eye(n_columns) - rotated.T @ rotated)
    return within + (rotated @ inverse) @ (rotated.T @ within)
