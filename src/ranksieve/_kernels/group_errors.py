"""Exact leave-query-out errors of pairwise least squares on groups of columns.

Notation: E (rows, model) are the rows of the model's columns times the transposed inverse of the
Cholesky factor of their products, and F (rows, model) has F F' = (I - E_Q E_Q')^-1 - I within each
query Q. So residuals r of the rows of Q by the model of all rows become r + F F' r by the model
without Q.
"""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.ranking import longest_query

_LEAST = 2.0**-52  # of numbers above 0 that are smaller only by rounding


class Groups(NamedTuple):
    """Candidate groups of columns, stored side by side.

    Columns ``ptr[g]:ptr[g + 1]`` belong to group g. ``inner`` has, group after group and row by
    row, the products of the columns' residuals after regression on the model, plus lambda on the
    diagonal; ``outer`` (columns,) their products with the residuals of the labels; both over all
    rows.
    """

    ptr: np.ndarray
    inner: np.ndarray
    outer: np.ndarray
    lam: float


@kernel
def leave_out(values, query_ptr, F, out):
    """Residuals (rows,) by the models without each query, given those by the model of all rows.

    Updates ``out`` (rows,).
    """
    inner = np.empty(F.shape[1])
    for query in range(query_ptr.size - 1):
        _leave_out_column(values, query_ptr[query], query_ptr[query + 1], F, inner, out)


@kernel
def next_column(e, query_ptr, F, f):
    """Compute the column of F for another column of E; updates ``f`` (rows,)."""
    inner = np.empty(F.shape[1])
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        _leave_out_column(e, start, end, F, inner, f)
        left = 1.0
        for row in range(start, end):
            left -= e[row] * f[row]
        root = np.sqrt(max(left, _LEAST))
        for row in range(start, end):
            f[row] /= root


@part
def _leave_out_column(values, start, end, F, inner, out):
    """Compute (I + F F') values for the rows of one query; updates ``inner`` and ``out``."""
    for j in range(inner.size):
        inner[j] = 0.0
    for row in range(start, end):
        for j in range(inner.size):
            inner[j] += F[row, j] * values[row]
    for row in range(start, end):
        total = values[row]
        for j in range(inner.size):
            total += F[row, j] * inner[j]
        out[row] = total


@part
def _leave_out_columns(within, F, inner, without):
    """Compute (I + F F') within for the rows of one query; updates ``inner`` and ``without``."""
    if F.shape[1]:
        np.dot(F.T, within, inner)
        np.dot(F, inner, without)
    for row in range(within.shape[0]):
        for i in range(within.shape[1]):
            own = without[row, i] if F.shape[1] else 0.0
            without[row, i] = own + within[row, i]


@kernel
def add_column_errors(within, F, p, query_ptr, groups, errors):
    """Add the error of each query after adding each column; updates ``errors`` (columns,).

    It is :func:`add_group_errors` for groups of one column, computed for all columns at once.
    """
    n = errors.size
    without, inner = np.empty((longest_query(query_ptr), n)), np.empty((F.shape[1], n))
    A, b, uu, up = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        r, u = within[start:end], without[: end - start]
        _leave_out_columns(r, F[start:end], inner, u)
        pp = 0.0
        for i in range(n):
            A[i], b[i], uu[i], up[i] = groups.inner[i], groups.outer[i], 0.0, 0.0
        # One loop for each sum: otherwise the compiler does not vectorize.
        for row in range(end - start):
            own = p[start + row]
            pp += own * own
            for i in range(n):
                A[i] -= r[row, i] * u[row, i]
            for i in range(n):
                b[i] -= r[row, i] * own
            for i in range(n):
                uu[i] += u[row, i] * u[row, i]
            for i in range(n):
                up[i] += u[row, i] * own
        for i in range(n):
            weight = b[i] / max(A[i], groups.lam)  # below lambda only by rounding
            errors[i] += pp - weight * (2.0 * up[i] - weight * uu[i])


