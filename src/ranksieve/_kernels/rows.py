"""Rows of data: permute, check and fill them, center them within queries, and score them."""

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

    ``how`` is ZERO, or the smallest or median value of the feature in the query; 0 if it has none.
    ``values`` (rows, features) are float32 or float64.
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


@kernel
def center_queries(X, query_ptr, centered):
    """Subtract each query's mean from its rows of X; updates ``centered`` (rows, features).

    Takes two passes over each query, which is still in the cache in the second. The first row is
    subtracted before the mean is taken, so that constant values become exactly 0 and a large offset
    costs no digits.
    """
    n_features = X.shape[1]
    mean = np.empty(n_features)
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        mean[:] = 0.0
        for row in range(start, end):
            for feature in range(n_features):
                mean[feature] += np.float64(X[row, feature]) - X[start, feature]
        for feature in range(n_features):
            mean[feature] /= end - start
        for row in range(start, end):
            for feature in range(n_features):
                own = np.float64(X[row, feature]) - X[start, feature]
                centered[row, feature] = own - mean[feature]


@kernel
def center_present(X, query_ptr, centered, present):
    """Subtract the mean of each query's values from them; missing values (NaN) become 0.

    Updates ``centered`` (rows, features) and ``present`` (rows, features), which is 1 where a value
    exists, in place. The query's first value is subtracted before the mean is taken.
    """
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        for feature in range(X.shape[1]):
            base, total, n_present = np.float64(0.0), 0.0, 0
            for row in range(start, end):
                value = np.float64(X[row, feature])
                is_there = value == value
                if is_there and n_present == 0:
                    base = value
                centered[row, feature] = value - base if is_there else 0.0
                present[row, feature] = is_there
                total += centered[row, feature]
                n_present += is_there
            for row in range(start, end):
                centered[row, feature] -= present[row, feature] * total / max(1, n_present)


@kernel
def score_models(X, features, coefs, out):
    """Score each row by each model; updates ``out`` (rows, models).

    ``coefs`` (some features, models) are the weights of the columns ``features`` of ``X``. Terms
    are added in the same order in every row, so that equal documents get equal scores however the
    data is split into blocks. A matrix product does not guarantee that, and rounding would break
    ties.
    """
    for row in range(X.shape[0]):
        for model in range(out.shape[1]):
            out[row, model] = 0.0
        for place in range(features.size):
            value = float(X[row, features[place]])
            if value != 0.0:
                for model in range(out.shape[1]):
                    out[row, model] += value * coefs[place, model]
