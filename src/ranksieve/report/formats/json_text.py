"""Write tables as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from ranksieve.report.sheets.sheet import Entry, Sheet


def to_json(*sheets: Sheet) -> str:
    """Write a sheet as a JSON object with caption, notes, and a record for each row.

    Parameters
    ----------
    *sheets : Sheet
        One sheet; or several, which become an array of such objects.

    Returns
    -------
    str
        Numbers have all their digits; ``null`` stands for missing and non-finite values.

    Examples
    --------
    >>> from ranksieve.report.sheets.sheet import Column
    >>> columns = [Column("selector", is_name=True), Column("MAP")]
    >>> rows = [[Entry("gas-e"), Entry(1 / 3, ".4f", rank=1)], [Entry("all"), Entry(None)]]
    >>> found = json.loads(to_json(Sheet("example", "Quality", "", columns, [rows])))
    >>> found["rows"]
    [{'selector': 'gas-e', 'MAP': 0.3333333333333333}, {'selector': 'all', 'MAP': None}]
    """
    content = [_as_dict(sheet) for sheet in sheets]
    return (
        json.dumps(content if len(content) != 1 else content[0], indent=2, allow_nan=False) + "\n"
    )


def _as_dict(sheet: Sheet) -> dict[str, Any]:
    names = [column.name for column in sheet.columns]
    return {
        "name": sheet.name,
        "title": sheet.title,
        "setting": sheet.setting,
        "columns": names,
        "rows": [dict(zip(names, map(_value, row), strict=True)) for row in sheet.rows],
        "notes": list(sheet.notes),
    }


def _value(cell: Entry) -> float | int | str | None:
    """Convert a value to a JSON type, which numpy's numbers are not."""
    if isinstance(cell.value, float):
        return float(cell.value) if math.isfinite(cell.value) else None
    return cell.value if cell.value is None or isinstance(cell.value, str) else int(cell.value)
