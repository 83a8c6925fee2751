"""Query-wise centering."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def center_queries(X, y, query_ptr, centered, labels):
    """Subtract each query's mean from its rows of X and y.

    Updates ``centered`` (rows, features) and ``labels`` (rows,) in place. Two passes over each
    query, the second of which finds it in the cache.
    """
    n_features = X.shape[1]
    mean = np.empty(n_features)
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        mean[:] = 0.0
        label = 0.0
        for row in range(start, end):
            for feature in range(n_features):
                mean[feature] += X[row, feature]
            label += y[row]
        for feature in range(n_features):
            mean[feature] /= end - start
        label /= end - start
        for row in range(start, end):
            for feature in range(n_features):
                centered[row, feature] = X[row, feature] - mean[feature]
            labels[row] = y[row] - label
