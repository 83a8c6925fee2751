"""Read the files of folds, with the same features in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import ColumnsLike
from ranksieve.data.inputs import widen
from ranksieve.data.joining import concatenate
from ranksieve.io.files import total_size
from ranksieve.io.formats import open_if_tables, stored_options
from ranksieve.io.letor import read_letor
from ranksieve.io.tables import Tables
from ranksieve.progress import listen, track

# Data to train on, to validate on (or None) and to test on.
Fold = tuple[RankingData, RankingData | None, RankingData]


@dataclass(frozen=True)
class FoldFiles:
    """Files to train on, to validate on and to test on; each part's files are joined in order.

    ``vali`` is empty if the collection has no validation part.
    """

    name: str
    train: tuple[Path, ...]
    vali: tuple[Path, ...]
    test: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """All files: train, then validation, then test."""
        return self.train + self.vali + self.test


def fold_reader(fold: FoldFiles, **read_options: Any) -> Callable[[], Fold]:
    """Make a function that reads a fold; columns of tables are checked immediately."""
    read_parts = parts_reader(filter(None, (fold.train, fold.vali, fold.test)), **read_options)

    def read() -> Fold:
        train, *vali, test = read_parts()
        return train, vali[0] if vali else None, test

    return read


def parts_reader(
    parts: Iterable[Sequence[Path]], columns: ColumnsLike = None, **read_options: Any
) -> Callable[[], list[RankingData]]:
    """Make a function that reads parts of one or more files, with the same features in all."""
    parts = list(parts)
    tables = open_if_tables([path for part in parts for path in part], columns, read_options)
    if tables is None:
        return partial(_read_texts, parts, read_options)
    return partial(_read_tables, tables, parts, stored_options(read_options))


def _read_tables(
    tables: Tables, parts: list[Sequence[Path]], options: dict[str, Any]
) -> list[RankingData]:
    files = [[file for file in tables.files if file.path in part] for part in parts]
    missing: Any = tables.missing
    read = []
    for of_part in files:
        part = tables.read(of_part, treat=False, **options)[0]
        if missing is not None:
            part = part.with_missing(missing)
            missing = part.missing  # the first part determines which features get indicators
        read.append(part)
    return read


def _read_texts(parts: list[Sequence[Path]], read_options: dict[str, Any]) -> list[RankingData]:
    """Read each text file once and give all of them the same features, those of the widest."""
    paths = [path for part in parts for path in part]
    read = _read_each(paths, read_options)
    names = max(read, key=lambda data: data.n_features).feature_names.copy()
    for data in read:
        if data.has_feature_names:  # a header; other files may have none
            names[: data.n_features] = data.feature_names
    for data, path in zip(read, paths, strict=True):
        if data.has_feature_names and np.any(data.feature_names != names[: data.n_features]):
            raise DataError(f"{path}: its feature names differ from those of the other files")
    # Columns of zeros stand for features that a file leaves out.
    aligned = (d._replace(X=widen(d.X, len(names)), feature_names=names) for d in read)
    return [join_parts([next(aligned) for _ in part]) for part in parts]


def join_parts(parts: list[RankingData]) -> RankingData:
    """Join parts with distinct queries."""
    return parts[0] if len(parts) == 1 else concatenate(parts)


def _read_each(paths: Sequence[Path], read_options: dict[str, Any]) -> list[RankingData]:
    """Read files in turn and report progress over all of them."""
    advance = track("Reading", total_size(list(paths)))
    parts = []
    for path in paths:
        before = 0

        def forward(what: str, done: int, total: int) -> None:
            nonlocal before
            advance(done - before)
            before = done

        with listen(forward):
            parts.append(read_letor(path, **read_options))
    return parts
