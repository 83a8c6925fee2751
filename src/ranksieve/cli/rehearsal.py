"""Compile kernels while data is read, in the first command after installation."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranksieve.data import RankingData
    from ranksieve.registry import Method


def rehearse(
    files: list[Path] | None, work: Callable[[RankingData], object], method: Method | None = None
) -> Callable[[], None]:
    """Start compiling the kernels that a command will need; return a function that waits for them.

    If nothing has been compiled yet, a second process calls ``work`` with a little data. It adds
    the compiled code to the cache of kernels, while this process compiles the reader and reads the
    files. Errors in the second process are ignored, because the command itself will report them.
    The code of users does not run twice: ``method`` is the one that ``work`` calls, if any.
    """
    is_ours = method is None or method.is_ours
    if not (files and is_ours and _is_worthwhile()):
        return _no_wait
    process = os.fork()
    if process == 0:
        try:
            _silence()
            work(_little_data())
        finally:
            os._exit(0)  # skips cleanup, which is up to the first process

    def wait() -> None:
        atexit.unregister(stop)
        with suppress(ChildProcessError):
            os.waitpid(process, 0)

    def stop() -> None:
        """End the second process with the first one, which has failed before it waited."""
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        wait()

    atexit.register(stop)
    return wait


def _no_wait() -> None:
    """Return immediately."""


def _is_worthwhile() -> bool:
    """Whether nothing is compiled yet, a second core exists, and the process can be forked."""
    from ranksieve import _kernels

    cache = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(_kernels.__path__[0], "__pycache__"))
    return (
        sys.platform == "linux"
        and len(os.sched_getaffinity(0)) > 1
        and threading.active_count() == 1
        and os.access(cache if cache.is_dir() else cache.parent, os.W_OK)
        and next(cache.glob("**/*.nbi"), None) is None
    )


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)


def _little_data() -> RankingData:
    from ranksieve.datasets import make_ranking

    return make_ranking(6, docs_per_query=5, n_informative=3, n_noise=9, random_state=0)[0]
