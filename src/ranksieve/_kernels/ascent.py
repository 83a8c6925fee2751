"""Many trial weights of one feature, each measured over all queries."""

from typing import NamedTuple

import numpy as np

from ranksieve._kernels.compiling import kernel, part
from ranksieve._kernels.measures import KINDS, PAIR_ERRORS, measure_list, single_blocks
from ranksieve._kernels.ranking import longest_query, mark_ties, sort_descending

_LONG = 256  # documents from which on sorting anew beats repairing the order before


@part
def _repair(scores, order):
    """Sort an order that is nearly right, equal scores by position; returns if it changed."""
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
    """Mark ties of a ranking; returns if they changed. Updates the last two in place."""
    mark_ties(scores, order, spare)
    changed = False
    for rank in range(order.size):
        changed |= spare[rank] != tie_end[rank]
        tie_end[rank] = spare[rank]
    return changed


class TrialArrays(NamedTuple):
    """Changes of the weight of one feature that are to be tried on ranked documents."""

    column: np.ndarray  # (rows,) of the feature
    deltas: np.ndarray  # in runs of n_steps that move away from 0
    n_steps: int
    scores: np.ndarray  # (rows,) with the weight as it is
    order: np.ndarray  # (rows,) rows of each query ranked by the scores
    values: np.ndarray  # (queries,) what that is worth
    tells: np.ndarray  # (queries,) whether any order is worth more than another


def _adds(kind):
    @kernel
    def add_trials(trials, measure, query_ptr, weights, sums):
        """Measure ``scores + delta * column`` for each delta; updates ``sums`` (deltas,).

        A query's order changes little from one delta to the next, and its value only if the order
        does. Queries that do not tell, or in which the column is constant, keep their value.
        ``weights`` (queries,) are those of the queries.
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
                if place % trials.n_steps == 0:  # a new run
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
