"""Measures of one ranked list, averaged over ties in closed form.

Every function takes ``worth`` (n,), the value of each document in ranked order (its gain, its 0/1
relevance or its probability to satisfy), and ``tie_end`` (n,), for each rank the rank after its
block of equal scores. The value is the expectation over all orders of the documents in each block.
"""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import inlined, kernel, part
from ranksieve._kernels.ranking import add_at, longest_query, sort_descending, sum_up_to

DCG = 0
MEAN_NDCG = 1
PRECISION_SUM = 2
RECIPROCAL_RANK = 3
CASCADE = 4
PAIR_ERRORS = 5
KINDS = range(6)

FEW = 64  # cutoff up to which insertion finds the largest values faster than sorting


class ListMeasure(NamedTuple):
    """Arrays that a measure needs from the labels, and its treatment of equal scores."""

    worth: np.ndarray  # (rows,) value of each document
    discounts: np.ndarray  # by rank, from 0
    norm: np.ndarray  # query q has norm[norm_ptr[q] : norm_ptr[q + 1]]
    norm_ptr: np.ndarray
    cutoff: int
    empty: float  # value of a query without relevant documents
    average_ties: bool  # if False, each document is a separate block, except for PAIR_ERRORS
    most: float  # largest value of a query, which rounding may exceed; infinite if there is none


@inlined
def _block_mean(worth, start, end):
    total = 0.0
    for rank in range(start, end):
        total += worth[rank]
    return total / (end - start)


@part
def dcg(worth, tie_end, discounts, cutoff):
    """Sum expected worth times discount over the ranks before the cutoff."""
    total = 0.0
    start = 0
    while start < min(cutoff, worth.size):
        end = tie_end[start]
        mean = _block_mean(worth, start, end)
        for rank in range(start, min(end, cutoff)):
            total += mean * discounts[rank]
        start = end
    return total


@part
def mean_ndcg(worth, tie_end, discounts, ideal):
    """Return the mean over k = 1..n of DCG@k / ideal[k - 1]."""
    total = so_far = 0.0
    start = 0
    while start < worth.size:
        end = tie_end[start]
        mean = _block_mean(worth, start, end)
        for rank in range(start, end):
            so_far += mean * discounts[rank]
            total += min(1.0, so_far / ideal[rank])
        start = end
    return total / worth.size


@part
def precision_sum(worth, tie_end, cutoff):
    """Sum the precision at each relevant document before the cutoff.

    In a block of t documents, r of them relevant, that starts after s ranks with R relevant
    documents, the p-th position (from 1) holds a relevant one with probability r / t; then
    R + 1 + (p - 1)(r - 1)/(t - 1) relevant documents are expected up to it.
    """
    total = 0.0
    before = 0.0
    start = 0
    while start < min(cutoff, worth.size):
        end = tie_end[start]
        size = end - start
        relevant = _block_mean(worth, start, end) * size
        slope = (relevant - 1) / (size - 1) if size > 1 else 0.0
        for rank in range(start, min(end, cutoff)):
            total += relevant / size * (before + 1 + (rank - start) * slope) / (rank + 1)
        before += relevant
        start = end
    return total


@part
def reciprocal_rank(worth, tie_end, cutoff):
    """Return the expected 1 / rank of the first relevant document, 0 beyond the cutoff."""
    start = 0
    while start < min(cutoff, worth.size):
        end = tie_end[start]
        relevant = _block_mean(worth, start, end) * (end - start)
        if relevant > 0:
            total, none_yet = 0.0, 1.0
            for rank in range(start, min(end, cutoff)):
                hit = min(1.0, relevant / (end - rank))  # given that no earlier one was relevant
                total += none_yet * hit / (rank + 1)
                none_yet *= 1 - hit
            return total
        start = end
    return 0.0


@part
def cascade(worth, tie_end, cutoff, scratch):
    """Return the expected reciprocal rank, the sum of P(the user stops at rank r) / r.

    ``scratch[p]`` (n + 1,) holds the mean, over all choices of p documents of the block, of the
    probability that none of them satisfies. It is updated one document at a time: a choice of p
    among j contains the j-th with probability p / j.
    """
    total, still_looking = 0.0, 1.0
    start = 0
    while start < min(cutoff, worth.size):
        end = tie_end[start]
        places = min(end, cutoff) - start
        scratch[0] = 1.0
        for place in range(1, places + 1):
            scratch[place] = 0.0
        for document in range(start, end):
            size = document - start + 1
            for place in range(min(size, places), 0, -1):
                share = place / size
                with_it = (1 - worth[document]) * scratch[place - 1]
                scratch[place] = (1 - share) * scratch[place] + share * with_it
        for place in range(1, places + 1):
            stops = scratch[place - 1] - scratch[place]
            total += still_looking * stops / (start + place)
        still_looking *= scratch[places]  # only used if the whole block lies before the cutoff
        start = end
    return total


