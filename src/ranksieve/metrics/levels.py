"""Distinct labels of each query, in order."""

from __future__ import annotations

import numpy as np

from ranksieve.metrics.ranking import Ranking


def number_levels(y: np.ndarray, query_ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number each query's distinct labels 0, 1, ..., and count its pairs of unequal labels.

    Returns arrays of shapes (rows,) and (queries,).

    Examples
    --------
    >>> levels, n_pairs = number_levels(np.array([0.0, 2, 2, 1, 1]), np.array([0, 3, 5]))
    >>> levels.tolist(), n_pairs.tolist()
    ([0, 1, 1, 0, 0], [2, 0])
    """
    starts, lengths = query_ptr[:-1], np.diff(query_ptr)
    descending = Ranking.of(y, query_ptr, average_ties=True)
    begins = np.ones(len(y), dtype=bool)  # whether a row starts a new level
    begins[1:] = descending.tie_end[1:] != descending.tie_end[:-1]
    begins[starts] = True
    number = np.cumsum(begins)
    levels = np.empty(len(y), dtype=np.int64)
    levels[descending.order] = np.repeat(number[query_ptr[1:] - 1], lengths) - number
    n_worse = np.repeat(lengths, lengths) - descending.tie_end
    return levels, np.add.reduceat(n_worse, starts)
