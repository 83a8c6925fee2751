"""Losses of one query's scores, with their gradients.

Every loss takes the documents of a query by descending label:

- ``scores`` (n,);
- ``worse`` (n,): for each document, the place of the first one with a smaller label, or n;
- ``target`` (n,): what the loss needs of the labels, prepared once;

writes its derivatives to ``gradient`` (n,), and returns its value. ``order`` (n,), ``spare`` (n or
more) and ``keys`` (2 n or more) are scratch. A further loss is such a function, a number and a
line of :func:`query_loss`.
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


@part
def ranknet(scores, worse, gradient):
    """Sum over pairs of log(1 + exp(worse - better)): O(n^2)."""
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
    """RankNet's loss, each pair times what swapping its ranks would change NDCG: O(n^2).

    ``target`` holds gains over the ideal DCG. Equal scores rank by descending label. The weights
    of pairs count as constants in the gradient.
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
    """Cross entropy of the softmax of scores and ``target``, that of labels: O(n)."""
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
    """Minus the log likelihood of the order of labels (Plackett-Luce): O(n).

    Each document is drawn from all that are not better than it, those with its own label
    included (Breslow's rule for ties); the lowest label is drawn from itself alone, which says
    nothing, and is left out. A draw counts ``target`` times, which equal labels have in common.
    """
    n = scores.size
    # log of the sum of exponentials of the scores from each place on
    behind = keys[:n]
    behind[n - 1] = scores[n - 1]
    for place in range(n - 2, -1, -1):
        high, low = behind[place + 1], scores[place]
        if high < low:
            high, low = low, high
        behind[place] = high + np.log1p(np.exp(low - high))
    # The chance of a document in one draw is exp(score - behind); draws so far add up in drawn.
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
    """Loss of one query; updates ``gradient``. A kernel is compiled for one ``kind``."""
    if kind == RANKNET:
        return ranknet(scores, worse, gradient)
    if kind == LISTNET:
        return listnet(scores, target, gradient)
    if kind == LISTMLE:
        return listmle(scores, worse, target, gradient, keys)
    return lambdarank(scores, worse, target, gradient, order, spare, keys)


class LabelArrays(NamedTuple):
    """What losses know of the labels of a block.

    ``order`` (rows, counted within the query), ``worse`` and ``target`` are by descending label, at
    the query's rows; ``weights`` (queries,).
    """

    query_ptr: np.ndarray
    order: np.ndarray
    worse: np.ndarray
    target: np.ndarray
    weights: np.ndarray


def _losses(kind):
    @kernel
    def query_losses(scores, score_ptr, queries, labels, gradient, losses, first, last):
        """Weighted losses of some queries; updates ``gradient`` and ``losses`` in place.

        The k-th of them is ``queries[k]``; its scores and gradient are at
        ``score_ptr[k]:score_ptr[k + 1]``, in row order. A query of equal labels, or of weight 0,
        has loss and gradient 0.
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
