"""Programs in processes of their own that need not import everything again.

A test that kills or interrupts a program, or lets two of them work at a time, needs processes, but
not the seconds in which each of them imports the same packages: they are forked from one that has.
"""

import os
import signal
import sys
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from pathlib import Path
from tempfile import mkdtemp

_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(["ranksieve.report.study", "distributed", "lightgbm"])


class Program:
    """A process that calls ``function(*arguments)``; its output goes to files in a directory."""

    def __init__(self, directory, function, *arguments):
        own = Path(mkdtemp(dir=directory))
        self._output = own / "stdout", own / "stderr"
        self._process = _FORKS.Process(target=_run, args=(self._output, function, arguments))
        self._process.start()

    def is_running(self, after=0.0):
        """Whether it runs after so many seconds, unless it ends before."""
        self._process.join(after)
        return self._process.is_alive()

    def kill(self, number=signal.SIGKILL):
        """Send it a signal."""
        if self.is_running():
            os.kill(self._process.pid, number)

    def wait(self, timeout=600):
        """Its status and what it said, on both streams, once it has ended."""
        assert not self.is_running(after=timeout), "the program does not end"
        return self._process.exitcode, *(path.read_text() for path in self._output)


@contextmanager
def forked_workers():
    """Fork the workers of new Dask clusters, too, from the process that has imported everything."""
    import dask
    import distributed  # noqa: F401  adds its settings, which must not go with ours at the end

    forkserver.ensure_running()  # with our imports: Dask would ask for others
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        yield


def _run(output, function, arguments):
    # A background job of a shell may have been told to ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream, path in zip((sys.stdout, sys.stderr), output, strict=True):
        with path.open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    function(*arguments)
