"""Count document pairs that features order alike, by bits or by sorting; multiply ranks.

In short lists a document pair is one bit, and 64 are counted at a time. In long lists documents are
sorted by one feature, and the inversions of the other are counted (Knight 1966).
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.ranking import mark_ties, sort_descending

_WORD = 64  # document pairs, one bit each
# Words of each feature at a time: the bits of 64 features are 64 KB, which fit into the cache.
_TILE = 64
_RUN = 8  # length up to which insertion sort is faster than merging


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


@kernel
def count_by_sorting(values, agree, shared):
    """Count the same pairs as :func:`count_by_bits`; updates the last two in place.

    O(f^2 n log n) for f features and n documents.
    """
    n, n_features = values.shape
    order = np.empty((n_features, n), np.int64)
    block, block_end = np.empty((n_features, n), np.int64), np.empty((n_features, n), np.int64)
    _rank_features(values, order, block, block_end)
    n_tied = np.empty(n_features, np.int64)
    for feature in range(n_features):
        n_tied[feature] = _count_ties(block[feature], block_end[feature])
    n_pairs = n * (n - 1) // 2
    places, sequence, spare = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n_features):
        for j in range(i, n_features):
            _sort_by_both(block[i], order[j], block[j], places, sequence)
            n_tied_in_both = 0
            if n_tied[i] > 0 and n_tied[j] > 0:
                n_tied_in_both = _count_joint_ties(order[i], block[i], sequence)
            shared[i, j] = n_pairs - n_tied[i] - n_tied[j] + n_tied_in_both
            agree[i, j] = shared[i, j] - _count_inversions(sequence, spare)


@part
def _rank_features(values, order, block, block_end):
    """Rank the documents by each feature; updates the last three (features, documents) in place.

    ``order`` holds documents by descending value. ``block`` and ``block_end`` hold for each
    document the first rank of its block of equal values, and the rank after the last.
    """
    n, n_features = values.shape
    spare, tie_end = np.empty(n, np.int64), np.empty(n, np.int64)
    column, keys = np.empty(n), np.empty(2 * n)
    for feature in range(n_features):
        ranked = order[feature]
        for document in range(n):
            column[document] = values[document, feature]
        sort_descending(column, ranked, spare, keys)
        mark_ties(column, ranked, tie_end)
        start = 0
        for rank in range(n):
            if rank == tie_end[start]:
                start = rank
            block[feature, ranked[rank]] = start
            block_end[feature, ranked[rank]] = tie_end[rank]


@part
def _count_ties(block, block_end):
    """Count pairs of documents with equal values, which are pairs within blocks."""
    n_tied = 0
    for document in range(block.size):
        n_tied += block_end[document] - block[document] - 1
    return n_tied // 2


@part
def _sort_by_both(block_i, order_j, block_j, places, sequence):
    """List ranks by j in the order by i, with ties of i in the order by j; updates the last two.

    No sort is needed: documents are taken in the order by j, and each goes to the next free
    position of its block of i.
    """
    for rank in range(places.size):
        places[rank] = rank
    for rank in range(order_j.size):
        document = order_j[rank]
        place = places[block_i[document]]
        places[block_i[document]] = place + 1
        sequence[place] = block_j[document]


@part
def _count_joint_ties(order_i, block_i, sequence):
    """Count pairs of documents with equal values of both features, which are now adjacent."""
    n_tied = before = 0
    for rank in range(1, sequence.size):
        same_block = block_i[order_i[rank]] == block_i[order_i[rank - 1]]
        before = before + 1 if same_block and sequence[rank] == sequence[rank - 1] else 0
        n_tied += before
    return n_tied


@part
def _count_inversions(sequence, spare):
    """Count pairs of numbers in which the larger comes first; overwrites both arguments.

    Short runs are sorted by insertion and then merged bottom up.
    """
    n = sequence.size
    n_inversions = 0
    for start in range(0, n, _RUN):
        n_inversions += _sort_run(sequence, start, min(start + _RUN, n))
    width = _RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            n_inversions += _merge_run(sequence, spare, start, middle, end)
        sequence, spare = spare, sequence
        width *= 2
    return n_inversions


@part
def _sort_run(sequence, start, end):
    """Sort in place by insertion; return the number of inversions, the steps that numbers move."""
    n_moves = 0
    for at in range(start + 1, end):
        number, place = sequence[at], at
        while place > start and sequence[place - 1] > number:
            sequence[place] = sequence[place - 1]
            place -= 1
        sequence[place] = number
        n_moves += at - place
    return n_moves


@part
def _merge_run(source, target, start, middle, end):
    """Merge two sorted runs into ``target``; return the number of inversions between them."""
    left, right, place, n_inversions = start, middle, start, 0
    while left < middle and right < end:
        # Selections instead of branches, because branches would be mispredicted.
        take_right = source[right] < source[left]
        target[place] = source[right] if take_right else source[left]
        n_inversions += middle - left if take_right else 0
        right += take_right
        left += 1 - take_right
        place += 1
    while left < middle:
        target[place] = source[left]
        left += 1
        place += 1
    while right < end:
        target[place] = source[right]
        right += 1
        place += 1
    return n_inversions


@kernel
def multiply_ranks(values, products):
    """Multiply centered average ranks of all pairs of features; updates ``products``.

    Only entries i <= j are set. Ranks are doubled to make them integers, so that sums are exact for
    lists of up to two million documents.
    """
    n, n_features = values.shape
    order = np.empty((n_features, n), np.int64)
    block, block_end = np.empty((n_features, n), np.int64), np.empty((n_features, n), np.int64)
    _rank_features(values, order, block, block_end)
    # Twice the mean of ranks block .. block_end - 1 minus the mean of 0 .. n - 1.
    ranks = block
    for i in range(n_features):
        for document in range(n):
            ranks[i, document] += block_end[i, document] - n
    for i in range(n_features):
        ranks_i = ranks[i]
        for j in range(i, n_features):
            ranks_j = ranks[j]
            product = 0
            for document in range(n):
                product += ranks_i[document] * ranks_j[document]
            products[i, j] = product
