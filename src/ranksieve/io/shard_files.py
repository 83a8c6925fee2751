"""Read the files of one shard, checked before anything relies on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ranksieve.data import DataError
from ranksieve.io.shard_format import Manifest, decode_strings, map_array


class ShardFiles:
    """Files of one shard.

    Feature values are mapped, the rest is small and read. Nothing is kept: each mapped file holds
    a file descriptor, and there may be more shards than a process may open files.
    """

    def __init__(self, directory: Path, manifest: Manifest, number: int) -> None:
        self._directory = directory
        self._manifest = manifest
        self._shard = manifest.shards[number]

    @property
    def y(self) -> np.ndarray:
        """Labels."""
        return np.array(self._map("y", (self._shard.rows,), "float64"))

    @property
    def query_ptr(self) -> np.ndarray:
        """Rows of query ``q`` are ``query_ptr[q]:query_ptr[q + 1]``."""
        return self._pointer("query_ptr", self._shard.queries, self._shard.rows)

    @property
    def matrix(self) -> Any:
        """Feature values: a mapped array, or a CSR matrix of mapped arrays."""
        if self._manifest.sparse:
            return self._csr()
        shape = (self._shard.rows, self._manifest.n_features)
        return self._map("X", shape, self._manifest.dtype)

    @property
    def indptr(self) -> np.ndarray:
        """Entries of row ``r`` of a CSR matrix are ``indptr[r]:indptr[r + 1]``."""
        return self._pointer("indptr", self._shard.rows, None, "int32", "int64")

    @property
    def query_ids(self) -> np.ndarray:
        """Query id of each query."""
        return self._ids("query_id", self._manifest.query_ids, self._shard.queries)

    @property
    def doc_ids(self) -> np.ndarray | None:
        """Document id of each row, if there are any."""
        kind = self._manifest.doc_ids
        return None if kind is None else self._ids("doc_id", kind, self._shard.rows)

    def _path(self, role: str) -> Path:
        return self._directory / self._shard.files[role].name

    def _map(self, role: str, shape: tuple[int | None, ...], *dtypes: str) -> np.ndarray:
        """Map an array, checked to have the shape (None: any) and one of the types."""
        array = map_array(self._path(role))
        fits = array.ndim == len(shape) and all(
            wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
        )
        if not (fits and array.dtype.name in dtypes and array.flags.c_contiguous):
            raise DataError(
                f"{self._path(role)}: is damaged: it holds {array.dtype} of shape {array.shape}, "
                "which is not what the manifest says"
            )
        return array

    def _pointer(self, role: str, n: int, end: int | None = None, *dtypes: str) -> np.ndarray:
        """Read a pointer from 0 to ``end``; a wrong one could make kernels leave their arrays."""
        pointer = np.array(self._map(role, (n + 1,), *(dtypes or ("int64",))))
        last = pointer[-1] if end is None else end
        if pointer[0] != 0 or pointer[-1] != last or np.any(pointer[1:] < pointer[:-1]):
            raise DataError(
                f"{self._path(role)}: is damaged: it does not lead from 0 to {last} in order"
            )
        return pointer

    def _csr(self) -> Any:
        indptr = self.indptr
        shape = (int(indptr[-1]),)
        X = csr_matrix((self._shard.rows, self._manifest.n_features), dtype=self._manifest.dtype)
        # Set one by one: the constructor would look at, and maybe convert, all of the indices.
        X.data = self._map("data", shape, self._manifest.dtype)
        X.indices = self._map("indices", shape, indptr.dtype.name)
        X.indptr = indptr
        X.has_canonical_format = True  # so it was written
        return X

    def _ids(self, what: str, kind: str, n: int) -> np.ndarray:
        if kind == "int":
            return np.array(self._map(f"{what}s", (n,), "int64"))
        text = self._map(f"{what}s", (None,), "uint8")
        offsets = self._pointer(f"{what}_offsets", n, len(text))
        try:
            return decode_strings(text, offsets)
        except UnicodeDecodeError as error:
            raise DataError(f"{self._path(f'{what}s')}: is damaged: {error}") from error
