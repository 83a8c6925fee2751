"""A table as a value, independent of the output format, and how LaTeX folds a wide one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from typing import Any, Literal, TypeVar

from ranksieve.text import on_one_line, quantity

GAP = 2  # characters between columns
LONG, SHOWN = 30, 20  # rows from which a list is long on a terminal, and those shown of it
_DIGITS = 12  # decimals to compare; later ones differ by rounding


@dataclass(frozen=True)
class Entry:
    """A value and how it is printed."""

    value: float | int | str | None  # None is printed as ``-``
    form: str = ""  # format of a number, such as ``".4f"``
    is_best: bool = False  # whether to print it in bold
    mark: str = ""  # marks after the value; the notes of the sheet explain them
    rank: int | None = None  # printed in parentheses

    @classmethod
    def yes(cls, is_true: bool) -> Entry:
        """Make an entry that is empty unless something is true."""
        return cls("yes" if is_true else "")

    @classmethod
    def yes_or_no(cls, is_true: bool | None) -> Entry:
        """Make an entry that says whether something is true; ``-`` for None."""
        return cls(None if is_true is None else "yes" if is_true else "no")

    @property
    def text(self) -> str:
        """The value alone, on one line."""
        if self.value is None:
            return "-"
        if isinstance(self.value, str):
            return on_one_line(self.value)
        return format(self.value, self.form)

    @property
    def rank_text(self) -> str:
        """Text after the value if it has a rank, such as `` (1)``."""
        return "" if self.rank is None else f" ({self.rank})"


@dataclass(frozen=True)
class Column:
    """A column of a sheet."""

    name: str  # unique, as in CSV
    heading: str = ""  # as printed; by default the name
    align: Literal["left", "right"] = "right"
    # Whether it identifies rows. Such columns come first, and are repeated where LaTeX folds a wide
    # sheet; adjacent columns of the same group stay together there.
    is_name: bool = False
    wraps: bool = False  # whether it has text that may be broken over lines
    group: str = ""
    only_csv: bool = False  # whether it appears only in CSV
    # A terminal that is too narrow leaves out the columns of the least importance; of equals, the
    # last. Names are only shortened.
    importance: int = 1

    @property
    def above(self) -> str:
        """Printed heading of the column."""
        return self.heading or self.name


def name_column(name: str, **more: Any) -> Column:
    """Make a column that identifies rows; ``more`` are attributes of :class:`Column`."""
    return Column(name, align="left", is_name=True, **more)


def text_column(name: str, heading: str = "", **more: Any) -> Column:
    """Make a column of text that wraps; ``more`` are attributes of :class:`Column`."""
    return Column(name, heading, **{"align": "left", "wraps": True, **more})


Row = Sequence[Entry]
Item = TypeVar("Item")
Fields = dict[Column, Callable[[Item], Entry]]
"""Columns, each with a function that makes its entry from the item of a row."""


@dataclass(frozen=True, repr=False)
class Sheet:
    """A table with its caption and notes."""

    name: str  # stem of its file: letters, digits, points and hyphens
    title: str  # short
    setting: str  # origin of the numbers, in sentences
    columns: Sequence[Column]
    groups: Sequence[Sequence[Row]]  # of cells, one for each column; space separates groups
    notes: Sequence[str] = ()  # printed below the table

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", self.name):
            raise ValueError(
                f"{self.name!r} is not a valid file name: use letters, digits, . and -"
            )
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise ValueError(f"sheet {self.name!r} has columns of the same name: {names}")
        are_names = [column.is_name for column in self.columns]
        if are_names != sorted(are_names, reverse=True):
            raise ValueError(f"sheet {self.name!r} must have its columns of names first")
        for number, row in enumerate(self.rows):
            if len(row) != len(names):
                raise ValueError(
                    f"row {number} (0-based) of sheet {self.name!r} has {len(row)} cells, but "
                    f"there are {len(names)} columns"
                )

    @classmethod
    def of_items(
        cls,
        name: str,
        title: str,
        setting: str,
        fields: Fields[Item],
        groups: Iterable[Iterable[Item]],
        notes: Sequence[str] = (),
    ) -> Sheet:
        """Make a sheet with a row for each item of each group.

        >>> fields: Fields[str] = {
        ...     name_column("word"): Entry,
        ...     Column("letters"): lambda word: Entry(len(word)),
        ... }
        >>> sheet = Sheet.of_items("words", "Words", "", fields, [["rank", "sieve"]])
        >>> [[entry.text for entry in row] for row in sheet.rows]
        [['rank', '4'], ['sieve', '5']]
        """
        rows = [[[show(item) for show in fields.values()] for item in group] for group in groups]
        return cls(name, title, setting, list(fields), rows, notes)

    @property
    def caption(self) -> str:
        """Title and setting."""
        return f"{self.title}. {self.setting}".strip()

    @property
    def rows(self) -> Iterator[Row]:
        """Rows of all groups."""
        for group in self.groups:
            yield from group

    def __repr__(self) -> str:
        return f"<Sheet {self.name!r}: {quantity(len(list(self.rows)), 'row')}>"

    def _repr_html_(self) -> str:
        """Show the sheet in a notebook."""
        from ranksieve.report.formats.html import to_html

        return to_html(self)

    def keep_columns(self, is_kept: Callable[[Column], bool]) -> Sheet:
        """Return the sheet with only some of its columns."""
        kept = [index for index, column in enumerate(self.columns) if is_kept(column)]
        return replace(
            self,
            columns=[self.columns[index] for index in kept],
            groups=[[[row[index] for index in kept] for row in group] for group in self.groups],
        )

    def slice(self, start: int, stop: int) -> Sheet:
        """Return the sheet with only some of its rows, in their groups."""
        numbers = count()
        groups = [[row for row in group if start <= next(numbers) < stop] for group in self.groups]
        return replace(self, groups=[group for group in groups if group])

    def visible(self) -> Sheet:
        """Return the sheet without columns that are only for CSV."""
        return self.keep_columns(lambda column: not column.only_csv)

    def printed(self) -> Sheet:
        """Return the visible sheet without repeated names in a column."""
        sheet = self.visible()
        n_names = sum(column.is_name for column in sheet.columns)
        return replace(sheet, groups=[_without_repeats(group, n_names) for group in sheet.groups])


def _without_repeats(rows: Sequence[Row], n_names: int) -> list[Row]:
    """Rows of a group in which leading names, except the last, appear only where they change."""
    shown: list[Row] = []
    for number, row in enumerate(rows):
        same = 0
        while number and same < n_names - 1 and row[same] == rows[number - 1][same]:
            same += 1
        shown.append([Entry("")] * same + list(row[same:]))
    return shown


def first_rows(sheet: Sheet, most: int, rest: str = "") -> Sheet:
    """Return the first rows of a sheet, with a note on the rows left out.

    ``rest`` says where all rows are; by default in the sheet's CSV file.
    """
    n_left_out = len(list(sheet.rows)) - most
    if n_left_out <= 0:
        return sheet
    rest = rest or f"tables/{sheet.name}.csv has them all"
    note = f"{quantity(n_left_out, 'row')} left out; {rest}."
    return replace(sheet.slice(0, most), notes=[note, *sheet.notes])


def long_list(sheet: Sheet, rest: str = "--format csv prints them all") -> Sheet:
    """Return what a terminal shows of a list: its first rows, if it is long.

    ``rest`` is as for :func:`first_rows`.
    """
    return first_rows(sheet, SHOWN, rest) if len(list(sheet.rows)) > LONG else sheet


def losses_and_gains(differences: Sequence[float], most: int) -> tuple[list[int], list[int]]:
    """Indices of the largest losses and of the largest gains, at most ``most`` of each.

    >>> losses_and_gains([0.1, -0.3, 0.0, 0.2, -0.4], 2)
    ([4, 1], [3, 0])
    """
    order = sorted(range(len(differences)), key=lambda index: differences[index])
    losses = [index for index in order[:most] if differences[index] < 0]
    gains = [index for index in order[::-1][:most] if differences[index] > 0]
    return losses, gains


def rank_cells(values: Sequence[float | None], with_ranks: bool = False) -> list[Entry]:
    """Make cells of values, with the largest marked as best; ties share the better rank.

    >>> [cell.rank for cell in rank_cells([0.5, 0.7, 0.5, 0.1, None], with_ranks=True)]
    [2, 1, 2, 4, None]
    """
    rounded = [None if value is None else round(value, _DIGITS) for value in values]
    present = [value for value in rounded if value is not None]
    cells = []
    for value, own in zip(values, rounded, strict=True):
        rank = None if own is None else 1 + sum(other > own for other in present)
        cells.append(Entry(value, ".4f", rank == 1, "", rank if with_ranks else None))
    return cells


def fold(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[list[int]]:
    """Divide columns into tables of limited width, each starting with the columns of names.

    Groups of columns are split only if they do not fit alone; a single column may be too wide.

    >>> columns = [Column("selector", is_name=True), *map(Column, ("MAP", "NDCG@1", "NDCG@10"))]
    >>> fold(columns, [10, 6, 6, 7], 28)
    [[0, 1, 2], [0, 3]]
    """
    names = [index for index, column in enumerate(columns) if column.is_name]
    room = width - sum(widths[index] + GAP for index in names)

    def width_of(indices: Sequence[int]) -> int:
        return sum(widths[index] + GAP for index in indices) - GAP

    blocks: list[list[int]] = [[]]
    others = [index for index, column in enumerate(columns) if not column.is_name]
    for _, run in groupby(others, lambda index: columns[index].group or str(index)):
        unit = list(run)
        for piece in [unit] if width_of(unit) <= room else [[index] for index in unit]:
            if blocks[-1] and width_of(blocks[-1] + piece) > room:
                blocks.append([])
            blocks[-1] += piece
    return [names + block for block in blocks]
