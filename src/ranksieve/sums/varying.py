"""Which features vary within queries: only these can rank."""

from __future__ import annotations

import numpy as np

from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.sums.chunks import comparable_chunks, weights_of


def vary_within_queries(values: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """Mask (queries, columns) of columns that vary within each query; NaN differs from NaN."""
    starts = query_ptr[:-1]
    return np.minimum.reduceat(values, starts) != np.maximum.reduceat(values, starts)


def count_varying(block: Block, counted: np.ndarray) -> np.ndarray:
    """Number of the ``counted`` queries (a mask) in which each feature is not constant."""
    count = np.zeros(block.X.shape[1], dtype=np.int64)
    for part in comparable_chunks(block):
        differ = vary_within_queries(part.X, part.query_ptr)
        count += differ[counted[part.queries]].sum(axis=0)
    return count


def varying_columns(block: Block) -> np.ndarray:
    """Mask of the columns that vary within some query of positive weight; missing is a value."""
    return count_varying(block, weights_of(block) > 0) > 0


def varying_features(source: Source) -> np.ndarray:
    """Mask of the features that vary within some query; missing counts as a value.

    Raises a DataError for NaN unless missing values are kept.
    """
    return engine_of(source).sum(count_blocks_that_vary) > 0


def count_blocks_that_vary(block: Block) -> np.ndarray:
    """1 for each feature of a block that varies within some query, else 0."""
    block.check_finite()
    return varying_columns(block).astype(np.int64)
