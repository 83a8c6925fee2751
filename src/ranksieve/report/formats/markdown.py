"""Write tables in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ranksieve.report.sheets.sheet import Entry, Sheet
from ranksieve.text import on_one_line

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>~|$&#!])")
_LIST = re.compile(r"^[-+=]|(?<=^\d)[.)]")  # would start another list or a heading


def to_markdown(sheet: Sheet) -> str:
    r"""Write a sheet in GitHub's Markdown: best values in bold, ranks in parentheses, then marks.

    Returns
    -------
    str
        The table, with the caption above it and the notes as a list below it.

    Examples
    --------
    >>> from ranksieve.report.sheets.sheet import Column
    >>> columns = [Column("selector", align="left", is_name=True), Column("MAP")]
    >>> rows = [[Entry("gas_e"), Entry(0.4767, ".4f", is_best=True, rank=1)]]
    >>> print(to_markdown(Sheet("example", "Quality", "Of an example.", columns, [rows])))
    **Quality.** Of an example.
    <BLANKLINE>
    | selector | MAP |
    | :--- | ---: |
    | gas\_e | **0.4767** (1) |
    <BLANKLINE>
    """
    return "\n".join(_lines(sheet)) + "\n"


def _lines(sheet: Sheet) -> Iterator[str]:
    sheet = sheet.visible()
    yield f"**{escape(sheet.title)}.** {escape(sheet.setting)}".rstrip()
    yield ""
    yield _line(escape(column.above) for column in sheet.columns)
    yield _line(":---" if column.align == "left" else "---:" for column in sheet.columns)
    for row in sheet.rows:
        yield _line(map(_format_cell, row))
    if sheet.notes:
        yield ""
    for note in sheet.notes:
        yield "- " + _LIST.sub(r"\\\g<0>", escape(note))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _format_cell(cell: Entry) -> str:
    text = escape(cell.text)
    return (f"**{text}**" if cell.is_best else text) + cell.rank_text + escape(cell.mark)


def escape(text: str) -> str:
    """Escape a text so that it is shown unchanged on one line."""
    return _SPECIAL.sub(r"\\\1", on_one_line(text))
