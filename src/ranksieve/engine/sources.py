"""Sources of data: their engines and blocks, and whether more of them fits into memory."""

from __future__ import annotations

import os
from functools import partial
from itertools import pairwise

import numpy as np

from ranksieve.data import Block, DataError, RankingData
from ranksieve.engine.engines import Engine, LocalEngine
from ranksieve.io.shards import Shards

Source = RankingData | Shards

# Sizes of blocks of data in memory: small enough for many threads, large enough that calls and sums
# of features^2 numbers cost little. They depend only on the data, so that results do not depend on
# the machine.
_BLOCKS = 16
_SMALLEST, _LARGEST = 2**18, 2**23  # bytes
_ROWS_PER_FEATURE = 8

_MEMORY_SHARE = 0.7  # fraction of the free memory that may be used


def engine_of(source: Source, smallest: int = _SMALLEST) -> Engine:
    """Engine for data in memory, opened shards, or shards on a Dask cluster.

    Data in memory is divided into blocks of at least ``smallest`` bytes; methods of many quick
    rounds need larger ones.
    """
    if isinstance(source, RankingData):
        runs = block_runs(source, smallest)
        return LocalEngine([partial(_view, source, *run) for run in runs], source.check_finite)
    if not isinstance(source, Shards):
        raise TypeError(f"expected a RankingData or opened shards, got {type(source).__name__}")
    numbers = range(source.n_shards)  # raises an error if the shards are closed
    if source.client is None:
        return LocalEngine([partial(source.block, number) for number in numbers])
    from ranksieve.engine.dask import DaskEngine

    return DaskEngine(source, source.client)


def in_memory(source: Source) -> RankingData:
    """Data in memory; shards are read, and other data is returned unchanged."""
    return source if isinstance(source, RankingData) else source.read()


def whole_block(data: RankingData) -> Block:
    """All of the data as one block."""
    return Block(
        data.X,
        data.y,
        data.query_ptr,
        query_weights=data.query_weights,
        keeps_missing=data.keeps_missing,
    )


def total_weight(source: Source) -> float:
    """Total weight of all queries; their number if they have no weights."""
    weights = source.query_weights
    return source.n_queries if weights is None else float(weights.sum())


def block_runs(data: RankingData, smallest: int = _SMALLEST) -> list[tuple[int, int]]:
    """Runs of queries for blocks of similar size, as (first, last + 1) positions."""
    if data.n_rows == 0:
        raise DataError("the data has no rows")
    stored = data.X.data.nbytes + data.X.indices.nbytes if data.is_sparse else data.X.nbytes
    largest = max(_LARGEST, 8 * _ROWS_PER_FEATURE * data.n_features**2)
    size = min(max(stored / _BLOCKS, smallest), max(smallest, largest))
    n_blocks = max(1, round(stored / size))
    if n_blocks == 1:
        return [(0, data.n_queries)]
    rows = np.linspace(0, data.n_rows, n_blocks + 1)
    cuts = np.unique(np.searchsorted(data.query_ptr, rows))
    return list(pairwise(cuts.tolist()))


def _view(data: RankingData, first: int, last: int) -> Block:
    rows = slice(data.query_ptr[first], data.query_ptr[last])
    pointer = data.query_ptr[first : last + 1] - data.query_ptr[first]
    weights = None if data.query_weights is None else data.query_weights[first:last]
    return Block(
        data.X[rows],
        data.y[rows],
        pointer,
        int(rows.start),
        first,
        weights,
        keeps_missing=data.keeps_missing,
    )


def fits_in_memory(source: Source, n_bytes: int) -> bool:
    """Whether ``n_bytes`` more fit into memory, on this machine or on the Dask workers."""
    free = _free_on_workers(source) if isinstance(source, Shards) and source.client else _free()
    return free is None or n_bytes <= _MEMORY_SHARE * free


def _free() -> int | None:
    """Bytes of memory that this process could still use; None if unknown."""
    try:
        with open("/proc/meminfo") as facts:
            for line in facts:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _free_on_workers(source: Shards) -> int | None:
    workers = source.client.scheduler_info()["workers"].values()
    limits = [worker["memory_limit"] for worker in workers]
    return sum(limits) if limits and all(limits) else None
