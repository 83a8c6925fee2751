"""Parts of a block: chunks of whole queries, single features, and weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ranksieve.data import Block
from ranksieve.data.inputs import query_runs

CHUNK = 2**18  # numbers: 2 MB, which fit into the cache of a core


def weights_of(block: Block, queries: np.ndarray | None = None) -> np.ndarray:
    """Weight of each query of a block; 1 if it has none.

    With ``queries``, a boolean mask over all queries, the others have weight 0.
    """
    n_queries = len(block.query_ptr) - 1
    # A copy, because kernels would be compiled again for read-only arrays.
    weights = np.ones(n_queries) if block.query_weights is None else block.query_weights.copy()
    if queries is not None:
        weights[~queries[block.first_query : block.first_query + n_queries]] = 0.0
    return weights


def row_weights_of(block: Block, weights: np.ndarray) -> np.ndarray:
    """Weight of each row, given those of its queries."""
    return np.repeat(weights, np.diff(block.query_ptr))


def take_queries(block: Block, queries: np.ndarray | None) -> Block:
    """Queries of a block where a mask over all queries is true; the block itself without a mask.

    The result is a copy, in which rows and queries are numbered from 0.
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
        row_weights=None if block.row_weights is None else block.row_weights[rows],
        positions=None if block.positions is None else block.positions[rows],
        keeps_missing=block.keeps_missing,
    )


class Chunk(NamedTuple):
    """Whole queries of a block, as an array."""

    X: np.ndarray
    query_ptr: np.ndarray  # from 0
    rows: slice  # rows of the block
    queries: slice


def chunks(block: Block, most: int | None = None) -> Iterator[Chunk]:
    """Divide a block into chunks of whole queries with about ``most`` numbers each.

    A longer query is one chunk. Without ``most`` an array is one chunk, and a CSR matrix is divided
    so that only a small part of it is dense at a time.
    """
    values, is_sparse = block.X, block.is_sparse  # kept alive while chunks are used
    n_rows, n_columns = values.shape
    if most is None:
        most = CHUNK if is_sparse else n_rows * n_columns
    for first, last in query_runs(block.query_ptr, most // max(1, n_columns)):
        rows = slice(int(block.query_ptr[first]), int(block.query_ptr[last]))
        X = values[rows].toarray() if is_sparse else values[rows]
        query_ptr = block.query_ptr[first : last + 1] - rows.start
        yield Chunk(X, query_ptr, rows, slice(first, last))


def comparable_chunks(block: Block) -> Iterator[Chunk]:
    """Chunks whose values can be compared: kept missing values become less than all others."""
    if not block.keeps_missing:
        yield from chunks(block)
        return
    for chunk in chunks(block, most=CHUNK):
        gaps = np.isnan(chunk.X)
        yield chunk._replace(X=np.where(gaps, -np.inf, chunk.X)) if gaps.any() else chunk


class FeatureColumns:
    """Single features of an array or CSR matrix, as float64.

    A CSR matrix is converted to CSC once, to find them quickly.
    """

    def __init__(self, X: Any) -> None:
        self._is_sparse = sparse.issparse(X)
        self._X = X.tocsc() if self._is_sparse else X

    def __getitem__(self, feature: int) -> np.ndarray:
        column = self._X[:, [feature]].toarray()[:, 0] if self._is_sparse else self._X[:, feature]
        return np.ascontiguousarray(column, dtype=np.float64)
