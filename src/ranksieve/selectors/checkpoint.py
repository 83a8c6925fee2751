"""Results of a long search, in a file from which it goes on after an interruption."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.io.files import READ_ERRORS, check_replaceable, explain_os_error
from ranksieve.io.records import PathLike

FORMAT = "ranksieve-results"

Key = tuple[int, ...]


class Checkpoint:
    """Arrays by key, in memory and, if there is a path, in a file: one line of JSON for each.

    A line is written as soon as its result is known. What a killed program has left of its last
    line is dropped.

    Parameters
    ----------
    path : path or None
        A file that is there is read; one of another search is refused.
    search : mapping of str to str
        What the results depend on.
    """

    def __init__(self, path: PathLike | None, search: Mapping[str, str]) -> None:
        self._path = None if path is None else Path(path)
        self._results: dict[Key, list[np.ndarray]] = {}
        self._writing = Lock()
        if self._path is not None:
            check_replaceable(self._path)
            self._read(self._path, {"format": FORMAT, "version": 1, **search})

    def __contains__(self, key: Key) -> bool:
        return key in self._results

    def __getitem__(self, key: Key) -> list[np.ndarray]:
        return self._results[key]

    def __len__(self) -> int:
        return len(self._results)

    def add(self, key: Key, arrays: Iterable[np.ndarray]) -> None:
        """Remember a result, and write it down."""
        self._results[key] = list(arrays)
        if self._path is not None:
            values = [array.tolist() for array in self._results[key]]
            with self._writing:
                self._append(self._path, {"key": key, "values": values})

    def _read(self, path: Path, head: dict[str, Any]) -> None:
        try:
            lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        except READ_ERRORS as error:
            raise DataError(f"{path}: {explain_os_error(error)}") from error
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()  # the program ended while it wrote this
            with path.open("r+b") as file:
                file.truncate(sum(map(len, lines)))
        if not lines:
            self._append(path, head)
            return
        self._check_head(path, _loaded(lines[0]), head)
        for number, line in enumerate(lines[1:], start=2):
            try:
                record = json.loads(line)
                arrays = [np.array(values, dtype=np.float64) for values in record["values"]]
                self._results[tuple(record["key"])] = arrays
            except (ValueError, TypeError, KeyError):
                raise DataError(f"{path}:{number}: damaged; remove the file") from None

    @staticmethod
    def _check_head(path: Path, found: Any, head: dict[str, Any]) -> None:
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise DataError(f"{path}:1: not the results of a search; name a file that is not there")
        for name, value in head.items():
            if found.get(name) != value:
                raise DataError(
                    f"{path}:1: these are results of a search with other {name}; remove the file "
                    "or name another"
                )

    @staticmethod
    def _append(path: Path, record: Any) -> None:
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, allow_nan=False) + "\n")
        except OSError as error:
            raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


def _loaded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def fingerprint(*sources: RankingData) -> str:
    """Short text that tells data apart: features, labels and queries."""
    digest = hashlib.sha256()
    for data in sources:
        parts = [data.X.data, data.X.indices, data.X.indptr] if data.is_sparse else [data.X]
        for part in (*parts, data.y, data.query_ptr):
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]
