"""Count document pairs that features order alike in short lists, one bit per pair."""

import numpy as np
from numba import types
from numba.extending import intrinsic

from ranksieve._kernels.compiling import kernel, part

_WORD = 64  # document pairs, one bit each
# Words of each feature at a time: the bits of 64 features are 64 KB, which fit into the cache.
_TILE = 64


@intrinsic
def _count_ones(typing_context, word):
    """Count the ones in a uint64 with the processor's instruction."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@kernel
def count_by_bits(values, agree, shared):
    """Count the document pairs that two features order alike, and that both order.

    ``values`` (documents, features). Updates, for i <= j, ``agree[i, j]``: pairs of which features
    i and j strictly prefer the same document; and ``shared[i, j]``: pairs tied in neither. Thus
    ``shared - agree`` are the pairs ordered differently, and ``shared[i, i]`` those that i orders.

    O(f n^2 + f^2 n^2 / 64) for f features and n documents.
    """
    n, n_features = values.shape
    agree[:n_features, :n_features] = 0
    shared[:n_features, :n_features] = 0
    n_left = n * (n - 1) // 2
    most = min(_TILE, (n_left + _WORD - 1) // _WORD)
    greater = np.empty((n_features, most), np.uint64)
    untied = np.empty((n_features, most), np.uint64)
    word = np.empty((2, n_features), np.uint64)
    n_words, first, second = 0, np.int64(0), np.int64(1)  # literals would have other types
    while n_left > 0:
        n_pairs = min(n_left, _WORD)
        first, second = _compare_pairs(values, first, second, n_pairs, word[0], word[1])
        for feature in range(n_features):
            greater[feature, n_words] = word[0, feature]
            untied[feature, n_words] = word[1, feature]
        n_words += 1
        n_left -= n_pairs
        if n_words == most or n_left == 0:
            _count_words(greater[:, :n_words], untied[:, :n_words], agree, shared)
            n_words = 0


@part
def _compare_pairs(values, first, second, n_pairs, greater, untied):
    """Compare document pairs, starting with ``(first, second)``; updates bits in the last two.

    Returns the pair to continue with. All features of a pair are compared before the next pair:
    they are adjacent in memory, so that the processor compares several at a time.
    """
    greater[:] = 0
    untied[:] = 0
    for pair in range(n_pairs):
        bit = np.uint64(pair)
        left, right = values[first], values[second]
        for feature in range(greater.size):
            greater[feature] |= np.uint64(left[feature] > right[feature]) << bit
            untied[feature] |= np.uint64(left[feature] != right[feature]) << bit
        second += 1
        if second == values.shape[0]:
            first, second = first + 1, first + 2
    return first, second


@part
def _count_words(greater, untied, agree, shared):
    """Add the counts of some document pairs; updates the last two in place."""
    n_features, n_words = greater.shape
    for i in range(n_features):
        greater_i, untied_i = greater[i], untied[i]
        for j in range(i, n_features):
            greater_j, untied_j = greater[j], untied[j]
            n_agree = n_shared = 0
            for word in range(n_words):
                both = untied_i[word] & untied_j[word]
                n_shared += _count_ones(both)
                n_agree += _count_ones(both & ~(greater_i[word] ^ greater_j[word]))
            agree[i, j] += n_agree
            shared[i, j] += n_shared
