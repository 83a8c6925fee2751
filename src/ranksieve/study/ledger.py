"""What a study has computed so far, in a file that survives whatever ends the program."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ranksieve.data import DataError
from ranksieve.io.files import READ_ERRORS, explain_os_error

try:
    import fcntl
except ImportError:  # not on Windows: there, run one process at a time
    fcntl = None  # type: ignore[assignment]

FORMAT, VERSION = "ranksieve-study", 1

Record = dict[str, Any]


def key_of(cell: Mapping[str, Any]) -> str:
    """A cell as a text: the same for equal cells."""
    return json.dumps(cell, sort_keys=True, allow_nan=False)


class Ledger:
    """Results by cell, one line of JSON each, appended to a file.

    A line is on the disk when :meth:`add` returns. Lines are written whole under a lock, so that
    several processes can work on one study; what a killed one has left of its last line is
    dropped. A cell that is there twice has the first result.

    Parameters
    ----------
    path : Path
        A file that is there is read; it must have been begun with the same ``head``.
    head : mapping, optional
        What all results depend on, as JSON can hold it. Left out to read a study as it is.
    """

    def __init__(self, path: Path, head: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.head: dict[str, Any] = {}
        self._results: dict[str, Record] = {}
        self._read_bytes = 0
        self._read_lines = 0
        if head is None and not path.exists():
            raise DataError(f"{path}: no such file")
        if head is not None:
            first = {"format": FORMAT, "version": VERSION, **head}
            with self._opened() as file:
                if file.seek(0, os.SEEK_END) == 0:
                    _append(file, first, path)
        self.refresh()
        if not self.head:
            raise DataError(f"{path}:1: not the results of a study")
        if head is not None:
            self._check_same(first)

    def __contains__(self, cell: Mapping[str, Any]) -> bool:
        return key_of(cell) in self._results

    def __getitem__(self, cell: Mapping[str, Any]) -> Record:
        try:
            return self._results[key_of(cell)]
        except KeyError:
            raise DataError(
                f"{self.path}: the study is not finished: go on with the command that began it"
            ) from None

    def __len__(self) -> int:
        return len(self._results)

    def folds(self) -> dict[str, Record]:
        """What was written down about each fold itself, by its name."""
        cells = ((json.loads(key), result) for key, result in self._results.items())
        return {cell["fold"]: result for cell, result in cells if list(cell) == ["fold"]}

    def add(self, cell: Mapping[str, Any], result: Record) -> None:
        """Write a result down, after what other processes have written."""
        with self._opened() as file:
            self._take(file)
            if cell not in self:
                _append(file, {"cell": dict(cell), "result": result}, self.path)
                self._take(file)

    def refresh(self) -> None:
        """Read what other processes have written."""
        try:
            with self.path.open("rb") as file:
                self._take(file)
        except READ_ERRORS as error:
            raise DataError(f"{self.path}: {explain_os_error(error)}") from error

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The file, to read and to append to, locked against other processes; its end is whole."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror}") from error
        with os.fdopen(handle, "r+b", buffering=0) as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            _drop_torn_line(file)
            yield file

    def _take(self, file: IO[bytes]) -> None:
        """Read the whole lines that have not been read yet."""
        file.seek(self._read_bytes)
        text = file.read()
        text = text[: text.rfind(b"\n") + 1]
        for line in text.splitlines():
            self._read_lines += 1
            self._take_line(line)
        self._read_bytes += len(text)

    def _take_line(self, line: bytes) -> None:
        where = f"{self.path}:{self._read_lines}"
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if self._read_lines == 1:
            self._check_format(record, where)
            self.head = record
            return
        try:
            self._results.setdefault(key_of(record["cell"]), record["result"])
        except (TypeError, KeyError):
            raise DataError(
                f"{where}: damaged; remove this line, and its cell is computed again"
            ) from None

    @staticmethod
    def _check_format(record: Any, where: str) -> None:
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise DataError(f"{where}: not the results of a study; name another directory")
        if record.get("version") != VERSION:
            raise DataError(
                f"{where}: written by a newer ranksieve ({record.get('ranksieve')}); use that "
                "version, or name another directory"
            )

    def _check_same(self, head: Mapping[str, Any]) -> None:
        for name, value in head.items():
            if self.head.get(name) != value:
                raise DataError(
                    f"{self.path}:1: these are results with {name} {self.head.get(name)!r}, not "
                    f"{value!r}; name another directory, or ask for the same"
                )


@contextmanager
def alone_in(directory: Path) -> Iterator[bool]:
    """Whether no other process is inside such a block for the same directory."""
    if fcntl is None:
        yield True
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_alone = True
        except BlockingIOError:
            is_alone = False
        yield is_alone
    finally:
        os.close(handle)  # and with it the lock


def _drop_torn_line(file: IO[bytes]) -> None:
    """Cut off what follows the last newline: its writer is gone, or there would be a lock."""
    size = end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 2**16)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        file.truncate(end)


def _append(file: IO[bytes], record: Record, path: Path) -> None:
    """Add a line and wait until it is on the disk; if it does not fit there, leave nothing."""
    end = file.seek(0, os.SEEK_END)
    line = json.dumps(record, allow_nan=False).encode() + b"\n"
    try:
        written = 0
        while written < len(line):
            written += file.write(line[written:])
        os.fsync(file.fileno())
    except OSError as error:
        file.truncate(end)
        raise DataError(
            f"{path}: cannot be written: {error.strerror}; what was finished before is kept"
        ) from error
