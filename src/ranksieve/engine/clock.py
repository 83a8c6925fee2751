"""A clock for times that people compare: it stands still while numba makes kernels ready."""

from __future__ import annotations

from threading import local
from time import perf_counter

from numba.core.event import Event, Listener, register


class _Thread(local):
    """Of each thread: locks of numba's compiler that it holds or waits for, and its seconds."""

    depth = 0
    since = 0.0
    seconds = 0.0


class _Watch(Listener):
    """Is told when a thread wants the compiler: to compile, to load, or to wait for others."""

    def on_start(self, event: Event) -> None:
        if _here.depth == 0:
            _here.since = perf_counter()
        _here.depth += 1

    def on_end(self, event: Event) -> None:
        _here.depth = max(0, _here.depth - 1)
        if _here.depth == 0:
            _here.seconds += perf_counter() - _here.since


_here = _Thread()
register("numba:compiler_lock", _Watch())


def work_seconds() -> float:
    """Seconds of this thread for measuring differences, like :func:`time.perf_counter`.

    The time in which the thread has waited for numba to compile a kernel, or to load it from its
    cache, does not count: it comes once, to whoever is the first.
    """
    return perf_counter() - _here.seconds
