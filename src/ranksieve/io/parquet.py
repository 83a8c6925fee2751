"""Parquet: one row per document, with columns for label, query, document and each feature."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse, vstack

from ranksieve.data import DataError, RankingData
from ranksieve.inputs import join_ids
from ranksieve.io.files import explain_os_error, replacing
from ranksieve.io.records import checksum_of
from ranksieve.progress import track

PathLike = str | os.PathLike[str]

_ROWS_PER_GROUP = 65_536
_METADATA_KEY = b"ranksieve"


def write_parquet(data: RankingData, path: PathLike) -> None:
    """Write a Parquet file that :func:`read_parquet` reads back to the same bits.

    Columns are ``label``, ``qid``, ``doc_id`` if there are document ids, and one per feature, with
    its name. An old file is replaced only when the new one is complete; a sparse matrix is
    converted to columns a group of rows at a time. Pages and the names and types of columns have
    checksums.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for reserved in ("label", "qid", "doc_id"):
        if reserved in data.feature_names:
            raise DataError(f"a feature is named {reserved!r}, like a column that Parquet needs")
    for what, ids in (("query", data.query_ids), ("document", data.doc_ids)):
        if ids is None or ids.dtype.kind != "O":
            continue
        kinds = {type(one).__name__ for one in ids}
        if len(kinds) > 1:
            raise DataError(
                f"{path}: {what} ids are of several types ({', '.join(sorted(kinds))}), but a "
                "column of Parquet has one: make all of them texts"
            )
    writer = None
    with replacing(Path(path)) as temporary:
        try:
            for start in range(0, max(data.n_rows, 1), _ROWS_PER_GROUP):
                columns = _columns(data, slice(start, start + _ROWS_PER_GROUP))
                table = pa.table(columns)
                if writer is None:
                    schema = table.schema.with_metadata(_note(table.schema, data))
                    writer = pq.ParquetWriter(temporary, schema, write_page_checksum=True)
                writer.write_table(table)
        except pa.ArrowException as error:
            raise DataError(f"{path}: {error}") from None
        finally:
            if writer is not None:
                writer.close()


def _note(schema: Any, data: RankingData) -> dict[bytes, str]:
    """What a reader could not tell otherwise: sparse storage, and damage outside of pages."""
    checksum = _schema_checksum(schema, data.n_rows)
    return {_METADATA_KEY: json.dumps({"version": 1, "sparse": data.is_sparse, "schema": checksum})}


def _schema_checksum(schema: Any, n_rows: int) -> str:
    columns = [[field.name, str(field.type)] for field in schema]
    return checksum_of({"columns": columns, "rows": n_rows})


def _columns(data: RankingData, rows: slice) -> dict[str, Any]:
    matrix = data.X[rows].toarray() if data.is_sparse else data.X[rows]
    columns: dict[str, Any] = {"label": data.y[rows], "qid": data.qid[rows]}
    if data.doc_ids is not None:
        columns["doc_id"] = data.doc_ids[rows]
    for index, name in enumerate(data.feature_names):
        columns[name] = matrix[:, index]
    return columns


def read_parquet(
    path: PathLike,
    *,
    label: str = "label",
    qid: str = "qid",
    doc_id: str = "doc_id",
    features: Sequence[str] | None = None,
    sparse: bool | None = None,
) -> RankingData:
    """Read a Parquet file with one row per document.

    Parameters
    ----------
    path : path
    label, qid, doc_id : str
        Columns with the label, the query and the document; ``doc_id`` may be missing.
    features : sequence of str, optional
        Feature columns; by default all other columns, which must be numbers.
    sparse : bool, optional
        Whether to build a CSR matrix; by default if the data was sparse when it was written.

    Returns
    -------
    RankingData
        float32 if all feature columns are, else float64; nulls become NaN.
    """
    batches = list(
        read_batches(path, label=label, qid=qid, doc_id=doc_id, features=features, sparse=sparse)
    )
    parts = [batch.X for batch in batches]
    documents = [batch.doc_ids for batch in batches if batch.doc_ids is not None]
    return RankingData(
        vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts),
        np.concatenate([batch.labels for batch in batches]),
        join_ids([batch.qid for batch in batches]),
        feature_names=batches[0].feature_names,
        doc_ids=join_ids(documents) if documents else None,
    )


