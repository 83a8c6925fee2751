"""Statistics of feature values by class: sums, order statistics and tables.

A class is a small number per row; rows of class -1 are left out.
"""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part

_TILE = 16  # features at a time, so that their counts stay in a core's cache


class WeightedQueries(NamedTuple):
    """Queries with weights: rows ``ptr[q]:ptr[q + 1]`` of query q count ``weights[q]`` times.

    Weights of an integer type give integer counts.
    """

    ptr: np.ndarray
    weights: np.ndarray


@kernel
def add_totals(X, classes, queries, counts, sums, low, high, varying):
    """Add up values by class; updates the last five in place.

    ``counts`` (classes,), ``sums`` (classes, features), ``low`` and ``high`` (features,);
    ``varying`` (features,) counts the queries in which a feature is not constant. Returns whether
    all values are finite.
    """
    n_features = X.shape[1]
    differs = np.empty(n_features, np.bool_)
    for query in range(queries.weights.size):
        start, weight = queries.ptr[query], queries.weights[query]
        if classes[start] < 0:  # such queries are left out as a whole
            continue
        differs[:] = False
        for row in range(start, queries.ptr[query + 1]):
            label = classes[row]
            counts[label] += weight
            for feature in range(n_features):
                value = X[row, feature]
                sums[label, feature] += weight * value
                low[feature] = min(low[feature], value)
                high[feature] = max(high[feature], value)
                differs[feature] |= value != X[start, feature]
        for feature in range(n_features):
            varying[feature] += differs[feature]
    return np.isfinite(sums).all()


@kernel
def add_squares(X, classes, queries, means, squares):
    """Add squared distances from the class mean; updates ``squares`` (classes, features)."""
    for query in range(queries.weights.size):
        weight = queries.weights[query]
        for row in range(queries.ptr[query], queries.ptr[query + 1]):
            label = classes[row]
            if label >= 0:
                for feature in range(X.shape[1]):
                    difference = X[row, feature] - means[label, feature]
                    squares[label, feature] += weight * difference * difference


@kernel
def add_digits(X, classes, queries, shift, prefixes, counts):
    """Count the next byte of the values that begin with a given prefix; updates ``counts``.

    A value's bits are mapped to an unsigned number such that the order of the values is kept.
    ``prefixes`` (groups, features, targets) are the known leading bits of each wanted number,
    ascending: the bits above ``shift + 8``. Targets with equal prefixes are counted at the first of
    them. ``counts`` is (groups, features, targets, 256); a single group contains all classes.
    """
    n_groups, n_features, n_targets = prefixes.shape
    value = np.empty(1)
    bits = value.view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    low, byte = np.uint64(shift), np.uint64(255)
    for first in range(0, n_features, _TILE):
        last = min(first + _TILE, n_features)
        for query in range(queries.weights.size):
            weight = queries.weights[query]
            for row in range(queries.ptr[query], queries.ptr[query + 1]):
                if classes[row] < 0:
                    continue
                group = classes[row] if n_groups > 1 else 0
                for feature in range(first, last):
                    value[0] = X[row, feature] + 0.0  # -0.0 becomes 0.0
                    key = ~bits[0] if bits[0] & sign else bits[0] | sign
                    rest = key >> low
                    prefix = rest >> np.uint64(8)
                    for target in range(n_targets):
                        if prefixes[group, feature, target] == prefix:
                            counts[group, feature, target, rest & byte] += weight
                            break


@part
def count_below(ascending, n, value):
    """Count the first ``n`` numbers of ``ascending`` that are below the value."""
    left, right = 0, n
    while left < right:
        middle = (left + right) // 2
        if ascending[middle] < value:
            left = middle + 1
        else:
            right = middle
    return left


@kernel
def add_table(X, classes, queries, edges, n_edges, table):
    """Count rows by bin and class; updates ``table`` (features, bins, classes).

    Bin b of a feature holds values in (edge b - 1, edge b]; the first ``n_edges[feature]`` of
    ``edges[feature]`` are in use, in ascending order.
    """
    for query in range(queries.weights.size):
        weight = queries.weights[query]
        for row in range(queries.ptr[query], queries.ptr[query + 1]):
            label = classes[row]
            if label < 0:
                continue
            for feature in range(X.shape[1]):
                place = count_below(edges[feature], n_edges[feature], X[row, feature])
                table[feature, place, label] += weight
