"""Open data from anything that a user names: arrays, frames, shards, a collection or files.

Studies get it with its division into training, validation and test queries, if it has one.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import ColumnsLike
from ranksieve.data.frames import read_frame
from ranksieve.data.inputs import is_frame
from ranksieve.data.joining import with_features_of
from ranksieve.datasets.collections import Collection, open_collection
from ranksieve.datasets.fold_files import Fold, FoldFiles, fold_reader
from ranksieve.datasets.split_rules import DividedData, SplitRule
from ranksieve.io.formats import (
    TEXT_OPTIONS,
    are_tables,
    check_no_options,
    open_if_tables,
    read_data,
    stored_options,
)
from ranksieve.io.shards import Shards, Verify, open_shards
from ranksieve.io.shards.format import MANIFEST
from ranksieve.text import quantity

DEMO = "embedded demo"


def open_data(
    source: Any = None,
    *,
    columns: ColumnsLike = None,
    client: Any = None,
    verify: Verify = "first-read",
    **read_options: Any,
) -> RankingData | Shards | Collection:
    """Open data; frames and files are read, shards and collections are not read yet.

    Parameters
    ----------
    source : RankingData, Shards, Collection, frame, path, or several paths of files
        A path names a file, files by a pattern such as ``"part-*.parquet"``, the directory of a
        collection, or one of shards. Several files are one data set. By default the embedded demo.
    columns : Columns or path, optional
        Roles of the columns of Parquet and CSV files and of frames.
    client : distributed.Client, optional
        Client of a Dask cluster, to work on shards there.
    verify : {"first-read", True, False}
        When checksums of shards are compared; see :func:`ranksieve.open_shards`.
    **read_options
        For files of text; see :func:`ranksieve.io.letor.read_letor`. With ``judgments``, files are
        feature logs of search engines; see :func:`ranksieve.io.feature_logs.read_feature_log`.

    Examples
    --------
    >>> from ranksieve.datasets.opening import open_data
    >>> open_data().n_queries
    300
    """
    if source is None:
        from ranksieve.datasets.demo import load_demo

        check_no_options(DEMO, "the demo", columns, read_options)
        return load_demo()[0]
    if isinstance(source, (Collection, RankingData, Shards)):
        is_read = not isinstance(source, Collection)
        check_no_options(title_of(source), "such data", columns, read_options if is_read else None)
        return source
    if is_frame(source):
        check_no_options(title_of(source), "frames", text_options=read_options)
        return RankingData.from_frame(source, columns)
    paths = paths_of(source)
    if not paths:
        raise DataError(
            "data must be a RankingData, shards, a collection, a frame or paths, not "
            f"{type(source).__name__}; make one of arrays with RankingData(X, y, qid)"
        )
    if are_shards(paths):
        check_no_options(paths[0], "shards", columns, read_options)
        return open_shards(paths[0], client=client, verify=verify)
    if len(paths) == 1 and paths[0].is_dir():
        return open_collection(paths[0])
    return read_data(paths, columns, **read_options)


@contextmanager
def open_source(source: Any = None, **options: Any) -> Iterator[RankingData | Shards]:
    """Context manager: open data like :func:`open_data`, but read collections; closes shards."""
    data = open_data(source, **options)
    if isinstance(data, Collection):
        of_shards = ("client", "verify")
        yield data.read_all(**{n: v for n, v in options.items() if n not in of_shards})
    elif isinstance(data, Shards) and data is not source:  # shards of the caller stay open
        with data:
            yield data
    else:
        yield data


def open_in_memory(source: Any = None, **options: Any) -> RankingData | Collection:
    """Open data like :func:`open_data`, but read shards into memory."""
    data = open_data(source, **options)
    if not isinstance(data, Shards):
        return data
    with nullcontext() if data is source else data:
        return data.read()


def read_whole(source: Any = None, **options: Any) -> RankingData:
    """Read all queries into memory; the parts of a collection's first fold are joined."""
    with open_source(source, **options) as data:
        return data.read() if isinstance(data, Shards) else data


def open_for_study(
    source: Any = None,
    *,
    split: SplitRule | None = None,
    pool: bool = False,
    columns: ColumnsLike = None,
    **read_options: Any,
) -> RankingData | Collection | DividedData:
    """Open data in memory, with its given division or one by a rule.

    The source is whatever :func:`open_data` opens, or a tuple ``(train, test)`` or
    ``(train, vali, test)``, a split into such parts. A rule divides a table by one of its columns.
    Several files are one data set, whose queries are divided together, only with ``pool``.
    """
    if isinstance(source, tuple):
        if split is not None:
            raise DataError("give either training and test data, or a split by a column, not both")
        return _open_parts(source, {"columns": columns, **read_options})
    if split is not None:
        data, values = _read_with_column(source, split.column, columns, read_options)
        return split.divide(data, values[data.row_order])
    paths = paths_of(source)
    if len(paths) > 1 and not pool:
        shown = ", ".join(map(str, paths[:4])) + (" ..." if len(paths) > 4 else "")
        raise DataError(
            f"{quantity(len(paths), 'file')} are given as data ({shown}): to divide all of their "
            "queries together, use --pool (pool=True); to train on one and test on another, "
            f"use {paths[0]} --test {paths[1]} (in Python, a tuple (train, test))"
        )
    return open_in_memory(source, columns=columns, **read_options)


