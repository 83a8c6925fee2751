"""Write shards to a directory that gets its name only when it is complete."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import get_index_dtype

from ranksieve.data import Block, DataError
from ranksieve.data.inputs import widened
from ranksieve.io.files import hold_directory
from ranksieve.io.shards.format import (
    MANIFEST,
    IdKind,
    Manifest,
    StoredFile,
    StoredShard,
    as_integers,
    as_strings,
    encode_strings,
    file_name,
    is_file_name,
    map_array,
    write_array,
    write_through,
)


@dataclass
class _Draft:
    """A written shard without the parts that are known only at the end of the data."""

    number: int
    rows: int
    queries: int
    width: int
    doc_kind: IdKind | None = None
    files: dict[str, StoredFile] = field(default_factory=dict)


class ShardStore:
    """Write shards one by one, then make them consistent and list them.

    Some facts are known only at the end: the number of features, whether all ids are integers, and
    whether there are document ids or weights. :meth:`finish` rewrites earlier shards accordingly,
    one at a time, and writes query ids.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._drafts: list[_Draft] = []

    def write(self, block: Block, doc_ids: np.ndarray | None) -> None:
        """Write a shard; converts a CSR matrix to canonical form in place."""
        rows, width = block.X.shape
        draft = _Draft(len(self._drafts), rows, len(block.query_ptr) - 1, width)
        self._drafts.append(draft)
        if block.is_sparse:
            self._write_csr(draft, block.X)
        else:
            self._write(draft, "X", block.X)
        self._write(draft, "y", block.y)
        self._write(draft, "query_ptr", block.query_ptr)
        if block.query_weights is not None:
            self._write(draft, "query_weights", block.query_weights)
        if doc_ids is not None:
            integers = as_integers(doc_ids)
            draft.doc_kind = "str" if integers is None else "int"
            self._write_ids(draft, "doc_id", as_strings(doc_ids) if integers is None else integers)

    def finish(
        self,
        *,
        n_features: int,
        dtype: np.dtype[Any],
        sparse: bool,
        feature_names: list[str] | None,
        query_ids: np.ndarray | list[str],
    ) -> None:
        """Give all shards the same width and kinds of ids, and write the manifest."""
        doc_kind = self._doc_kind()
        weighted = any("query_weights" in draft.files for draft in self._drafts)
        first = 0
        for draft in self._drafts:
            if not sparse and draft.width < n_features:
                self._pad(draft, n_features)
            if draft.doc_kind != doc_kind:
                self._write_ids(draft, "doc_id", self._documents_as_strings(draft))
            if weighted and "query_weights" not in draft.files:
                self._write(draft, "query_weights", np.ones(draft.queries))
            self._write_ids(draft, "query_id", query_ids[first : first + draft.queries])
            first += draft.queries
        manifest = Manifest(
            data_id=uuid.uuid4().hex,
            n_rows=sum(draft.rows for draft in self._drafts),
            n_queries=first,
            n_features=n_features,
            dtype=np.dtype(dtype).name,
            sparse=sparse,
            feature_names=feature_names,
            query_ids="str" if isinstance(query_ids, list) else "int",
            doc_ids=doc_kind,
            weights=weighted,
            shards=[StoredShard(draft.rows, draft.queries, draft.files) for draft in self._drafts],
        )
        write_through(self._directory / MANIFEST, manifest.to_json().encode())

    def _write(self, draft: _Draft, role: str, array: np.ndarray) -> None:
        path = self._directory / file_name(draft.number, role)
        draft.files[role] = write_array(path, array)

    def _write_csr(self, draft: _Draft, X: Any) -> None:
        X.sum_duplicates()  # also sorts, which readers of read-only maps cannot do
        # The same type for both, because scipy would otherwise convert and copy one of them.
        index = get_index_dtype(maxval=max(X.nnz, X.shape[1]))
        self._write(draft, "data", X.data)
        self._write(draft, "indices", X.indices.astype(index, copy=False))
        self._write(draft, "indptr", X.indptr.astype(index, copy=False))

    def _write_ids(self, draft: _Draft, what: str, ids: np.ndarray | list[str]) -> None:
        if isinstance(ids, list):
            text, offsets = encode_strings(ids)
            self._write(draft, f"{what}s", text)
            self._write(draft, f"{what}_offsets", offsets)
        else:
            self._write(draft, f"{what}s", ids)

    def _doc_kind(self) -> IdKind | None:
        kinds = {draft.doc_kind for draft in self._drafts}
        return kinds.pop() if len(kinds) == 1 else "str"

    def _documents_as_strings(self, draft: _Draft) -> list[str]:
        if draft.doc_kind is None:
            return [""] * draft.rows
        return as_strings(map_array(self._directory / draft.files["doc_ids"].name))

    def _pad(self, draft: _Draft, width: int) -> None:
        """Rewrite a matrix with additional columns of zeros."""
        narrow = map_array(self._directory / draft.files["X"].name)
        padded = widened(narrow, width)
        del narrow  # its file is about to be replaced
        self._write(draft, "X", padded)


@contextmanager
def replace_directory_on_success(directory: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary directory to fill, which replaces ``directory`` on success.

    An error or interruption leaves the old directory unchanged. Leftovers of killed runs are
    removed.
    """
    target = Path(os.path.realpath(directory))
    _clear_leftovers(target)
    _check_target(target, overwrite)
    if not target.parent.is_dir():
        raise DataError(f"{directory}: there is no directory {target.parent}")
    token = uuid.uuid4().hex[:12]
    new, temporary, old = (
        target.with_name(f".{target.name}.{token}.{kind}") for kind in ("new", "partial", "old")
    )
    try:
        new.mkdir()
    except OSError as error:
        raise DataError(f"{directory}: cannot be written: {error.strerror}") from error
    try:
        with hold_directory(new):
            os.rename(new, temporary)  # locked before another run could see it as a leftover
            yield temporary
            _check_target(target, overwrite)  # again, because filling may have taken long
            _swap(temporary, target, old)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(temporary, ignore_errors=True)


def _clear_leftovers(target: Path) -> None:
    """Remove incomplete shards that no process has locked; restore old ones set aside."""
    mark = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{12}\.(partial|old)")
    names = os.listdir(target.parent) if target.parent.is_dir() else []
    for name in filter(mark.fullmatch, names):
        leftover = target.with_name(name)
        if leftover.is_symlink() or not all(map(_is_shard_file, os.listdir(leftover))):
            continue  # not ours
        if name.endswith(".old") and not target.exists():
            os.rename(leftover, target)
            continue
        with hold_directory(leftover) as free:
            if free:
                shutil.rmtree(leftover, ignore_errors=True)


def _is_shard_file(name: str) -> bool:
    return name == MANIFEST or is_file_name(name)


def _check_target(target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise DataError(f"{target}: is a file; shards need a directory")
    names = sorted(os.listdir(target))
    if names and not overwrite:
        raise DataError(
            f"{target}: is not empty; replace the shards in it with overwrite=True (--overwrite)"
        )
    for name in names:
        # A wrong path must not delete other files.
        if not _is_shard_file(name):
            raise DataError(
                f"{target}: contains {name!r}, which is not a file of shards, so it is not replaced"
            )


def _swap(new: Path, target: Path, old: Path) -> None:
    """Rename ``new`` to ``target``, and delete the old target only after that."""
    if not target.exists():
        os.rename(new, target)
        return
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)
