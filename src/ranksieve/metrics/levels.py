"""Distinct labels of each query, in order."""

from __future__ import annotations

import numpy as np


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
    order = np.lexsort((y, np.repeat(np.arange(len(lengths)), lengths)))
    ascending = y[order]
    begins = np.empty(len(y), dtype=bool)  # a level
    begins[1:] = ascending[1:] != ascending[:-1]
    begins[starts] = True
    number = np.cumsum(begins)
    levels = np.empty(len(y), dtype=np.int64)
    levels[order] = number - np.repeat(number[starts], lengths)
    first_of_level = np.flatnonzero(begins)[number - 1]
    n_worse = first_of_level - np.repeat(starts, lengths)
    return levels, np.add.reduceat(n_worse, starts)
