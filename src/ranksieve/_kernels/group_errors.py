"""Exact leave-query-out errors of pairwise least squares after adding a group of columns."""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part


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


@part
def _take_out(within, without, start, end, first, A, b):
    """Subtract a query's products with a group from those of all rows; updates the last two.

    Only the lower triangle of A is updated. Taking four rows at a time needs a quarter of the loads
    and stores of A.
    """
    n, labels = b.size, within.shape[1] - 1
    fours = end - (end - start) % 4
    for row in range(start, fours, 4):
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
    for row in range(fours, end):
        for i in range(n):
            for j in range(i + 1):
                A[i, j] -= within[row, first + i] * without[row, first + j]
    for row in range(start, end):
        for i in range(n):
            b[i] -= within[row, first + i] * without[row, labels]


@kernel
def add_group_errors(within, without, query_ptr, groups, errors):
    """Add the error of each query after adding each group; updates ``errors`` (groups,).

    ``within`` and ``without`` (rows, columns + 1) are residuals of the groups' columns and, last,
    of the labels after regression on the model: fitted to all rows, and without the row's query.
    """
    ptr, inner, outer, lam = groups
    labels, most = within.shape[1] - 1, 0
    for group in range(ptr.size - 1):
        most = max(most, ptr[group + 1] - ptr[group])
    A, weights = np.empty((most, most)), np.empty(most)
    for query in range(query_ptr.size - 1):
        start, end, place = query_ptr[query], query_ptr[query + 1], 0
        for group in range(ptr.size - 1):
            first, n = ptr[group], ptr[group + 1] - ptr[group]
            for i in range(n):
                weights[i] = outer[first + i]
                for j in range(n):
                    A[i, j] = inner[place + j]
                place += n
            _take_out(within, without, start, end, first, A, weights[:n])
            _solve(A, weights, n, lam)
            for row in range(start, end):
                left = without[row, labels]
                for i in range(n):
                    left -= weights[i] * without[row, first + i]
                errors[group] += left * left
