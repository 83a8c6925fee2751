"""Print tables on a terminal, or in any other format on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from ranksieve.report.formats import FormatName
from ranksieve.report.formats.html import to_html
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import to_csv, to_json, to_markdown
from ranksieve.report.sheets.sheet import GAP, Column, Entry, Sheet, long_list
from ranksieve.text import file_stem, on_one_line, quantity, shorten

if TYPE_CHECKING:
    from ranksieve.recommendation import Check
    from ranksieve.report.section import Report

_TEXT_FORMATS: dict[str, Callable[[Sheet], str]] = {
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
    "csv": to_csv,
    "json": to_json,
}
"""Functions that turn a sheet into text; the terminal's format depends on its width."""
_TEXT_WIDTH = 20  # minimum width of a column of wrapped text
_NAME_WIDTH = 12  # to which names may be shortened so that more columns have room
_HEADING_WIDTH = 16  # to which words of a heading may be shortened
_MOST_TURNED = 3  # rows that may become columns
_MOST_LISTED = 6  # columns that a note names


def show_sheets(sheets: Sequence[Sheet], form: FormatName = "terminal") -> None:
    """Print sheets on standard output, separated by empty lines; in JSON they are an array."""
    if form == "terminal":
        for number, sheet in enumerate(sheets):
            if number:
                show(Text())
            show(to_terminal(sheet))
    elif form == "json":
        sys.stdout.write(to_json(*sheets))
    else:
        sys.stdout.write("\n".join(_TEXT_FORMATS[form](sheet) for sheet in sheets))


def show_report(report: Report, directory: Path) -> None:
    """Print the main result of a report and its main tables, and where all of it is.

    A note that explains several tables is printed once, below the last of them. Notes of other
    sections than the main result come last.
    """
    main = report.sections[0]
    for text in (main.sentence, *main.notes, ""):
        show(text)
    sheets = [part.brief for part in report.parts if part.brief is not None]
    for number, sheet in enumerate(sheets, start=1):
        later = {note for other in sheets[number:] for note in other.notes}
        own = [note for note in sheet.notes if note not in later]
        show(to_terminal(replace(sheet, notes=own), directory))
        show("")
    for note in (note for section in report.sections[1:] for note in section.notes):
        show(f"Note: {note}")
    show(f"All of this is in {directory}; open {directory / 'report.html'} first")


def show_check(found: Check) -> None:
    """Print the result of a check: its state, what to do now, what is good to know, its tables."""
    from ranksieve.report.sheets.checks import check_sheets

    show(found.sentence)
    for heading, texts in (("Do now:", found.act), ("Good to know:", found.know)):
        if texts:
            show("")
            show(heading)
        for text in texts:
            item = Table.grid(padding=(0, 1))
            item.add_row(plain("-"), plain(text))
            show(item)
    for sheet in map(long_list, check_sheets(found)):
        show("")
        show(to_terminal(sheet))


def show(table: RenderableType) -> None:
    """Print on standard output, without interpreting markup in names."""
    shown = plain(table) if isinstance(table, str) else table
    Console(highlight=False, markup=False, emoji=False).print(shown)


def plain(text: str, **options: Any) -> Text:
    """Return text on one line without markup, colors or control characters.

    Everything that is printed passes through here; ``options`` are passed to rich's ``Text``.
    """
    return Text(on_one_line(text), **options)


def to_terminal(sheet: Sheet, directory: Path | None = None) -> RenderableType:
    """Lay out a sheet for the terminal on which :func:`show` or a rich Console prints it.

    Every row of the sheet is one row of one table. If that is too wide, long names are shortened
    and the least important columns are left out; a line below says so, and where the whole table
    is: in ``tables/`` of the directory, or else printed by ``--format csv``. A few rows that are
    too wide become columns.
    """
    whole = "--format csv"
    if directory is not None:
        whole = str(directory / "tables" / f"{file_stem(sheet.name)}.csv")
    return _OnTerminal(sheet.printed(), whole)


class _OnTerminal:
    """A sheet that adapts to the terminal's width when it is printed."""

    def __init__(self, sheet: Sheet, whole: str) -> None:
        self.sheet, self.whole = sheet, whole

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        sheet, width = self.sheet, options.max_width
        yield plain(sheet.title, style="bold", overflow="fold")
        if sheet.setting:
            yield plain(sheet.setting, overflow="fold")
        layouts = _lay_out(sheet)
        shown = _fit(layouts, width)
        if len(shown) < len(layouts) and _can_turn(sheet):
            sheet = _turn(sheet)
            layouts = _lay_out(sheet)
            shown = _fit(layouts, width)
        yield Text()
        yield _table(sheet, shown)
        notes = [*_describe_fit(layouts, shown, width, self.whole), *sheet.notes]
        if notes:
            yield Text()
        for note in notes:
            yield plain(note, overflow="fold")


def _can_turn(sheet: Sheet) -> bool:
    """Whether rows can become columns: there are few, all of them numbers with one name."""
    columns, n_rows = sheet.columns, len(list(sheet.rows))
    has_text = any(column.wraps or column.is_name for column in columns[1:])
    return columns[0].is_name and not has_text and 0 < n_rows <= _MOST_TURNED