@part
def pair_errors(worth, tie_end, tree):
    """Count pairs with unequal labels in the wrong order; tied scores count one half.

    ``worth`` holds dense ranks 0, 1, ... of the labels; ``tree`` (n + 1,) is a Fenwick tree
    that counts the documents ranked so far by label: O(n log n).
    """
    for place in range(tree.size):
        tree[place] = 0.0
    twice = 0.0
    start = 0
    while start < worth.size:
        end = tie_end[start]
        for rank in range(start, end):  # worse documents in earlier blocks
            twice += sum_up_to(tree, np.int64(worth[rank]))
        for rank in range(start, end):
            add_at(tree, np.int64(worth[rank]) + 1, 1.0)
        for rank in range(start, end):  # the same, plus those in this block
            twice += sum_up_to(tree, np.int64(worth[rank]))
        start = end
    return twice / 2


@inlined
def measure_list(kind, measure, query, start, order, tie_end, space):
    """Measure one ranked query, whose documents are the rows ``start + order``.

    ``kind`` is known when a kernel is compiled. It is an argument of an inlined function because
    numba does not cache kernels that have another function as a constant.

    The sum is divided by the norm (1,). If the norm is 0, nothing is relevant and the value is
    ``empty``; if it is infinite, the value is 0. For MEAN_NDCG it is the ideal DCG at each rank
    (n,). ``space`` (2 n + 1 or more) is overwritten.
    """
    first = measure.norm_ptr[query]
    norm = measure.norm[first]
    if norm == 0.0:
        return measure.empty
    n, discounts, cutoff = order.size, measure.discounts, measure.cutoff
    ranked = space[:n]
    for rank in range(n):
        ranked[rank] = measure.worth[start + order[rank]]
    if kind == MEAN_NDCG:
        return mean_ndcg(ranked, tie_end, discounts, measure.norm[first : first + n])
    if kind == DCG:
        total = dcg(ranked, tie_end, discounts, cutoff)
    elif kind == PRECISION_SUM:
        total = precision_sum(ranked, tie_end, cutoff)
    elif kind == RECIPROCAL_RANK:
        total = reciprocal_rank(ranked, tie_end, cutoff)
    elif kind == CASCADE:
        total = cascade(ranked, tie_end, cutoff, space[n : 2 * n + 1])
    else:
        total = pair_errors(ranked, tie_end, space[n : 2 * n + 1])
    value = total / norm
    return value if value < measure.most else measure.most


@part
def single_blocks(n):
    """Return the ends of blocks of one document each: 1, 2, ..., n."""
    ends = np.empty(n, np.int64)
    for rank in range(n):
        ends[rank] = rank + 1
    return ends


def _measures(kind):
    @kernel
    def measure_queries(measure, order, tie_end, query_ptr, out, first, last):
        """Measure the ranked queries ``first:last``; updates ``out`` in place."""
        space = np.empty(2 * longest_query(query_ptr[first : last + 1]) + 1)
        zero = np.int64(0)  # a literal would have another type
        for query in range(first, last):
            start, end = query_ptr[query], query_ptr[query + 1]
            ranked, ends = order[start:end], tie_end[start:end]
            out[query] = measure_list(kind, measure, query, zero, ranked, ends, space)

    return measure_queries


measure_queries = [_measures(kind) for kind in KINDS]


@part
def _largest(values, k, best):
    """Write the ``k`` largest values to ``best``, descending; return how many were written."""
    found = 0
    for value in values:
        if found == k and value <= best[k - 1]:
            continue
        found += found < k
        place = found - 1
        while place > 0 and best[place - 1] < value:
            best[place] = best[place - 1]
            place -= 1
        best[place] = value
    return found


@kernel
def ideal_dcg(worth, discounts, cutoff, query_ptr, out, first, last):
    """Compute each query's ideal DCG for a cutoff of at most FEW; updates ``out`` (queries,)."""
    best = np.empty(FEW)
    for query in range(first, last):
        found = _largest(worth[query_ptr[query] : query_ptr[query + 1]], cutoff, best)
        total = 0.0
        for rank in range(found):
            total += best[rank] * discounts[rank]
        out[query] = total


@kernel
def ideal_curve(worth, discounts, query_ptr, out, first, last):
    """Compute each query's ideal DCG at every rank; updates ``out`` (rows,) in place."""
    longest = longest_query(query_ptr[first : last + 1])
    keys = np.empty(2 * longest)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for query in range(first, last):
        start, n = query_ptr[query], query_ptr[query + 1] - query_ptr[query]
        values = worth[start : start + n]
        sort_descending(values, order[:n], spare, keys)
        total = 0.0
        for rank in range(n):
            total += values[order[rank]] * discounts[rank]
            out[start + rank] = total
