"""Read the files of shards, and check their sizes, checksums and values before use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse import csr_matrix

from ranksieve._kernels.rows import first_bad_row
from ranksieve.data import DataError
from ranksieve.io.files import explain_os_error, explain_read_errors
from ranksieve.io.shards.format import (
    Manifest,
    array_in,
    check_checksum,
    decode_strings,
    map_file,
)
from ranksieve.progress import track

_CHUNK = 2**20


class Checks:
    """Record of the checks done on a directory's files, so that each is done once.

    Checksums are compared only if ``checksums`` is true. Values that could make a kernel leave its
    arrays are always checked.
    """

    def __init__(self, checksums: bool) -> None:
        self.checksums = checksums
        self._done: set[str] = set()

    def once(self, what: str, check: Callable[[], None]) -> None:
        """Call a check, which raises an error if something is wrong, unless it was done before."""
        if what not in self._done:
            check()
            self._done.add(what)


class ShardFiles:
    """Reader of the files of one shard.

    Feature values are mapped; everything else is small and read. No file is kept open, because
    there may be more shards than a process may have file descriptors.
    """

    def __init__(self, directory: Path, manifest: Manifest, number: int, checks: Checks) -> None:
        self._directory = directory
        self._manifest = manifest
        self._shard = manifest.shards[number]
        self._checks = checks

    @property
    def y(self) -> np.ndarray:
        """Labels."""
        labels = self._read("y", (self._shard.rows,), "float64")
        if not np.isfinite(labels).all():
            raise self._damage("y", "a label is not finite")
        return labels

    @property
    def query_ptr(self) -> np.ndarray:
        """Query pointer: rows of query ``q`` are ``query_ptr[q]:query_ptr[q + 1]``."""
        pointer = self._pointer("query_ptr", self._shard.queries, self._shard.rows)
        if np.any(pointer[1:] == pointer[:-1]):
            raise self._damage("query_ptr", "a query has no rows")
        return pointer

    @property
    def query_weights(self) -> np.ndarray | None:
        """Weight of each query, or None if queries have no weights."""
        if not self._manifest.weights:
            return None
        weights = self._read("query_weights", (self._shard.queries,), "float64")
        if not np.isfinite(weights).all() or np.any(weights < 0):
            raise self._damage("query_weights", "a weight is negative or not finite")
        return weights

    @property
    def row_weights(self) -> np.ndarray | None:
        """Weight of each row, or None if rows have no weights."""
        if not self._manifest.row_weights:
            return None
        weights = self._read("row_weights", (self._shard.rows,), "float64")
        if not np.isfinite(weights).all() or np.any(weights < 0):
            raise self._damage("row_weights", "a weight is negative or not finite")
        return weights

    @property
    def positions(self) -> np.ndarray | None:
        """Where each document was shown, or None if that is not known."""
        if not self._manifest.positions:
            return None
        positions = self._read("positions", (self._shard.rows,), "int64")
        if np.any(positions < 0) or np.any(positions >= 2**31):
            raise self._damage("positions", "a position is negative or too large")
        return positions

    @property
    def matrix(self) -> Any:
        """Feature values: a mapped array, or a CSR matrix of mapped arrays."""
        return self.map_matrix()()

    def map_matrix(self) -> Callable[[], Any]:
        """Map feature values; return a function that checks them and returns the matrix."""
        if self._manifest.sparse:
            return self._map_csr()
        shape = (self._shard.rows, self._manifest.n_features)
        content, X = self._map("X", shape, self._manifest.dtype)

        def check_and_map() -> np.ndarray:
            self._check("X", content)
            return X

        return check_and_map

    @property
    def indptr(self) -> np.ndarray:
        """Row pointer of a CSR matrix: entries of row ``r`` are ``indptr[r]:indptr[r + 1]``."""
        return self._pointer("indptr", self._shard.rows, None, "int32", "int64")

    @property
    def query_ids(self) -> np.ndarray:
        """Query id of each query."""
        return self._ids("query_id", self._manifest.query_ids, self._shard.queries)

    @property
    def doc_ids(self) -> np.ndarray | None:
        """Document id of each row, or None if documents have no ids."""
        kind = self._manifest.doc_ids
        return None if kind is None else self._ids("doc_id", kind, self._shard.rows)

    def _path(self, role: str) -> Path:
        return self._directory / self._shard.files[role].name

    def _damage(self, role: str, what: str) -> DataError:
        return DataError(f"{self._path(role)}: is damaged: {what}")

    def _map(
        self, role: str, shape: tuple[int | None, ...], *dtypes: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Map a file and its array, which must have this shape (None: any) and one of the types."""
        content = map_file(self._path(role))
        return content, array_in(content, self._path(role), shape, *dtypes)

    def _check(self, role: str, content: np.ndarray) -> None:
        """Compare the checksum of a file, unless it was compared before."""
        file = self._shard.files[role]
        if self._checks.checksums:
            self._checks.once(
                file.name, lambda: check_checksum(self._path(role), crc32(content.data), file)
            )

    def _read(self, role: str, shape: tuple[int | None, ...], *dtypes: str) -> np.ndarray:
        """Read and check an array."""
        content, array = self._map(role, shape, *dtypes)
        self._check(role, content)
        return np.array(array)

    def _pointer(self, role: str, n: int, end: int | None = None, *dtypes: str) -> np.ndarray:
        """Read a pointer from 0 to ``end``, and check it, so that no kernel leaves its arrays."""
        pointer = self._read(role, (n + 1,), *(dtypes or ("int64",)))
        last = pointer[-1] if end is None else end
        if pointer[0] != 0 or pointer[-1] != last or np.any(pointer[1:] < pointer[:-1]):
            raise self._damage(role, f"it does not lead from 0 to {last} in order")
        return pointer

    def _map_csr(self) -> Callable[[], Any]:
        indptr = self.indptr
        shape = (int(indptr[-1]),)
        data_content, data = self._map("data", shape, self._manifest.dtype)
        content, indices = self._map("indices", shape, indptr.dtype.name)

        def check_rows() -> None:
            row = first_bad_row(indptr, indices, self._manifest.n_features)
            if row >= 0:
                last = self._manifest.n_features - 1
                message = f"the features of row {row} do not increase from 0 to at most {last}"
                raise self._damage("indices", message)

        def check_and_map() -> csr_matrix:
            self._check("data", data_content)
            self._check("indices", content)
            self._checks.once(f"rows of {self._path('indices').name}", check_rows)
            size = (self._shard.rows, self._manifest.n_features)
            X = csr_matrix(size, dtype=self._manifest.dtype)
            # Set separately, because the constructor would check and maybe convert all indices.
            X.data, X.indices, X.indptr = data, indices, indptr
            X.has_canonical_format = True
            return X

        return check_and_map

    def _ids(self, what: str, kind: str, n: int) -> np.ndarray:
        if kind == "int":
            return self._read(f"{what}s", (n,), "int64")
        text = self._read(f"{what}s", (None,), "uint8")
        offsets = self._pointer(f"{what}_offsets", n, len(text))
        try:
            return decode_strings(text, offsets)
        except UnicodeDecodeError as error:
            raise self._damage(f"{what}s", str(error)) from error


def check_sizes(directory: Path, manifest: Manifest) -> None:
    """Raise a DataError that names the first file that is missing or has the wrong size."""
    for shard in manifest.shards:
        for file in shard.files.values():
            path = directory / file.name
            try:
                found = os.stat(path).st_size
            except OSError as error:
                raise DataError(
                    f"{path}: {explain_os_error(error)}, but the manifest lists it with "
                    f"{file.bytes} bytes"
                ) from error
            if found != file.bytes:
                raise DataError(
                    f"{path}: has {found} bytes, but {file.bytes} were written; it is "
                    "truncated or not of these shards"
                )


def verify_files(directory: Path, manifest: Manifest) -> None:
    """Raise a DataError that names the first file with the wrong checksum or size."""
    files = [file for shard in manifest.shards for file in shard.files.values()]
    check_sizes(directory, manifest)
    advance = track("Verifying", sum(file.bytes for file in files))
    for file in files:
        path, checksum = directory / file.name, 0
        with explain_read_errors(path), path.open("rb") as opened:
            while piece := opened.read(_CHUNK):
                checksum = crc32(piece, checksum)
                advance(len(piece))
        check_checksum(path, checksum, file)
