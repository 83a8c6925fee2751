"""Write tables in HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from markupsafe import Markup, escape

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.text import printable

_BAR_WIDTH, _BAR_HEIGHT = 64, 8  # pixels


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    r"""Return the markup of an element; everything that is not markup is escaped.

    Without children, the element closes itself, as in SVG. In names of attributes, ``_`` stands for
    ``-``, and one at the end is dropped. Numbers have at most one decimal; True gives an attribute
    without a value; None and False give none.

    >>> print(element("text", "a < b", x=3.14159, text_anchor="end", class_="tick", hidden=True))
    <text x="3.1" text-anchor="end" class="tick" hidden>a &lt; b</text>
    >>> print(element("td", "\x1b[31m"), element("rect", width=2.0))
    <td>\x1b[31m</td> <rect width="2"/>
    """
    start = "<" + name + "".join(_attributes(attributes))
    if not children:
        return Markup(start + "/>")
    return Markup(f"{start}>{''.join(map(_safe, children))}</{name}>")


def _attributes(attributes: Mapping[str, object]) -> Iterator[str]:
    for name, value in attributes.items():
        key = name.rstrip("_").replace("_", "-")
        if value is True:
            yield f" {key}"
        elif value is not None and value is not False:
            yield f' {key}="{_safe(value)}"'


def _safe(value: object) -> str:
    if isinstance(value, Markup):
        return value
    return (
        format_length(value) if isinstance(value, (int, float)) else escape(printable(str(value)))
    )


def format_length(value: float) -> str:
    """Format a number of pixels with at most one decimal.

    >>> format_length(2), format_length(0.46), format_length(-0.01)
    ('2', '0.5', '0')
    """
    return f"{value:z.1f}".removesuffix(".0")


def to_html(sheet: Sheet) -> str:
    """Write a sheet as a ``section`` with a ``table``, its caption above, and a list of notes.

    >>> columns = [Column("selector", align="left", is_name=True), Column("MAP")]
    >>> rows = [[Entry("gas_e"), Entry(0.4767, ".4f", is_best=True, rank=1)]]
    >>> print(to_html(Sheet("example", "Quality", "Of an example.", columns, [rows])))
    <section><table><caption>Quality. Of an example.</caption>
    <thead><tr><th scope="col">selector</th><th scope="col" class="n">MAP</th></tr></thead>
    <tbody>
    <tr><th scope="row">gas_e</th><td class="n"><b>0.4767</b> (1)</td></tr>
    </tbody></table></section>
    <BLANKLINE>
    """
    return element("section", table_of(sheet, sheet.caption), notes_of(sheet)) + "\n"


class CellBars(NamedTuple):
    """How the numbers of a column are shown as bars, too."""

    css: str  # CSS class of the color
    start: float = 0.0  # where bars start


class _Bars(NamedTuple):
    """The same, with the ends of the scale of a column."""

    css: str
    start: float
    low: float
    high: float

    @classmethod
    def of(cls, bars: CellBars, values: Sequence[object]) -> _Bars:
        known = [bars.start, *(value for value in values if _is_number(value))]
        return cls(*bars, min(known), max(known))

    def draw(self, value: object) -> Markup:
        """Draw a bar, hidden from screen readers because the value is beside it."""
        number = value if _is_number(value) else self.start
        ends = [self._share(end) * _BAR_WIDTH for end in sorted((self.start, number))]
        where = {"x": ends[0] or None, "width": ends[1] - ends[0], "height": _BAR_HEIGHT}
        bar = element("rect", **where) if where["width"] else ""
        box = f"0 0 {_BAR_WIDTH} {_BAR_HEIGHT}"  # narrower on paper
        size = {"width": _BAR_WIDTH, "height": _BAR_HEIGHT, "viewBox": box}
        return element("svg", bar, **size, class_=f"bar {self.css}", aria_hidden="true")

    def _share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0


def table_of(sheet: Sheet, caption: str, bars: Mapping[str, CellBars] | None = None) -> Markup:
    """Return only the table; columns named in ``bars`` have a bar beside each number."""
    sheet = sheet.visible()
    drawn = [
        _Bars.of(bars[column.name], [row[index].value for row in sheet.rows])
        if bars and column.name in bars
        else None
        for index, column in enumerate(sheet.columns)
    ]
    head = [
        element("th", column.above, scope="col", class_=_class(column)) for column in sheet.columns
    ]

    def line(row: Row) -> Markup:
        return element("tr", *map(_cell, sheet.columns, row, drawn)) + Markup("\n")

    return element(
        "table",
        element("caption", caption) + Markup("\n"),
        element("thead", element("tr", *head)) + Markup("\n"),
        *(element("tbody", Markup("\n"), *map(line, group)) for group in sheet.groups),
    )


def notes_of(sheet: Sheet) -> Markup:
    """Return the notes as a list; empty if there are none."""
    items = [element("li", note) for note in sheet.notes]
    return element("ul", *items, class_="notes") if items else Markup()


def _cell(column: Column, entry: Entry, bars: _Bars | None) -> Markup:
    text = element("b", entry.text) if entry.is_best else escape(entry.text)
    mark = element("sup", entry.mark) if entry.mark else ""
    content: list[object] = [text, entry.rank_text, mark]
    if column.is_name and entry.text:  # what has no name heads no row
        return element("th", *content, scope="row", class_=_class(column))
    if bars is not None:  # numbers of equal width, so that bars are aligned
        content = [bars.draw(entry.value), element("span", *content)]
    return element("td", *content, class_=_class(column))


def _class(column: Column) -> str | None:
    """Return the CSS class of columns of numbers and of text that wraps."""
    return "n" if column.align == "right" else "w" if column.wraps else None


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and math.isfinite(value)
