"""Read small tables that people write: rows of a few columns, and groups of features."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from ranksieve.data import DataError
from ranksieve.data.frames import arrow_columns
from ranksieve.data.inputs import is_frame
from ranksieve.io.files import explain_read_errors, open_decompressed, open_regular
from ranksieve.io.formats import delimiter_of, is_parquet
from ranksieve.io.parquet import explain_parquet_errors
from ranksieve.io.records import PathLike, convert_record, locate_errors, read_record


class TableRow(NamedTuple):
    """A row of a table."""

    place: str  # for messages: ``file:line``, or ``file: row N``, counted from 1
    values: dict[str, Any]  # by column; text if the table is text

    def text(self, column: str) -> str:
        """Name in a column as text, also of an integer; empty if it is missing."""
        value = self.values.get(column)
        if not isinstance(value, (str, int, NoneType)) or isinstance(value, bool):
            raise DataError(f"{self.place}: the {column} must be a name, not {value!r:.60}")
        return "" if value is None else str(value)


def read_table_rows(
    path: PathLike, needed: Sequence[str], optional: Sequence[str] = ()
) -> list[TableRow]:
    """Read the rows of a small table: CSV, TSV (``.tsv``) or Parquet (``.parquet``).

    Text may be compressed (``.gz``, ``.zst``). Columns may be in any order, and names in any case;
    other columns than those needed or optional are refused.
    """
    path = Path(path)
    if is_parquet(path):
        return _rows_of_table(_read_parquet(path), str(path), needed, optional)
    try:
        with explain_read_errors(path), open_regular(path) as file:
            text = io.TextIOWrapper(open_decompressed(file, path), encoding="utf-8-sig", newline="")
            rows = csv.reader(text, delimiter=delimiter_of(path), strict=True)
            return list(_rows_of_text(rows, path, needed, optional))
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text") from None


def rows_of_frame(
    frame: Any, what: str, needed: Sequence[str], optional: Sequence[str] = ()
) -> list[TableRow]:
    """Rows of a frame of pandas or polars, or a table of pyarrow; messages name it ``what``."""
    if not is_frame(frame):
        raise DataError(f"{what}: expected a frame of pandas, polars or pyarrow")
    columns = arrow_columns(frame)
    for name, values in columns.items():
        if values is None:
            raise DataError(
                f"{what}: column {name!r} has values of several types; convert them to one"
            )
    listed = {name: values.to_pylist() for name, values in columns.items()}
    return _rows_of_table(listed, what, needed, optional)


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    import pyarrow.parquet as pq

    with (
        explain_parquet_errors(path),
        pq.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        table = file.read()
        return {name: table[index].to_pylist() for index, name in enumerate(table.schema.names)}


def _rows_of_table(
    columns: dict[str, list[Any]], place: str, needed: Sequence[str], optional: Sequence[str]
) -> list[TableRow]:
    names = _check_header(list(columns), place, needed, optional)
    rows = zip(*columns.values(), strict=True)
    return [
        TableRow(f"{place}: row {number}", dict(zip(names, row, strict=True)))
        for number, row in enumerate(rows, start=1)
    ]


def _rows_of_text(
    rows: Any, path: Path, needed: Sequence[str], optional: Sequence[str]
) -> Iterator[TableRow]:
    try:
        names = _check_header(next(rows, []), f"{path}:1", needed, optional)
        for row in rows:
            place = f"{path}:{rows.line_num}"
            if row and len(row) != len(names):
                raise DataError(f"{place}: expected {len(names)} fields, found {len(row)}")
            if row:
                yield TableRow(place, dict(zip(names, row, strict=True)))
    except csv.Error as error:
        raise DataError(f"{path}:{rows.line_num}: not CSV: {error}") from None


def _check_header(
    header: Sequence[str], place: str, needed: Sequence[str], optional: Sequence[str]
) -> list[str]:
    names = [name.strip().lower() for name in header]
    known = {*needed, *optional}
    if len(set(names)) < len(names) or not set(needed) <= set(names) <= known:
        also = f", and {' and '.join(optional)} if there are any" if optional else ""
        raise DataError(f"{place}: the columns should be {' and '.join(needed)}{also}")
    return names


def read_groups(path: PathLike) -> dict[str, list[str]]:
    """Read groups of features: name of each group -> names of its features.

    A file ``.json`` has an object of lists of features, or a list of such lists; others are tables
    with the columns ``feature`` and ``group``. Features without names are named by their numbers:
    1 for the first.
    """
    if Path(path).suffix == ".json":
        return _groups_of_json(read_record(path), path)
    groups: dict[str, list[str]] = {}
    for row in read_table_rows(path, ("feature", "group")):
        for what in ("feature", "group"):
            if not row.text(what):
                raise DataError(
                    f"{row.place}: the {what} has no name; leave out ungrouped features"
                )
        groups.setdefault(row.text("group"), []).append(row.text("feature"))
    return groups


def _groups_of_json(record: Any, path: PathLike) -> dict[str, list[str]]:
    if isinstance(record, list):
        record = {str(number): features for number, features in enumerate(record, start=1)}
    groups: dict[str, list[str | int]] = {}
    with locate_errors(path, "; groups are lists of names of features"):
        groups = convert_record(record, dict[str, list[str | int]])
    return {name: [str(feature) for feature in features] for name, features in groups.items()}
