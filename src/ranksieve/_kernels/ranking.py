"""Order the documents of a query by score; Fenwick trees for sums over those ranked so far."""

import numpy as np

from ranksieve._kernels.compiling import kernel, part

_RUN = 16  # length up to which insertion sort is faster than merging


@part
def sort_descending(scores, order, spare, keys):
    """Sort positions by descending score, equal scores by position; updates ``order`` in place.

    ``scores`` (n,) has no NaN; ``order`` (n,) receives 0..n-1 in ranked order; ``spare`` (n,) and
    ``keys`` (2 n,) are scratch. Short runs are sorted by insertion and then merged bottom up, which
    is stable and O(n log n). Scores move with their positions, so that merging reads both in
    sequence.
    """
    n = scores.size
    from_keys, to_keys = keys[:n], keys[n : 2 * n]
    _sort_runs(scores, order, from_keys)
    from_order, to_order = order, spare
    width, passes = _RUN, 0
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            _merge(from_keys, from_order, to_keys, to_order, start, middle, end)
        from_keys, to_keys = to_keys, from_keys
        from_order, to_order = to_order, from_order
        width *= 2
        passes += 1
    if passes % 2:  # the last pass wrote to the scratch arrays
        for rank in range(n):
            order[rank] = spare[rank]


@part
def _sort_runs(scores, order, keys):
    """Sort each run of 16 by insertion."""
    for start in range(0, scores.size, _RUN):
        for at in range(start, min(start + _RUN, scores.size)):
            score = scores[at]
            place = at
            while place > start and keys[place - 1] < score:
                keys[place] = keys[place - 1]
                order[place] = order[place - 1]
                place -= 1
            keys[place] = score
            order[place] = at


@part
def _merge(from_keys, from_order, to_keys, to_order, start, middle, end):
    """Merge the sorted runs ``start:middle`` and ``middle:end``."""
    left, right, place = start, middle, start
    while left < middle and right < end:
        # Selections instead of branches, because branches would be mispredicted.
        take_right = from_keys[right] > from_keys[left]
        to_keys[place] = from_keys[right] if take_right else from_keys[left]
        to_order[place] = from_order[right] if take_right else from_order[left]
        right += take_right
        left += 1 - take_right
        place += 1
    while left < middle:
        to_keys[place], to_order[place] = from_keys[left], from_order[left]
        left += 1
        place += 1
    while right < end:
        to_keys[place], to_order[place] = from_keys[right], from_order[right]
        right += 1
        place += 1


@part
def mark_ties(scores, order, tie_end):
    """Set ``tie_end`` to the rank after each rank's block of equal scores, in place."""
    end = scores.size
    for rank in range(scores.size - 1, -1, -1):
        if rank + 1 < scores.size and scores[order[rank]] != scores[order[rank + 1]]:
            end = rank + 1
        tie_end[rank] = end


@part
def add_at(tree, place, value):
    """Add a value at a 1-based position of a Fenwick tree; updates ``tree`` in place."""
    while place < tree.size:
        tree[place] += value
        place += place & -place


@part
def sum_up_to(tree, place):
    """Sum positions 1 to ``place`` of a Fenwick tree."""
    total = 0.0
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@kernel
def rank_queries(scores, query_ptr, order, tie_end, first, last):
    """Rank the documents of queries ``first:last``; updates ``order`` and ``tie_end`` in place.

    ``order`` holds rows, ``tie_end`` ranks within the query.
    """
    longest = longest_query(query_ptr[first : last + 1])
    spare = np.empty(longest, dtype=order.dtype)
    keys = np.empty(2 * longest)
    for query in range(first, last):
        start, end = query_ptr[query], query_ptr[query + 1]
        ranked = order[start:end]
        sort_descending(scores[start:end], ranked, spare, keys)
        mark_ties(scores[start:end], ranked, tie_end[start:end])
        for rank in range(ranked.size):
            ranked[rank] += start


@part
def longest_query(query_ptr):
    """Return the number of rows of the longest query."""
    longest = 0
    for query in range(query_ptr.size - 1):
        length = query_ptr[query + 1] - query_ptr[query]
        if length > longest:
            longest = length
    return longest
