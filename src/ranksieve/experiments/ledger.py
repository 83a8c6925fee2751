"""The ledger: an append-only file of finished cells, which survives crashes and interruptions.

Each line is a record in JSON with a checksum. The first is the :class:`Head`, everything that all
results depend on. Every other has the key of a cell and its result; one of each trial comes before
its results and describes its data.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import IO, Annotated, Any, ClassVar, NoReturn

import msgspec
from msgspec import Meta

from ranksieve._version import __version__
from ranksieve.data import DataError
from ranksieve.experiments.cells import (
    DescribeKey,
    Facts,
    Key,
    Record,
    Selected,
    SelectKey,
    Trained,
    TrainKey,
)
from ranksieve.experiments.trials import Trial
from ranksieve.io.files import explain_read_errors, fcntl, open_regular

LEDGER = "ledger.jsonl"
_FORMAT, _VERSION = "ranksieve-ledger", 1
_OLDER = ("ranksieve-study", "ranksieve-recommendation", "ranksieve-reproduction")
_INSTEAD = "name another directory"
_ROUNDING = 1e-9

Count = Annotated[int, Meta(ge=0)]


class Head(Record, kw_only=True):
    """Everything that all results of a ledger depend on, apart from the data."""

    purpose: str  # what the results are of, such as "study"
    protocol: str  # how the queries are divided, in words
    measures: Annotated[list[str], Meta(min_length=1)]  # of the queries that judge
    tune: str  # measure by which something is chosen
    convention: str
    scale: str = "none"
    missing: str = "none"
    trials: list[str] = msgspec.field(default_factory=list)  # names, if they are known in advance
    ranksieve: str = __version__


class TrialFacts(Record):
    """What results must fit."""

    fingerprint: str
    n_features: Annotated[int, Meta(ge=1)]
    train: Annotated[int, Meta(ge=1)]  # number of queries
    vali: Count
    judged: dict[str, Count]


class TrialKey(Key, tag="trial"):
    """Key of the facts about the data of a trial."""

    Result: ClassVar[type[Record]] = TrialFacts


class Ledger:
    """Results of cells by key, kept in a file.

    A line is on the disk when :meth:`add` returns. Lines are written whole under a lock, so that
    several processes can share a file; an incomplete last line of a killed process is dropped. A
    damaged line, one that contradicts an earlier line of the same key, and one that does not fit
    its trial are errors, which name the file and the line.

    Parameters
    ----------
    path : path
        The file; a new one begins with the head.
    head : Head, optional
        An existing file must have the same. Without a head, the file is only read.
    keys : types of Key
        Types of cells whose results can be in the file, in addition to those of this package.
    """

    def __init__(self, path: Path, head: Head | None = None, *keys: type[Key]) -> None:
        self.path = path
        self._key_types: Any = TrialKey | DescribeKey | SelectKey | TrainKey
        for key in keys:
            self._key_types |= key
        self._wanted = head
        self._head: Head | None = None
        # Text of the key -> checksum of the line, and the result.
        self._results: dict[str, tuple[str, Any]] = {}
        self._trials: dict[str, TrialFacts] = {}
        # Lines whose trial is not known yet: its own line was lost, and will be written again.
        self._waiting: dict[str, list[tuple[str, Any, Any]]] = {}
        self._read_bytes = self._read_lines = 0
        self._lock = RLock()
        if head is None or path.exists():
            self.refresh()  # raises an error before writing to a file of another kind
        if head is not None and self._head is None:
            with self._open_locked() as file:
                if file.seek(0, os.SEEK_END) == 0:
                    first = {"format": _FORMAT, "version": _VERSION, **msgspec.to_builtins(head)}
                    self._append(file, _line_of(first))
            self.refresh()
        if self._head is None:
            raise DataError(f"{path}:1: not a ledger of ranksieve; {_INSTEAD}")

    @property
    def head(self) -> Head:
        """The first line."""
        assert self._head is not None  # else there is no ledger
        return self._head

    def __contains__(self, key: Key) -> bool:
        return key_of(key) in self._results

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, key: Key) -> Any:
        found = self.find(key)
        if found is None:
            raise DataError(
                f"{self.path}: the work is not finished; run the command that started it to resume"
            )
        return found

    def find(self, key: Key) -> Any:
        """Result of a cell; None if there is none."""
        return self._results.get(key_of(key), (None, None))[1]

    def add(self, key: Key, result: Record) -> None:
        """Write a result, unless another process has already written it."""
        with self._lock, self._open_locked() as file:
            self._read_new_lines(file)
            if key not in self:
                record = {"cell": msgspec.to_builtins(key), "result": msgspec.to_builtins(result)}
                try:
                    line = _line_of(record)
                    self._read_line(line, "it")  # only lines that can be read are written
                except ValueError as error:
                    raise DataError(f"{self.path}: a result cannot be stored: {error}") from None
                self._append(file, line)
                self._read_new_lines(file)

    def add_trial(self, trial: Trial) -> None:
        """Record the data of a trial; raise a DataError if the ledger has other data for it."""
        sets = trial.sets
        facts = TrialFacts(
            trial.fingerprint,
            trial.source.parts[0].n_features,
            len(sets.train),
            0 if sets.vali is None else len(sets.vali),
            {name: len(own) for name, own in sets.judged.items()},
        )
        self.add(TrialKey(trial.name), facts)
        if self[TrialKey(trial.name)] != facts:
            raise DataError(
                f"{self.path}: {trial.name} of these results has other data; {_INSTEAD}"
            )

    def refresh(self) -> None:
        """Read lines that other processes have written."""
        with self._lock, explain_read_errors(self.path), open_regular(self.path) as file:
            self._read_new_lines(file)

    # Lines.

    def _read_head(self, line: bytes, where: str) -> Head:
        head = _parse_line(line)
        kind = head.get("format") if isinstance(head, dict) else None
        version = head.get("version") if kind == _FORMAT else 0
        if kind in _OLDER or (kind == _FORMAT and version != _VERSION):
            is_older = not isinstance(version, int) or version < _VERSION
            raise DataError(
                f"{where}: written by {'an older' if is_older else 'a newer'} ranksieve, in format "
                f"{version if kind == _FORMAT else kind!r:.40} instead of {_VERSION}; {_INSTEAD}"
            )
        if kind != _FORMAT:
            raise DataError(f"{where}: not a ledger of ranksieve; {_INSTEAD}")
        try:
            _check_line(line, head)
            del head["format"], head["version"]
            if "ranksieve" not in head:
                raise ValueError("Object missing required field `ranksieve`")
            return msgspec.convert(head, Head)
        except ValueError as error:
            raise DataError(f"{where}: damaged ({error}); {_INSTEAD}") from None

    def _check_head(self, head: Head, where: str) -> None:
        """Raise a DataError if another head is wanted."""
        for name in head.__struct_fields__ if self._wanted is not None else ():
            found, wanted = getattr(head, name), getattr(self._wanted, name)
            if found != wanted:
                raise DataError(
                    f"{where}: these are results with {name} {found!r:.200}, not {wanted!r:.200}; "
                    f"{_INSTEAD}, or use the same setting"
                )

    def _add_line(self, line: bytes) -> None:
        """Check a line, and add its result to those in memory."""
        where = f"{self.path}:{self._read_lines + 1}"
        if self._head is None:
            head = self._read_head(line, where)
            self._check_head(head, where)
            self._head = head
        else:
            try:
                key, checksum, result = self._read_line(line, where)
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"{where}: damaged ({error}); remove this line to compute its result again"
                ) from None
            text = key_of(key)
            if self._results.setdefault(text, (checksum, result))[0] != checksum:
                raise DataError(
                    f"{where}: an earlier line has another result for the same cell; remove the "
                    "wrong line, or both to compute the result again"
                )
            if isinstance(key, TrialKey):
                self._trials[key.trial] = result
                self._waiting.pop(key.trial, None)
            elif key.trial not in self._trials:
                self._waiting.setdefault(key.trial, []).append((where, key, result))
        self._read_lines += 1

    def _read_line(self, line: bytes, where: str) -> tuple[Key, str, Any]:
        """Key of a cell, checksum of the line, and the result."""
        record = _parse_line(line)
        checksum = _check_line(line, record)
        if record.keys() != {"cell", "result"}:
            raise ValueError("not a cell and its result")
        key: Any = msgspec.convert(record["cell"], self._key_types)
        result = msgspec.convert(record["result"], key.Result)
        _check(key, result, self.head.measures)
        if isinstance(key, TrialKey):
            for place, other, own in self._waiting.get(key.trial, ()):
                try:
                    _check_fits(other, own, result)
                except ValueError as error:
                    raise ValueError(f"{place} does not match it: {error}") from None
        elif key.trial in self._trials:
            _check_fits(key, result, self._trials[key.trial])
        return key, checksum, result

    # The file.

    @contextmanager
    def _open_locked(self) -> Iterator[IO[bytes]]:
        """Open the file for reading and appending, locked, without an incomplete last line."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror}") from error
        with os.fdopen(handle, "r+b", buffering=0) as file:
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                start = f'{{"format": "{_FORMAT}"'.encode()
                if start.startswith(file.read(len(start))):  # do not truncate other files
                    _drop_torn_line(file)
            except OSError as error:
                raise DataError(f"{self.path}: cannot be written: {error.strerror}") from error
            yield file

    def _read_new_lines(self, file: IO[bytes]) -> None:
        """Read the complete lines that have not been read yet."""
        if file.seek(0, os.SEEK_END) < self._read_bytes:
            raise DataError(f"{self.path}: another program has removed or truncated the file")
        file.seek(self._read_bytes)
        text = file.read()
        text = text[: text.rfind(b"\n") + 1]
        for line in text.split(b"\n")[:-1]:
            self._add_line(line)
        self._read_bytes += len(text)

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


