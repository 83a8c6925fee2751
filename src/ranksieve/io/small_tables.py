"""Read small tables that people write: rows of a few columns, and groups of features."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, NoReturn

from ranksieve.data import DataError
from ranksieve.data.frames import arrow_columns
from ranksieve.data.inputs import is_frame
from ranksieve.io.files import explain_read_errors, open_decompressed, open_regular
from ranksieve.io.formats import delimiter_of, is_parquet
from ranksieve.io.parquet import explain_parquet_errors
from ranksieve.io.records import PathLike, convert_record, locate_errors, read_record
from ranksieve.text import list_names

FEATURE_NAMES = ("feature_name", "name")
"""Names that the column of features may have besides ``feature``."""


class TableRow(NamedTuple):
    """A row of a table, with the values of the columns that are used."""

    place: str  # for messages: ``file:line``, or ``file: row N``, counted from 1
    values: dict[str, Any]  # by what they are used for; text if the table is text

    def text(self, what: str) -> str:
        """Name as text, also of an integer; empty if it is missing or there is no such column."""
        value = self.values.get(what)
        if not isinstance(value, (str, int, NoneType)) or isinstance(value, bool):
            raise DataError(f"{self.place}: the {what} must be a name, not {value!r:.60}")
        return "" if value is None else str(value)


class SmallTable(NamedTuple):
    """A small table; columns that nobody asks for are ignored."""

    place: str  # of the header, for messages
    columns: Sequence[str]  # names in lower case
    rows: Sequence[tuple[str, Sequence[Any]]]  # the place and the values of each row

    def find(self, what: str, others: Sequence[str] = ()) -> str | None:
        """Find the column that is named like ``what`` or, if there is none, like one of others.

        Returns None if there is none; raises a DataError if there are several.
        """
        names = [name for name in self.columns if name in others]
        if what in self.columns:
            names = [name for name in self.columns if name == what]
        if len(names) > 1:
            self.fail_ambiguous(what, names)
        return names[0] if names else None

    def need(self, what: str, others: Sequence[str] = ()) -> str:
        """Find a column as :meth:`find` does; raises a DataError if there is none."""
        name = self.find(what, others)
        if name is None:
            named = f"named {what}" + "".join(f" or {other}" for other in others)
            among = f" among {list_names(self.columns)}" if any(self.columns) else ""
            raise DataError(f"{self.place}: no column is {named}{among}: rename one to {what!r}")
        return name

    def fail_ambiguous(self, what: str, names: Sequence[str]) -> NoReturn:
        """Raise a DataError: the column may be any of these."""
        if len(set(names)) < len(names):
            raise DataError(
                f"{self.place}: {len(names)} columns are named {names[0]!r}; rename them"
            )
        raise DataError(
            f"{self.place}: the {what} may be column {' or '.join(map(repr, names))}: rename the "
            f"right one to {what!r}"
        )

    def values(self, column: str) -> list[Any]:
        """The values of a column."""
        index = self.columns.index(column)
        return [values[index] for _, values in self.rows]

    def pick(self, columns: Mapping[str, str | None]) -> list[TableRow]:
        """Rows with the values of some columns; ``columns`` maps what they are used for to names.

        Those without a name are left out.
        """
        places = {w: self.columns.index(name) for w, name in columns.items() if name is not None}
        return [
            TableRow(place, {what: values[index] for what, index in places.items()})
            for place, values in self.rows
        ]


def read_small_table(path: PathLike) -> SmallTable:
    """Read a small table: CSV, TSV (``.tsv``) or Parquet (``.parquet``).

    Text may be compressed (``.gz``, ``.zst``).
    """
    path = Path(path)
    if is_parquet(path):
        return _table_of_columns(*_read_parquet(path), str(path))
    try:
        with explain_read_errors(path), open_regular(path) as file:
            text = io.TextIOWrapper(open_decompressed(file, path), encoding="utf-8-sig", newline="")
            return _table_of_text(csv.reader(text, delimiter=delimiter_of(path), strict=True), path)
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text") from None


def table_of_frame(frame: Any, what: str) -> SmallTable:
    """Table of a frame of pandas or polars, or a table of pyarrow; messages name it ``what``."""
    if not is_frame(frame):
        raise DataError(f"{what}: expected a frame of pandas, polars or pyarrow")
    columns = arrow_columns(frame)
    for name, values in columns.items():
        if values is None:
            raise DataError(
                f"{what}: column {name!r} has values of several types; convert them to one"
            )
    values = [column.to_pylist() for column in columns.values()]
    return _table_of_columns(list(columns), values, what)


def _read_parquet(path: Path) -> tuple[list[str], list[list[Any]]]:
    import pyarrow.parquet as pq

    with (
        explain_parquet_errors(path),
        pq.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        table = file.read()
        return table.schema.names, [column.to_pylist() for column in table.columns]


def _table_of_columns(names: Sequence[str], columns: list[list[Any]], place: str) -> SmallTable:
    rows = enumerate(zip(*columns, strict=True), start=1)
    return SmallTable(place, _plain(names), [(f"{place}: row {n}", row) for n, row in rows])


def _table_of_text(lines: Any, path: Path) -> SmallTable:
    rows: list[tuple[str, Sequence[Any]]] = []
    try:
        names: list[str] = next(lines, [])
        for row in lines:
            place = f"{path}:{lines.line_num}"
            if row and len(row) != len(names):
                raise DataError(f"{place}: expected {len(names)} fields, found {len(row)}")
            if row:
                rows.append((place, row))
    except csv.Error as error:
        raise DataError(f"{path}:{lines.line_num}: not CSV: {error}") from None
    return SmallTable(f"{path}:1", _plain(names), rows)


def _plain(names: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in names]


def read_groups(path: PathLike) -> dict[str, list[str]]:
    """Read groups of features: name of each group -> names of its features.

    A file ``.json`` has an object of lists of features, or a list of such lists; others are tables
    with the columns ``feature`` and ``group``, which is empty for features in no group. Other
    columns are ignored. Features without names are named by their numbers: 1 for the first.
    """
    if Path(path).suffix == ".json":
        return _groups_of_json(read_record(path), path)
    groups: dict[str, list[str]] = {}
    table = read_small_table(path)
    columns = {"feature": table.need("feature", FEATURE_NAMES), "group": table.need("group")}
    for row in table.pick(columns):
        if not row.text("feature"):
            raise DataError(f"{row.place}: the feature has no name")
        if row.text("group"):
            groups.setdefault(row.text("group"), []).append(row.text("feature"))
    return groups


def _groups_of_json(record: Any, path: PathLike) -> dict[str, list[str]]:
    if isinstance(record, list):
        record = {str(number): features for number, features in enumerate(record, start=1)}
    groups: dict[str, list[str | int]] = {}
    with locate_errors(path, "; groups are lists of names of features"):
        groups = convert_record(record, dict[str, list[str | int]])
    return {name: [str(feature) for feature in features] for name, features in groups.items()}
