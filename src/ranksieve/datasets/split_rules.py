"""Rules that divide queries by the values or times in a column of their table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import Columns
from ranksieve.datasets.fold_files import Fold
from ranksieve.splits import Split, rotate_parts
from ranksieve.text import on_one_line

_ROLES = {
    "train": ("train", "training"),
    "vali": ("vali", "valid", "validation", "val", "dev"),
    "test": ("test", "testing"),
}
_ROLE_OF = {word: role for role, words in _ROLES.items() for word in words}


@dataclass(frozen=True)
class DividedData:
    """Data with its division into training, validation and test queries."""

    rule: str  # the division in words
    names: Sequence[str]  # of the folds; one if there is one split
    readers: Sequence[Callable[[], Fold]]  # one for each fold
    has_validation: bool
    table_columns: Columns | None = None  # as in RankingData

    @classmethod
    def from_splits(
        cls, rule: str, names: Sequence[str], data: RankingData, splits: Sequence[Split]
    ) -> DividedData:
        """Divide data in memory."""

        def take(split: Split) -> Fold:
            train, vali, test = split.apply(data)
            return train, vali if vali.n_queries else None, test

        readers = [partial(take, split) for split in splits]
        has_validation = all(len(split.vali) for split in splits)
        return cls(on_one_line(rule), names, readers, has_validation, data.table_columns)


@dataclass(frozen=True)
class SplitByColumn:
    """Divide queries by the values of a column.

    If the values are ``train``, ``vali`` (or ``valid``, ``validation``, ``val``, ``dev``) and
    ``test``, there is one split; validation queries may be missing. If they are whole numbers, at
    least three, each is a part of the queries, and the parts rotate: in a fold, one part is for
    testing, the one before it for validation, and the others for training.

    Parameters
    ----------
    column : str
        Name of the column. Its value must be the same for all rows of a query.
    """

    column: str

    def divide(self, data: RankingData, values: np.ndarray) -> DividedData:
        """Divide the queries of data; ``values`` are those of the rows, in the order of data."""
        marks = _mark_of_query(data, values, self.column)
        if all(mark in _ROLES for mark in marks):
            roles = np.array(marks)
            parts = {role: np.flatnonzero(roles == role) for role in _ROLES}
            for role in ("train", "test"):
                if not len(parts[role]):
                    raise DataError(f"column {self.column!r}: no query is marked {role!r}")
            named = "train, vali and test" if len(parts["vali"]) else "train and test"
            rule = f"one split, by the values {named} of column {self.column!r}"
            return DividedData.from_splits(rule, ["Split"], data, [Split(**parts)])
        if not all(isinstance(mark, int) for mark in marks):
            found = ", ".join(sorted({repr(mark) for mark in marks})[:5])
            raise DataError(
                f"column {self.column!r} has the values {found}; to split by it, they must be "
                "train, vali and test, or numbers of folds"
            )
        return self._rotation(data, np.array(marks))

    def _rotation(self, data: RankingData, marks: np.ndarray) -> DividedData:
        numbers = np.unique(marks)
        if len(numbers) < 3:
            raise DataError(
                f"column {self.column!r} has {len(numbers)} different numbers, but testing, "
                "validation and training need at least 3"
            )
        # The rotation tests on the last part first; reorder it to begin with the first number.
        splits = rotate_parts([np.flatnonzero(marks == number) for number in numbers])
        rule = (
            f"{len(numbers)} folds, by the numbers in column {self.column!r}: FoldN tests on the "
            "queries of N, validates on those of the number before it and trains on the others"
        )
        names = [f"Fold{number}" for number in numbers]
        return DividedData.from_splits(rule, names, data, [*splits[1:], splits[0]])


@dataclass(frozen=True)
class SplitByTime:
    """Test on the queries after a time, and train on the others.

    Parameters
    ----------
    column : str
        Column with dates, timestamps (UTC if they have no time zone), texts in ISO 8601, or
        numbers.
    after : str, int, float, date or datetime
        A date stands for the whole day: queries of the next day are after it. A time or number is
        compared as it is.
    """

    column: str
    after: Any

    def divide(self, data: RankingData, values: np.ndarray) -> DividedData:
        """Divide the queries of data; ``values`` are those of the rows, in the order of data.

        Queries with rows on both sides are refused, and sides without queries.
        """
        is_after = self._are_after(values)
        starts = data.query_ptr[:-1]
        some, every = (
            np.logical_or.reduceat(is_after, starts),
            np.logical_and.reduceat(is_after, starts),
        )
        for query in np.flatnonzero(some & ~every)[:1]:
            raise DataError(
                f"query {data.query_ids.tolist()[query]!r} has rows before and after {self.after} "
                f"in column {self.column!r}: it would be in training and test; choose another "
                "time, or give repeated queries different ids"
            )
        for side, queries in (("after", every), ("up to", ~every)):
            if not queries.any():
                raise DataError(f"no query is {side} {self.after} by column {self.column!r}")
        rule = f"one split, by column {self.column!r}: tests on queries after {self.after}"
        split = Split(np.flatnonzero(~every), np.array([]), np.flatnonzero(every))
        return DividedData.from_splits(rule, ["Split"], data, [split])

    def _are_after(self, values: np.ndarray) -> np.ndarray:
        kind = values.dtype.kind
        if kind == "O":
            plain = [_plain(value) for value in values.tolist()]
            if all(isinstance(value, (int, float)) for value in plain):
                values, kind = np.array(plain), "f"
        if kind in "iuf":
            if np.any(values != values):
                raise DataError(f"column {self.column!r} has no value in some rows")
            return values > _number(self.after)
        if kind == "M":
            times = values.astype("datetime64[us]")
        else:
            rows = values.tolist()
            moments = {value: self._time(value) for value in set(rows)}
            times = np.array([moments[value] for value in rows], dtype="datetime64[us]")
        if np.isnat(times).any():
            raise DataError(f"column {self.column!r} has no value in some rows")
        bound, is_day = _bound(self.after)
        return times >= bound if is_day else times > bound

    def _time(self, value: Any) -> datetime:
        try:
            return _moment(value)[0]
        except (AttributeError, ValueError, OverflowError):
            raise DataError(
                f"column {self.column!r} has {value!r:.60}, which is neither a date or time (ISO "
                "8601) nor a number"
            ) from None


SplitRule = SplitByColumn | SplitByTime


def _mark_of_query(data: RankingData, values: np.ndarray, column: str) -> list[Any]:
    """The value of each query: a role, a whole number, or another value."""
    marks = [_mark(value) for value in values.tolist()]
    ids = data.query_ids.tolist()
    for query, (start, end) in enumerate(pairwise(data.query_ptr.tolist())):
        for mark in marks[start:end]:
            if mark is None or mark != mark:
                raise DataError(f"query {ids[query]!r} has no value in column {column!r}")
            if mark != marks[start]:
                raise DataError(
                    f"query {ids[query]!r} has {marks[start]!r} and {mark!r} in column {column!r}: "
                    "it would be on both sides of the split"
                )
    return [marks[start] for start in data.query_ptr[:-1]]


def _mark(value: Any) -> Any:
    plain = _plain(value)
    return _ROLE_OF.get(plain.lower(), plain) if isinstance(plain, str) else plain


def _plain(value: Any) -> Any:
    """Whole numbers, also as text or float, as int; other texts stripped of white space."""
    if isinstance(value, str):
        value = value.strip()
        digits = value.removeprefix("-")
        return int(value) if digits.isdecimal() and digits.isascii() else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(after: Any) -> float:
    plain = _plain(after)
    try:
        return plain if isinstance(plain, int) else float(plain)
    except (TypeError, ValueError):
        raise DataError(f"the column of times has numbers, but {after!r} is not a number") from None


def _moment(value: Any) -> tuple[datetime, bool]:
    """Time in UTC, without its zone, and whether it is a whole day."""
    if isinstance(value, str):
        text = value.strip()
        try:
            value = date.fromisoformat(text)
        except ValueError:
            value = datetime.fromisoformat(text)
    if isinstance(value, datetime):
        zoned = value.tzinfo is not None
        return (value.astimezone(UTC).replace(tzinfo=None) if zoned else value), False
    return datetime(value.year, value.month, value.day), True


def _bound(after: Any) -> tuple[np.datetime64, bool]:
    """Start of the next day, or the given time; and whether it is a whole day."""
    try:
        moment, is_day = _moment(after if not isinstance(after, int) else str(after))
        return np.datetime64(moment + timedelta(days=is_day), "us"), is_day
    except OverflowError:
        raise DataError(f"{after!r} is too early or too late for a date") from None
    except (AttributeError, ValueError):
        raise DataError(
            f"{after!r} is not a date or time; write it like 2026-01-31 or 2026-01-31T12:00"
        ) from None
