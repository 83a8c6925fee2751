"""Open data from anything that a user names: arrays, frames, shards, a collection or files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import Columns
from ranksieve.data.frames import is_frame
from ranksieve.datasets.collections import Collection, open_collection
from ranksieve.io import TEXT_OPTIONS, are_tables, check_no_options, read_data
from ranksieve.io.shards import Shards, Verify, open_shards
from ranksieve.io.shards.format import MANIFEST
from ranksieve.text import quantity

DEMO = "embedded demo"


def open_data(
    source: Any = None,
    *,
    columns: Columns | None = None,
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
    columns : Columns, optional
        Roles of the columns of Parquet and CSV files and of frames.
    client : distributed.Client, optional
        Client of a Dask cluster, to work on shards there.
    verify : {"first-read", True, False}
        When checksums of shards are compared; see :func:`ranksieve.open_shards`.
    **read_options
        For files of text; see :func:`ranksieve.io.letor.read_letor`. With ``judgments``, files are
        feature logs of search engines; see :func:`ranksieve.io.feature_logs.read_feature_log`.

    Raises
    ------
    DataError
        If the source is none of these, or cannot be read.

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
    if isinstance(source, Collection):
        check_no_options(title_of(source), "such data", columns)
        return source
    if isinstance(source, (RankingData, Shards)):
        check_no_options(title_of(source), "such data", columns, read_options)
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
def open_source(
    source: Any = None,
    *,
    columns: Columns | None = None,
    client: Any = None,
    verify: Verify = "first-read",
    **read_options: Any,
) -> Iterator[RankingData | Shards]:
    """Context manager: open data like :func:`open_data`, but read collections; closes shards."""
    data = open_data(source, columns=columns, client=client, verify=verify, **read_options)
    if isinstance(data, Collection):
        yield data.read_all(columns=columns, **read_options)
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
    paths = paths_of(source)
    is_text = are_text_files(paths)
    has_columns = is_frame(source) or (bool(paths) and not is_text and not are_shards(paths))
    others = {*(() if is_text else TEXT_OPTIONS), *(() if has_columns else ("columns",))}
    return {name: value for name, value in options.items() if name not in others}


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The paths, or the files of the collection whose directory they name."""
    if len(paths) == 1 and paths[0].is_dir():
        return list(open_collection(paths[0]).whole)
    return list(paths)
