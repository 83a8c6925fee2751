"""Draw a matrix of differences between methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.report.page.svg import boxes, drawing, short_text, text, width_of

_MOST, _LEFT = 900.0, 150.0
_CELL, _LOW, _ROW = 76.0, 34.0, 30.0  # widths of the widest and narrowest cells, height of rows
_SMALLEST_TEXT = 52.0  # minimum width of cells that contain numbers


@dataclass(frozen=True)
class Difference:
    """A cell of the matrix.

    Attributes
    ----------
    value : float
        Row minus column.
    is_significant : bool
    tip : str
        Text shown under the pointer.
    """

    value: float
    is_significant: bool
    tip: str


def draw_matrix(
    names: Sequence[str], differences: Mapping[tuple[str, str], Difference], title: str
) -> Markup:
    """Draw the difference between each row's and each column's method.

    Colors deepen with the difference; differences that are not significant have no color.
    """
    left = min(_LEFT, 16 + max(map(width_of, names)))
    cell = min(_CELL, max(_LOW, (_MOST - left) / len(names)))
    top = 16 + 0.71 * min(_LEFT, max(map(width_of, names)))
    largest = max((abs(one.value) for one in differences.values()), default=0.0) or 1.0
    indices = range(len(names))
    corners = [(left + c * cell + 1, top + r * _ROW + 1) for r in indices for c in indices]
    parts = [boxes([(*corner, cell - 2, _ROW - 2) for corner in corners], "cell")]
    for row, name in enumerate(names):
        y = top + row * _ROW
        parts.append(short_text(left - 10, y + _ROW / 2 + 4, name, left - 10, "end"))
        turned = f"translate({left + (row + 0.5) * cell:.1f} {top - 8:.1f}) rotate(-45)"
        parts.append(short_text(0, 0, name, left - 10, transform=turned))
        for column, other in enumerate(names):
            found = differences.get((name, other))
            if found is not None:
                strength = 0.08 + 0.32 * abs(found.value) / largest
                parts.append(_cell(left + column * cell, y, cell, found, strength))
    width = left + len(names) * cell + 0.71 * min(_LEFT, width_of(names[-1]))
    return drawing(width, top + len(names) * _ROW + 4, *parts, title=title)


def _cell(x: float, y: float, cell: float, found: Difference, strength: float) -> Markup:
    """Draw a box, colored if the difference is significant, with the number if there is room."""
    box = element(
        "rect",
        x=x + 1,
        y=y + 1,
        width=cell - 2,
        height=_ROW - 2,
        class_="good" if found.value > 0 else "bad",
        fill_opacity=f"{strength:.2g}" if found.is_significant else "0",
        data_tip=found.tip,
    )
    has_room = cell >= _SMALLEST_TEXT
    if not found.is_significant and not has_room:
        return box
    sign = "\u25b2" if found.value > 0 else "\u25bc"
    shown = f"{found.value:+z.4f}" if has_room else sign
    css = "strong label" if found.is_significant else "soft label"
    return box + text(x + cell / 2, y + _ROW / 2 + 4, shown, "middle", class_=css)
