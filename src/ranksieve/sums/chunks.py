"""Runs of whole queries of a block, and what statistics share that walk over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ranksieve.data import Block, NonFiniteError, RankingData
from ranksieve.engine import Source

CHUNK = 2**18  # numbers: 2 MB, which the caches near a core hold


def wanted_queries(block: Block, queries: np.ndarray | None) -> np.ndarray:
    """Part of a boolean mask over all queries that is about a block; without one, all true."""
    n_queries = len(block.query_ptr) - 1
    if queries is None:
        return np.ones(n_queries, dtype=bool)
    return queries[block.first_query : block.first_query + n_queries]


class Chunk(NamedTuple):
    """Whole queries of a block, as an array."""

    X: np.ndarray
    query_ptr: np.ndarray  # from 0
    rows: slice  # of the block
    queries: slice


def chunks(block: Block, most: int | None = None) -> Iterator[Chunk]:
    """Cut a block into runs of whole queries of about ``most`` numbers, or of one query.

    Without ``most`` an array is one chunk, and a CSR matrix is cut so that little of it is an
    array at a time.
    """
    n_rows, n_columns = block.X.shape
    if most is None:
        most = CHUNK if block.is_sparse else n_rows * n_columns
    first, n_queries = 0, len(block.query_ptr) - 1
    while first < n_queries:
        end = block.query_ptr[first] + most // max(1, n_columns)
        last = int(np.searchsorted(block.query_ptr, end, side="right")) - 1
        last = min(max(last, first + 1), n_queries)
        rows = slice(int(block.query_ptr[first]), int(block.query_ptr[last]))
        X = block.X[rows].toarray() if block.is_sparse else block.X[rows]
        query_ptr = block.query_ptr[first : last + 1] - rows.start
        yield Chunk(X, query_ptr, rows, slice(first, last))
        first = last


@contextmanager
def locating(source: Source) -> Iterator[None]:
    """Name the input row and the feature of a value that is not finite, where they are known."""
    try:
        yield
    except NonFiniteError:
        if isinstance(source, RankingData):
            source.check_finite()
        raise
