"""Read the files of folds, with the same features in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import Columns
from ranksieve.data.inputs import widened
from ranksieve.data.joining import concatenate
from ranksieve.io import open_if_tables, stored_options
from ranksieve.io.files import total_size
from ranksieve.io.letor import read_letor
from ranksieve.io.tables import Tables
from ranksieve.progress import listen, track
from ranksieve.splits import adjacent_parts, rotate_parts

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


def fold_reader(
    fold: FoldFiles, columns: Columns | None = None, **read_options: Any
) -> Callable[[], Fold]:
    """Make a function that reads a fold; columns of tables are checked immediately."""
    tables = open_if_tables(fold.files, columns, read_options)
    if tables is None:
        return partial(_read_texts, fold, read_options)
    return partial(_read_tables, tables, fold, stored_options(read_options))


def _read_tables(tables: Tables, fold: FoldFiles, options: dict[str, Any]) -> Fold:
    def read(paths: tuple[Path, ...]) -> RankingData:
        return tables.read([file for file in tables.files if file.path in paths], **options)

    return read(fold.train), read(fold.vali) if fold.vali else None, read(fold.test)


def _read_texts(fold: FoldFiles, read_options: dict[str, Any]) -> Fold:
    parts = iter(_read_aligned(fold.files, read_options))
    train, vali, test = ([next(parts) for _ in role] for role in (fold.train, fold.vali, fold.test))
    return join_parts(train), join_parts(vali) if vali else None, join_parts(test)


def read_parts(
    paths: Sequence[Path], columns: Columns | None = None, **read_options: Any
) -> list[RankingData]:
    """Read files, each on its own, with the same features in all of them."""
    tables = open_if_tables(paths, columns, read_options)
    if tables is None:
        return _read_aligned(paths, read_options)
    return [tables.read([file], **stored_options(read_options)) for file in tables.files]


def join_parts(parts: list[RankingData]) -> RankingData:
    """Join parts with distinct queries."""
    return parts[0] if len(parts) == 1 else concatenate(parts)


def rotate(read_joined: Callable[[], tuple[RankingData, list[int]]], turn: int) -> Fold:
    """Fold number ``turn`` (from 0) of LETOR's rotation, from joined parts and their sizes."""
    data, sizes = read_joined()
    return rotate_parts(adjacent_parts(sizes))[turn].apply(data)


def _read_aligned(paths: Sequence[Path], read_options: dict[str, Any]) -> list[RankingData]:
    """Read each text file once and give all of them the same features, those of the widest."""
    parts = _read_each(paths, read_options)
    names = max(parts, key=lambda part: part.n_features).feature_names.copy()
    for part in parts:
        if part.has_feature_names:  # a header; other files may have none
            names[: part.n_features] = part.feature_names
    return [_align(part, names, path) for part, path in zip(parts, paths, strict=True)]


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


def _align(data: RankingData, names: np.ndarray, path: Path) -> RankingData:
    """Give data the named features: columns of zeros for those that its file leaves out."""
    if data.has_feature_names and np.any(data.feature_names != names[: data.n_features]):
        raise DataError(f"{path}: its feature names differ from those of the other files")
    return data._replace(X=widened(data.X, len(names)), feature_names=names)
