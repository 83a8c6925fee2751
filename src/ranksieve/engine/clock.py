"""A clock that stands still while numba compiles kernels or loads them from its cache."""

from __future__ import annotations

import threading
from time import perf_counter

from numba.core.event import Event, Listener, register


class _Thread(threading.local):
    """State per thread: locks of numba's compiler that it holds or waits for, and seconds."""

    depth = 0
    since = 0.0
    seconds = 0.0


class _Watch(Listener):
    """Listener for events in which a thread compiles, loads, or waits for the compiler."""

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

    It excludes the time in which the thread waited for numba to compile a kernel or to load it from
    its cache, because that happens only once per process.
    """
    return perf_counter() - _here.seconds
