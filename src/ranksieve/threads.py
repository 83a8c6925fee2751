"""The number of threads that the library uses, and how it runs work on them.

Kernels release Python's lock and work on a range of queries, so plain threads run them in parallel.
The only process-wide setting is the number of threads of BLAS, which is restored when the last of
nested and concurrent calls ends; a forked child process starts with a clean state.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from itertools import count, pairwise
from threading import RLock, local
from typing import Any, TypeVar

import numpy as np

S = TypeVar("S")
T = TypeVar("T")

_limit: ContextVar[int | None] = ContextVar("ranksieve_threads", default=None)
_SMALL = 20_000


def thread_count() -> int:
    """Number of threads: the limit of :func:`limit_threads`, else the cores of this process."""
    limit = _limit.get()
    if limit is not None:
        return limit
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def limit_threads(n: int) -> Iterator[None]:
    """Use ``n`` threads inside a ``with`` block.

    Examples
    --------
    >>> from ranksieve.threads import limit_threads, thread_count
    >>> with limit_threads(1):
    ...     thread_count()
    1
    """
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, got {n}")
    token = _limit.set(n)
    try:
        yield
    finally:
        _limit.reset(token)


def are_few_rows(n_rows: int) -> bool:
    """Whether threads cost more time than they save on so many rows."""
    return n_rows < _SMALL


def limit_threads_for(n_rows: int) -> AbstractContextManager[None]:
    """Use one thread inside a ``with`` block if there are few rows.

    Threads of LightGBM wait for each other after every step. On few rows they wait longer than they
    work, and on a busy machine many times as long.
    """
    return limit_threads(1) if are_few_rows(n_rows) else nullcontext()


class _BlasLimits:
    """Limits of the ``with`` blocks that are open in any thread; the last one applies.

    The libraries have one number of threads for the whole process, so blocks that end in another
    order than they began must not restore the numbers they found.
    """

    def __init__(self) -> None:
        # A thread that holds it may collect the generator of a block that nobody left, and so leave
        # that block.
        self.lock = RLock()
        self.numbers = count()
        self.open: dict[int, int] = {}  # number of the block -> limit, in the order of entry
        self.before: list[int] = []  # threads of each library when no block was open
        self.now: list[int] = []  # threads of each library, as set last

    def start_afresh(self) -> None:
        """Reset in a forked child, which has none of the parent's other threads."""
        self.lock = RLock()
        if self.open:
            self.open.clear()
            self.apply()

    def apply(self) -> None:
        """Set the numbers of threads, if they change: most blocks are as short as that takes."""
        while (numbers := self._wanted()) != self.now:  # a block may be left while they are set
            for library, n in zip(_libraries("blas").lib_controllers, numbers, strict=True):
                # In threadpoolctl 3.8, concurrent limits of several threads restore wrong numbers.
                getattr(library, "_real_set_num_threads", library.set_num_threads)(n)
            self.now = numbers

    def _wanted(self) -> list[int]:
        """Numbers of threads by the blocks that are open."""
        last = list(self.open.values())[-1:]
        return last * len(self.before) or self.before


_blas = _BlasLimits()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.start_afresh)


@contextmanager
def limit_blas_threads(n: int) -> Iterator[None]:
    """Let matrix products use ``n`` threads inside a ``with`` block.

    For small matrices, threads cost more than they save. The limit holds for the whole process:
    among concurrent blocks, the last one entered applies. When none is open, the original number is
    restored.
    """
    with _blas.lock:
        if not _blas.open:
            libraries = _libraries("blas").lib_controllers
            _blas.before = _blas.now = [library.get_num_threads() for library in libraries]
        number = next(_blas.numbers)
        _blas.open[number] = n
        _blas.apply()
    try:
        yield
    finally:
        with _blas.lock:
            if _blas.open.pop(number, None) is not None:  # else entered before a fork
                _blas.apply()


_openmp_processes: set[int] = set()  # this process and its parents, if they used OpenMP


def openmp_thread_count() -> int:
    """Number of threads for a library that uses OpenMP: :func:`thread_count` if that is safe.

    The OpenMP of GNU would wait forever for threads that the process had before it was forked.
    """
    if _openmp_processes - {os.getpid()}:
        return 1
    _openmp_processes.add(os.getpid())
    return thread_count()


@cache
def _libraries(user_api: str) -> Any:
    """Controller of the libraries that are loaded at the first call."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=user_api)


class _Pools(local):
    """Pools of threads by size, of one thread that hands work to them; made once and kept.

    So no thread waits for a pool that waits for it.
    """

    def __init__(self) -> None:
        self.of_size: dict[int, ThreadPoolExecutor] = {}

    def start_afresh(self) -> None:
        """Reset in a forked child, which has none of the parent's other threads."""
        self.of_size = {}


_pools = _Pools()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.start_afresh)


def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Pool of this thread with a number of threads."""
    if n_threads not in _pools.of_size:
        _pools.of_size[n_threads] = ThreadPoolExecutor(n_threads)
    return _pools.of_size[n_threads]


def ordered_map(
    function: Callable[[S], T], items: Iterable[S], n_threads: int | None = None
) -> Iterator[T]:
    """Yield ``function(item)`` for each item in order, computed by :func:`thread_count` threads.

    Items are drawn as results are taken, so that few of them exist at a time.
    """
    n_threads = n_threads or thread_count()
    if n_threads == 1:
        yield from map(function, items)
        return
    pool, pending = _pool(n_threads), deque[Future[T]]()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > n_threads + 1:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:  # after an error, cancel work that has not begun
            future.cancel()
        wait(pending)


def over_queries(kernel: Callable[..., None], query_ptr: np.ndarray, *arguments: object) -> None:
    """Call ``kernel(*arguments, first, last)`` over all queries, in ranges of similar size."""
    n_rows, n_queries = int(query_ptr[-1]), len(query_ptr) - 1
    n_ranges = 1 if are_few_rows(n_rows) else min(thread_count(), n_queries)
    rows = np.linspace(0, n_rows, max(1, n_ranges) + 1)
    cuts = np.searchsorted(query_ptr, rows)
    cuts[0], cuts[-1] = 0, n_queries
    for _ in ordered_map(
        lambda bounds: kernel(*arguments, *bounds), pairwise(cuts.tolist()), max(1, n_ranges)
    ):
        pass