class ParquetBatch(NamedTuple):
    """Some rows of a Parquet file."""

    X: Any  # array or CSR matrix
    labels: np.ndarray
    qid: np.ndarray
    doc_ids: np.ndarray | None
    feature_names: list[str]


def read_batches(
    path: PathLike,
    *,
    label: str = "label",
    qid: str = "qid",
    doc_id: str = "doc_id",
    features: Sequence[str] | None = None,
    sparse: bool | None = None,
    batch_bytes: int | None = None,
) -> Iterator[ParquetBatch]:
    """Read a Parquet file some rows at a time, at least once.

    ``batch_bytes`` bounds the feature values of a batch; the rest is as in :func:`read_parquet`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows = 0
    try:
        # Buffering ahead would hold the whole file.
        with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
            schema = file.schema_arrow
            note = _read_note(schema, file.metadata.num_rows, path)
            names = _feature_columns(schema, label, qid, doc_id, features, path)
            documents = [doc_id] if doc_id in schema.names else []
            as_csr = note.get("sparse", False) if sparse is None else sparse
            advance = track("Reading", file.metadata.num_rows)
            rows = _ROWS_PER_GROUP
            if batch_bytes is not None:
                rows = min(rows, max(1, batch_bytes // (8 * len(names) + 8)))
            columns = [label, qid, *documents, *names]
            for batch in file.iter_batches(rows, columns=columns):
                labels, ids, *doc_ids = (_values(batch, n) for n in (label, qid, *documents))
                yield ParquetBatch(
                    _part(batch, names, as_csr), labels, ids, doc_ids[0] if doc_ids else None, names
                )
                n_rows += batch.num_rows
                advance(batch.num_rows)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error
    if not n_rows:
        raise DataError(f"{path}: no rows")


def _read_note(schema: Any, n_rows: int, path: PathLike) -> dict[str, Any]:
    """What :func:`write_parquet` has noted, checked; nothing for files of others."""
    text = (schema.metadata or {}).get(_METADATA_KEY, b"{}")
    try:
        note = json.loads(text)
    except (ValueError, RecursionError):
        note = None
    if not isinstance(note, dict) or type(note.get("sparse", False)) is not bool:
        raise DataError(f"{path}: is damaged: ranksieve's note in it cannot be read")
    if note.get("schema", "") not in ("", _schema_checksum(schema, n_rows)):
        raise DataError(f"{path}: is damaged: its columns are not those that were written")
    return note


def _values(batch: Any, name: str) -> np.ndarray:
    return batch[name].to_numpy(zero_copy_only=False)


def _feature_columns(
    schema: Any, label: str, qid: str, doc_id: str, features: Sequence[str] | None, path: PathLike
) -> list[str]:
    """Names of the feature columns, checked to exist and to hold numbers."""
    import pyarrow.types as kinds

    for needed in (label, qid, *(features or ())):
        if needed not in schema.names:
            found = ", ".join(schema.names[:8]) + (" ..." if len(schema.names) > 8 else "")
            raise DataError(f"{path}: there is no column {needed!r}; columns are {found}")
    names = list(features or (n for n in schema.names if n not in (label, qid, doc_id)))
    for name in names:
        kind = schema.field(name).type
        if not (kinds.is_floating(kind) or kinds.is_integer(kind) or kinds.is_boolean(kind)):
            raise DataError(
                f"{path}: column {name!r} holds {kind}, not numbers; "
                "list the feature columns with features=[...]"
            )
    return names


def _part(batch: Any, names: list[str], as_csr: bool) -> Any:
    """Feature values of a batch of rows."""
    single = all(batch.schema.field(name).type == "float" for name in names)
    X = np.empty((batch.num_rows, len(names)), dtype=np.float32 if single else np.float64)
    for index, name in enumerate(names):
        X[:, index] = _values(batch, name)
    return csr_matrix(X) if as_csr else X
