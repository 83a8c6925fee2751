"""Rows of data: permute them in place, check them, and fill in missing values."""

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.ranking import longest_query, sort_descending

ZERO, QUERY_MIN, QUERY_MEDIAN = range(3)  # how to fill in missing values


@kernel
def permute_rows(matrix, order):
    """Move row ``order[i]`` to row ``i`` for all i, in place; ``order`` is a permutation.

    Follows each cycle of the permutation once, with one row as a buffer: O(rows x columns).
    """
    placed = np.zeros(order.size, dtype=np.bool_)
    aside = np.empty(matrix.shape[1], dtype=matrix.dtype)
    for start in range(order.size):
        if placed[start] or order[start] == start:
            continue
        aside[:] = matrix[start]
        row = start
        while order[row] != start:
            matrix[row] = matrix[order[row]]
            placed[row] = True
            row = order[row]
        matrix[row] = aside
        placed[row] = True


@kernel
def first_bad_row(indptr, indices, n_columns):
    """Return the first CSR row whose columns do not increase within 0..n_columns - 1, or -1.

    ``indptr`` must not decrease and must stay within ``indices``.
    """
    for row in range(indptr.size - 1):
        previous = np.int64(-1)
        for entry in range(indptr[row], indptr[row + 1]):
            column = np.int64(indices[entry])
            if column <= previous or column >= n_columns:
                return row
            previous = column
    return -1


@kernel
def fill_queries(values, query_ptr, how, first, last):
    """Replace NaN in the rows of queries ``first`` to ``last - 1``; updates ``values`` in place.

    Parameters
    ----------
    values : (rows, features) float32 or float64
    query_ptr : (queries + 1,) rows of query q are ``query_ptr[q]:query_ptr[q + 1]``
    how : ZERO, or the smallest or median value of the feature in the query; 0 if it has no value
    """
    longest = longest_query(query_ptr[first : last + 1])
    column, keys = np.empty(longest), np.empty(2 * longest)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for query in range(first, last):
        start, end = query_ptr[query], query_ptr[query + 1]
        for feature in range(values.shape[1]):
            n_present = 0
            for row in range(start, end):
                value = np.float64(values[row, feature])
                column[n_present] = value
                n_present += value == value
            if n_present == end - start:
                continue
            filling = 0.0
            if how != ZERO and n_present > 0:
                present = column[:n_present]
                sort_descending(present, order[:n_present], spare, keys)
                filling = _quantile(present, order, how)
            for row in range(start, end):
                if values[row, feature] != values[row, feature]:
                    values[row, feature] = filling


@part
def _quantile(present, order, how):
    """Return the smallest or the median of some values, given their descending order."""
    n = present.size
    if how == QUERY_MIN:
        return present[order[n - 1]]
    high, low = present[order[(n - 1) // 2]], present[order[n // 2]]
    total = high + low
    # The sum of very large numbers overflows, and halves of the smallest are 0.
    return 0.5 * total if abs(total) < np.inf else 0.5 * high + 0.5 * low
