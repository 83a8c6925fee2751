"""Tables as comma-separated values."""

from __future__ import annotations

import csv
from io import StringIO

from ranksieve.tables.sheets import Cell, Sheet


def to_csv(sheet: Sheet) -> str:
    """Write the values of a sheet with all their digits, and nothing else.

    Parameters
    ----------
    sheet : Sheet

    Returns
    -------
    str
        A line of names and one for each row, of all groups; where there is no value, there is
        nothing between the commas. Numbers read back are the same to the last bit.

    Examples
    --------
    >>> from ranksieve.tables.sheets import Column
    >>> columns = [Column("selector", is_name=True), Column("MAP")]
    >>> rows = [[Cell("gas-e"), Cell(1 / 3, ".4f", rank=1)], [Cell("all"), Cell(None)]]
    >>> print(to_csv(Sheet("example", "Quality", "Of an example.", columns, [rows])), end="")
    selector,MAP
    gas-e,0.3333333333333333
    all,
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.name for column in sheet.columns)
    writer.writerows([_raw(cell) for cell in row] for row in sheet.rows)
    return text.getvalue()


def _raw(cell: Cell) -> str:
    if cell.value is None:
        return ""
    # The repr of a float of numpy names its type, too.
    return repr(float(cell.value)) if isinstance(cell.value, float) else str(cell.value)
