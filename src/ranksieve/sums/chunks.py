"""Runs of whole queries of a block, and what statistics share that walk over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ranksieve.data import Block
from ranksieve.data.inputs import query_runs

CHUNK = 2**18  # numbers: 2 MB, which the caches near a core hold


def weights_of(block: Block, queries: np.ndarray | None = None) -> np.ndarray:
    """How often each query of a block counts: its weight, or 1.

    With ``queries``, a boolean mask over all queries, others count 0 times.
    """
    n_queries = len(block.query_ptr) - 1
    # A copy: for kernels, an array that cannot be written to is another type to compile for.
    weights = np.ones(n_queries) if block.query_weights is None else block.query_weights.copy()
    if queries is not None:
        weights[~queries[block.first_query : block.first_query + n_queries]] = 0.0
    return weights


def row_weights_of(block: Block, weights: np.ndarray) -> np.ndarray:
    """Weight of each row, given those of its queries."""
    return np.repeat(weights, np.diff(block.query_ptr))


def take_queries(block: Block, queries: np.ndarray | None) -> Block:
    """The queries of a block where a mask over all queries is true; the block itself without one.

    They are a copy, which counts rows and queries from 0.
    """
    if queries is None:
        return block
    lengths, weights = np.diff(block.query_ptr), block.query_weights
    wanted = queries[block.first_query : block.first_query + len(lengths)]
    rows = np.repeat(wanted, lengths)
    query_ptr = np.concatenate([[0], np.cumsum(lengths[wanted])])
    return Block(
        block.X[rows],
        block.y[rows],
        query_ptr,
        query_weights=None if weights is None else weights[wanted],
        keeps_missing=block.keeps_missing,
    )


def vary_within_queries(values: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """Whether rows of a query differ, for each query and each column; NaN differs from NaN."""
    starts = query_ptr[:-1]
    return np.minimum.reduceat(values, starts) != np.maximum.reduceat(values, starts)


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
    values, is_sparse = block.X, block.is_sparse  # held as long as there are chunks
    n_rows, n_columns = values.shape
    if most is None:
        most = CHUNK if is_sparse else n_rows * n_columns
    for first, last in query_runs(block.query_ptr, most // max(1, n_columns)):
        rows = slice(int(block.query_ptr[first]), int(block.query_ptr[last]))
        X = values[rows].toarray() if is_sparse else values[rows]
        query_ptr = block.query_ptr[first : last + 1] - rows.start
        yield Chunk(X, query_ptr, rows, slice(first, last))


def comparable_chunks(block: Block) -> Iterator[Chunk]:
    """Cut a block so that its values can be compared: kept missing values are below all others."""
    if not block.keeps_missing:
        yield from chunks(block)
        return
    for chunk in chunks(block, most=CHUNK):
        gaps = np.isnan(chunk.X)
        yield chunk._replace(X=np.where(gaps, -np.inf, chunk.X)) if gaps.any() else chunk


def count_varying(block: Block, counted: np.ndarray) -> np.ndarray:
    """Number of the ``counted`` queries (a mask) in which each feature is not constant."""
    count = np.zeros(block.X.shape[1], dtype=np.int64)
    for part in chunks(block):
        differ = vary_within_queries(part.X, part.query_ptr)
        count += differ[counted[part.queries]].sum(axis=0)
    return count
