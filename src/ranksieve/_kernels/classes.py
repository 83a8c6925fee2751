"""Statistics of feature values by class: sums, order statistics, tables and densities.

A class is a small number per row; rows of class -1 are left out.
"""

import math
from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part

# Features at a time, so that their counts or grids stay in a core's cache.
_COUNT_TILE, _GRID_TILE = 16, 8
_FEW = 32  # targets up to which trying one after the other is faster than bisecting
_FAR = 80.0  # squared distance in bandwidths beyond which a kernel is below 1e-17 of its peak
_ROOT_TWO_PI = math.sqrt(2 * math.pi)


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
def add_digits(X, classes, queries, shift, n_bits, prefixes, counts):
    """Count the next bits of the values that begin with a given prefix; updates ``counts``.

    A value's bits are mapped to an unsigned number such that the order of the values is kept.
    ``prefixes`` (groups, features, targets) are the known leading bits of each wanted number,
    ascending: those above ``shift + n_bits``. Targets with equal prefixes are counted at the first
    of them. ``counts`` is (groups, features, targets, 2^n_bits); a single group contains all
    classes.
    """
    n_groups, n_features, n_targets = prefixes.shape
    value = np.empty(1)
    bits = value.view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    low, width, mask = np.uint64(shift), np.uint64(n_bits), np.uint64(counts.shape[3] - 1)
    for first in range(0, n_features, _COUNT_TILE):
        last = min(first + _COUNT_TILE, n_features)
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
                    prefix, begin, end = rest >> width, 0, n_targets
                    if n_targets > _FEW:
                        begin = count_below(prefixes[group, feature], n_targets, prefix)
                        end = min(begin + 1, n_targets)
                    for target in range(begin, end):
                        if prefixes[group, feature, target] == prefix:
                            counts[group, feature, target, rest & mask] += weight
                            break


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


@kernel
def add_to_grids(X, classes, queries, features, origin, step, starts, grids):
    """Distribute each value over the four grid nodes around it; updates ``grids``.

    Nodes ``starts[j]:starts[j + 1]`` of ``grids`` (classes, nodes) belong to feature
    ``features[j]``: they start at ``origin[j]`` in steps of ``step[j]``, with at least two nodes
    beyond its values on either side. The shares are Lagrange's coefficients of cubic interpolation,
    so the error of a smooth function's sum is of the fourth order in the step.
    """
    for lowest in range(0, origin.size, _GRID_TILE):
        highest = min(lowest + _GRID_TILE, origin.size)
        for query in range(queries.weights.size):
            weight = queries.weights[query]
            for row in range(queries.ptr[query], queries.ptr[query + 1]):
                label = classes[row]
                if label < 0:
                    continue
                for j in range(lowest, highest):
                    place = (X[row, features[j]] - origin[j]) / step[j]
                    node = int(place)
                    t = place - node
                    first = starts[j] + node - 1
                    grids[label, first] -= weight * (t * (t - 1.0) * (t - 2.0) / 6.0)
                    grids[label, first + 1] += weight * ((t * t - 1.0) * (t - 2.0) / 2.0)
                    grids[label, first + 2] -= weight * (t * (t + 1.0) * (t - 2.0) / 2.0)
                    grids[label, first + 3] += weight * (t * (t * t - 1.0) / 6.0)


@kernel
def add_kernel_sums(X, classes, queries, features, points, starts, bandwidths, sums):
    """Add each row's Gaussian at each of the points; updates ``sums`` (classes, points).

    Points ``starts[j]:starts[j + 1]`` belong to feature ``features[j]``; ``bandwidths`` (classes,
    features) are in the order of ``features``. Sums are not divided by the number of rows.
    """
    for j in range(starts.size - 1):
        for query in range(queries.weights.size):
            weight = queries.weights[query]
            for row in range(queries.ptr[query], queries.ptr[query + 1]):
                label = classes[row]
                if label < 0:
                    continue
                value, bandwidth = X[row, features[j]], bandwidths[label, j]
                scale = weight / (bandwidth * _ROOT_TWO_PI)
                inverse = 1.0 / bandwidth
                for place in range(starts[j], starts[j + 1]):
                    z = (points[place] - value) * inverse
                    if z * z < _FAR:
                        sums[label, place] += scale * math.exp(-0.5 * z * z)


@kernel
def pairwise_divergence(density, weights):
    """Return the Jensen-Shannon divergence in bits of each pair of classes, (classes, classes).

    ``density`` and ``weights`` are (classes, points). The divergence of p from the mean m of p and
    q is the sum of log(p / m) with the weights of p.
    """
    n_classes, n_points = density.shape
    divergence = np.zeros((n_classes, n_classes))
    logs = np.empty(n_classes)
    for point in range(n_points):
        counts = False
        for a in range(n_classes):
            counts |= weights[a, point] != 0.0
        if not counts:
            continue
        for a in range(n_classes):
            logs[a] = math.log(density[a, point])
        for a in range(n_classes):
            for b in range(a + 1, n_classes):
                at_a, at_b = weights[a, point], weights[b, point]
                if at_a != 0.0 or at_b != 0.0:
                    middle = math.log(0.5 * (density[a, point] + density[b, point]))
                    divergence[a, b] += at_a * (logs[a] - middle) + at_b * (logs[b] - middle)
    return divergence / (2 * math.log(2.0))
