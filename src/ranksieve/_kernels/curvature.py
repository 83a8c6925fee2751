"""Compute second derivatives of the squared hinge loss on pairs without listing the pairs.

Active pairs are defined in :mod:`ranksieve._kernels.pairs`. The Hessian with respect to the scores
is the Laplacian matrix of the graph of active pairs. It is multiplied by all columns of a matrix at
once: the Fenwick tree holds whole rows.
"""

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.ranking import longest_query


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
