"""Measure many trial weights of one feature over all queries."""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.measures import KINDS, PAIR_ERRORS, measure_list, single_blocks
from ranksieve._kernels.ranking import longest_query, mark_ties, sort_descending

_LONG = 256  # number of documents from which sorting is faster than repairing an order


@part
def _repair(scores, order):
    """Sort an order that is nearly sorted, ties by position; return whether it changed."""
    changed = False
    for at in range(1, order.size):
        document = order[at]
        score = scores[document]
        place = at
        while place > 0:
            before = order[place - 1]
            if scores[before] > score or (scores[before] == score and before < document):
                break
            order[place] = before
            place -= 1
        if place < at:
            order[place] = document
            changed = True
    return changed


@part
def _ties_change(scores, order, tie_end, spare):
    """Mark ties of a ranking and return whether they changed; updates the last two in place."""
    mark_ties(scores, order, spare)
    changed = False
    for rank in range(order.size):
        changed |= spare[rank] != tie_end[rank]
        tie_end[rank] = spare[rank]
    return changed


class TrialArrays(NamedTuple):
    """Changes of one feature's weight to be tried on ranked documents."""

    column: np.ndarray  # (rows,) values of the feature
    deltas: np.ndarray  # changes of the weight, in runs of n_steps that move away from 0
    n_steps: int
    scores: np.ndarray  # (rows,) scores with the current weight
    order: np.ndarray  # (rows,) rows of each query ranked by the scores
    values: np.ndarray  # (queries,) values of the measure with these scores
    tells: np.ndarray  # (queries,) whether the value depends on the order


def _adds(kind):
    @kernel
    def add_trials(trials, measure, query_ptr, weights, sums):
        """Measure ``scores + delta * column`` for each delta; updates ``sums`` (deltas,).

        A query's order changes little from one delta to the next, and its value changes only with
        the order. Queries whose value does not depend on the order, or in which the column is
        constant, keep their value. ``weights`` (queries,) are the weights of the queries.
        """
        column, deltas, scores, values = trials.column, trials.deltas, trials.scores, trials.values
        longest = longest_query(query_ptr)
        trial, keys = np.empty(longest), np.empty(2 * longest)
        now, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
        tie_end, each_alone = np.empty(longest, np.int64), single_blocks(longest)
        space = np.empty(2 * longest + 1)
        use_ties = measure.average_ties or kind == PAIR_ERRORS
        for query in range(query_ptr.size - 1):
            start, end = query_ptr[query], query_ptr[query + 1]
            n = end - start
            constant = True
            for row in range(start + 1, end):
                constant &= column[row] == column[start]
            if constant or not trials.tells[query]:
                for place in range(deltas.size):
                    sums[place] += weights[query] * values[query]
                continue
            for place in range(deltas.size):
                if place % trials.n_steps == 0:  # a new run starts
                    value = values[query]
                    for rank in range(n):
                        now[rank] = trials.order[start + rank] - start
                    if use_ties:
                        mark_ties(scores[start:end], now[:n], tie_end[:n])
                for row in range(n):
                    trial[row] = scores[start + row] + deltas[place] * column[start + row]
                if n > _LONG:
                    sort_descending(trial[:n], now[:n], spare, keys)
                    changed = True
                else:
                    changed = _repair(trial[:n], now[:n])
                if use_ties:
                    changed |= _ties_change(trial[:n], now[:n], tie_end[:n], spare[:n])
                if changed:
                    ends = tie_end[:n] if use_ties else each_alone[:n]
                    value = measure_list(kind, measure, query, start, now[:n], ends, space)
                sums[place] += weights[query] * value

    return add_trials


add_trials = [_adds(kind) for kind in KINDS]
