"""Parquet files with one row per document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from ranksieve.data import DataError, RankingData
from ranksieve.data.categories import CategoryCodes
from ranksieve.data.columns import ColumnsLike, check_distinct, check_named
from ranksieve.data.frames import fill_features, kind_of
from ranksieve.io.files import (
    PathLike,
    as_paths,
    check_regular,
    explain_os_error,
    replace_on_success,
)
from ranksieve.io.records import checksum_of, parse_record, to_values
from ranksieve.io.tables import Tables

_ROWS_PER_GROUP = 65_536
_COLUMNS = 16  # columns at a time, at least; they fill a cache line of a row
_VALUES = _COLUMNS * _ROWS_PER_GROUP  # values at a time, at most
_METADATA_KEY = b"ranksieve"


class _Note(Struct, frozen=True):
    """What :func:`write_parquet` says of its files."""

    sparse: bool = False
    weights: bool = False
    row_weights: bool = False
    positions: bool = False
    schema: str = ""  # checksum of the names and types of the columns


def write_parquet(data: RankingData, path: PathLike) -> None:
    """Write a Parquet file that :func:`read_parquet` reads back to the same bits.

    Columns are ``label``, ``qid``, ``doc_id`` if there are document ids, ``weight`` if queries have
    weights, ``row_weight`` and ``position`` if rows have them, and one per feature, with its name.
    An old file is replaced only when the new one is complete; a sparse matrix is converted to
    columns a group of rows at a time. Pages and the names and types of columns have checksums.
    Infinite feature values are refused.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    data.check_finite(allow_missing=True)
    for reserved in ("label", "qid", "doc_id", *_optional(_note_of(data))):
        if reserved in data.feature_names:
            raise DataError(f"a feature is named {reserved!r}, like a column that Parquet needs")
    for what, ids in (("query", data.query_ids), ("document", data.doc_ids)):
        if ids is None or ids.dtype.kind != "O":
            continue
        kinds = {type(one).__name__ for one in ids}
        if len(kinds) > 1:
            raise DataError(
                f"{path}: {what} ids are of several types ({', '.join(sorted(kinds))}), but a "
                "column of Parquet has one type: convert all of them to text"
            )
    writer = None
    with replace_on_success(Path(path)) as temporary:
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
    """Metadata for readers: sparse storage, and a checksum of names and types."""
    checksum = _schema_checksum(schema, data.n_rows)
    note = msgspec.structs.replace(_note_of(data), schema=checksum)
    return {_METADATA_KEY: json.dumps({"version": 1} | to_values(note))}


def _note_of(data: RankingData) -> _Note:
    return _Note(
        data.is_sparse,
        data.query_weights is not None,
        data.row_weights is not None,
        data.positions is not None,
    )


def _optional(note: _Note) -> list[str]:
    """Columns of weights and positions."""
    names = ("weight", note.weights), ("row_weight", note.row_weights), ("position", note.positions)
    return [name for name, is_there in names if is_there]


def _schema_checksum(schema: Any, n_rows: int) -> str:
    columns = [[field.name, str(field.type)] for field in schema]
    return checksum_of({"columns": columns, "rows": n_rows})


def _columns(data: RankingData, rows: slice) -> dict[str, Any]:
    matrix = data.X[rows].toarray() if data.is_sparse else data.X[rows]
    columns: dict[str, Any] = {"label": data.y[rows], "qid": data.qid[rows]}
    if data.doc_ids is not None:
        columns["doc_id"] = data.doc_ids[rows]
    if data.query_weights is not None:
        columns["weight"] = data.query_weights[data.query_codes[rows]]
    if data.row_weights is not None:
        columns["row_weight"] = data.row_weights[rows]
    if data.positions is not None:
        columns["position"] = data.positions[rows]
    for index, name in enumerate(data.feature_names):
        columns[name] = matrix[:, index]
        if name in data.categories:
            columns[name] = _names_of(matrix[:, index], data.categories[name])
    return columns


def _names_of(codes: np.ndarray, vocabulary: Sequence[str]) -> Any:
    import pyarrow as pa

    gaps = np.isnan(codes)
    indices = pa.array(np.where(gaps, 0, codes).astype(np.int32), mask=gaps)
    return pa.DictionaryArray.from_arrays(indices, pa.array(vocabulary, pa.string()))


