"""How alike features order the documents of a query: counts of document pairs, and ranks."""

import math
from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.pair_bits import count_by_bits
from ranksieve._kernels.pair_sorting import count_by_sorting, multiply_ranks

CONCORDANCE, TAU_A, TAU_B, SPEARMAN = range(4)
BY_BITS, BY_SORTING, BY_RANKS = range(3)


class Comparison(NamedTuple):
    """How features are compared.

    Queries of up to ``most_by_bits`` documents per varying feature are counted by bits, longer ones
    by sorting.
    """

    directions: np.ndarray  # (features,): 1, or -1 if small values are good
    method: int
    absolute: bool
    most_by_bits: int
    keeps_missing: bool  # else NaN is an error


@part
def _find_varying(rows, keeps_missing, varying):
    """List the features that are not constant in a query; updates ``varying`` in place.

    Missing values are equal to each other, and differ from all others. Returns the number of
    features, or -1 if a value is not finite, or missing unless such are kept.
    """
    varying[:] = 0
    all_finite = True
    for row in range(rows.shape[0]):
        for feature in range(rows.shape[1]):
            value, first = rows[row, feature], rows[0, feature]
            if keeps_missing:
                all_finite &= not np.isinf(value)
                varying[feature] |= (value != first) & ((value == value) | (first == first))
            else:
                all_finite &= np.isfinite(value)
                varying[feature] |= value != first
    n_varying = 0
    for feature in range(rows.shape[1]):
        varies = varying[feature]
        varying[n_varying] = feature
        n_varying += varies
    return n_varying if all_finite else -1


@part
def _take_features(rows, directions, features, values):
    """Copy some features, large values being the good ones; updates ``values`` in place.

    Missing values become -infinity, whatever the direction.
    """
    for row in range(rows.shape[0]):
        for place in range(features.size):
            value = directions[features[place]] * rows[row, features[place]]
            values[row, place] = value if value == value else -np.inf


@part
def _add_values(agree, shared, n_pairs, how, weight, features, sums):
    """Turn the counts of a query into similarities and add them; updates ``sums`` in place."""
    method = how.method
    for i in range(features.size):
        for j in range(i, features.size):
            if method == CONCORDANCE:
                value = agree[i, j] / n_pairs
            elif method == TAU_A:
                value = (2 * agree[i, j] - shared[i, j]) / n_pairs
            elif method == TAU_B:
                value = _cosine(2 * agree[i, j] - shared[i, j], shared[i, i], shared[j, j])
            else:
                value = _cosine(agree[i, j], agree[i, i], agree[j, j])
            sums[features[i], features[j]] += weight * (abs(value) if how.absolute else value)


@part
def _cosine(product, square_i, square_j):
    """Product over the lengths of its factors; 0 if one of them is 0."""
    squares = float(square_i) * float(square_j)
    return product / math.sqrt(squares) if squares > 0.0 else 0.0


def _adds(way):
    @kernel
    def add_similarity(X, query_ptr, weights, first, how, sums):
        """Add the similarity of all pairs of features in each query from ``first`` on.

        A query counts ``weights`` (queries,) times. Updates ``sums`` (features, features) in place,
        only the upper triangle and the diagonal. Returns the first query that is to be counted the
        other way, the number of queries if there is none, or -1 if a value of X is not finite; then
        the sums mean nothing.
        """
        n_features, n_queries = X.shape[1], query_ptr.size - 1
        varying = np.empty(n_features, np.int64)
        # Whole numbers, so that neither the order of documents nor the way of counting matters.
        agree = np.empty((n_features, n_features), np.int64)
        shared = np.empty((n_features, n_features), np.int64)
        for query in range(first, n_queries):
            if weights[query] == 0.0:
                continue
            start, n = query_ptr[query], query_ptr[query + 1] - query_ptr[query]
            rows = X[start : start + n]
            n_varying = _find_varying(rows, how.keeps_missing, varying)
            if n_varying < 0:
                return -1
            if n_varying == 0:
                continue
            if way != BY_RANKS and (n <= how.most_by_bits * n_varying) != (way == BY_BITS):
                return query
            # The others, a fifth of the features in a query of LETOR's MQ2008, are 0 similar to
            # all.
            values = np.empty((n, n_varying))
            _take_features(rows, how.directions, varying[:n_varying], values)
            if way == BY_RANKS:
                multiply_ranks(values, agree)
            elif way == BY_BITS:
                count_by_bits(values, agree, shared)
            else:
                count_by_sorting(values, agree, shared)
            n_pairs = n * (n - 1) // 2
            features = varying[:n_varying]
            _add_values(agree, shared, n_pairs, how, weights[query], features, sums)
        return n_queries

    return add_similarity


# A kernel for each way of counting, so that only what is used is compiled.
add_similarity = [_adds(way) for way in (BY_BITS, BY_SORTING, BY_RANKS)]
