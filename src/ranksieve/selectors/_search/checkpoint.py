"""A file of results from which a long search resumes after an interruption."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import RankingData
from ranksieve.io.files import check_replaceable
from ranksieve.io.record_log import RecordLog
from ranksieve.io.records import PathLike

Key = tuple[int, ...]


class Checkpoint:
    """Results of a search by key, in memory and, if there is a path, in a file.

    A key that lists features stands for the values of all held-out queries. The key -1 - f followed
    by features stands for their importances on fold f and the values of its held-out queries.

    An existing file is read; the file of another search is refused. ``search`` has everything that
    the results depend on, and ``n_queries`` the number of held-out queries of each fold.
    """

    def __init__(
        self, path: PathLike | None, search: Mapping[str, str], n_queries: Sequence[int]
    ) -> None:
        self._results: dict[Key, list[np.ndarray]] = {}
        self._log = None
        if path is not None:
            self._log = _SearchLog(Path(path), search, n_queries, self._results)

    def __contains__(self, key: Key) -> bool:
        return key in self._results

    def __getitem__(self, key: Key) -> list[np.ndarray]:
        return self._results[key]

    def __len__(self) -> int:
        return len(self._results)

    def add(self, key: Key, arrays: Iterable[np.ndarray]) -> None:
        """Keep a result, and write it to the file."""
        found = list(arrays)
        if self._log is not None:
            self._log.add(key, [array.tolist() for array in found])
        self._results.setdefault(key, found)


class _SearchLog(RecordLog):
    """The file of a checkpoint; its records are added to ``results``."""

    FORMAT = "ranksieve-results"
    VERSION = 2
    WHAT = "the results of a search"
    INSTEAD = "remove the file, or name another"

    def __init__(
        self,
        path: Path,
        search: Mapping[str, str],
        n_queries: Sequence[int],
        results: dict[Key, list[np.ndarray]],
    ) -> None:
        check_replaceable(path)
        self._n_queries, self._arrays = n_queries, results
        super().__init__(path, search)

    def _checked(self, cell: Any, result: Any, where: str) -> None:
        if type(cell) is not list or not all(type(number) is int for number in cell):
            raise ValueError("a key should be a list of whole numbers")
        if type(result) is not list or not all(_is_array(values) for values in result):
            raise ValueError("a result should be lists of numbers")
        if [len(values) for values in result] != self._lengths(cell):
            raise ValueError(f"there should be {self._lengths(cell)} values")
        self._arrays[tuple(cell)] = [np.array(values, dtype=np.float64) for values in result]

    def _lengths(self, cell: list[int]) -> list[int]:
        if not cell or cell[0] >= 0:
            return [sum(self._n_queries)]
        fold = -1 - cell[0]
        if fold >= len(self._n_queries):
            raise ValueError(f"there is no fold {fold}")
        return [len(cell) - 1, self._n_queries[fold]]


def _is_array(values: Any) -> bool:
    return type(values) is list and all(type(v) is float and isfinite(v) for v in values)


def fingerprint(*sources: RankingData) -> str:
    """Short text that identifies data: features, labels, queries and their weights."""
    digest = hashlib.sha256()
    for data in sources:
        parts = [data.X.data, data.X.indices, data.X.indptr] if data.is_sparse else [data.X]
        weights = [] if data.query_weights is None else [data.query_weights]
        for part in (*parts, data.y, data.query_ptr, *weights):
            digest.update(np.ascontiguousarray(part).tobytes())
        if data.query_weights is not None:
            digest.update(b"weights" + data.query_weights.tobytes())
    return digest.hexdigest()[:16]