def read_parquet(
    path: PathLike | Sequence[PathLike],
    columns: ColumnsLike = None,
    *,
    sparse: bool | None = None,
) -> RankingData:
    """Read Parquet files with one row per document.

    Parameters
    ----------
    path : path or list of paths
        File, or files with the same columns, which are one data set.
    columns : Columns or path, optional
        Roles of the columns; by default by name. Files of :func:`write_parquet` have them.
    sparse : bool, optional
        Whether to build a CSR matrix; by default if the data was sparse when it was written.

    Returns
    -------
    RankingData
        float32 if that stores all feature columns exactly, else float64; nulls become NaN.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from ranksieve import Columns, read_parquet
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.parquet"
    >>> table = {"session": ["s", "s"], "grade": [1, 0], "bm25": [2.5, None], "price": [10, 12]}
    >>> pq.write_table(pa.table(table), path)
    >>> data = read_parquet(path, Columns(qid="session"))
    >>> data.feature_names.tolist(), data.X.tolist()
    (['bm25', 'price'], [[2.5, 10.0], [nan, 12.0]])
    """
    return Tables(list(map(ParquetTable, as_paths(path))), columns).read(sparse=sparse)[0]


class ParquetTable:
    """A Parquet file: a :class:`~ranksieve.io.tables.TableFile`, whose size is in rows."""

    ids_are_text = False
    first_row = 0

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self.path = path
        with explain_parquet_errors(path), pq.ParquetFile(path, pre_buffer=False) as file:
            schema, self.size = file.schema_arrow, file.metadata.num_rows
            check_distinct(schema.names, path)
        note = _read_note(schema, self.size, path)
        self.schema = dict(zip(schema.names, schema.types, strict=True))
        self.held = {name: kind_of(kind) for name, kind in self.schema.items()}
        self.is_sparse = note.sparse
        self.known: dict[str, str] | None = None
        if note.schema:
            own = ("label", "qid", "doc_id", *_optional(note))
            self.known = {role: role for role in own if role in self.schema}
        else:
            check_named(schema.names, path)

    def batches(
        self, numbers: Sequence[str], others: Sequence[str], rows: int
    ) -> Iterator[tuple[Any, int]]:
        """Yield batches of some columns, with the number of their rows."""
        with self._open() as file:
            for batch in file.iter_batches(rows, columns=[*numbers, *others]):
                yield batch, batch.num_rows

    def fill(self, names: Sequence[str], X: np.ndarray, codes: CategoryCodes) -> Iterator[int]:
        """Read features into an array of all rows; yield the number of columns read.

        A few columns at a time, because each open column of many rows takes a few MB; but Arrow
        looks at all columns each time.
        """
        width = max(_COLUMNS, _VALUES // max(1, min(self.size, _ROWS_PER_GROUP)))
        with self._open() as file:
            for first in range(0, len(names), width):
                some = names[first : first + width]
                row = 0
                for batch in file.iter_batches(_ROWS_PER_GROUP, columns=some):
                    columns = dict(zip(some, batch.columns, strict=True))
                    part = X[row : row + batch.num_rows, first : first + len(some)]
                    fill_features(part, columns, some, f"{self.path}: row", row, codes)
                    row += batch.num_rows
                if row != len(X):
                    raise DataError(f"{self.path}: is damaged: it has {row} rows, not {len(X)}")
                yield len(some)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Open the file, which takes time in proportion to the number of its columns."""
        import pyarrow.parquet as pq

        # Pre-buffering would read the whole file into memory, and a buffer would become as large as
        # a damaged page says that it is.
        options = dict(pre_buffer=False, memory_map=True, page_checksum_verification=True)
        with explain_parquet_errors(self.path), pq.ParquetFile(self.path, **options) as file:
            yield file


@contextmanager
def explain_parquet_errors(path: Path) -> Iterator[None]:
    """Context manager that turns errors of a file into a DataError with its name."""
    import pyarrow as pa

    try:
        check_regular(path)
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error


def _read_note(schema: Any, n_rows: int, path: PathLike) -> _Note:
    """Check and return the metadata of :func:`write_parquet`; empty for other files."""
    try:
        note = parse_record((schema.metadata or {}).get(_METADATA_KEY, b"{}"), _Note)
    except ValueError:
        raise DataError(f"{path}: is damaged: its metadata of ranksieve cannot be read") from None
    if note.schema not in ("", _schema_checksum(schema, n_rows)):
        raise DataError(f"{path}: is damaged: its columns differ from those that were written")
    return note
