r"""Pairwise least squares on groups of columns, with the error after adding each other group.

Rows are centered within queries. For the columns S of the model, let :math:`X_S` be the rows and
:math:`A = X_S' X_S + \lambda I = L L'`. The residual of a column x after regressing it on S is
:math:`r = x - X_S A^{-1} X_S' x` by the model of all rows. By the model without query Q, the
residual of the rows of Q is

.. math:: u_Q = (I - E_Q E_Q')^{-1} r_Q = r_Q + F_Q F_Q' r_Q, \qquad E = X_S L^{-T},

and the same holds for the labels, whose :math:`u_Q` is the leave-query-out residual :math:`p_Q` of
the model. A further column e of E adds the column :math:`f_Q = (e_Q + F_Q F_Q' e_Q) / c` to F, with
:math:`c^2 = 1 - e_Q' (e_Q + F_Q F_Q' e_Q)`. Let R and U be r and u of all columns of a group B. By
Woodbury's identity, the weights of B in the model of S and B that is trained without Q are

.. math:: \kappa_Q = (K - R_Q' U_Q)^{-1} (v - R_Q' p_Q), \qquad
          K = X_B' R + \lambda I, \quad v = R' y,

and the leave-query-out residual of Q becomes :math:`p_Q - U_Q \kappa_Q`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ranksieve._kernels.group_errors import (
    Groups,
    add_column_errors,
    add_group_errors,
    add_removal_errors,
    leave_out,
    next_column,
)
from ranksieve.data import Block
from ranksieve.engine import Workers, changes_state, starts_over
from ranksieve.sums.centered_rows import CenteredRows, error_sums
from ranksieve.sums.checks import finite


class Addition(NamedTuple):
    """Columns that enter the model, and their part of its Cholesky factor L."""

    columns: np.ndarray
    half: np.ndarray  # (model, columns): L^-1 times the products of the model with the columns
    corner: np.ndarray  # (columns, columns): new block on the diagonal of L
    labels: np.ndarray  # (columns,): new entries of L^-1 times the products with the labels


class GroupResiduals:
    """Statistic: leave-query-out errors of a model, and of it with one more group of columns.

    Only the rows, and E and F of the model are kept: residuals of columns are computed again each
    time, a few queries at a time. ``rows`` is the class that makes rows from a block and
    ``parameters``.
    """

    title = "Leave-query-out"

    def __init__(
        self, block: Block, rows: type[CenteredRows] = CenteredRows, *parameters: Any
    ) -> None:
        self.rows = rows(block, *parameters)
        self.y, self.query_ptr = self.rows.y, self.rows.query_ptr

    def n_queries(self) -> tuple[int, float]:
        """Number and weight of the queries with two documents or more and a weight above 0."""
        return self.rows.n_queries()

    def own_products(self, groups: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Products of each group's columns with each other, flattened; and with labels."""
        sizes = np.array([len(group) for group in groups])
        starts = np.cumsum(sizes**2) - sizes**2
        inner, outer = np.zeros(int(np.sum(sizes**2))), np.zeros(self.rows.n_features)
        alike = []  # for groups of equal size: their columns, and places in ``inner``
        for size in np.unique(sizes).tolist():
            own = np.flatnonzero(sizes == size)
            places = starts[own, None] + np.arange(size**2)
            columns = np.array([groups[group] for group in own.tolist()])
            alike.append((columns, places.reshape(-1, size, size)))
        for piece in self.rows.pieces():
            outer += piece.X.T @ self.y[piece.rows]
            for columns, places in alike:
                X = np.take(piece.X, columns, axis=1)
                inner[places] += X.transpose(1, 2, 0) @ X.transpose(1, 0, 2)
        return inner, outer

    def products(self, columns: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Products of some columns with others."""
        total = np.zeros((len(columns), len(others)))
        if len(others) == self.rows.n_features:
            for piece in self.rows.pieces():
                total += piece.X[:, columns].T @ piece.X
            return total[:, others]
        for piece in self.rows.pieces(np.concatenate([columns, others])):
            total += piece.X[:, : len(columns)].T @ piece.X[:, len(columns) :]
        return total

    @starts_over()
    def start(self) -> tuple[float, float]:
        """Start from the empty model, and return its error; see :meth:`add`."""
        self.E = self.F = np.empty((len(self.y), 0))
        self.within, self.p = self.y.copy(), self.y.copy()  # residuals of the labels
        return self._error()

    @changes_state
    def add(self, addition: Addition) -> tuple[float, float]:
        """Add columns to the model; return sums over queries of its error and of its square."""
        new = np.empty((len(self.y), len(addition.columns)))
        for piece in self.rows.pieces(addition.columns):
            left = piece.X - self.E[piece.rows] @ addition.half
            new[piece.rows] = solve_triangular(addition.corner, left.T, lower=True).T
        self.within -= new @ addition.labels
        for e in new.T.copy():
            f = np.empty_like(e)
            next_column(e, self.query_ptr, self.F, f)
            self.E, self.F = np.column_stack([self.E, e]), np.column_stack([self.F, f])
        leave_out(self.within, self.query_ptr, self.F, self.p)
        return self._error()

    def addition_errors(self, half: np.ndarray, columns: np.ndarray, groups: Groups) -> np.ndarray:
        """Error after adding each of some groups, whose ``columns`` are adjacent.

        ``half`` (model, columns) are as in :class:`Addition`.
        """
        n_groups = len(groups.ptr) - 1
        errors = np.zeros(n_groups)
        add_errors = add_column_errors if n_groups == len(columns) else add_group_errors
        in_order = np.array_equal(columns, np.arange(self.rows.n_features))
        for piece in self.rows.pieces(None if in_order else columns):
            within = piece.X
            if self.E.shape[1]:
                within -= self.E[piece.rows] @ half
            rows = self.F[piece.rows], self.p[piece.rows], piece.query_ptr
            add_errors(within, *rows, groups, errors)
        return errors

    def removal_errors(
        self, columns: np.ndarray, inner: np.ndarray, xy: np.ndarray, ptr: np.ndarray
    ) -> np.ndarray:
        """Error after removing each group of the model; see :func:`add_removal_errors`."""
        errors = np.zeros(len(ptr) - 1)
        for piece in self.rows.pieces(columns):
            y = self.y[piece.rows]
            add_removal_errors(piece.X, y, piece.query_ptr, inner, xy, ptr, errors)
        return errors

    def _error(self) -> tuple[float, float]:
        if not len(self.y):
            return 0.0, 0.0
        errors = np.add.reduceat(self.p**2, self.query_ptr[:-1])
        return error_sums(errors, self.rows.weights)


class GroupProducts:
    """Products of groups of columns over all rows, for models of any regularization.

    ``workers`` are those of :class:`GroupResiduals`, ``groups`` the columns of each group.
    """

    def __init__(
        self, workers: Workers[GroupResiduals], groups: Sequence[Sequence[int] | np.ndarray]
    ) -> None:
        self.workers = workers
        self.groups = [np.asarray(group, dtype=np.intp) for group in groups]
        self.sizes = np.array([len(group) for group in groups])
        own, self.xy = workers.sum(GroupResiduals.own_products, self.groups)
        parts = np.split(own, np.cumsum(self.sizes**2)[:-1])
        self.inner = [part.reshape(n, n) for part, n in zip(parts, self.sizes, strict=True)]
        self.varies = np.array([np.diag(inner).any() for inner in self.inner])  # within queries
        self._known: dict[int, np.ndarray] = {}  # column: products with all; NaN if not computed

    def between(self, columns: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Products of some columns with others; each is computed once and kept."""
        found = np.empty((len(columns), len(others)))
        for row, column in enumerate(columns.tolist()):
            known = self._known.setdefault(column, np.full(len(self.xy), np.nan))
            found[row] = known[others]
        unknown = np.isnan(found)
        if unknown.any():
            rows, places = np.flatnonzero(unknown.any(axis=1)), unknown.any(axis=0)
            asked = columns[rows], others[places]
            new = self.workers.sum(GroupResiduals.products, *asked)
            found[np.ix_(rows, places)] = new
            for column, values in zip(asked[0].tolist(), new, strict=True):
                self._known[column][asked[1]] = values
        return found


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
        self.products, self.workers, self.lam = products, products.workers, lam
        self._fit([])

    def change(self, group: int) -> None:
        """Add a group, or remove it if it is in the model."""
        if group in self.chosen:
            self._fit([other for other in self.chosen if other != group])
        else:
            self._add(group)

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error after adding each of some groups, in ascending order."""
        known, groups = self.products, candidates
        if 2 * len(candidates) > len(known.groups):  # then reading all columns is faster
            groups = np.arange(len(known.groups))
        columns, sizes = np.concatenate([known.groups[g] for g in groups]), known.sizes[groups]
        ptr, half = np.concatenate([[0], np.cumsum(sizes)]), self._regress(columns)
        inner = np.concatenate([known.inner[group].ravel() for group in groups])
        if len(columns) == len(groups):
            inner += self.lam - (half**2).sum(axis=0)
        else:
            parts = [half[:, start:end] for start, end in pairwise(ptr.tolist())]
            grown = [self.lam * np.eye(part.shape[1]) - part.T @ part for part in parts]
            inner += np.concatenate([part.ravel() for part in grown])
        outer = known.xy[columns] - self._labels @ half
        errors = self.workers.sum(
            GroupResiduals.addition_errors, half, columns, Groups(ptr, inner, outer, self.lam)
        )
        return errors[np.searchsorted(groups, candidates)]

    def removal_errors(self, candidates: Sequence[int]) -> np.ndarray:
        """Error after removing each of some groups of the model."""
        columns, xy = self._columns, self.products.xy[self._columns]
        inner = self.products.between(columns, columns) + self.lam * np.eye(len(columns))
        ptr = np.concatenate([[0], np.cumsum(self.products.sizes[self.chosen])])
        errors = self.workers.sum(GroupResiduals.removal_errors, columns, inner, xy, ptr)
        return errors[[self.chosen.index(group) for group in candidates]]

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of the columns of the chosen groups."""
        return solve_triangular(self._factor, self._labels, trans="T", lower=True)

    def _fit(self, groups: Sequence[int]) -> None:
        self.chosen: list[int] = []  # groups in the order in which they were added
        self._columns = np.empty(0, dtype=np.intp)  # their columns
        self._factor, self._labels = np.empty((0, 0)), np.empty(0)
        self.error, self.square = self.workers.sum(GroupResiduals.start)
        for group in groups:
            self._add(group)

    def _add(self, group: int) -> None:
        columns = self.products.groups[group]
        half = self._regress(columns)
        inner = self.products.inner[group] + self.lam * np.eye(len(columns)) - half.T @ half
        corner = cholesky(finite(inner), lower=True)
        outer = self.products.xy[columns] - self._labels @ half
        labels = solve_triangular(corner, outer, lower=True)
        self.error, self.square = self.workers.sum(
            GroupResiduals.add, Addition(columns, half, corner, labels)
        )
        self.chosen.append(group)
        self._columns = np.append(self._columns, columns)
        self._factor = np.block([[self._factor, np.zeros_like(half)], [half.T, corner]])
        self._labels = np.append(self._labels, labels)

    def _regress(self, columns: np.ndarray) -> np.ndarray:
        """Regress columns on those of the model: ``half`` of :class:`Addition`."""
        products = self.products.between(self._columns, columns)
        return solve_triangular(self._factor, products, lower=True)
