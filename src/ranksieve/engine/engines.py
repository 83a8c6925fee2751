"""Engines: where the blocks of a source are, and how statistics are called on them.

Blocks of :class:`LocalEngine` are views of arrays, or memory maps of shards larger than memory.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

import numpy as np

from ranksieve.data import Block, DataError, NonFiniteError, RankingData
from ranksieve.engine.state import Call
from ranksieve.io.shards import Shards
from ranksieve.progress import track
from ranksieve.threads import limit_blas_threads, limit_threads, ordered_map, thread_count

Source = RankingData | Shards

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)  # so that workers of a class can do what those of a base can

_QUICK = 0.003  # seconds per block

# Sizes of blocks of data in memory: small enough for many threads, large enough that calls and sums
# of features^2 numbers cost little. They depend only on the data, so that results do not depend on
# the machine.
_BLOCKS = 16
_SMALLEST, _LARGEST = 2**18, 2**23  # bytes
_ROWS_PER_FEATURE = 8

_MEMORY_SHARE = 0.7  # fraction of the free memory that may be used


class Engine(ABC):
    """Owns the blocks of a source."""

    @abstractmethod
    def start(
        self, statistic: Callable[Concatenate[Block, P], S], *parameters: P.args, **named: P.kwargs
    ) -> Workers[S]:
        """Make ``statistic(block, *parameters)`` for each block."""

    def sum(
        self, function: Callable[Concatenate[Block, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        """Sum over blocks, in block order, of ``function(block, *arguments)``."""
        with self._start_function(function) as workers:
            return workers.sum(_OpenBlock.apply, function, *arguments, **named)

    def collect(
        self, function: Callable[Concatenate[Block, P], T], *arguments: P.args, **named: P.kwargs
    ) -> list[T]:
        """List, in block order, of ``function(block, *arguments)``."""
        with self._start_function(function) as workers:
            return workers.collect(_OpenBlock.apply, function, *arguments, **named)

    def _start_function(self, function: Callable[..., Any]) -> Workers[_OpenBlock]:
        workers = self.start(_OpenBlock)
        workers.title = _title_of(function)
        return workers


class _OpenBlock:
    """Statistic without a state of its own: functions of its block."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def apply(
        self, function: Callable[Concatenate[Block, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        return function(self.block, *arguments, **named)


def _title_of(work: Callable[..., Any]) -> str:
    """What progress says of a statistic: its ``title``, or else its name in words."""
    words = work.__name__.strip("_").replace("_", " ")
    return getattr(work, "title", words[:1].upper() + words[1:])


class Workers(ABC, Generic[S_co]):
    """Instances of a statistic, one per block; see :mod:`ranksieve.engine`."""

    def __init__(self, statistic: Callable[..., S_co], n_blocks: int) -> None:
        self.n_blocks = n_blocks
        self.title = _title_of(statistic)

    def sum(
        self, method: Callable[Concatenate[S_co, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        """Sum over blocks, in block order, of the results of ``method(*arguments)``."""
        results = self._track_progress(Call(method.__name__, arguments, named))
        total = _copy_result(next(results))
        for result in results:
            total = _add_results(total, result)
        return total

    def collect(
        self, method: Callable[Concatenate[S_co, P], T], *arguments: P.args, **named: P.kwargs
    ) -> list[T]:
        """List, in block order, of the results of ``method(*arguments)``."""
        return list(self._track_progress(Call(method.__name__, arguments, named)))

    def _track_progress(self, call: Call) -> Iterator[Any]:
        advance = track(self.title, self.n_blocks)
        for result in self._results(call):
            advance(1)
            yield result

    @abstractmethod
    def _results(self, call: Call) -> Iterator[Any]:
        """Yield the results of all instances, in block order."""

    @abstractmethod
    def close(self) -> None:
        """Release the instances and their memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _copy_result(result: Any) -> Any:
    """Copy of a result, so that adding others to it does not change arrays of an instance."""
    if isinstance(result, tuple):
        return tuple(_copy_result(part) for part in result)
    return np.array(result) if isinstance(result, np.ndarray) else result


def _add_results(total: Any, result: Any) -> Any:
    """Sum of two results; arrays of ``total`` are updated in place."""
    if isinstance(total, tuple):
        return tuple(_add_results(a, b) for a, b in zip(total, result, strict=True))
    if isinstance(total, np.ndarray):
        total += result
        return total
    return total + result


class LocalEngine(Engine):
    """Works on blocks in this process, several at a time.

    Each of ``blocks`` opens one block when its statistic is made, so that blocks of shards need not
    exist at the same time. ``check`` is called when a block has a value that is not finite; it
    raises an error that names the row and feature as users know them.
    """

    def __init__(
        self, blocks: Sequence[Callable[[], Block]], check: Callable[[], None] | None = None
    ) -> None:
        self.blocks, self.check = list(blocks), check

    def start(
        self, statistic: Callable[Concatenate[Block, P], S], *parameters: P.args, **named: P.kwargs
    ) -> Workers[S]:
        """Make ``statistic(block, *parameters)`` for each block."""
        return LocalWorkers(self.blocks, statistic, parameters, named, self.check)


class LocalWorkers(Workers[S]):
    """Instances in this process, called by threads.

    Each instance is called by one thread at a time. With several blocks, statistics are limited to
    one thread each, so that threads do not start threads; with a single block, the statistic may
    use all threads.
    """

    def __init__(
        self,
        blocks: Sequence[Callable[[], Block]],
        statistic: Callable[..., S],
        parameters: tuple[Any, ...],
        named: dict[str, Any],
        check: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(statistic, len(blocks))
        self._check = check
        self._n_threads = min(thread_count(), len(blocks))
        self._quick: set[str] = set()
        self._pool = ThreadPoolExecutor(self._n_threads)
        try:
            self._instances = list(
                self._map(lambda open_: statistic(open_(), *parameters, **named), blocks)
            )
        except BaseException:
            self.close()
            raise

    def _results(self, call: Call) -> Iterator[Any]:
        def answer(instances: Sequence[Any]) -> list[Any]:
            return [call.run(instance) for instance in instances]

        # Passing a block to a thread takes about as long as a quick method. So once a method is
        # known to be quick, each thread gets its share of the blocks at once. Results of slow
        # methods, which may be large, are added up as they arrive.
        n = len(self._instances)
        size = -(-n // self._n_threads) if call.method in self._quick else 1
        start = time.perf_counter()
        for answers in self._map(
            answer, [self._instances[first : first + size] for first in range(0, n, size)]
        ):
            yield from answers
        if (time.perf_counter() - start) * self._n_threads < _QUICK * n:
            self._quick.add(call.method)
        else:
            self._quick.discard(call.method)

    def _map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        try:
            yield from self._map_on_threads(function, items)
        except NonFiniteError:
            if self._check is not None:
                self._check()
            raise

    def _map_on_threads(
        self, function: Callable[[Any], Any], items: Sequence[Any]
    ) -> Iterator[Any]:
        if self._n_threads == 1:
            with limit_blas_threads(thread_count()):
                yield from map(function, items)
            return

        def alone(item: Any) -> Any:
            with limit_threads(1):
                return function(item)

        with limit_blas_threads(1):  # its threads would compete with ours
            yield from ordered_map(alone, items, self._pool)

    def close(self) -> None:
        """Release the instances and their memory."""
        self._instances = []
        self._pool.shutdown()


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
