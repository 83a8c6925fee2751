"""How a long command ends before it is finished: by a signal, or for lack of memory."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

from ranksieve.text import on_one_line


def is_lack_of_memory(error: Exception) -> bool:
    """Whether memory ran out, also where Python, or a library in C++, does not say so."""
    messages = ("can't start new thread", "std::bad_alloc")
    return isinstance(error, MemoryError) or any(text in str(error) for text in messages)


class Terminated(KeyboardInterrupt):
    """The program was asked to end, as batch systems do."""


@contextmanager
def without_dask_logs() -> Iterator[None]:
    """Silence what Dask logs of each broken connection: the error that ends the program says it."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)  # not after an error: some of it comes late


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # where no signals arrive
        return

    def stop(*_: Any) -> NoReturn:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def resumable(out: Path, dask: str | None, workers: int | None) -> Iterator[Any]:
    """Run work whose finished parts are kept in a directory; yields the Dask client, if any.

    A signal, or lack of memory, ends the program with a message that says how to resume.
    """
    from ranksieve.data import DataError
    from ranksieve.progress import progress_bar

    try:
        with termination_as_interrupt(), progress_bar(), ExitStack() as stack:
            client = None
            if dask is not None or workers is not None:
                from ranksieve.engine.dask import connect

                stack.enter_context(without_dask_logs())
                client = stack.enter_context(connect(dask, workers))
            yield client
    except KeyboardInterrupt as stopped:
        exit_and_say_how_to_resume(
            out, signal.SIGTERM if isinstance(stopped, Terminated) else signal.SIGINT
        )
    except Exception as error:
        if not is_lack_of_memory(error):
            raise
        raise DataError(
            f"out of memory ({error or 'no more is available'}); finished work is kept in {out}: "
            "run the same command again to resume it, with more memory or fewer cores"
        ) from None


def exit_and_say_how_to_resume(out: Path, reason: signal.Signals) -> NoReturn:
    """End the program at once: threads within a cell cannot be interrupted, nor need they be."""
    kept = on_one_line(str(out))
    sys.stderr.write(
        f"\nstopped; finished work is kept in {kept}\nrun the same command again to resume it\n"
    )
    sys.stderr.flush()
    os._exit(128 + reason)
