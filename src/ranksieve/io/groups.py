"""Groups of features that come and go together, as people write them: JSON or CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.files import READ_ERRORS, explain_os_error
from ranksieve.io.records import PathLike, read_record

_HEADER = ["feature", "group"]


def read_groups(path: PathLike) -> dict[str, list[str]]:
    r"""Read groups of features: name of each group -> names of its features.

    Parameters
    ----------
    path : str or path
        ``.json``: an object of lists of features, or a list of such lists. Anything else is CSV
        with the columns ``feature`` and ``group`` (``.tsv``: separated by tabs). A number is the
        name that features without names have: 1 for the first one.

    Raises
    ------
    DataError
        ``file:line: what is wrong``, or ``file: what is wrong`` where there is no one line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve.io.groups import read_groups
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "groups.csv"
    >>> _ = path.write_text("feature,group\nbm25_title,bm25\nbm25_body,bm25\nclicks,log\n")
    >>> read_groups(path)
    {'bm25': ['bm25_title', 'bm25_body'], 'log': ['clicks']}
    """
    if Path(path).suffix == ".json":
        return _from_json(read_record(path), path)
    delimiter = "\t" if Path(path).suffix == ".tsv" else ","
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            return _from_rows(csv.reader(file, delimiter=delimiter, strict=True), path)
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text") from None
    except READ_ERRORS as error:
        raise DataError(f"{path}: {explain_os_error(error)}") from error


def _from_json(record: Any, path: PathLike) -> dict[str, list[str]]:
    if isinstance(record, list):
        record = {str(number): features for number, features in enumerate(record, start=1)}
    if not isinstance(record, dict):
        raise DataError(f"{path}: groups should be an object of lists of features")
    for name, features in record.items():
        named = isinstance(features, list) and all(type(f) in (str, int) for f in features)
        if not named:
            raise DataError(f"{path}: group {name!r:.40} should be a list of names of features")
    return {name: [str(feature) for feature in features] for name, features in record.items()}


def _from_rows(rows: Any, path: PathLike) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    try:
        columns = [name.strip().lower() for name in next(rows, [])]
        if sorted(columns) != sorted(_HEADER):
            raise DataError(f"{path}:1: the columns should be feature and group")
        for row in rows:
            if row and len(row) != 2:
                raise DataError(f"{path}:{rows.line_num}: expected 2 fields, found {len(row)}")
            if row:
                told = dict(zip(columns, row, strict=True))
                groups.setdefault(told["group"], []).append(told["feature"])
    except csv.Error as error:
        raise DataError(f"{path}:{rows.line_num}: not CSV: {error}") from None
    return groups
