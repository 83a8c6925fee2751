"""Engines: where the blocks of a source are, and how statistics are called on them.

Blocks of :class:`LocalEngine` are views of arrays, or memory maps of shards larger than memory.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

import numpy as np

from ranksieve.data import Block, DataError, NonFiniteError, RankingData
from ranksieve.engine.state import Call
from ranksieve.io.shards import Shards
from ranksieve.progress import track_each
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

    def sum(
        self, function: Callable[Concatenate[Block, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        """Sum over blocks, in block order, of ``function(block, *arguments)``."""
        return _add_up(self._apply(function, arguments, named))

    def collect(
        self, function: Callable[Concatenate[Block, P], T], *arguments: P.args, **named: P.kwargs
    ) -> list[T]:
        """List, in block order, of ``function(block, *arguments)``."""
        return list(self._apply(function, arguments, named))

    @abstractmethod
    def start(
        self, statistic: Callable[Concatenate[Block, P], S], *parameters: P.args, **named: P.kwargs
    ) -> Workers[S]:
        """Make ``statistic(block, *parameters)`` for each block."""

    @abstractmethod
    def _apply(
        self, function: Callable[..., T], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Iterator[T]:
        """Yield what a function of a block returns, in block order."""


class Workers(ABC, Generic[S_co]):
    """Instances of a statistic, one per block; see :mod:`ranksieve.engine`.

    While they are open, matrix products of this process use one thread: in several blocks they
    would compete with our threads, and matrices between two rounds are small.
    """

    def __init__(self, statistic: Callable[..., S_co], n_blocks: int) -> None:
        self.title = getattr(statistic, "title", statistic.__name__)
        self.n_blocks = n_blocks

    @contextmanager
    def _limit_blas(self) -> Iterator[None]:
        """Context manager that makes instances, after which BLAS is limited until ``close``."""
        with ExitStack() as stack:
            stack.enter_context(limit_blas_threads(1))
            yield
            self._blas_limit = stack.pop_all()

    def sum(
        self, method: Callable[Concatenate[S_co, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        """Sum over blocks, in block order, of the results of ``method(*arguments)``."""
        return _add_up(self._track(Call(method.__name__, arguments, named)))

    def collect(
        self, method: Callable[Concatenate[S_co, P], T], *arguments: P.args, **named: P.kwargs
    ) -> list[T]:
        """List, in block order, of the results of ``method(*arguments)``."""
        return list(self._track(Call(method.__name__, arguments, named)))

    def _track(self, call: Call) -> Iterator[Any]:
        return track_each(self.title, self.n_blocks, self._results(call))

    @abstractmethod
    def _results(self, call: Call) -> Iterator[Any]:
        """Yield the results of all instances, in block order."""

    def close(self) -> None:
        """Release the instances and their memory."""
        self._blas_limit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _add_up(results: Iterator[T]) -> T:
    """Sum of numbers, arrays or tuples of them, in their order.

    Arrays are added in place to copies of the first ones, which may belong to an instance.
    """
    first: Any = next(results)
    is_tuple = isinstance(first, tuple)
    totals = list(first) if is_tuple else [first]
    totals = [np.array(part) if isinstance(part, np.ndarray) else part for part in totals]
    for result in results:
        parts: Any = result if is_tuple else (result,)
        for position, part in enumerate(parts):
            totals[position] += part
    return cast(T, tuple(totals) if is_tuple else totals[0])


class LocalEngine(Engine):
    """Works on blocks in this process, several at a time.

    Each of ``blocks`` opens one block when it is used, so that blocks of shards need not exist at
    the same time. ``check`` is called when a block has a value that is not finite; it raises an
    error that names the row and feature as users know them.
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

    def _apply(
        self, function: Callable[..., T], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Iterator[T]:
        n_blocks = len(self.blocks)
        n_threads = min(thread_count(), n_blocks)
        with limit_blas_threads(thread_count() if n_threads == 1 else 1):
            results = _map(
                lambda open_block: function(open_block(), *arguments, **named),
                self.blocks,
                n_threads,
                self.check,
            )
            yield from track_each(_in_words(function), n_blocks, results)


def _in_words(function: Callable[..., Any]) -> str:
    """What progress says of a function: its name in words."""
    return function.__name__.strip("_").replace("_", " ").capitalize()


def _map(
    function: Callable[[Any], T],
    items: Sequence[Any],
    n_threads: int,
    check: Callable[[], None] | None,
) -> Iterator[T]:
    """Yield the results of a function in order, computed by several threads.

    With several blocks, each is limited to one thread, so that threads do not start threads; a
    single one may use all threads.
    """

    def alone(item: Any) -> T:
        with limit_threads(1):
            return function(item)

    try:
        if n_threads == 1:
            yield from map(function, items)
        else:
            yield from ordered_map(alone, items, n_threads)
    except NonFiniteError:
        if check is not None:
            check()
        raise


class LocalWorkers(Workers[S]):
    """Instances in this process, called by threads: each by one thread at a time."""

    def __init__(
        self,
        blocks: Sequence[Callable[[], Block]],
        statistic: Callable[..., S],
        parameters: tuple[Any, ...],
        named: dict[str, Any],
        check: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(statistic, len(blocks))
        self._check, self._n_threads = check, min(thread_count(), len(blocks))
        self._quick: set[str] = set()
        with self._limit_blas():
            self._instances = list(
                self._map(lambda open_block: statistic(open_block(), *parameters, **named), blocks)
            )

    def _results(self, call: Call) -> Iterator[Any]:
        def run(instances: Sequence[Any]) -> list[Any]:
            return [call.run(instance) for instance in instances]

        # Passing a block to a thread takes about as long as a quick method. So once a method is
        # known to be quick, each thread gets its share of the blocks at once. Results of slow
        # methods, which may be large, are added up as they arrive.
        n = len(self._instances)
        size = -(-n // self._n_threads) if call.method in self._quick else 1
        start = time.perf_counter()
        for results in self._map(
            run, [self._instances[first : first + size] for first in range(0, n, size)]
        ):
            yield from results
        if (time.perf_counter() - start) * self._n_threads < _QUICK * n:
            self._quick.add(call.method)
        else:
            self._quick.discard(call.method)

    def _map(self, function: Callable[[Any], T], items: Sequence[Any]) -> Iterator[T]:
        return _map(function, items, self._n_threads, self._check)

    def close(self) -> None:
        """Release the instances and their memory."""
        self._instances = []
        super().close()


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
        row_weights=data.row_weights,
        positions=data.positions,
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
        None if data.row_weights is None else data.row_weights[rows],
        None if data.positions is None else data.positions[rows],
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
