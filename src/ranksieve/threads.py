"""How many threads the library uses, and the one way in which it uses them.

Kernels release Python's lock and work on a range of queries, so plain threads run them side by
side: nothing process-wide is set, nested and concurrent calls are safe, and a forked child
starts afresh.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

import numpy as np

S = TypeVar("S")
T = TypeVar("T")

_limit: ContextVar[int | None] = ContextVar("ranksieve_threads", default=None)
_SMALL = 20_000  # rows: below this, handing work to threads costs more than it saves


def thread_count() -> int:
    """Threads in use: the limit of :func:`limit_threads`, else the cores of this process."""
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


@contextmanager
def limit_blas_threads(n: int) -> Iterator[None]:
    """Let matrix products use ``n`` threads inside a ``with`` block.

    For small ones, threads cost more than they save.
    """
    with _blas_libraries().limit(limits=n, user_api="blas"):
        yield


@contextmanager
def limit_openmp_threads(n: int) -> Iterator[None]:
    """Let what scikit-learn computes in this thread use ``n`` threads inside a ``with`` block.

    On small data its threads wait for each other, and the longer the busier the machine is.
    """
    with _openmp_libraries().limit(limits=n, user_api="openmp"):
        yield


@cache
def _blas_libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _openmp_libraries() -> Any:
    """Looked up when scikit-learn, which brings one of them, is there."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def ordered_map(
    function: Callable[[S], T], items: Iterable[S], pool: ThreadPoolExecutor | None = None
) -> Iterator[T]:
    """Yield ``function(item)`` for each item in order, computed in parallel.

    Items are drawn as results are taken, so that few of them exist at a time. A pool can be
    passed to be used again.
    """
    if pool is None and thread_count() == 1:
        yield from map(function, items)
        return
    if pool is None:
        with ThreadPoolExecutor(thread_count()) as own:
            yield from ordered_map(function, items, own)
        return
    pending: deque[Future[T]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > pool._max_workers + 1:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:  # after an error, what has not begun need not begin
            future.cancel()


def over_queries(kernel: Callable[..., None], query_ptr: np.ndarray, *arguments: object) -> None:
    """Call ``kernel(*arguments, first, last)`` over all queries, in ranges of similar size."""
    n_rows, n_queries = int(query_ptr[-1]), len(query_ptr) - 1
    n_ranges = min(thread_count(), n_queries) if n_rows >= _SMALL else 1
    if n_ranges <= 1:
        kernel(*arguments, 0, n_queries)
        return
    rows = np.linspace(0, n_rows, n_ranges + 1)
    cuts = np.searchsorted(query_ptr, rows)
    cuts[0], cuts[-1] = 0, n_queries
    with ThreadPoolExecutor(n_ranges) as pool:
        tasks = [
            pool.submit(kernel, *arguments, first, last)
            for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        ]
        for task in tasks:
            task.result()