def _turn(sheet: Sheet) -> Sheet:
    """Sheet with a row for each column but the first, whose names become the headings."""
    rows = list(sheet.rows)
    columns = [
        Column("", align="left", is_name=True),
        *(Column(f"row {n}", row[0].text) for n, row in enumerate(rows)),
    ]
    turned = [
        [Entry(column.above), *(row[index] for row in rows)]
        for index, column in enumerate(sheet.columns)
        if index
    ]
    return replace(sheet, columns=columns, groups=[turned])


class _Layout:
    """Widths of the parts of a column's cells: value, rank and mark."""

    def __init__(self, column: Column, index: int, cells: Sequence[Entry]) -> None:
        self.column, self.index = column, index
        self.value = max((cell_len(cell.text) for cell in cells), default=0)
        self.rank = max((len(cell.rank_text) for cell in cells), default=0)
        self.mark = max((cell_len(cell.mark) for cell in cells), default=0)
        words = on_one_line(column.above).split()
        heading = max(map(cell_len, words), default=0)
        cells_width = self.value + self.rank + self.mark
        self.whole = self.width = max(cells_width, heading)
        if column.wraps:
            self.width = min(self.whole, _TEXT_WIDTH)
        # Narrowest width that is legible; that of names also depends on the other names.
        self.least = self.width if column.wraps else max(cells_width, min(heading, _HEADING_WIDTH))

    @property
    def is_shortened(self) -> bool:
        """Whether names or words of the heading are too wide; text wraps instead."""
        return self.width < self.whole and not self.column.wraps

    @property
    def heading(self) -> Text:
        """The heading, with words that fit."""
        words = on_one_line(self.column.above).split()
        if not self.column.wraps:
            words = [shorten(word, self.width, cell_len) for word in words]
        return plain(" ".join(words), justify=self.column.align)

    def format_cell(self, cell: Entry) -> Text:
        """Return the cell as text with aligned digits."""
        style = "bold" if cell.is_best else ""
        rest = self.rank + self.mark
        text = cell.text
        if self.column.is_name:
            text = shorten(text, max(self.width - rest, 1), cell_len)
        if self.column.align == "left":
            return Text.assemble((text, style), cell.rank_text + cell.mark)
        before = " " * (self.width - rest - cell_len(text))
        after = cell.rank_text.ljust(self.rank) + cell.mark
        return Text.assemble(before, (text, style), after)


def _lay_out(sheet: Sheet) -> list[_Layout]:
    rows = list(sheet.rows)
    return [
        _Layout(column, index, [row[index] for row in rows])
        for index, column in enumerate(sheet.columns)
    ]


def _fit(layouts: Sequence[_Layout], width: int) -> list[_Layout]:
    """Columns that fit, after names were shortened as far as needed.

    Names are shortened before a column is left out, as far as they remain legible; if one other
    column is left, names and wrapped text become as narrow as necessary.
    """
    shown = list(layouts)
    names = [layout for layout in layouts if layout.column.is_name]
    while sum(layout.least for layout in names) > 2 * width // 5:
        longest = max(names, key=lambda layout: layout.least)
        if longest.least <= _NAME_WIDTH:
            break
        longest.least -= 1
    while _total(layout.least for layout in shown) > width and len(shown) > len(names) + 1:
        shown = _without_least(names, shown[len(names) :])
    while _total(layout.width for layout in shown) > width:
        pliable = [layout for layout in shown if layout.width > layout.least]
        if not pliable:
            texts = (layout for layout in shown if layout.column.is_name or layout.column.wraps)
            pliable = [layout for layout in texts if layout.width > 1]
        if not pliable:
            break
        max(pliable, key=lambda layout: layout.width).width -= 1
    return shown


def _without_least(names: list[_Layout], others: list[_Layout]) -> list[_Layout]:
    """Columns without the least important one, and without its equals in the same group."""
    least = min(reversed(others), key=lambda layout: layout.column.importance).column

    def goes(column: Column) -> bool:
        in_group = bool(least.group) and column.group == least.group
        return column == least or (in_group and column.importance == least.importance)

    kept = [layout for layout in others if not goes(layout.column)]
    return names + (kept or others[:-1])


def _total(widths: Iterable[int]) -> int:
    """Width of a table."""
    return sum(width + GAP for width in widths) - GAP


def _describe_fit(
    layouts: Sequence[_Layout], shown: Sequence[_Layout], width: int, whole: str
) -> list[str]:
    """A note on what was left out and shortened, if anything was."""
    missing = [layout.column.above for layout in layouts if layout not in shown]
    left_out = list(dict.fromkeys(missing))
    if len(left_out) > _MOST_LISTED:
        left_out[_MOST_LISTED:] = [quantity(len(left_out) - _MOST_LISTED, "more column")]
    what = f"left out: {', '.join(left_out)}; " if left_out else ""
    if any(layout.is_shortened for layout in shown):
        what += "names are shortened; "
    return [f"To fit {width} columns, {what}the whole table: {whole}"] if what else []


def _table(sheet: Sheet, shown: Sequence[_Layout]) -> Table:
    table = Table(box=None, pad_edge=False)
    for layout in shown:
        width = None if layout.column.wraps else layout.width
        table.add_column(layout.heading, width=width, overflow="fold")
    for number, group in enumerate(sheet.groups):
        if number:
            table.add_row()
        for row in group:
            table.add_row(*(layout.format_cell(row[layout.index]) for layout in shown))
    return table
