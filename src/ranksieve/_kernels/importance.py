"""Measure how well each feature alone ranks the documents of a query."""

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.measures import KINDS, PAIR_ERRORS, measure_list, single_blocks
from ranksieve._kernels.ranking import longest_query, mark_ties, sort_descending


@part
def _reverse_ranking(order, tie_end, n_present, reversed_order, reversed_tie_end):
    """Turn a ranking by descending value into one by ascending value; updates the last two.

    The order of blocks of equal values is reversed, the order within them is kept. Documents after
    the first ``n_present`` have no value and stay last.
    """
    start = 0
    while start < n_present:
        end = tie_end[start]
        for rank in range(start, end):
            place = n_present - end + rank - start
            reversed_order[place] = order[rank]
            reversed_tie_end[place] = n_present - start
        start = end
    for rank in range(n_present, order.size):
        reversed_order[rank] = order[rank]
        reversed_tie_end[rank] = order.size


@part
def _take_column(X, start, feature, keeps_missing, values):
    """Copy a feature of a query to ``values``, with -infinity for missing values.

    Returns the number of documents with a value, or -1 if a value is infinite, or missing without
    ``keeps_missing``.
    """
    n_present = values.size
    for row in range(values.size):
        value = np.float64(X[start + row, feature])
        values[row] = value
        if not np.isfinite(value):
            if np.isinf(value) or not keeps_missing:
                return -1
            values[row] = -np.inf
            n_present -= 1
    return n_present


def _adds(kind):
    @kernel
    def add_importance(X, measure, query_ptr, weights, keeps_missing, sums, squares, varying):
        """Add each query's value of each feature, and its square; updates the last three in place.

        Each query counts ``weights`` (queries,) times. ``sums`` and ``squares`` (2, features): row
        0 ranks by descending value, row 1 by ascending. ``varying`` (features,) counts the queries
        with positive weight in which a feature is not constant. One sort serves both directions.
        With ``keeps_missing``, a missing value ranks last in both. Returns whether all other values
        of X are finite; if not, the sums are invalid.
        """
        longest = longest_query(query_ptr)
        column, keys, space = np.empty(longest), np.empty(2 * longest), np.empty(2 * longest + 1)
        orders, back_orders = np.empty(longest, np.int64), np.empty(longest, np.int64)
        tie_ends, back_tie_ends = np.empty(longest, np.int64), np.empty(longest, np.int64)
        spare, each_alone = np.empty(longest, np.int64), single_blocks(longest)
        use_ties = measure.average_ties or kind == PAIR_ERRORS
        for query in range(query_ptr.size - 1):
            weight = weights[query]
            if weight == 0.0:
                continue
            start, n = query_ptr[query], query_ptr[query + 1] - query_ptr[query]
            values, order, tie_end = column[:n], orders[:n], tie_ends[:n]
            back_order, back_tie_end = back_orders[:n], back_tie_ends[:n]
            ends = tie_end if use_ties else each_alone[:n]
            back_ends = back_tie_end if use_ties else ends
            for feature in range(X.shape[1]):
                n_present = _take_column(X, start, feature, keeps_missing, values)
                if n_present < 0:
                    return False
                sort_descending(values, order, spare, keys)
                mark_ties(values, order, tie_end)
                varying[feature] += tie_end[0] < n
                _reverse_ranking(order, tie_end, n_present, back_order, back_tie_end)
                for way in range(2):  # a loop, so that the measure is compiled once
                    ranked, ranked_ends = (back_order, back_ends) if way else (order, ends)
                    value = measure_list(kind, measure, query, start, ranked, ranked_ends, space)
                    sums[way, feature] += weight * value
                    squares[way, feature] += weight * value * value
        return True

    return add_importance


add_importance = [_adds(kind) for kind in KINDS]
