"""Gaussian kernel densities of single features by class."""

import math

import numpy as np

from ranksieve._kernels.compiling import kernel

_TILE = 8  # features at a time, so that their grids stay in a core's cache
_FAR = 80.0  # squared distance in bandwidths beyond which a kernel is below 1e-17 of its peak
_ROOT_TWO_PI = math.sqrt(2 * math.pi)


@kernel
def add_to_grids(X, classes, queries, features, origin, step, starts, grids):
    """Distribute each value over the four grid nodes around it; updates ``grids``.

    Rows have the weight of their query, as in :mod:`ranksieve._kernels.classes`. Nodes
    ``starts[j]:starts[j + 1]`` of ``grids`` (classes, nodes) belong to feature ``features[j]``:
    they start at ``origin[j]`` in steps of ``step[j]``, with at least two nodes beyond its values
    on either side. The shares are Lagrange's coefficients of cubic interpolation, so the error of a
    smooth function's sum is of the fourth order in the step.
    """
    for lowest in range(0, origin.size, _TILE):
        highest = min(lowest + _TILE, origin.size)
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

    Rows have the weight of their query, as in :mod:`ranksieve._kernels.classes`. Points
    ``starts[j]:starts[j + 1]`` belong to feature ``features[j]``; ``bandwidths`` (classes,
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
