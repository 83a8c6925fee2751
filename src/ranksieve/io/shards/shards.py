"""Opened shards: blocks of a data set on disk."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, get_index_dtype, vstack

from ranksieve.data import Block, DataError, RankingData
from ranksieve.data.inputs import (
    are_numbers,
    as_weights,
    check_query_weights,
    default_names,
    numbers,
    take_columns,
)
from ranksieve.data.missing import Missing, count_missing
from ranksieve.data.ranking_data import OF_ROWS
from ranksieve.io.shards.format import Manifest
from ranksieve.io.shards.reading import Checks, ShardFiles, verify_files
from ranksieve.progress import track

Verify = bool | Literal["first-read"]


class Shards:
    """An opened directory of shards, returned by :func:`open_shards`.

    Every shard is a :class:`Block`: a run of whole queries, whose feature values are mapped into
    memory when they are used. Shards cannot be used after :meth:`close`.
    """

    def __init__(self, path: Path, manifest: Manifest, client: Any, checks: Checks) -> None:
        self.path = path  # of the directory, absolute
        self.client = client  # of a Dask cluster, or None
        self.columns: np.ndarray | None = None  # features kept by take_features; None for all
        self.missing: Missing | None = None  # how to treat missing values
        self.keeps_missing = True  # whether methods may get NaN, which is a missing value
        self._refusing: Shards | None = None  # the copy that refuses them, if it is known
        self.checks = checks  # of the files, that were already done
        # Weights of queries set by with_weights, or no weights; None for those in the files.
        self.new_weights: tuple[np.ndarray | None] | None = None
        self.dropped: frozenset[str] = frozenset()  # of row_weights and positions
        self._manifest: Manifest | None = manifest
        names = manifest.feature_names
        self._names = None if names is None else np.array(names, dtype=object)
        self._first_rows = [0, *np.cumsum([s.rows for s in manifest.shards]).tolist()]
        self._first_queries = [0, *np.cumsum([s.queries for s in manifest.shards]).tolist()]

    @property
    def _open_manifest(self) -> Manifest:
        if self._manifest is None:
            raise DataError(
                f"these shards are closed; open them again with open_shards({str(self.path)!r})"
            )
        return self._manifest

    @property
    def data_id(self) -> str:
        """Random id of the data set, which changes when shards are written again."""
        return self._open_manifest.data_id

    @property
    def n_rows(self) -> int:
        """Number of rows (documents)."""
        return self._open_manifest.n_rows

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self._open_manifest.n_queries

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._n_all_features if self.columns is None else len(self.columns)

    @property
    def _n_all_features(self) -> int:
        """Number of features in the files plus indicators of missing values."""
        return self._open_manifest.n_features + len(self.missing.indicated if self.missing else ())

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored feature values: float32 or float64."""
        return np.dtype(self._open_manifest.dtype)

    @property
    def is_sparse(self) -> bool:
        """Whether X of a block is a CSR matrix."""
        return self._open_manifest.sparse

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._open_manifest.shards)

    @property
    def feature_names(self) -> np.ndarray:
        """Names of the features; object array of shape (features,)."""
        n_features = self.n_features  # raises an error if the shards are closed
        return default_names(n_features) if self._names is None else self._names

    @property
    def has_feature_names(self) -> bool:
        """Whether features have names other than their numbers."""
        return self._names is not None

    @property
    def query_ids(self) -> np.ndarray:
        """Query id of each query, in the order of the shards; read from disk each time."""
        return np.concatenate([files.query_ids for files in self._all_files()])

    @property
    def query_weights(self) -> np.ndarray | None:
        """Weight of each query, in the order of the shards; None if each counts once."""
        if self.new_weights is not None:
            return self.new_weights[0]
        if not self._open_manifest.weights:
            return None
        return np.concatenate([files.query_weights for files in self._all_files()])

    @property
    def row_weights(self) -> np.ndarray | None:
        """Weight of each row, in the order of the shards; None if each counts once."""
        return self._join_rows("row_weights")

    @property
    def positions(self) -> np.ndarray | None:
        """Where each document was shown, in the order of the shards; None if not known."""
        return self._join_rows("positions")

    @property
    def of_rows(self) -> frozenset[str]:
        """Which of ``row_weights`` and ``positions`` the rows have."""
        stored = {name for name in OF_ROWS if getattr(self._open_manifest, name)}
        return frozenset(stored - self.dropped)

    def _join_rows(self, role: str) -> np.ndarray | None:
        if role not in self.of_rows:
            return None
        return np.concatenate([getattr(files, role) for files in self._all_files()])

    def _of_rows(self, files: ShardFiles) -> dict[str, Any]:
        """Weights and positions of the rows of a shard."""
        return {role: getattr(files, role) for role in self.of_rows}

    def take_features(self, features: Any) -> Shards:
        """Return shards with some features: 0-based indices (in the given order) or a boolean mask.

        The files do not change. Blocks of the new shards are not mapped: their features are copied
        at every use. To use them often, write shards with only these features.
        """
        chosen = np.asarray(features)
        columns = np.arange(self._n_all_features) if self.columns is None else self.columns
        names = numbers(columns[chosen]) if self._names is None else self._names[chosen]
        return self._copy_with(
            columns=columns[chosen], _names=None if are_numbers(names) else names
        )

    def with_missing(self, missing: str | Missing) -> Shards:
        """Return shards that treat missing values (NaN) as in :class:`ranksieve.Missing`.

        The files do not change. If values are filled in or indicators appended, a block is a copy
        in memory instead of mapped; if that is too large, write shards with
        :func:`convert_to_shards` and the same ``missing``. Indicators of training data take a pass
        over the files.
        """
        if self.missing is not None or self.columns is not None:
            raise DataError(
                "missing values of opened shards are declared once, before features are taken"
            )
        how = Missing(missing) if isinstance(missing, str) else missing
        how = how.learned(self._count_missing)
        how.check_fits(self.n_features)
        names = how.names(self.feature_names) if how.indicated else self._names
        return self._copy_with(missing=how, keeps_missing=how.keeps, _names=names)

    def refusing_missing(self) -> Shards:
        """Return the same shards with NaN as an error, for methods without missing values."""
        if not self.keeps_missing:
            return self
        if self._refusing is None:  # always the same copy, so that fits share what it tells
            self._refusing = self._copy_with(keeps_missing=False)
        return self._refusing

    def with_weights(self, sample_weight: Any) -> Shards:
        """Return the same shards with other query weights, one per query; None removes weights.

        The files do not change: the weights are kept in memory, also on Dask workers.
        """
        weights = None if sample_weight is None else as_weights(sample_weight)
        if weights is not None and weights.shape != (self.n_queries,):
            raise DataError(
                f"sample_weight has shape {weights.shape}, but there are {self.n_queries} queries"
            )
        check_query_weights(weights)
        return self._copy_with(new_weights=(weights,))

    def with_row_weights(self, row_weights: None) -> Shards:
        """Return the same data without weights of rows; others need to be written."""
        return self._without("row_weights", row_weights)

    def with_positions(self, positions: None) -> Shards:
        """Return the same data without positions; others need to be written."""
        return self._without("positions", positions)

    def _without(self, role: str, values: Any) -> Shards:
        if values is not None:
            raise DataError(f"{role} of opened shards cannot be changed: write shards with them")
        return self._copy_with(dropped=self.dropped | {role})

    def _weights_of(self, number: int) -> np.ndarray | None:
        """Weights of the queries of a shard."""
        if self.new_weights is None:
            return self._files(number).query_weights
        (weights,) = self.new_weights
        queries = slice(self._first_queries[number], self._first_queries[number + 1])
        return None if weights is None else weights[queries]

    def _copy_with(self, **changes: Any) -> Shards:
        """Return a copy on the same files with changed attributes."""
        self._open_manifest  # noqa: B018  closed shards cannot be copied
        copy = object.__new__(Shards)
        copy.__dict__.update(self.__dict__ | changes | {"_refusing": None})
        return copy

    def _count_missing(self) -> np.ndarray:
        return sum(
            (count_missing(files.matrix) for files in self._all_files()),
            start=np.zeros(self._open_manifest.n_features, dtype=np.int64),
        )

    def block(self, number: int) -> Block:
        """Return the rows of a shard, counted from 0.

        Feature values are mapped read-only, and read and checked when they are used; labels and
        pointers are read now. The files stay open as long as the block is in use, even after
        :meth:`close`.
        """
        files = self._files(number)
        mapped, query_ptr = files.map_matrix(), files.query_ptr
        return Block(
            lambda: self._treat_matrix(mapped(), query_ptr),
            files.y,
            query_ptr,
            first_row=self._first_rows[number],
            first_query=self._first_queries[number],
            query_weights=self._weights_of(number),
            **self._of_rows(files),
            keeps_missing=self.keeps_missing,
            keeps_X=self.columns is None,
        )

    def read_shard(self, number: int) -> RankingData:
        """Read one shard, counted from 0, into memory."""
        files = self._files(number)
        X = self._matrix(files)
        data = RankingData(
            X.copy() if self.is_sparse else np.array(X),
            files.y,
            np.repeat(files.query_ids, np.diff(files.query_ptr)),
            feature_names=self._names,
            doc_ids=files.doc_ids,
            **self._of_rows(files),
        )
        # All weights of a shard may be 0.
        return self._declare_missing(data._replace(query_weights=self._weights_of(number)))

    def read(self) -> RankingData:
        """Read all data into memory."""
        shards = self._all_files()
        counts = np.concatenate([np.diff(files.query_ptr) for files in shards])
        documents: list[Any] = [files.doc_ids for files in shards]
        return self._declare_missing(
            RankingData(
                self._read_csr() if self.is_sparse else self._read_dense(),
                np.concatenate([files.y for files in shards]),
                np.repeat(self.query_ids, counts),
                feature_names=self._names,
                doc_ids=None if self._open_manifest.doc_ids is None else np.concatenate(documents),
                sample_weight=self.query_weights,
                row_weights=self.row_weights,
                positions=self.positions,
            )
        )

    def verify(self) -> None:
        """Compare the checksums of all files; raise a DataError that names the first wrong file."""
        verify_files(self.path, self._open_manifest)

    def close(self) -> None:
        """Close the shards."""
        self._manifest = None

    def __enter__(self) -> Shards:
        self._open_manifest  # noqa: B018  closed shards cannot be entered
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._manifest is None:
            return f"Shards({str(self.path)!r}, closed)"
        return (
            f"Shards({str(self.path)!r}, {self.n_shards} shards, {self.n_rows} rows, "
            f"{self.n_queries} queries, {self.n_features} features)"
        )

    def _files(self, number: int) -> ShardFiles:
        if not 0 <= number < self.n_shards:
            raise IndexError(f"there is no shard {number}: there are {self.n_shards}")
        return ShardFiles(self.path, self._open_manifest, number, self.checks)

    def _matrix(self, files: ShardFiles) -> Any:
        return self._treat_matrix(files.matrix, files.query_ptr)

    def _treat_matrix(self, matrix: Any, query_ptr: np.ndarray) -> Any:
        """Return the features of a shard after treating missing values and taking features."""
        if self.missing is not None:
            matrix = self.missing.applied_to(matrix, query_ptr)
        return matrix if self.columns is None else take_columns(matrix, self.columns)

    def _declare_missing(self, data: RankingData) -> RankingData:
        """Record in the data how its missing values were treated."""
        return data._replace(missing=self.missing, keeps_missing=self.keeps_missing)

    def _all_files(self) -> list[ShardFiles]:
        return [self._files(number) for number in range(self.n_shards)]

    def _read_dense(self) -> np.ndarray:
        X = np.empty((self.n_rows, self.n_features), dtype=self.dtype)
        advance = track("Reading", self.n_rows)
        for first, files in zip(self._first_rows, self._all_files(), strict=False):
            part = self._matrix(files)
            X[first : first + len(part)] = part
            advance(len(part))
        return X

    def _read_csr(self) -> Any:
        """Join the CSR matrices without a second copy in memory."""
        if self.columns is not None or self.missing is not None:
            return vstack([self._matrix(files) for files in self._all_files()], format="csr")
        pointers = [files.indptr for files in self._all_files()]
        firsts = [0, *np.cumsum([pointer[-1] for pointer in pointers], dtype=np.int64).tolist()]
        index = get_index_dtype(maxval=max(firsts[-1], self.n_features))
        data, indices = np.empty(firsts[-1], dtype=self.dtype), np.empty(firsts[-1], dtype=index)
        advance = track("Reading", firsts[-1])
        for (first, end), files in zip(pairwise(firsts), self._all_files(), strict=True):
            part = files.matrix
            data[first:end], indices[first:end] = part.data, part.indices
            advance(end - first)
        parts = [p[1:] + np.int64(first) for p, first in zip(pointers, firsts, strict=False)]
        indptr = np.concatenate([[0], *parts]).astype(index)
        return csr_matrix((data, indices, indptr), shape=(self.n_rows, self.n_features))
