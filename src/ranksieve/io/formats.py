"""The format of files, by their names: LETOR text, Parquet, CSV, or feature logs of engines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranksieve.data.columns import Columns
from ranksieve.data.errors import DataError

if TYPE_CHECKING:
    from ranksieve.data import RankingData
    from ranksieve.data.columns import ColumnsLike
    from ranksieve.io.tables import TableFile, Tables

TEXT_OPTIONS = ("n_features", "zero_based")
"""Options of :func:`read_letor` that do not apply to other formats."""


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its name."""
    return path.suffix in (".parquet", ".pq")


def is_delimited(path: Path) -> bool:
    """Whether a file is CSV or TSV, possibly compressed, by its name."""
    return _unpacked_suffix(path) in (".csv", ".tsv")


def delimiter_of(path: Path) -> str:
    """Character that separates the fields of CSV or TSV, by the name of the file."""
    return "\t" if _unpacked_suffix(path) == ".tsv" else ","


def is_feature_log(path: Path) -> bool:
    """Whether a file is JSON, possibly compressed, by its name: responses of an engine."""
    return _unpacked_suffix(path) in (".json", ".jsonl", ".ndjson")


def _unpacked_suffix(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix in (".gz", ".zst") else path.suffix


def are_tables(paths: Sequence[Path]) -> bool:
    """Whether all files are Parquet or CSV; raises a DataError if only some are."""
    tables = [path for path in paths if is_parquet(path) or is_delimited(path)]
    if tables and len(tables) < len(paths):
        other = next(path for path in paths if path not in tables)
        raise DataError(f"{other}: LETOR text cannot be joined with {tables[0]}, which has columns")
    return bool(tables)


def open_if_tables(
    paths: Sequence[Path],
    columns: ColumnsLike,
    options: Mapping[str, Any],
    aside: Sequence[str] = (),
) -> Tables | None:
    """Open Parquet or CSV files with the same columns; return None if the files are LETOR text.

    Raises a DataError if ``columns`` or ``options`` are given for the other of these formats.
    """
    if not are_tables(paths):
        check_no_options(paths[0], "LETOR text", columns)
        return None
    check_no_options(paths[0], "Parquet and CSV", text_options=options)
    from ranksieve.io.tables import Tables

    return Tables(list(map(open_table, paths)), columns, aside)


def open_table(path: Path) -> TableFile:
    """Open a Parquet, CSV or TSV file."""
    from ranksieve.io.delimited import DelimitedTable
    from ranksieve.io.parquet import ParquetTable

    return DelimitedTable(path) if is_delimited(path) else ParquetTable(path)


def read_data(
    paths: Sequence[Path], columns: ColumnsLike = None, *, judgments: Any = None, **options: Any
) -> RankingData:
    """Read files of one format, recognized by their names: Parquet, CSV, TSV, or else LETOR text.

    With ``judgments`` they are feature logs. ``columns`` is for Parquet and CSV. ``options`` are
    those of :func:`read_letor`; other readers take only ``sparse`` and ``dtype`` of them.
    """
    from ranksieve.io.feature_logs import read_feature_log
    from ranksieve.io.letor import read_letor

    if judgments is not None:
        check_no_options(paths[0], "feature logs", columns, options)
        return read_feature_log(paths, judgments, **stored_options(options))[0]
    for path in filter(is_feature_log, paths):
        raise DataError(
            f"{path}: a feature log needs judgments: ranksieve convert {path} data.parquet "
            "--judgments FILE"
        )
    tables = open_if_tables(paths, columns, options)
    if tables is None:
        return read_letor(paths, **options)
    return tables.read(**stored_options(options))[0]


def stored_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of :func:`read_letor` that other readers also take: how values are stored."""
    return {name: options[name] for name in ("sparse", "dtype") if options.get(name)}


def check_no_options(
    place: Any,
    what: str,
    columns: ColumnsLike = None,
    text_options: Mapping[str, Any] | None = None,
) -> None:
    """Raise a DataError if options are given that do not apply to some kind of data.

    ``columns`` do not apply to data without columns, and those of ``text_options`` that number
    features do not apply to data other than LETOR text.
    """
    columns = replace(Columns.make(columns), cost_unit=None)
    if columns:
        other = "; --selection applies a selection" if columns.features else ""
        raise DataError(
            f"{place}: leave out {_flags(columns.as_dict())}: only Parquet, CSV and frames have "
            f"columns, not {what}{other}"
        )
    options = text_options or {}
    found = {name: options.get(name) for name in TEXT_OPTIONS}
    unfit = [name for name, value in found.items() if value is not None and value is not False]
    if unfit:
        raise DataError(f"{place}: leave out {_flags(unfit)}: only for LETOR text, not for {what}")


def _flags(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def write_data(data: RankingData, path: Path) -> None:
    """Write a file: Parquet if its name ends in ``.parquet`` or ``.pq``, else LETOR text."""
    from ranksieve.io.letor import write_letor
    from ranksieve.io.parquet import write_parquet

    if is_delimited(path):
        raise DataError(f"{path}: CSV cannot be written; write Parquet (.parquet) instead")
    (write_parquet if is_parquet(path) else write_letor)(data, path)
