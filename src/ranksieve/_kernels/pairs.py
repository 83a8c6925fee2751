"""Sum over pairs of documents that violate a margin, without listing the pairs.

A pair is a better and a worse document of a query, y_i > y_j; it is active if z_i - z_j < 1 for the
scores z. In descending order of score, the active worse documents of i are those with a lower label
among the first ``reach[i]`` documents. ``reach`` does not decrease along the order, so one sweep
that adds documents to a Fenwick tree over label levels finds all sums. With few levels, plain sums
per level would save a tenth (three levels) to a third (two) of a sweep, too little for a second
algorithm; with as many levels as documents they would take quadratic time.

Rows of query q are ``query_ptr[q]:query_ptr[q + 1]``. ``levels`` (rows,) numbers the labels of each
query from 0, ``n_levels`` (queries,) says how many there are; a query with a single level has no
pairs and gets zeros.

The Hessian of the squared hinge loss with respect to the scores is the Laplacian matrix of the
graph of active pairs. :func:`curve_columns` multiplies it by all columns of a matrix at once: its
Fenwick tree holds whole rows.
"""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.ranking import longest_query, sort_descending


class ActivePairs(NamedTuple):
    """Orders of documents by label and by score, which determine the active pairs."""

    query_ptr: np.ndarray
    levels: np.ndarray
    n_levels: np.ndarray
    order: np.ndarray  # (rows,) positions within the query by descending score
    reach: np.ndarray  # (rows,) in the same order


@kernel
def order_active(z, pairs):
    """Sort each query by descending score and find active pairs; updates ``order`` and ``reach``.

    The document at position a of the order has its active partners with lower labels among
    positions ``0:reach[a]``.
    """
    query_ptr, n_levels, order, reach = pairs.query_ptr, pairs.n_levels, pairs.order, pairs.reach
    n_queries = query_ptr.size - 1
    longest = longest_query(query_ptr)
    spare, keys = np.empty(longest, dtype=order.dtype), np.empty(2 * longest)
    for query in range(n_queries):
        if n_levels[query] == 1:
            continue
        start, end = query_ptr[query], query_ptr[query + 1]
        scores, ranked = z[start:end], order[start:end]
        sort_descending(scores, ranked, spare, keys)
        reached = 0
        for place in range(end - start):
            score = scores[ranked[place]]
            while reached < end - start and score - scores[ranked[reached]] < 1.0:
                reached += 1
            reach[start + place] = reached


@part
def _add_both(tree, place, value):
    """Add one document to a tree of counts and sums; updates ``tree`` (levels + 1, 2) in place."""
    while place < tree.shape[0]:
        tree[place, 0] += 1.0
        tree[place, 1] += value
        place += place & -place


@part
def _total_both(tree, place):
    """Return the count and sum of positions 1 to ``place`` of a tree."""
    count, total = 0.0, 0.0
    while place > 0:
        count += tree[place, 0]
        total += tree[place, 1]
        place -= place & -place
    return count, total


@kernel
def count_active(values, pairs, worse, better, sums):
    """Count active partners with lower and with higher labels, and sum the values of both.

    Updates the last three in place. Computing counts and sums takes no longer than one of them.
    """
    query_ptr, levels, n_levels, order, reach = pairs
    space = np.empty((longest_query(query_ptr) + 1, 2))
    worse[:] = 0.0
    better[:] = 0.0
    sums[:] = 0.0
    for query in range(query_ptr.size - 1):
        start, end, top = query_ptr[query], query_ptr[query + 1], n_levels[query]
        if top == 1:
            continue
        tree = space[: top + 1]
        tree[:] = 0.0
        reached = start
        for place in range(start, end):
            while reached < start + reach[place]:
                partner = start + order[reached]
                _add_both(tree, levels[partner] + 1, values[partner])
                reached += 1
            own = start + order[place]
            worse[own], sums[own] = _total_both(tree, np.int64(levels[own]))
        tree[:] = 0.0
        reached = end
        for place in range(end - 1, start - 1, -1):
            while reached > start and start + reach[reached - 1] > place:
                reached -= 1
                partner = start + order[reached]
                _add_both(tree, top - levels[partner], values[partner])
            own = start + order[place]
            count, total = _total_both(tree, top - 1 - levels[own])
            better[own] = count
            sums[own] += total


@kernel
def add_spread(X, degree, query_ptr, spread):
    """Add up weighted squared deviations from each query's mean; updates ``spread``.

    ``X`` is (rows, features), the weights ``degree`` are (rows,), ``spread`` is (features,). A
    query's first row is subtracted from its rows, so that a large offset costs no digits.
    """
    n_features = X.shape[1]
    sums, squares = np.empty(n_features), np.empty(n_features)
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        sums[:] = 0.0
        squares[:] = 0.0
        total = 0.0
        for row in range(start, end):
            total += degree[row]
            for feature in range(n_features):
                value = X[row, feature] - X[start, feature]
                sums[feature] += degree[row] * value
                squares[feature] += degree[row] * value * value
        if total > 0.0:
            for feature in range(n_features):
                square = squares[feature] - sums[feature] * sums[feature] / total
                spread[feature] += max(0.0, square)


@part
def _add_row(tree, place, row, origin):
    """Add a row minus an origin at a 1-based position of a Fenwick tree; updates ``tree``."""
    while place < tree.shape[0]:
        for column in range(row.size):
            tree[place, column] += row[column] - origin[column]
        place += place & -place


@part
def _subtract_total(tree, place, weight, out):
    """Subtract ``weight`` times the sum of positions 1 to ``place``; updates ``out``."""
    while place > 0:
        for column in range(out.size):
            out[column] -= weight * tree[place, column]
        place -= place & -place


@kernel
def curve_columns(X, weights, degree, pairs, curved):
    """Multiply the scores' Hessian by the columns of X; updates ``curved`` (rows, columns).

    ``weights`` (rows,) are the weights of the queries, ``degree`` (rows,) the number of active
    partners times the weight. A query's first row is subtracted from its rows, so that a large
    offset costs no digits.
    """
    query_ptr, levels, n_levels, order, reach = pairs
    n_columns = X.shape[1]
    space = np.empty((longest_query(query_ptr) + 1, n_columns))
    for query in range(query_ptr.size - 1):
        start, end, top = query_ptr[query], query_ptr[query + 1], n_levels[query]
        for row in range(start, end):
            for column in range(n_columns):
                curved[row, column] = degree[row] * (X[row, column] - X[start, column])
        if top == 1:
            continue
        tree = space[: top + 1]
        tree[:] = 0.0
        reached = start
        for place in range(start, end):  # partners with lower labels
            while reached < start + reach[place]:
                partner = start + order[reached]
                _add_row(tree, levels[partner] + 1, X[partner], X[start])
                reached += 1
            own = start + order[place]
            _subtract_total(tree, np.int64(levels[own]), weights[own], curved[own])
        tree[:] = 0.0
        reached = end
        for place in range(end - 1, start - 1, -1):  # partners with higher labels
            while reached > start and start + reach[reached - 1] > place:
                reached -= 1
                partner = start + order[reached]
                _add_row(tree, top - levels[partner], X[partner], X[start])
            own = start + order[place]
            _subtract_total(tree, top - 1 - levels[own], weights[own], curved[own])