@kernel
def add_group_errors(within, F, p, query_ptr, groups, errors):
    """Add the error of each query after adding each group; updates ``errors`` (groups,).

    ``within`` (rows, columns) are residuals of the groups' columns by the model of all rows, and
    ``p`` (rows,) those of the labels by the models without each query.
    """
    ptr, _, outer, lam = groups
    n_columns, most = within.shape[1], 0
    for group in range(ptr.size - 1):
        most = max(most, ptr[group + 1] - ptr[group])
    A, weights = np.empty((most, most)), np.empty(most)
    without = np.empty((longest_query(query_ptr), n_columns))
    inner = np.empty((F.shape[1], n_columns))
    for query in range(query_ptr.size - 1):
        start, end, place = query_ptr[query], query_ptr[query + 1], 0
        r, u, own = within[start:end], without[: end - start], p[start:end]
        _leave_out_columns(r, F[start:end], inner, u)
        for group in range(ptr.size - 1):
            first, n = ptr[group], ptr[group + 1] - ptr[group]
            for i in range(n):
                weights[i] = outer[first + i]
                for j in range(n):
                    A[i, j] = groups.inner[place + j]
                place += n
            _take_out(r, u, own, first, A, weights[:n])
            _solve(A, weights, n, lam)
            for row in range(end - start):
                left = own[row]
                for i in range(n):
                    left -= weights[i] * u[row, first + i]
                errors[group] += left * left


@part
def _take_out(within, without, p, first, A, b):
    """Subtract a query's products with a group from those of all rows; updates the last two.

    Only the lower triangle of A is updated. Taking four rows at a time needs a quarter of the loads
    and stores of A.
    """
    n, n_rows = b.size, p.size
    fours = n_rows - n_rows % 4
    for row in range(0, fours, 4):
        for i in range(first, first + n):
            w0, w1, w2, w3 = (
                within[row, i],
                within[row + 1, i],
                within[row + 2, i],
                within[row + 3, i],
            )
            for j in range(i + 1 - first):
                A[i - first, j] -= (
                    w0 * without[row, first + j]
                    + w1 * without[row + 1, first + j]
                    + w2 * without[row + 2, first + j]
                    + w3 * without[row + 3, first + j]
                )
    for row in range(fours, n_rows):
        for i in range(n):
            for j in range(i + 1):
                A[i, j] -= within[row, first + i] * without[row, first + j]
    for row in range(n_rows):
        for i in range(n):
            b[i] -= within[row, first + i] * p[row]


@part
def _solve(A, b, n, least):
    """Solve A x = b for a symmetric A whose lower triangle is given; updates both in place.

    ``b`` becomes x. Pivots of the Cholesky decomposition are below ``least`` only by rounding.
    """
    for i in range(n):
        for j in range(i):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = total / A[j, j]
        pivot, value = A[i, i], b[i]
        for k in range(i):
            pivot -= A[i, k] * A[i, k]
            value -= A[i, k] * b[k]
        A[i, i] = np.sqrt(max(pivot, least))
        b[i] = value / A[i, i]
    for i in range(n - 1, -1, -1):
        b[i] /= A[i, i]
        for k in range(i):
            b[k] -= A[i, k] * b[i]


@kernel
def add_removal_errors(columns, y, query_ptr, inner, xy, ptr, errors):
    """Add the error of each query after removing each group; updates ``errors`` (groups,).

    ``columns`` (rows, columns) are those of the model, and ``ptr[g]:ptr[g + 1]`` belong to group g;
    ``inner`` = X_S X_S' + lambda I and ``xy`` = X_S y are sums over all rows. Updates of the model
    with a group would be small differences of large numbers; therefore each query's model is solved
    without the group.
    """
    most = 0
    for group in range(ptr.size - 1):
        most = max(most, ptr[group + 1] - ptr[group])
    A, factors = np.empty((most, most)), np.empty(most)
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        own = np.ascontiguousarray(columns[start:end])
        solved = np.linalg.inv(inner - own.T @ own)
        weights = solved @ (xy - own.T @ y[start:end])
        p, without = y[start:end] - own @ weights, own @ solved
        for group in range(ptr.size - 1):
            first, n = ptr[group], ptr[group + 1] - ptr[group]
            for i in range(n):
                factors[i] = weights[first + i]
                for j in range(n):
                    A[i, j] = solved[first + i, first + j]
            _solve(A, factors, n, 0.0)
            for row in range(end - start):
                left = p[row]
                for i in range(n):
                    left += factors[i] * without[row, first + i]
                errors[group] += left * left
