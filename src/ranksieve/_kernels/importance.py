"""How well each feature alone ranks the documents of a query."""

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.measures import KINDS, PAIR_ERRORS, measure_list
from ranksieve._kernels.ranking import longest_query, mark_ties, sort_descending


@part
def _reverse_ranking(order, tie_end, reversed_order, reversed_tie_end):
    """Ranking by ascending value, from the one by descending value; updates the last two.

    Blocks of equal values come in the opposite order, their documents in the same.
    """
    n = order.size
    start = 0
    while start < n:
        end = tie_end[start]
        for rank in range(start, end):
            place = n - end + rank - start
            reversed_order[place] = order[rank]
            reversed_tie_end[place] = n - start
        start = end


def _adds(kind):
    @kernel
    def add_importance(
        X, worth, discounts, norm, norm_ptr, cutoff, empty, average_ties, query_ptr,
        wanted, sums, squares, varying,
    ):  # fmt: skip
        """Add each query's value of each feature, and its square; updates the last three in place.

        Only the ``wanted`` queries count. ``sums`` and ``squares`` (2, features): row 0 ranks by
        descending value, row 1 by ascending. ``varying`` (features,) counts the queries in which a
        feature is not constant. One sort serves both directions. Returns whether all values of X
        are finite; if not, the sums mean nothing.
        """
        all_finite = True
        longest = longest_query(query_ptr, 0, query_ptr.size - 1)
        column, keys = np.empty(longest), np.empty((2, longest))
        order, tie_end = np.empty((2, longest), np.int64), np.empty((2, longest), np.int64)
        spare, each_alone = np.empty(longest, np.int64), np.arange(1, longest + 1)
        ranked, scratch = np.empty(longest), np.empty(longest + 1)
        tree = np.empty(longest + 1, np.int64)
        use_ties = average_ties or kind == PAIR_ERRORS
        for query in range(query_ptr.size - 1):
            if not wanted[query]:
                continue
            start, n = query_ptr[query], query_ptr[query + 1] - query_ptr[query]
            query_norm = norm[norm_ptr[query] : norm_ptr[query + 1]]
            for feature in range(X.shape[1]):
                for row in range(n):
                    column[row] = X[start + row, feature]
                    all_finite &= np.isfinite(column[row])
                if not all_finite:
                    return False
                sort_descending(column[:n], order[0, :n], spare, keys)
                mark_ties(column[:n], order[0, :n], tie_end[0, :n])
                varying[feature] += tie_end[0, 0] < n
                _reverse_ranking(order[0, :n], tie_end[0, :n], order[1, :n], tie_end[1, :n])
                for direction in range(2):
                    for rank in range(n):
                        ranked[rank] = worth[start + order[direction, rank]]
                    value = measure_list(
                        kind,
                        ranked[:n],
                        tie_end[direction, :n] if use_ties else each_alone[:n],
                        discounts,
                        query_norm,
                        cutoff,
                        empty,
                        scratch,
                        tree[: n + 1],
                    )
                    sums[direction, feature] += value
                    squares[direction, feature] += value * value
        return True

    return add_importance


add_importance = [_adds(kind) for kind in KINDS]
