"""What commands with long work share: the data that they take, and how they end early."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from ranksieve.text import on_one_line

if TYPE_CHECKING:
    from ranksieve.cli.options import Cluster, Reading, Splitting

_CLUSTER = ("asyncio", "bokeh", "distributed", "tornado")  # whose logs a cluster writes


def take_source(
    wanted: dict[str, Any], data: list[Path] | None, splitting: Splitting, reading: Reading
) -> Any:
    """Take the data from the settings of a plan file, and add how to read and divide it.

    Options take precedence over the plan file. Returns data for a study: None, paths, or
    a tuple of training, validation and test data.
    """
    named = {name: wanted.pop(name, None) for name in ("data", "vali", "test")}
    data = data or named["data"]
    vali, test = splitting.vali or named["vali"], splitting.test or named["test"]
    if test and not data:
        raise typer.BadParameter("--test needs data to train on")
    if vali and not test:
        raise typer.BadParameter("--vali needs data to test on: add --test")
    settings = {
        "split": splitting.rule,
        "pool": splitting.pool or None,
        "columns": reading.roles or None,
    }
    if reading.roles and "columns" in wanted:
        settings["columns"] = reading.roles.over(wanted["columns"])
    wanted |= {name: value for name, value in settings.items() if value is not None}
    wanted["read_options"] = {"n_features": reading.n_features, "zero_based": reading.zero_based}
    return (data, vali, test) if test else data


@contextmanager
def resumable(out: Path, cluster: Cluster) -> Iterator[Any]:
    """Context manager for work whose finished parts are kept; yields the Dask client, if any.

    On a signal, or if memory runs out, the program ends with a message how to resume.
    """
    from ranksieve.data import DataError
    from ranksieve.progress import progress_bar

    try:
        with _sigterm_as_interrupt(), progress_bar():
            if not cluster.is_named:
                yield None
            else:
                with _without_cluster_logs(), cluster.connect() as client:
                    yield client
    except KeyboardInterrupt as stopped:
        is_sigterm = signal.SIGTERM in stopped.args
        _exit_with_resume_message(out, signal.SIGTERM if is_sigterm else signal.SIGINT)
    except Exception as error:
        if not _is_lack_of_memory(error):
            raise
        raise DataError(
            f"out of memory ({error or 'no more is available'}); finished work is kept in {out}: "
            "run the same command again to resume it, with more memory or fewer cores"
        ) from None


@contextmanager
def _without_cluster_logs() -> Iterator[None]:
    """Context manager in which Dask logs nothing, such as broken connections; it still raises.

    After an error, it stays silent, because some logs come late.
    """
    with suppress(ImportError):  # connecting says that it is not installed
        import distributed  # noqa: F401  sets the levels of its loggers
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _CLUSTER]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Context manager in which SIGTERM, which batch systems send, ends the program like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals arrive only in the main thread
        return

    def stop(*_: Any) -> NoReturn:
        raise KeyboardInterrupt(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _is_lack_of_memory(error: Exception) -> bool:
    """Whether an error means that memory ran out, including errors of threads and C++."""
    messages = ("can't start new thread", "std::bad_alloc")
    return isinstance(error, MemoryError) or any(text in str(error) for text in messages)


def _exit_with_resume_message(out: Path, reason: signal.Signals) -> NoReturn:
    """End the program immediately, without waiting for threads, and print how to resume."""
    kept = on_one_line(str(out))
    sys.stderr.write(
        f"\nstopped; finished work is kept in {kept}\nrun the same command again to resume it\n"
    )
    sys.stderr.flush()
    os._exit(128 + reason)
