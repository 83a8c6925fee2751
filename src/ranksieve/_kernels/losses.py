"""Losses of one query's scores and their gradients.

Every loss takes the documents of a query in descending order of label:

- ``scores`` (n,);
- ``worse`` (n,): for each document, the position of the first one with a smaller label, or n;
- ``target`` (n,): values that the loss needs, precomputed from the labels.

It writes its derivatives to ``gradient`` (n,) and returns its value. ``order`` (n,), ``spare`` (n
or more) and ``keys`` (2 n or more) are scratch. To add a loss, write such a function, give it a
number and add it to :func:`query_loss`.

The exponential loss of RankBoost has no gradient but potentials of documents, by which it chooses
thresholds: :func:`pair_potentials`.
"""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import inlined, kernel, part
from ranksieve._kernels.ranking import longest_query, sort_descending

RANKNET = 0
LISTNET = 1
LISTMLE = 2
LAMBDARANK = 3
KINDS = range(4)

_TILE = 8  # features at a time, enough for independent additions to overlap


@part
def ranknet(scores, worse, gradient):
    """Sum log(1 + exp(worse - better)) over pairs: O(n^2)."""
    gradient[:] = 0.0
    total = 0.0
    for better in range(scores.size):
        pull = 0.0
        for other in range(worse[better], scores.size):
            margin = scores[better] - scores[other]
            # The exponential of a positive number could overflow.
            small = np.exp(-abs(margin))
            total += np.log1p(small) + max(0.0, -margin)
            chance = (small if margin > 0 else 1.0) / (1.0 + small)  # of the wrong order
            pull += chance
            gradient[other] += chance
        gradient[better] -= pull
    return total


@part
def lambdarank(scores, worse, target, gradient, order, spare, keys):
    """RankNet's loss with each pair weighted by the NDCG change of swapping its ranks: O(n^2).

    ``target`` holds gains divided by the ideal DCG. Equal scores rank by descending label. The
    gradient treats the weights of pairs as constants.
    """
    n = scores.size
    sort_descending(scores, order, spare, keys)
    discounts = keys[:n]  # no longer needed for sorting
    for rank in range(n):
        discounts[order[rank]] = 1.0 / np.log2(rank + 2.0)
    gradient[:] = 0.0
    total = 0.0
    for better in range(n):
        pull = 0.0
        for other in range(worse[better], n):
            margin = scores[better] - scores[other]
            small = np.exp(-abs(margin))
            change = (target[better] - target[other]) * abs(discounts[better] - discounts[other])
            total += change * (np.log1p(small) + max(0.0, -margin))
            push = change * (small if margin > 0 else 1.0) / (1.0 + small)
            pull += push
            gradient[other] += push
        gradient[better] -= pull
    return total


@part
def listnet(scores, target, gradient):
    """Cross entropy of the softmax of scores and ``target``, the softmax of labels: O(n)."""
    largest = scores[0]
    for place in range(1, scores.size):
        largest = max(largest, scores[place])
    total = agreement = 0.0
    for place in range(scores.size):
        gradient[place] = np.exp(scores[place] - largest)
        total += gradient[place]
        agreement += target[place] * (scores[place] - largest)
    for place in range(scores.size):
        gradient[place] = gradient[place] / total - target[place]
    return np.log(total) - agreement


@part
def listmle(scores, worse, target, gradient, keys):
    """Negative log likelihood of the order of labels (Plackett-Luce): O(n).

    Each document is drawn from all that are not better, including those with the same label
    (Breslow's rule for ties). Documents with the lowest label are left out, because their draws
    carry no information. A draw counts ``target`` times, which is the same for equal labels.
    """
    n = scores.size
    # Log of the sum of the exponentials of the scores from each position to the end.
    behind = keys[:n]
    behind[n - 1] = scores[n - 1]
    for place in range(n - 2, -1, -1):
        high, low = behind[place + 1], scores[place]
        if high < low:
            high, low = low, high
        behind[place] = high + np.log1p(np.exp(low - high))
    # A document's probability in one draw is exp(score - behind); drawn sums over draws so far.
    total = 0.0
    drawn = -np.inf
    start = 0
    while start < n:
        end, times = worse[start], target[start]
        if end < n and times > 0:
            added = np.log((end - start) * times) - behind[start]
            high, low = max(drawn, added), min(drawn, added)
            drawn = high + np.log1p(np.exp(low - high))
        for place in range(start, end):
            gradient[place] = np.exp(scores[place] + drawn)
            if end < n:
                gradient[place] -= times
                total += times * (behind[start] - scores[place])
        start = end
    return total


@inlined
def query_loss(kind, scores, worse, target, gradient, order, spare, keys):
    """Compute the loss of one query; updates ``gradient``. ``kind`` is fixed at compile time."""
    if kind == RANKNET:
        return ranknet(scores, worse, gradient)
    if kind == LISTNET:
        return listnet(scores, target, gradient)
    if kind == LISTMLE:
        return listmle(scores, worse, target, gradient, keys)
    return lambdarank(scores, worse, target, gradient, order, spare, keys)


class LabelArrays(NamedTuple):
    """Arrays that losses need from the labels of a block.

    ``order`` (rows, counted within the query), ``worse`` and ``target`` are in descending order of
    label within each query's rows; ``weights`` (queries,).
    """

    query_ptr: np.ndarray
    order: np.ndarray
    worse: np.ndarray
    target: np.ndarray
    weights: np.ndarray


def _losses(kind):
    @kernel
    def query_losses(scores, score_ptr, queries, labels, gradient, losses, first, last):
        """Compute weighted losses of some queries; updates ``gradient`` and ``losses`` in place.

        The k-th of them is ``queries[k]``; its scores and gradient are at
        ``score_ptr[k]:score_ptr[k + 1]``, in row order. A query with equal labels or weight 0 has
        loss and gradient 0.
        """
        query_ptr, order, worse, target, weights = labels
        longest = longest_query(score_ptr[first : last + 1])
        sorted_scores, slopes = np.empty(longest), np.empty(longest)
        ranked, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
        keys = np.empty(2 * longest)
        for k in range(first, last):
            start, n = score_ptr[k], score_ptr[k + 1] - score_ptr[k]
            constants = slice(query_ptr[queries[k]], query_ptr[queries[k]] + n)
            weight = weights[queries[k]]
            if weight == 0.0 or worse[constants.start] == n:
                gradient[start : start + n] = 0.0
                losses[k] = 0.0
                continue
            by_label = order[constants]
            for place in range(n):
                sorted_scores[place] = scores[start + by_label[place]]
            losses[k] = weight * query_loss(
                kind,
                sorted_scores[:n],
                worse[constants],
                target[constants],
                slopes[:n],
                ranked[:n],
                spare,
                keys,
            )
            for place in range(n):
                gradient[start + by_label[place]] = weight * slopes[place]

    return query_losses


query_losses = [_losses(kind) for kind in KINDS]


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
