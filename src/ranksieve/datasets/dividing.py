"""Data that comes with its division into training, validation and test queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import Columns
from ranksieve.data.frames import is_frame, read_frame
from ranksieve.data.joining import with_features_of
from ranksieve.datasets.collections import Collection
from ranksieve.datasets.fold_files import Fold, FoldFiles, fold_reader
from ranksieve.datasets.opening import (
    are_table_files,
    open_in_memory,
    options_for,
    paths_of,
    title_of,
)
from ranksieve.datasets.split_rules import SplitRule
from ranksieve.io import check_no_options, open_tables, stored_options
from ranksieve.splits import Split
from ranksieve.text import quantity

_GIVEN = "one split, as given"


@dataclass(frozen=True)
class DividedData:
    """Data with its division into training, validation and test queries."""

    rule: str  # the division in words
    names: Sequence[str]  # of the folds; one if there is one split
    readers: Sequence[Callable[[], Fold]]  # one for each fold
    has_validation: bool


def open_for_study(
    source: Any = None,
    *,
    split: SplitRule | None = None,
    pool: bool = False,
    columns: Columns | None = None,
    **read_options: Any,
) -> RankingData | Collection | DividedData:
    """Open data in memory, with its given division or one by a rule.

    Parameters
    ----------
    source : anything that :func:`~ranksieve.datasets.opening.open_data` opens, or a tuple
        A tuple ``(train, test)`` or ``(train, vali, test)`` is a split; its parts are whatever
        :func:`~ranksieve.datasets.opening.open_data` opens, except collections.
    split : SplitByColumn or SplitByTime, optional
        Rule that divides a table by one of its columns.
    pool : bool
        Whether several files are one data set, whose queries are divided together.
    columns, **read_options
        As in :func:`~ranksieve.datasets.opening.open_data`.

    Raises
    ------
    DataError
        If there are several files, and neither ``pool`` nor ``split`` is given.
    """
    if isinstance(source, tuple):
        if split is not None:
            raise DataError("give either training and test data, or a split by a column, not both")
        return _open_parts(source, {"columns": columns, **read_options})
    if split is not None:
        return _divide_by_rule(source, split, columns, read_options)
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
    given = {role: part for role, part in roles.items() if part is not None}
    if train is None or test is None:
        raise DataError("a split needs training and test data, but one of them is None")
    paths = {role: paths_of(part) for role, part in given.items()}
    if all(own and not any(path.is_dir() for path in own) for own in paths.values()):
        files = FoldFiles("Split", *(tuple(paths.get(role, ())) for role in roles))
        reader = fold_reader(files, **options)
    else:
        fold = _read_parts(given, options)
        reader = lambda: fold  # noqa: E731
    return DividedData(_GIVEN, ["Split"], [reader], vali is not None)


def _read_parts(given: dict[str, Any], options: dict[str, Any]) -> Fold:
    own = {role: options_for(part, options) for role, part in given.items()}
    used = {name for names in own.values() for name in names}
    # An option that applies to no part is refused when the training data is opened.
    own["training"] |= {name: value for name, value in options.items() if name not in used}
    opened: dict[str, RankingData] = {}
    for role, part in given.items():
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
        n_given = train.n_features - len(train.missing.indicated)
        given = train.take_queries([0]).take_features(np.arange(n_given))
        data = with_features_of(data, given, place).with_missing(train.missing)
    return with_features_of(data, train, place)


def _divide_by_rule(
    source: Any, split: SplitRule, columns: Columns | None, read_options: dict[str, Any]
) -> DividedData:
    data, values = _read_with_column(source, split.column, columns, read_options)
    division = split.divide(data, values[data.row_order])
    readers = [partial(_take, data, part) for part in division.splits]
    has_validation = all(len(part.vali) > 0 for part in division.splits)
    return DividedData(division.rule, division.names, readers, has_validation)


def _read_with_column(
    source: Any, column: str, columns: Columns | None, read_options: dict[str, Any]
) -> tuple[RankingData, Any]:
    if is_frame(source):
        check_no_options(title_of(source), "frames", text_options=read_options)
        data, aside = read_frame(RankingData, source, columns, [column])
        return data, aside[column]
    paths = paths_of(source)
    if not are_table_files(paths):
        raise DataError(f"to split by column {column!r}, data must be Parquet, CSV or a frame")
    check_no_options(paths[0], "Parquet and CSV", text_options=read_options)
    tables = open_tables(paths, columns, [column])
    data, aside = tables.read_with_aside(**stored_options(read_options))
    return data, aside[column]


def _take(data: RankingData, split: Split) -> Fold:
    train, vali, test = split.apply(data)
    return train, vali if vali.n_queries else None, test
