"""Append-only files of results, which survive crashes and interruptions."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import IO, Any, ClassVar

from ranksieve.data import DataError
from ranksieve.io.files import explain_read_errors, fcntl, open_regular
from ranksieve.io.records import parse_record


class RecordLog(ABC):
    """Results by cell, one line of JSON each, appended to a file; every line has a checksum.

    A line is on the disk when :meth:`add` returns. Lines are written whole under a lock, so that
    several processes can share a file; an incomplete last line of a killed process is dropped.
    A damaged line, or one that contradicts an earlier line of the same cell, is an error.

    Subclasses name the format and check its content. An existing file is read; ``head``, everything
    that all results depend on, becomes the first line of a new one. Without ``head``, the file is
    only read.
    """

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]
    WHAT: ClassVar[str]
    """Description of the content of the file."""
    INSTEAD: ClassVar[str]
    """Advice if the file has other content."""
    OLDER: ClassVar[tuple[str, ...]] = ()
    """Formats of earlier versions."""

    def __init__(self, path: Path, head: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.head: dict[str, Any] = {}
        self._wanted = dict(head or {})
        self._results: dict[str, tuple[str, Any]] = {}  # key -> checksum of the line, result
        self._read_bytes = 0
        self._read_lines = 0
        self._first_line = b""
        self._lock = RLock()
        if head is None or path.exists():
            try:
                self.refresh()  # raises an error before writing to a file of another kind
            except _OtherHeadError as error:
                if not self._clear_if_unused():
                    raise DataError(*error.args) from None
        if head is not None and not self.head:
            first = {"format": self.FORMAT, "version": self.VERSION, **head}
            with self._open_locked() as file:
                if file.seek(0, os.SEEK_END) == 0:
                    self._append(file, _line_of(first))
            self.refresh()
        if not self.head:
            raise DataError(f"{path}:1: not {self.WHAT}; {self.INSTEAD}")

    def __contains__(self, cell: Any) -> bool:
        return key_of(cell) in self._results

    def __len__(self) -> int:
        return len(self._results)

    def get(self, cell: Any) -> Any:
        """Result of a cell as kept in memory; None if there is none."""
        return self._results.get(key_of(cell), (None, None))[1]

    def add(self, cell: Any, result: Any) -> None:
        """Write a result, unless another process has already written it."""
        with self._lock, self._open_locked() as file:
            self._read_new_lines(file)
            if cell not in self:
                try:
                    line = _line_of({"cell": cell, "result": result})
                    self._read_line(line, "it")  # only lines that can be read are written
                except ValueError as error:
                    raise DataError(f"{self.path}: a result cannot be stored: {error}") from None
                self._append(file, line)
                self._read_new_lines(file)

    def refresh(self) -> None:
        """Read lines that other processes have written."""
        with self._lock, explain_read_errors(self.path), open_regular(self.path) as file:
            self._read_new_lines(file)

    def _clear_if_unused(self) -> bool:
        """Empty a file without the results of any work, such as that of a run that failed first."""
        with self._open_locked() as file:
            file.seek(0)
            records = [_parse_line(line) for line in file.read().split(b"\n")[1:-1]]
            if any(not isinstance(one, dict) or self._is_work(one.get("cell")) for one in records):
                return False
            file.truncate(0)
        return True

    def _is_work(self, cell: Any) -> bool:
        """Whether the result of a cell takes long to compute again."""
        return True

    def _differs(self, name: str, found: Any, wanted: Any) -> str:
        """Message for a file whose head differs."""
        return f"these are results with other {name}; {self.INSTEAD}"

    def _check_head(self, head: dict[str, Any]) -> None:  # noqa: B027  what all have may be enough
        """Raise a ValueError if the first line is incomplete."""

    @abstractmethod
    def _check_result(self, cell: Any, result: Any, where: str) -> Any:
        """Result to keep in memory; raises a ValueError if it does not fit the cell."""

    @contextmanager
    def _open_locked(self) -> Iterator[IO[bytes]]:
        """Open the file for reading and appending, locked, without an incomplete last line."""
        with ExitStack() as stack:
            try:
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
                file = stack.enter_context(os.fdopen(handle, "r+b", buffering=0))
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                start = f'{{"format": "{self.FORMAT}"'.encode()
                if start.startswith(file.read(len(start))):  # do not truncate other files
                    _drop_torn_line(file)
            except OSError as error:
                raise DataError(f"{self.path}: cannot be written: {error.strerror}") from error
            yield file

    def _read_new_lines(self, file: IO[bytes]) -> None:
        """Read the complete lines that have not been read yet."""
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size < self._read_bytes or file.read(len(self._first_line)) != self._first_line:
            raise DataError(f"{self.path}: another program has replaced or truncated the file")
        file.seek(self._read_bytes)
        text = file.read()
        text = text[: text.rfind(b"\n") + 1]
        for line in text.split(b"\n")[:-1]:
            self._add_line(line)
        self._read_bytes += len(text)

    def _add_line(self, line: bytes) -> None:
        """Check a line, and add its result to those in memory."""
        where = f"{self.path}:{self._read_lines + 1}"
        if self._read_lines == 0:
            head = self._read_head(line, where)
            for name, value in self._wanted.items():
                if head.get(name) != value:
                    differs = self._differs(name, head.get(name), value)
                    raise _OtherHeadError(f"{where}: {differs}")
            self.head, self._first_line = head, line
        else:
            try:
                key, expected, kept = self._read_line(line, where)
            except ValueError as error:
                raise DataError(
                    f"{where}: damaged ({error}); remove this line to compute its result again"
                ) from None
            if self._results.setdefault(key, (expected, kept))[0] != expected:
                raise DataError(
                    f"{where}: an earlier line has another result for the same cell; remove the "
                    "wrong line, or both to compute the result again"
                )
        self._read_lines += 1

    def _read_head(self, line: bytes, where: str) -> dict[str, Any]:
        head = _parse_line(line)
        form = head.get("format") if isinstance(head, dict) else None
        if form in self.OLDER:
            raise DataError(
                f"{where}: written by an older ranksieve, in format {form}; {self.INSTEAD}"
            )
        if form != self.FORMAT:
            raise DataError(f"{where}: not {self.WHAT}; {self.INSTEAD}")
        version = head.get("version")
        if version != self.VERSION:
            is_older = isinstance(version, int) and version < self.VERSION
            raise DataError(
                f"{where}: written by {'an older' if is_older else 'a newer'} ranksieve, in format "
                f"{version!r:.20} instead of {self.VERSION}; {self.INSTEAD}"
            )
        try:
            _pop_checksum(line, head)
            self._check_head(head)
        except ValueError as error:
            raise DataError(f"{where}: damaged ({error}); {self.INSTEAD}") from None
        return head

    def _read_line(self, line: bytes, where: str) -> tuple[str, str, Any]:
        """Key of a cell, checksum of the line, and the result to keep in memory."""
        record = _parse_line(line)
        expected = _pop_checksum(line, record)
        if record.keys() != {"cell", "result"}:
            raise ValueError("not a cell and its result")
        kept = self._check_result(record["cell"], record["result"], where)
        return key_of(record["cell"]), expected, kept

    def _append(self, file: IO[bytes], line: bytes) -> None:
        """Append a line and flush it to the disk; if that fails, remove the incomplete line."""
        end = file.seek(0, os.SEEK_END)
        line += b"\n"
        try:
            written = 0
            while written < len(line):
                written += file.write(line[written:])
            os.fsync(file.fileno())
        except OSError as error:
            file.truncate(end)
            raise DataError(
                f"{self.path}: cannot be written: {error.strerror}; earlier results are kept"
            ) from error


class _OtherHeadError(DataError):
    """The first line of a file has other settings than the ones wanted."""


def key_of(cell: Any) -> str:
    """Text that identifies a cell; the same for equal cells."""
    return json.dumps(cell, sort_keys=True, allow_nan=False)


def checksum(body: bytes) -> str:
    """Checksum of sixteen hexadecimal digits."""
    return hashlib.blake2b(body, digest_size=8).hexdigest()


def _line_of(record: Mapping[str, Any]) -> bytes:
    """Record as a line of JSON, whose last value is the checksum of the rest."""
    body = json.dumps(record, allow_nan=False).encode()[:-1]
    return body + f', "checksum": "{checksum(body)}"}}'.encode()


def _parse_line(line: bytes) -> Any:
    """Parse a line; None if it is not JSON."""
    try:
        return parse_record(line)
    except ValueError:
        return None


def _pop_checksum(line: bytes, record: Any) -> str:
    """Remove the checksum from a record; raise a ValueError unless it matches the line."""
    if not isinstance(record, dict) or "checksum" not in record:
        raise ValueError("not a record with a checksum")
    expected = record.pop("checksum")
    body, _, rest = line.rpartition(b', "checksum": ')
    if expected != checksum(body) or rest != f'"{expected}"}}'.encode():
        raise ValueError("its checksum does not match")
    return expected


def _drop_torn_line(file: IO[bytes]) -> None:
    """Truncate after the last newline: the lock is free, so the writer was killed."""
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
