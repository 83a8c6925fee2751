"""Logs of requests: how long each took, and which features it computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ranksieve.costs.units import unit_of_column
from ranksieve.data import DataError
from ranksieve.data.columns import match_columns, why_unfit
from ranksieve.data.frames import arrow_columns, fill_features, kind_of
from ranksieve.data.inputs import is_frame
from ranksieve.io.formats import are_tables, open_table
from ranksieve.text import list_names

_ROWS = 65_536
_TIME = "took"  # how the name of the column of times begins


class RequestLog(NamedTuple):
    """Requests with their times, and how often each computed each feature."""

    place: str  # for messages
    unit: str  # of the times, as the name of their column says; empty if it does not
    names: list[str]  # of the features
    times: np.ndarray  # (requests,)
    computed: np.ndarray  # (requests, features) 0/1, or for how many documents; float32
    left_out: list[str]  # columns that are neither


class _Table(NamedTuple):
    place: str
    held: Mapping[str, str]  # what columns hold, in words; empty for numbers
    first_row: int  # its number in messages
    batches: Any  # function of the names of columns that yields batches, each by column


def read_requests(
    log: Any, time_column: str | None, features: Sequence[str], ignore: Sequence[str]
) -> RequestLog:
    """Read a log of requests from a table: a Parquet, CSV or TSV file, or a frame.

    The time is in ``time_column``, by default the one whose name begins with ``took``. All others
    that ``features`` matches, by default all numbers but ids, are features.
    """
    table = _table_of_frame(log) if is_frame(log) else _table_of_file(Path(log))
    time = _time_column(table, time_column)
    ignored = {time, *match_columns(ignore, list(table.held), "ignore", table.place)}
    if features:
        named = match_columns(features, list(table.held), "features", table.place)
        for name in named:
            if table.held[name]:
                raise DataError(f"{table.place}: column {name!r} holds {table.held[name]}")
    else:
        named = [n for n, held in table.held.items() if not why_unfit(n, held, is_open=True)]
    names = [name for name in named if name not in ignored]
    if not names:
        raise DataError(f"{table.place}: no column is left to be a feature")
    X = np.concatenate(
        [np.empty((0, len(names) + 1)), *_read_rows(table, [time, *names])], dtype=np.float64
    )
    _check_numbers(X, [time, *names], table)
    if len(X) and not X[:, 0].any():
        raise DataError(f"{table.place}: all times are 0")
    left_out = [name for name in table.held if name not in (time, *names)]
    unit = unit_of_column(time)
    return RequestLog(table.place, unit, names, X[:, 0], X[:, 1:].astype(np.float32), left_out)


def _table_of_file(path: Path) -> _Table:
    if not are_tables([path]):
        raise DataError(f"{path}: a log of requests should be a Parquet, CSV or TSV file")
    file = open_table(path)

    def batches(names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        for batch, _ in file.batches(names, [], _ROWS):
            yield dict(zip(batch.schema.names, batch.columns, strict=True))

    return _Table(str(path), file.held, file.first_row, batches)


def _table_of_frame(frame: Any) -> _Table:
    columns = arrow_columns(frame)
    held = {n: "mixed values" if c is None else kind_of(c.type) for n, c in columns.items()}
    return _Table("the frame", held, 0, lambda names: iter([columns]))


def _time_column(table: _Table, name: str | None) -> str:
    names = [n for n in table.held if n.lower().startswith(_TIME)] if name is None else [name]
    if len(names) != 1 or names[0] not in table.held:
        what = "no column has" if len(names) < 2 else f"{' and '.join(map(repr, names))} may be"
        if name is not None:
            what = f"there is no column {name!r} with"
        raise DataError(
            f"{table.place}: {what} the times of requests: name the column by --time-column "
            f"(time_column=); columns are {list_names(list(table.held))}"
        )
    if table.held[names[0]]:
        raise DataError(
            f"{table.place}: column {names[0]!r} holds {table.held[names[0]]}, but times must be "
            "numbers"
        )
    return names[0]


def _read_rows(table: _Table, names: Sequence[str]) -> Iterator[np.ndarray]:
    row = table.first_row
    for columns in table.batches(names):
        X = np.empty((len(columns[names[0]]), len(names)))
        fill_features(X, columns, names, f"{table.place}: row", row)
        row += len(X)
        yield X


def _check_numbers(X: np.ndarray, names: Sequence[str], table: _Table) -> None:
    """Raise a DataError for what is no time, in the first column, or no number of documents."""
    for column, name in enumerate(names):
        values = X[:, column]
        is_wrong = ~(values >= 0)  # or missing
        if column:
            is_wrong |= values != np.floor(values)
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            what = "is missing" if np.isnan(values[row]) else f"is {values[row]:g}"
            how = "a time must be a number of at least 0"
            if column:
                how = (
                    "how often a feature was computed must be 0, 1 or a number of documents; if it "
                    "is no feature, leave it out (--ignore)"
                )
            raise DataError(f"{table.place}: row {table.first_row + row}: {name!r} {what}; {how}")
