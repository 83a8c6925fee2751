"""Write tables as comma-separated values."""

from __future__ import annotations

import csv
import re
from io import StringIO

from ranksieve.report.sheets.sheet import Entry, Sheet
from ranksieve.text import printable

# Characters that start a formula in spreadsheets (also in full width), and numbers.
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def to_csv(sheet: Sheet) -> str:
    r"""Write the values of a sheet as CSV with all their digits, without caption and notes.

    Returns
    -------
    str
        A line of column names, and a line for each row of all groups; missing values are empty.
        Numbers are read back to the same bits. A name that a spreadsheet would run as a formula is
        preceded by ``'``, and unprintable characters are escaped, as in ``\x1b``; all other names
        are unchanged.

    Examples
    --------
    >>> from ranksieve.report.sheets.sheet import Column
    >>> columns = [Column("selector", is_name=True), Column("MAP")]
    >>> rows = [[Entry("gas-e"), Entry(1 / 3, ".4f", rank=1)], [Entry("all"), Entry(None)]]
    >>> print(to_csv(Sheet("example", "Quality", "Of an example.", columns, [rows])), end="")
    selector,MAP
    gas-e,0.3333333333333333
    all,
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_safe(column.name) for column in sheet.columns)
    writer.writerows([_raw(cell) for cell in row] for row in sheet.rows)
    return text.getvalue()


def _raw(cell: Entry) -> str:
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
