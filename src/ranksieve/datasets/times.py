"""Times of the rows of a table, from a column of dates or times that is no feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ranksieve.data import RankingData
from ranksieve.data.frames import arrow_columns, ids_of, kind_of
from ranksieve.data.inputs import is_frame, join_ids
from ranksieve.data.times import Times
from ranksieve.datasets.opening import are_table_files, paths_of
from ranksieve.io.formats import open_table

_TIMES = "dates or times"
_ROWS = 65_536  # of a batch


def times_of(data: RankingData, source: Any) -> Times | None:
    """Read the times of the rows of data from the table that it was read from.

    They are those of the first column of dates or times; None if there is none, or if rows lack
    them. Such a column is never a feature.

    Examples
    --------
    >>> import polars as pl
    >>> from datetime import date
    >>> from ranksieve import RankingData
    >>> from ranksieve.data.columns import Columns
    >>> frame = pl.DataFrame({
    ...     "qid": [2, 1, 2], "label": [0, 1, 1], "x": [1.0, 2.0, 3.0],
    ...     "day": [date(2026, 1, day) for day in (5, 6, 7)],
    ... })
    >>> found = times_of(RankingData.from_frame(frame, Columns(ignore="day")), frame)
    >>> found.column, found.values.astype("datetime64[D]").astype(str).tolist()
    ('day', ['2026-01-05', '2026-01-07', '2026-01-06'])
    """
    if is_frame(source):
        table = arrow_columns(source)
        held = {name: kind_of(own.type) for name, own in table.items() if own is not None}
        named = _first(held)
        return None if named is None else _times(data, named, ids_of(table[named]))
    paths = paths_of(source)
    if not are_table_files(paths):
        return None
    files = [open_table(path) for path in paths]
    named = _first(files[0].held)
    if named is None:
        return None
    batches = (batch for file in files for batch, _ in file.batches([], [named], _ROWS))
    return _times(data, named, join_ids([ids_of(batch.column(named)) for batch in batches]))


def _first(held: dict[str, str]) -> str | None:
    return next((name for name, what in held.items() if what == _TIMES), None)


def _times(data: RankingData, column: str, values: Sequence[Any] | np.ndarray) -> Times | None:
    """Times in the order of the rows of data; None unless all rows have one."""
    try:
        moments = np.asarray(values).astype("datetime64[us]")
    except (TypeError, ValueError):  # times of a day, or rows without a time
        return None
    if np.isnat(moments).any() or len(moments) != data.n_rows:
        return None
    return Times(column, moments[data.row_order])
