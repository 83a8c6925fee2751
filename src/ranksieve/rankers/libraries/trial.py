"""Try models of other libraries in a second process, before this one depends on them.

LightGBM, XGBoost and CatBoost trust their files: a damaged one may crash the process, or never come
back. What a library reads there, and scores some rows with, it reads here, too. The second process
takes about as long to start as the import of the library, so it stays for the next model, until
there has been none for some time. A model is tried once, and one that was written here is not.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from hashlib import sha256
from importlib import import_module
from multiprocessing.spawn import get_executable
from pathlib import Path
from threading import Lock, Timer

from ranksieve.data import DataError

TIME_LIMIT = 120.0  # seconds
SECONDS_PER_MEGABYTE = 1.0  # of the model, in addition
IDLE = 20.0  # seconds until the second process ends
_PROGRAM = Path(__file__).with_name("trial_process.py")


def try_model(library: str, content: bytes) -> None:
    """Raise a DataError if a library cannot use a model, or crashes over it."""
    digest = _digest(library, content)
    if digest in _known:
        return
    reason = _trial.find_fault(library, content)
    if reason is not None:
        raise DataError(reason)
    _known.add(digest)


def trust_model(library: str, content: bytes) -> None:
    """Remember a model that the library has written in this process, and need not try it."""
    _known.add(_digest(library, content))


def _digest(library: str, content: bytes) -> bytes:
    return sha256(f"{library}\n".encode() + content).digest()


class _Trial:
    """The second process: started when it is needed, and ended when it is idle."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._idle = Timer(0, self.end)

    def find_fault(self, library: str, content: bytes) -> str | None:
        """Return the reason if a model cannot be used."""
        with self._lock:
            self._idle.cancel()
            if self._process is None:
                self._process = _start()
            try:
                return self._ask(self._process, library, content)
            finally:
                self._idle = Timer(IDLE, self.end)
                self._idle.daemon = True
                self._idle.start()

    def _ask(self, process: subprocess.Popen[bytes], library: str, content: bytes) -> str | None:
        limit = TIME_LIMIT + SECONDS_PER_MEGABYTE * len(content) / 1e6
        overdue = Timer(limit, process.kill)
        overdue.start()
        answer = b""
        try:
            request = json.dumps({"library": library, "size": len(content)})
            process.stdin.write(f"{request}\n".encode() + content)  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            import_module(library)  # meanwhile: this process will need it, too
            answer = process.stdout.readline()  # type: ignore[union-attr]
        except OSError:  # it has crashed before it read the model
            pass
        finally:
            is_overdue = not overdue.is_alive()
            overdue.cancel()
            if not answer:  # it has crashed, or this process was interrupted
                self._process = None
                _end(process)
        if answer:
            return json.loads(answer)
        if is_overdue:
            return f"a second process that tried it did not finish within {limit:.0f} s"
        return f"a second process that tried it crashed ({_name_ending(process.returncode)})"

    def forget(self) -> None:
        """Start anew after a fork: the process belongs to the one that was forked."""
        self._lock, self._process = Lock(), None

    def end(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._idle.cancel()
            if self._process is not None:
                _end(self._process)
                self._process = None


def _start() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [get_executable(), "-I", str(_PROGRAM), json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
    except OSError as error:
        raise DataError(f"no second process can be started to try it: {error}") from None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _name_ending(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


_known: set[bytes] = set()
_trial = _Trial()
atexit.register(_trial.end)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_trial.forget)