def _open_parts(parts: tuple[Any, ...], options: dict[str, Any]) -> DividedData:
    if len(parts) not in (2, 3):
        raise DataError(
            f"a tuple of {len(parts)} is not a split: give (train, test) or (train, vali, test); "
            "several files that are one data set are a list"
        )
    train, vali, test = parts if len(parts) == 3 else (parts[0], None, parts[1])
    roles = {"training": train, "validation": vali, "test": test}
    parts_by_role = {role: part for role, part in roles.items() if part is not None}
    if train is None or test is None:
        raise DataError("a split needs training and test data, but one of them is None")
    paths = {role: paths_of(part) for role, part in parts_by_role.items()}
    if all(own and not any(path.is_dir() for path in own) for own in paths.values()):
        files = FoldFiles("Split", *(tuple(paths.get(role, ())) for role in roles))
        reader = fold_reader(files, **options)
    else:
        fold = _read_parts(parts_by_role, options)
        reader = lambda: fold  # noqa: E731
    return DividedData("one split, as given", ["Split"], [reader], vali is not None)


def _read_parts(parts_by_role: dict[str, Any], options: dict[str, Any]) -> Fold:
    own = {role: options_for(part, options) for role, part in parts_by_role.items()}
    used = {name for names in own.values() for name in names}
    # An option that applies to no part is refused when the training data is opened.
    own["training"] |= {name: value for name, value in options.items() if name not in used}
    opened: dict[str, RankingData] = {}
    for role, part in parts_by_role.items():
        data = open_in_memory(part, **own[role])
        if isinstance(data, Collection):
            raise DataError(
                f"the {role} data is the directory of a collection; name its files instead"
            )
        opened[role] = data
    train = opened["training"]
    aligned = {
        role: _like_training(data, train, f"the {role} data") for role, data in opened.items()
    }
    return train, aligned.get("validation"), aligned["test"]


def _like_training(data: RankingData, train: RankingData, place: str) -> RankingData:
    """Data with the features of the training data, including indicators of missing values."""
    if data.missing is None and train.missing is not None and train.missing.indicated:
        n_original = train.n_features - len(train.missing.indicated)
        originals = train.take_queries([0]).take_features(np.arange(n_original))
        data = with_features_of(data, originals, place).with_missing(train.missing)
    return with_features_of(data, train, place)


def _read_with_column(
    source: Any, column: str, columns: ColumnsLike, read_options: dict[str, Any]
) -> tuple[RankingData, Any]:
    if is_frame(source):
        check_no_options(title_of(source), "frames", text_options=read_options)
        data, aside = read_frame(RankingData, source, columns, [column])
        return data, aside[column]
    paths = paths_of(source)
    tables = None
    if are_table_files(paths):
        tables = open_if_tables(paths, columns, read_options, [column])
    if tables is None:
        raise DataError(f"to split by column {column!r}, data must be Parquet, CSV or a frame")
    data, aside = tables.read(**stored_options(read_options))
    return data, aside[column]


def title_of(source: Any) -> str:
    """Title of data for headings: its first path, or its size."""
    if source is None:
        return DEMO
    if isinstance(source, Collection):
        return source.name
    if isinstance(source, (RankingData, Shards)):
        return quantity(source.n_queries, "query", "queries")
    if is_frame(source):
        return f"a frame of {quantity(len(source), 'row')}"
    first, *others = _paths_and_patterns(source)
    return str(first) + (f" and {quantity(len(others), 'more file')}" if others else "")


def paths_of(source: Any) -> list[Path]:
    """The files or the directory that data is read from; empty if it is not read from any.

    A name that is not a file is a pattern, which stands for all files that match it, in
    alphabetical order.
    """
    return [path for name in _paths_and_patterns(source) for path in _matching(name)]


def _paths_and_patterns(source: Any) -> list[Path]:
    """Paths and patterns as they were given; empty if the source is neither."""
    named = source if isinstance(source, (list, tuple)) else [source]
    is_named = all(isinstance(path, (str, os.PathLike)) for path in named)
    return [Path(path) for path in named] if is_named else []


def _matching(path: Path) -> list[Path]:
    if not glob.has_magic(str(path)) or path.exists():
        return [path]
    found = sorted(glob.glob(str(path), recursive=True))
    if not found:
        raise DataError(f"{path}: no such file, and none matches it as a pattern")
    return [Path(name) for name in found]


def are_shards(paths: Sequence[Path]) -> bool:
    """Whether paths name a directory of shards."""
    return len(paths) == 1 and (paths[0] / MANIFEST).is_file()


def are_table_files(paths: Sequence[Path]) -> bool:
    """Whether paths name Parquet or CSV files."""
    return bool(paths) and not any(path.is_dir() for path in paths) and are_tables(paths)


def are_text_files(paths: Sequence[Path]) -> bool:
    """Whether paths name LETOR text, or a collection of it."""
    return bool(paths) and not are_shards(paths) and not are_tables(files_of(paths))


def options_for(source: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options of :func:`open_data` that apply to a source."""
    is_text = are_text_files(paths_of(source))
    others = {*(() if is_text else TEXT_OPTIONS), *(() if has_columns(source) else ("columns",))}
    return {name: value for name, value in options.items() if name not in others}


def has_columns(source: Any) -> bool:
    """Whether a source is a frame, or files of tables or a directory of them."""
    paths = paths_of(source)
    is_table = bool(paths) and not are_text_files(paths) and not are_shards(paths)
    return is_frame(source) or is_table


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The paths, or the files of the collection whose directory they name."""
    if len(paths) == 1 and paths[0].is_dir():
        return list(open_collection(paths[0]).whole)
    return list(paths)
