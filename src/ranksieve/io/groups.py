"""Read groups of features that are selected together, from JSON, CSV or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.io.entries import read_entries
from ranksieve.io.records import PathLike, read_record


def read_groups(path: PathLike) -> dict[str, list[str]]:
    r"""Read groups of features: name of each group -> names of its features.

    Parameters
    ----------
    path : str or path
        ``.json``: an object of lists of features, or a list of such lists. Anything else is CSV
        with the columns ``feature`` and ``group`` (``.tsv``: separated by tabs; ``.parquet``: a
        table of Parquet). Features without names are named by their numbers: 1 for the first.

    Raises
    ------
    DataError
        If the file is not valid; the message has the file and, if possible, the line.

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
    groups: dict[str, list[str]] = {}
    for entry in read_entries(path, ("feature", "group")):
        for what in ("feature", "group"):
            if not entry.text(what):
                raise DataError(
                    f"{entry.place}: the {what} has no name; leave out ungrouped features"
                )
        groups.setdefault(entry.text("group"), []).append(entry.text("feature"))
    return groups


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
