"""Measure how similarly features order documents, by counts of document pairs or by ranks."""

import math
from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.pair_counts import count_by_bits, count_by_sorting, multiply_ranks

CONCORDANCE, TAU_A, TAU_B, SPEARMAN = range(4)
BY_BITS, BY_SORTING, BY_RANKS = range(3)


class SimilaritySettings(NamedTuple):
    """Settings for the comparison of features.

    Queries of up to ``most_by_bits`` documents per varying feature are counted by bits, longer ones
    by sorting.
    """

    directions: np.ndarray  # (features,): 1, or -1 if small values are better
    method: int
    absolute: bool
    most_by_bits: int
    keeps_missing: bool  # if False, NaN is an error


@part
def _find_varying(rows, keeps_missing, varying):
    """List the features that are not constant in a query; updates ``varying`` in place.

    Missing values are equal to each other and different from all others. Returns the number of
    features, or -1 if a value is infinite, or missing without ``keeps_missing``.
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
    """Copy some features to ``values``, with signs such that larger values are better.

    Missing values become -infinity in either direction.
    """
    for row in range(rows.shape[0]):
        for place in range(features.size):
            value = directions[features[place]] * rows[row, features[place]]
            values[row, place] = value if value == value else -np.inf


@part
def _add_values(agree, shared, n_pairs, how, weight, features, sums):
    """Convert a query's counts to similarities and add them; updates ``sums`` in place."""
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
    """Divide a product by the lengths of its factors; 0 if a length is 0."""
    squares = float(square_i) * float(square_j)
    return product / math.sqrt(squares) if squares > 0.0 else 0.0


def _adds(way):
    @kernel
    def add_similarity(X, query_ptr, weights, first, how, sums):
        """Add the similarity of all pairs of features in each query, starting with ``first``.

        A query counts ``weights`` (queries,) times. Updates ``sums`` (features, features) in place,
        only the upper triangle and the diagonal. Returns the first query to be counted by the other
        algorithm, the number of queries if there is none, or -1 if a value of X is not finite, in
        which case the sums are invalid.
        """
        n_features, n_queries = X.shape[1], query_ptr.size - 1
        varying = np.empty(n_features, np.int64)
        # Integers, so that neither the order of documents nor the algorithm affects the result.
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
            # Constant features, a fifth in a query of LETOR's MQ2008, have similarity 0 to all.
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


# A kernel for each algorithm, so that only the one that is used is compiled.
add_similarity = [_adds(way) for way in (BY_BITS, BY_SORTING, BY_RANKS)]
