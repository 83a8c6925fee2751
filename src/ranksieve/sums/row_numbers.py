"""Features that number something: the documents of each query, or the rows of the data."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.sums.chunks import comparable_chunks

_FEWEST = 10  # queries of two documents or more: fewer may look like this by chance
_MOSTLY = 0.9  # share of the steps from row to row that must grow; times may be equal


class RowNumbers(NamedTuple):
    """Features that number something, by their indices."""

    positions: list[int]  # 1 to n, or 0 to n - 1, in each query of n documents
    growing: list[int]  # from row to row in each query, and from query to query


def find_row_numbers(source: Source) -> RowNumbers:
    """Find features that number the documents of each query, or the rows of the data.

    The documents of a query are numbered in any order. Rows are numbered if values rise, or fall,
    from row to row within every query, and from the first row of one query to that of the next:
    ids and times do so, also if the rows of queries were interleaved. Equal neighbors must be rare.
    In a file that is sorted by a feature within queries, first rows do not rise.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.row_numbers import find_row_numbers
    >>> place, time = np.tile([2.0, 1.0, 3.0], 10), np.arange(30) ** 1.5
    >>> data = RankingData(np.column_stack([time, place, place**2]), place, np.arange(30) // 3)
    >>> find_row_numbers(data)
    RowNumbers(positions=[1], growing=[0])
    """
    found = engine_of(source).collect(look_at_rows)
    if sum(one.n_several for one in found) < _FEWEST:
        return RowNumbers([], [])
    positions = np.all([one.numbered for one in found], axis=0).any(axis=0)
    grows = np.all([one.grows for one in found], axis=0)
    steps = np.sum([one.steps for one in found], axis=0)
    for before, after in pairwise(one.ends for one in found):
        never_back, ahead = _compare(before[1:], after[:1])
        grows &= never_back
        steps[1] += ahead
    n_steps = np.array([source.n_rows - source.n_queries, source.n_queries - 1])
    grows &= (steps >= _MOSTLY * n_steps[:, None, None]).all(axis=0)
    return RowNumbers(
        np.flatnonzero(positions).tolist(), np.flatnonzero(grows.any(axis=0)).tolist()
    )


class _Rows(NamedTuple):
    """What the rows of a block look like; the rows of arrays are for rising and for falling."""

    numbered: np.ndarray  # (2, features): whether queries are numbered from 0, and from 1
    grows: np.ndarray  # (2, features): whether values never turn back
    steps: np.ndarray  # (2, 2, features): neighbors within queries, and first rows, that do so
    ends: np.ndarray  # (2, features): first value of the first query, and of the last one
    n_several: int  # queries of two documents or more


def look_at_rows(block: Block) -> _Rows:
    """Look for numbers of documents and rows in a block."""
    shape = 2, block.X.shape[1]
    numbered, grows = np.ones((2, *shape), dtype=bool)
    steps, n_several = np.zeros((2, *shape), dtype=np.int64), 0
    ends: list[np.ndarray] = []  # first rows of the first and of the last query of each chunk
    for X, query_ptr, *_ in comparable_chunks(block):
        starts, lengths = query_ptr[:-1], np.diff(query_ptr)
        is_inside = np.ones(len(X), dtype=bool)
        is_inside[starts] = False  # the first row of a query has none before it
        rows = np.flatnonzero(is_inside)
        firsts = np.concatenate([*ends[-1:], X[starts]])
        for place, (before, after) in enumerate(
            ((X[rows - 1], X[rows]), (firsts[:-1], firsts[1:]))
        ):
            never_back, ahead = _compare(before, after)
            grows &= never_back
            steps[place] += ahead
        ends += [X[:1], firsts[-1:]]
        n_several += int(np.sum(lengths >= 2))
        low, high = np.minimum.reduceat(X, starts), np.maximum.reduceat(X, starts)
        for base in (0, 1):
            fits = (low == base) & (high == (lengths - 1 + base)[:, None])
            numbered[base] &= fits.all(axis=0)
            for feature in np.flatnonzero(numbered[base]).tolist():
                numbered[base, feature] = _counts(X[:, feature] - base, query_ptr)
    return _Rows(numbered, grows, steps, np.concatenate([ends[0], ends[-1]]), n_several)


def _compare(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compare rows with those after them, rising and falling: (2, features) each.

    Returns whether a feature never turns back, and the number of rows that go ahead.
    """
    rises, falls = (before < after).sum(axis=0), (before > after).sum(axis=0)
    return np.array([falls == 0, rises == 0]), np.array([rises, falls])


def _counts(values: np.ndarray, query_ptr: np.ndarray) -> bool:
    """Whether the values of each query are 0, 1, 2, ... in any order."""
    lengths = np.diff(query_ptr)
    query_of = np.repeat(np.arange(len(lengths)), lengths)
    in_order = values[np.lexsort((values, query_of))]
    return bool(np.all(in_order == np.arange(len(values)) - query_ptr[query_of]))
