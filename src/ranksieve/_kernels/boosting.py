"""Evaluate many weak rankers: measures of single features, and thresholds over pairs."""

import numpy as np

from ranksieve._kernels.classes import count_below
from ranksieve._kernels.compiling import kernel
from ranksieve._kernels.measures import KINDS, PAIR_ERRORS, measure_list, single_blocks
from ranksieve._kernels.ranking import longest_query, mark_ties, sort_descending

_TILE = 8  # features at a time, enough for independent additions to overlap


def _measures(kind):
    @kernel
    def feature_values(X, sign, measure, query_ptr, out):
        """Measure each query ranked by descending ``sign`` x feature; updates ``out``.

        ``out`` is (queries, features). Returns whether all values of X are finite; if not, ``out``
        is invalid.
        """
        longest = longest_query(query_ptr)
        column, keys = np.empty(longest), np.empty(2 * longest)
        order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
        tie_end, each_alone = np.empty(longest, np.int64), single_blocks(longest)
        space = np.empty(2 * longest + 1)
        use_ties = measure.average_ties or kind == PAIR_ERRORS
        for query in range(query_ptr.size - 1):
            start, n = query_ptr[query], query_ptr[query + 1] - query_ptr[query]
            for feature in range(X.shape[1]):
                for row in range(n):
                    column[row] = sign * X[start + row, feature]
                    if not np.isfinite(column[row]):
                        return False
                sort_descending(column[:n], order[:n], spare, keys)
                if use_ties:
                    mark_ties(column[:n], order[:n], tie_end[:n])
                ends = tie_end[:n] if use_ties else each_alone[:n]
                out[query, feature] = measure_list(
                    kind, measure, query, start, order[:n], ends, space
                )
        return True

    return feature_values


feature_values = [_measures(kind) for kind in KINDS]


@kernel
def add_distinct(X, rows, most, counts, values):
    """Add the distinct values of each feature, in ascending order; updates the last two.

    ``values[feature, :counts[feature]]`` are the distinct values so far, with room for ``most``. A
    feature with more gets the count ``most + 1`` and is skipped from then on. Returns whether all
    values of X in ``rows`` are finite.
    """
    all_finite = True
    for row in rows:
        for feature in range(X.shape[1]):
            value = X[row, feature] + 0.0  # -0.0 becomes 0.0
            all_finite &= np.isfinite(value)
            count = counts[feature]
            if count > most:
                continue
            place = np.searchsorted(values[feature, :count], value)
            if place < count and values[feature, place] == value:
                continue
            if count < most:
                for at in range(count, place, -1):
                    values[feature, at] = values[feature, at - 1]
                values[feature, place] = value
            counts[feature] += 1
    return all_finite


@kernel
def add_nibbles(X, rows, weights, features, shift, prefixes, counts):
    """Count the next four bits of values that begin with a given prefix; updates ``counts``.

    A value's bits are mapped to an unsigned number such that the order of the values is kept.
    ``prefixes`` (features, targets) are the known leading bits of each wanted number, ascending:
    the bits above ``shift + 4``. Targets with equal prefixes are counted at the first of them.
    ``counts`` is (features, targets, 16). ``weights`` (same size as ``rows``) say how often each
    row counts.
    """
    n_targets = prefixes.shape[1]
    value = np.empty(1)
    bits = value.view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    for number in range(rows.size):
        for place in range(features.size):
            value[0] = X[rows[number], features[place]] + 0.0
            key = ~bits[0] if bits[0] & sign else bits[0] | sign
            rest = key >> np.uint64(shift)
            prefix = rest >> np.uint64(4)
            target = count_below(prefixes[place], n_targets, prefix)
            if target < n_targets and prefixes[place, target] == prefix:
                counts[place, target, rest & np.uint64(15)] += weights[number]


@kernel
def encode(X, rows, thresholds, n_thresholds, codes):
    """Count the thresholds below each value; updates ``codes`` (features, rows).

    The first ``n_thresholds[feature]`` of ``thresholds[feature]`` are in use, ascending.
    """
    for place in range(rows.size):
        for feature in range(X.shape[1]):
            value = X[rows[place], feature]
            codes[feature, place] = count_below(thresholds[feature], n_thresholds[feature], value)


@kernel
def add_step(codes, code, alpha, scores):
    """Add ``alpha`` to the scores of rows whose code is above ``code``; updates ``scores``."""
    for row in range(scores.size):
        if codes[row] > code:
            scores[row] += alpha


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
