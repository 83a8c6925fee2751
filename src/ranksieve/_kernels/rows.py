"""Permute the rows of a matrix in place, and check the rows of a CSR matrix."""

import numpy as np

from ranksieve._kernels.compiling import kernel


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
