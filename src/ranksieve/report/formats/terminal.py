"""Print tables on a terminal, or in any other format on standard output and to files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from ranksieve.io.files import make_directory
from ranksieve.io.records import write_text
from ranksieve.report.formats import FormatName
from ranksieve.report.formats.html import to_html
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import to_csv, to_json, to_markdown
from ranksieve.report.sheets.sheet import GAP, Column, Entry, Sheet, fold
from ranksieve.text import file_stem, on_one_line

_TEXT_FORMATS: dict[str, Callable[[Sheet], str]] = {
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
    "csv": to_csv,
    "json": to_json,
}
"""Functions that turn a sheet into text; the terminal's format depends on its width."""
_SUFFIXES = {"markdown": ".md", "latex": ".tex", "csv": ".csv", "json": ".json"}  # of tables/
_TEXT_WIDTH = 20  # minimum width of a column of wrapped text


def write_table(sheet: Sheet, directory: Path) -> str:
    """Write a table in four formats to ``tables/``, and return it as Markdown."""
    tables = make_directory(directory / "tables")
    for form, suffix in _SUFFIXES.items():
        write_text(_TEXT_FORMATS[form](sheet), tables / f"{file_stem(sheet.name)}{suffix}")
    return to_markdown(sheet)


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


def show(table: RenderableType) -> None:
    """Print on standard output, without interpreting markup in names."""
    shown = plain(table) if isinstance(table, str) else table
    Console(highlight=False, markup=False, emoji=False).print(shown)


def plain(text: str, **options: Any) -> Text:
    """Return text on one line without markup, colors or control characters.

    Everything that is printed passes through here; ``options`` are passed to rich's ``Text``.
    """
    return Text(on_one_line(text), **options)


def to_terminal(sheet: Sheet) -> RenderableType:
    """Lay out a sheet for the terminal on which :func:`show` or a rich Console prints it.

    A sheet that is too wide becomes several tables, one below the other; numbers are never cut.
    """
    return _OnTerminal(sheet.printed())


class _OnTerminal:
    """A sheet that adapts to the terminal's width when it is printed."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        sheet = self.sheet
        yield plain(sheet.title, style="bold", overflow="fold")
        if sheet.setting:
            yield plain(sheet.setting, overflow="fold")
        cells = [[row[index] for row in sheet.rows] for index in range(len(sheet.columns))]
        layouts = list(map(_Layout, sheet.columns, cells))
        _shorten_names(layouts, options.max_width)
        widths = [layout.width for layout in layouts]
        for block in fold(sheet.columns, widths, options.max_width):
            yield Text()
            yield _table(sheet, layouts, block)
        if sheet.notes:
            yield Text()
        for note in sheet.notes:
            yield plain(note, overflow="fold")


class _Layout:
    """Widths of the parts of a column's cells: value, rank and mark."""

    def __init__(self, column: Column, cells: Sequence[Entry]) -> None:
        self.column = column
        self.value = max((cell_len(cell.text) for cell in cells), default=0)
        self.rank = max((len(cell.rank_text) for cell in cells), default=0)
        self.mark = max((cell_len(cell.mark) for cell in cells), default=0)
        self.width = max(
            self.value + self.rank + self.mark, *map(cell_len, on_one_line(column.above).split())
        )
        if column.wraps:
            self.width = min(self.width, _TEXT_WIDTH)

    def laid_out(self, cell: Entry) -> Text:
        """Return the cell as text with aligned digits."""
        style = "bold" if cell.is_best else ""
        if self.column.align == "left":
            return Text.assemble((cell.text, style), cell.rank_text + cell.mark)
        rest = self.rank + self.mark
        before = " " * (self.width - rest - cell_len(cell.text))
        after = cell.rank_text.ljust(self.rank) + cell.mark
        return Text.assemble(before, (cell.text, style), after)


def _shorten_names(layouts: Sequence[_Layout], width: int) -> None:
    """Leave two fifths of the line to the other columns by breaking long names."""
    names = [layout for layout in layouts if layout.column.is_name]
    while names and sum(layout.width + GAP for layout in names) > 3 * width // 5:
        widest = max(names, key=lambda layout: layout.width)
        if widest.width <= 1:
            return
        widest.width -= 1


def _table(sheet: Sheet, layouts: Sequence[_Layout], block: Sequence[int]) -> Table:
    table = Table(box=None, pad_edge=False)
    for index in block:
        column, width = sheet.columns[index], layouts[index].width
        header = plain(column.above, justify=column.align)
        table.add_column(header, width=None if column.wraps else width, overflow="fold")
    for number, group in enumerate(sheet.groups):
        if number:
            table.add_row()
        for row in group:
            table.add_row(*(layouts[index].laid_out(row[index]) for index in block))
    return table
