"""Potentials of documents over pairs, by which RankBoost chooses thresholds."""

import numpy as np

from ranksieve._kernels.compiling import kernel

_TILE = 8  # features at a time, enough for independent additions to overlap


@kernel
def pair_potentials(scores, labels, weights, query_ptr, potentials):
    """Compute each document's potential and return the weight of all pairs; updates ``potentials``.

    A pair in which document i should rank above j weighs exp(s_j - s_i) times the query's weight. A
    document's potential is the weight of the pairs that it should win minus the weight of those
    that it should lose. Rows of a query are in descending order of their labels, so that one pass
    up and one pass down its levels suffice: O(rows).
    """
    total = 0.0
    for query in range(query_ptr.size - 1):
        start, end = query_ptr[query], query_ptr[query + 1]
        if start == end:
            continue
        # The midpoint makes the largest exponent as small as possible.
        highest = lowest = scores[start]
        for row in range(start + 1, end):
            highest, lowest = max(highest, scores[row]), min(lowest, scores[row])
        middle = (highest + lowest) / 2
        below = level_sum = 0.0
        for row in range(end - 1, start - 1, -1):  # worse documents first
            if row + 1 < end and labels[row] > labels[row + 1]:
                below += level_sum
                level_sum = 0.0
            level_sum += np.exp(scores[row] - middle)
            potentials[row] = weights[query] * below * np.exp(middle - scores[row])
            total += potentials[row]
        above = level_sum = 0.0
        for row in range(start, end):  # better documents first
            if row > start and labels[row] < labels[row - 1]:
                above += level_sum
                level_sum = 0.0
            level_sum += np.exp(middle - scores[row])
            potentials[row] -= weights[query] * above * np.exp(scores[row] - middle)
    return total


@kernel
def add_potentials(codes, potentials, sums):
    """Add potentials by feature and code; updates ``sums`` (features, codes)."""
    n_features, n_rows = codes.shape
    for first in range(0, n_features, _TILE):
        last = min(first + _TILE, n_features)
        for row in range(n_rows):
            potential = potentials[row]
            for feature in range(first, last):
                sums[feature, codes[feature, row]] += potential