def key_of(key: Key) -> str:
    """Text that identifies a cell on a trial; the same for equal keys."""
    return json.dumps(msgspec.to_builtins(key), sort_keys=True, allow_nan=False)


def _check(key: Key, result: Any, measures: list[str]) -> None:
    """Raise a ValueError if features or numbers are not what their names say."""
    features = result.features if isinstance(key, SelectKey) else getattr(key, "features", [])
    if len(set(features)) != len(features):
        raise ValueError("`features` lists a feature twice")
    if isinstance(result, Trained):
        json.dumps(result.parameters, allow_nan=False)  # raises an error for infinity
        for name, values in result.values.items():
            if values.keys() != set(measures):
                raise ValueError(f"{name!r:.40} should have values of {', '.join(measures)}")
            for measure, own in values.items():
                _check_values(own, measure)
    elif isinstance(result, Facts):
        for measure, both in result.file_order.items():
            for own in both:
                _check_values(own, measure)


def _check_values(values: list[float], measure: str) -> None:
    # The name of a measure may set another value for queries without relevant documents.
    if "empty" not in measure and not all(-_ROUNDING <= own <= 1 + _ROUNDING for own in values):
        raise ValueError(f"a value of {measure} is out of range")


def _check_fits(key: Key, result: Any, trial: TrialFacts) -> None:
    """Raise a ValueError if a result does not fit the data of its trial."""
    features = result.features if isinstance(result, Selected) else getattr(key, "features", [])
    if max(features, default=0) >= trial.n_features:
        raise ValueError(f"feature {max(features)} of {trial.n_features}, numbered from 0")
    if isinstance(result, Trained):
        if result.values.keys() != trial.judged.keys():
            raise ValueError(f"values should be of {', '.join(trial.judged) or 'no queries'}")
        for name, values in result.values.items():
            for measure, own in values.items():
                if len(own) != trial.judged[name]:
                    raise ValueError(
                        f"{len(own)} values of {measure} for {trial.judged[name]} {name} queries"
                    )
    if isinstance(result, Facts) and (
        len(result.queries) != sum(trial.judged.values())
        or len(result.features) != trial.n_features
    ):
        raise ValueError("not as many queries and features as the trial has")


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
        return json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(number: str) -> NoReturn:
    raise ValueError(f"{number} is not a number of JSON")


def _check_line(line: bytes, record: Any) -> str:
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
