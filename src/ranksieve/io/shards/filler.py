"""Fill shards with rows in the order of arrival, without splitting a query, and write them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ranksieve.data import DataError, RankingData
from ranksieve.data.inputs import (
    are_numbers,
    check_all_or_none,
    group_rows,
    join_documents,
    join_positions,
    join_weights,
    widen,
)
from ranksieve.data.missing import Missing
from ranksieve.io.collecting import settle_text_ids
from ranksieve.io.shards.format import (
    MANIFEST,
    IdKind,
    Manifest,
    StoredFile,
    StoredShard,
    array_in,
    as_integers,
    as_strings,
    encode_strings,
    file_name,
    map_file,
    write_array,
    write_through,
)


@dataclass
class Piece:
    """Rows in the order of their source, in runs of equal query ids."""

    X: Any
    y: np.ndarray
    doc_ids: np.ndarray | None
    run_ids: list[Any]
    run_lengths: np.ndarray
    run_positions: Iterable[int]  # where runs begin, in numbers whose meaning depends on the source
    run_weights: np.ndarray | None = None  # of their queries; None if each counts once
    row_weights: np.ndarray | None = None
    shown: np.ndarray | None = None  # positions where documents were shown

    @classmethod
    def from_data(cls, data: RankingData, positions: Iterable[int]) -> Piece:
        """Make a piece of the rows of ``data``, with one run per query."""
        ids = data.query_ids.tolist()
        counts, weights = data.group_counts, data.query_weights
        of_rows = data.row_weights, data.positions
        return cls(data.X, data.y, data.doc_ids, ids, counts, positions, weights, *of_rows)


@dataclass(eq=False)
class ReturningQueryError(Exception):
    """A query has more rows after its shard was written."""

    query: Any
    first: int
    again: int


@dataclass
class _Draft:
    """A written shard without the parts that are known only at the end of the data."""

    number: int
    rows: int
    queries: int
    width: int
    doc_kind: IdKind | None
    files: dict[str, StoredFile] = field(default_factory=dict)


class _Part(NamedTuple):
    """Rows of a piece that belong to one shard."""

    X: Any
    y: np.ndarray
    doc_ids: np.ndarray | None
    row_weights: np.ndarray | None
    positions: np.ndarray | None


class ShardFiller:
    """Collect rows and write them to a directory, one shard at a time.

    A shard ends at the first new query after ``shard_bytes`` are reached, regardless of where
    pieces begin and end. Until then, rows of its queries may arrive in any order; they are grouped
    like those of a :class:`RankingData`. This needs memory for a few shards, and for the id and
    position of every query.

    Some facts are known only at the end: the number of features, whether all ids are integers, and
    whether there are document ids or weights. :meth:`finish` rewrites earlier shards accordingly,
    one at a time, and writes query ids.
    """

    def __init__(
        self,
        directory: Path,
        *,
        shard_bytes: int,
        dtype: np.dtype[Any],
        is_sparse: bool,
        width: int = 0,
        missing: Missing | None = None,
    ) -> None:
        if shard_bytes < 1:
            raise ValueError(f"shard_bytes must be at least 1, got {shard_bytes}")
        self.dtype = dtype
        self.is_sparse = is_sparse
        self.width = width  # number of features known so far; later pieces may be wider
        self.missing = missing  # how missing values are filled in
        # Query -> position of its first row, for all queries so far, in the order of the shards.
        self.positions: dict[Any, int] = {}
        self._heaviest = 0.0
        self._directory = directory
        self._drafts: list[_Draft] = []
        self.shard_bytes = shard_bytes  # minimum size of every shard except the last
        self._begin_shard()

    def _begin_shard(self) -> None:
        self._open: dict[Any, int] = {}  # query that may get more rows -> its number in the shard
        self._weights: list[float | None] = []  # of the queries; None if not given
        self._runs: list[tuple[int, int]] = []  # number of the query, length
        self._parts: list[_Part] = []
        self._bytes = 0

    def add(self, piece: Piece) -> None:
        """Add the rows of a piece; raise ReturningQueryError if the shard of one was written."""
        X = self._to_stored_type(piece.X)
        self.width = max(self.width, X.shape[1])
        lengths = piece.run_lengths.tolist()
        sizes = self._run_bytes(X, piece.run_lengths)
        unknown = [None] * len(lengths)
        weights = unknown if piece.run_weights is None else piece.run_weights.tolist()
        begin = end = 0
        for query, position, length, size, weight in zip(
            piece.run_ids, piece.run_positions, lengths, sizes, weights, strict=True
        ):
            if query not in self._open:
                if query in self.positions:
                    raise ReturningQueryError(query, self.positions[query], position)
                if self._bytes >= self.shard_bytes:
                    self._keep(piece, X, begin, end)
                    self.flush()
                    begin = end
                self.positions[query] = position
                self._open[query] = len(self._weights)
                self._weights.append(weight)
            number = self._open[query]
            if self._weights[number] != weight:
                raise DataError(
                    "sample_weight must be the same for all rows of a query; that of query "
                    f"{query!r} is {self._weights[number]} and {weight}"
                )
            self._runs.append((number, length))
            self._bytes += size
            end += length
        self._keep(piece, X, begin, end)

    def close_queries(self) -> None:
        """Accept no further rows of the queries so far."""
        self._open.clear()

    def flush(self) -> None:
        """Write the collected rows, if any, as a shard."""
        if not self._runs:
            return
        numbers, lengths = np.array(self._runs).T
        order, query_ptr = group_rows(np.repeat(numbers, lengths))
        matrices, labels, documents, *of_rows = map(list, zip(*self._parts, strict=True))
        self._parts.clear()
        lengths = list(map(len, labels))
        X = self._join_rows(matrices)
        y, doc_ids = np.concatenate(labels), join_documents(documents, lengths)
        joined = [join_weights(of_rows[0], lengths), join_positions(of_rows[1])]
        if order is not None:
            X, y = X[order], y[order]
            doc_ids, *joined = (None if a is None else a[order] for a in (doc_ids, *joined))
        if self.missing is not None:
            X = self.missing.applied_to(X, query_ptr)
        stored_documents, kind = _as_ids(doc_ids)
        draft = _Draft(len(self._drafts), len(y), len(query_ptr) - 1, X.shape[1], kind)
        self._drafts.append(draft)
        self._write_matrix(draft, X)
        self._write(draft, "y", y)
        self._write(draft, "query_ptr", query_ptr)
        weights = np.array([1.0 if weight is None else weight for weight in self._weights])
        self._heaviest = max(self._heaviest, weights.max())
        if any(weight is not None for weight in self._weights):
            self._write(draft, "query_weights", weights)
        for role, values in zip(("row_weights", "positions"), joined, strict=True):
            if values is not None:
                self._write(draft, role, values)
        self._write_ids(draft, "doc_id", stored_documents)
        self._begin_shard()

    def finish(self, names: list[str] | None, *, ids_are_text: bool = False) -> None:
        """Write the last shard, give all shards the same width and ids, and write the manifest.

        Query ids that were read as text become integers if all of them are whole numbers.
        """
        self.flush()
        if self._heaviest == 0:
            raise DataError("sample_weight must not be 0 for all queries")
        queries = list(self.positions)
        settled = settle_text_ids(np.array(queries, dtype=object)) if ids_are_text else queries
        query_ids, query_kind = _as_ids(settled)
        _check_distinct(queries, query_ids, query_kind)
        kinds = {draft.doc_kind for draft in self._drafts}
        doc_kind = kinds.pop() if len(kinds) == 1 else "str"
        lengths = {
            "query_weights": [draft.queries for draft in self._drafts],
            "row_weights": [draft.rows for draft in self._drafts],
        }
        has = {
            role: [role in draft.files for draft in self._drafts]
            for role in (*lengths, "positions")
        }
        check_all_or_none(has["positions"], "shard")
        for role, own in lengths.items():
            for draft, length in zip(self._drafts, own, strict=True):
                if any(has[role]) and role not in draft.files:
                    self._write(draft, role, np.ones(length))
        first = 0
        for draft in self._drafts:
            if not self.is_sparse and draft.width < self.width:
                shape = (draft.rows, draft.width)
                narrow = self._open_written(draft, "X", shape, self.dtype.name)
                self._write(draft, "X", widen(narrow, self.width))
            if draft.doc_kind != doc_kind:
                texts = [""] * draft.rows
                if draft.doc_kind == "int":
                    numbers = self._open_written(draft, "doc_ids", (draft.rows,), "int64")
                    texts = as_strings(numbers)
                self._write_ids(draft, "doc_id", texts)
            self._write_ids(draft, "query_id", query_ids[first : first + draft.queries])
            first += draft.queries
        manifest = Manifest(
            data_id=uuid.uuid4().hex,
            n_rows=sum(draft.rows for draft in self._drafts),
            n_queries=first,
            n_features=self.width,
            dtype="float32" if self.dtype == np.float32 else "float64",
            sparse=self.is_sparse,
            feature_names=None if names is None or are_numbers(names) else names,
            query_ids=query_kind,
            doc_ids=doc_kind,
            weights=any(has["query_weights"]),
            row_weights=any(has["row_weights"]),
            positions=any(has["positions"]),
            shards=[StoredShard(draft.rows, draft.queries, draft.files) for draft in self._drafts],
        )
        write_through(self._directory / MANIFEST, manifest.to_json().encode())

    def _write_matrix(self, draft: _Draft, X: Any) -> None:
        if not self.is_sparse:
            self._write(draft, "X", X)
            return
        X.sum_duplicates()  # also sorts, which readers of read-only maps cannot do
        # The same type for both, because scipy would otherwise convert and copy one of them.
        index = sparse.get_index_dtype(maxval=max(X.nnz, X.shape[1]))
        self._write(draft, "data", X.data)
        self._write(draft, "indices", X.indices.astype(index, copy=False))
        self._write(draft, "indptr", X.indptr.astype(index, copy=False))

    def _write_ids(self, draft: _Draft, what: str, ids: np.ndarray | list[str] | None) -> None:
        if isinstance(ids, list):
            text, offsets = encode_strings(ids)
            self._write(draft, f"{what}s", text)
            self._write(draft, f"{what}_offsets", offsets)
        elif ids is not None:
            self._write(draft, f"{what}s", ids)

    def _write(self, draft: _Draft, role: str, array: np.ndarray) -> None:
        path = self._directory / file_name(draft.number, role)
        draft.files[role] = write_array(path, array)

    def _open_written(
        self, draft: _Draft, role: str, shape: tuple[int, ...], dtype: str
    ) -> np.ndarray:
        path = self._directory / draft.files[role].name
        return array_in(map_file(path), path, shape, dtype)

    def _to_stored_type(self, X: Any) -> Any:
        if self.is_sparse and not sparse.issparse(X):
            X = sparse.csr_matrix(X)
        elif not self.is_sparse and sparse.issparse(X):
            X = X.toarray()
        if X.dtype == self.dtype:
            return X
        with np.errstate(over="ignore"):
            stored = X.astype(self.dtype)
        values, stored_values = (m.data if self.is_sparse else m for m in (X, stored))
        if np.any(np.isinf(stored_values) & np.isfinite(values)):
            raise DataError(f"a feature value is too large for {self.dtype}")
        return stored

    def _run_bytes(self, X: Any, run_lengths: np.ndarray) -> list[int]:
        if not self.is_sparse:
            row_bytes = self.width * self.dtype.itemsize + 8
            return (run_lengths * row_bytes).tolist()
        ends = np.cumsum(run_lengths)
        n_entries = X.indptr[ends].astype(np.int64) - X.indptr[ends - run_lengths]
        return (n_entries * (self.dtype.itemsize + 4) + run_lengths * 12).tolist()

    def _keep(self, piece: Piece, X: Any, begin: int, end: int) -> None:
        if begin < end:
            others = piece.doc_ids, piece.row_weights, piece.shown
            own = (None if values is None else values[begin:end] for values in others)
            self._parts.append(_Part(X[begin:end], piece.y[begin:end], *own))

    def _join_rows(self, parts: list[Any]) -> Any:
        """Join all rows at the current width, releasing the parts one by one."""
        if self.is_sparse:
            return sparse.vstack([widen(part, self.width) for part in parts], format="csr")
        if len(parts) == 1 and parts[0].shape[1] == self.width:
            return parts[0]
        joined = np.zeros((sum(map(len, parts)), self.width), dtype=self.dtype)
        end = len(joined)
        while parts:
            part = parts.pop()
            joined[end - len(part) : end, : part.shape[1]] = part
            end -= len(part)
        return joined


def _as_ids(ids: np.ndarray | list[Any] | None) -> tuple[Any, Any]:
    """Ids as they are stored, integers or a list of texts, and which of these they are."""
    if ids is None:
        return None, None
    integers = as_integers(ids)
    return (as_strings(ids), "str") if integers is None else (integers, "int")


def _check_distinct(queries: list[Any], ids: Iterable[Any], kind: IdKind) -> None:
    """Raise a DataError if two queries have the same id as it is stored."""
    query_of: dict[Any, Any] = {}
    for query, stored in zip(queries, ids, strict=True):
        if stored in query_of:
            form = "text" if kind == "str" else "a number: write it in one way"
            raise DataError(
                f"queries {query_of[stored]!r} and {query!r} have the same id as {form}"
            )
        query_of[stored] = query
