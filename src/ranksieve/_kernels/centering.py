"""Center features and labels within queries."""

import numpy as np

from ranksieve._kernels.compiling import kernel


@kernel
def center_queries(X, y, query_ptr, centered, labels):
    """Subtract each query's mean from its rows of X and y.

    Updates ``centered`` (rows, features) and ``labels`` (rows,) in place. Takes two passes over
    each query, which is still in the cache in the second. The first row is subtracted before the
    mean is taken, so that constant values become exactly 0 and a large offset costs no digits.
    """
    n_features = X.shape[1]
    mean = np.empty(n_features)
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        mean[:] = 0.0
        label = 0.0
        for row in range(start, end):
            for feature in range(n_features):
                mean[feature] += np.float64(X[row, feature]) - X[start, feature]
            label += y[row] - y[start]
        for feature in range(n_features):
            mean[feature] /= end - start
        label /= end - start
        for row in range(start, end):
            for feature in range(n_features):
                own = np.float64(X[row, feature]) - X[start, feature]
                centered[row, feature] = own - mean[feature]
            labels[row] = y[row] - y[start] - label


@kernel
def center_column(X, feature, query_ptr, centered):
    """Subtract each query's mean from one column, leaving out queries with one row.

    Updates ``centered`` (rows of the other queries,) in place.
    """
    end_of_centered = 0
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        if end - start < 2:
            continue
        first, mean = np.float64(X[start, feature]), 0.0
        for row in range(start, end):
            difference = X[row, feature] - first
            mean += difference
            centered[end_of_centered + row - start] = difference
        mean /= end - start
        for row in range(end - start):
            centered[end_of_centered + row] -= mean
        end_of_centered += end - start


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
