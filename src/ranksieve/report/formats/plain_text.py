"""Write tables as text that needs no layout: Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any

from ranksieve.report.sheets.sheet import Entry, Sheet
from ranksieve.text import on_one_line, printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>~|$&#!])")  # in Markdown
_LIST = re.compile(r"^[-+=]|(?<=^\d)[.)]")  # would start another list or a heading
# Characters that start a formula in spreadsheets (also in full width), and numbers.
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def to_markdown(sheet: Sheet) -> str:
    r"""Write a sheet in GitHub's Markdown: best values in bold, ranks in parentheses, then marks.

    The caption is above the table, and the notes are a list below it.

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
    return "\n".join(_markdown_lines(sheet)) + "\n"


def _markdown_lines(sheet: Sheet) -> Iterator[str]:
    sheet = sheet.visible()
    yield f"**{escape(sheet.title)}.** {escape(sheet.setting)}".rstrip()
    yield ""
    yield _markdown_line(escape(column.above) for column in sheet.columns)
    yield _markdown_line(":---" if column.align == "left" else "---:" for column in sheet.columns)
    for row in sheet.rows:
        yield _markdown_line(map(_markdown_cell, row))
    if sheet.notes:
        yield ""
    for note in sheet.notes:
        yield "- " + _LIST.sub(r"\\\g<0>", escape(note))


def _markdown_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Entry) -> str:
    text = escape(cell.text)
    return (f"**{text}**" if cell.is_best else text) + cell.rank_text + escape(cell.mark)


def escape(text: str) -> str:
    """Escape a text so that Markdown shows it unchanged on one line."""
    return _SPECIAL.sub(r"\\\1", on_one_line(text))


def to_csv(sheet: Sheet) -> str:
    r"""Write the values of a sheet as CSV with all their digits, without caption and notes.

    A line of column names is followed by a line for each row of all groups; missing values are
    empty. Numbers are read back to the same bits. A name that a spreadsheet would run as a formula
    is preceded by ``'``, and unprintable characters are escaped, as in ``\x1b``; all other names
    are unchanged.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_safe(column.name) for column in sheet.columns)
    writer.writerows([_csv_value(cell) for cell in row] for row in sheet.rows)
    return text.getvalue()


def _csv_value(cell: Entry) -> str:
    if cell.value is None:
        return ""
    if isinstance(cell.value, str):
        return _safe(cell.value)
    # The repr of a numpy float would include its type.
    return repr(float(cell.value)) if isinstance(cell.value, float) else str(cell.value)


def _safe(text: str) -> str:
    """Return a name that no spreadsheet interprets as a formula."""
    is_formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return ("'" if is_formula else "") + printable(text)


def to_json(*sheets: Sheet) -> str:
    """Write a sheet as a JSON object with caption, notes, and a record for each row.

    Several sheets become an array of such objects. Numbers have all their digits; ``null`` stands
    for missing and non-finite values.
    """
    content = [_json_object(sheet) for sheet in sheets]
    return (
        json.dumps(content if len(content) != 1 else content[0], indent=2, allow_nan=False) + "\n"
    )


def _json_object(sheet: Sheet) -> dict[str, Any]:
    names = [column.name for column in sheet.columns]
    return {
        "name": sheet.name,
        "title": sheet.title,
        "setting": sheet.setting,
        "columns": names,
        "rows": [dict(zip(names, map(_json_value, row), strict=True)) for row in sheet.rows],
        "notes": list(sheet.notes),
    }


def _json_value(cell: Entry) -> float | int | str | None:
    """Convert a value to a JSON type, which numpy's numbers are not."""
    if isinstance(cell.value, float):
        return float(cell.value) if math.isfinite(cell.value) else None
    return cell.value if cell.value is None or isinstance(cell.value, str) else int(cell.value)
