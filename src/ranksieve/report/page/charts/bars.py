"""Draw horizontal bars with names and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.report.page.svg import Scale, drawing, line, short_text, text, width_of

_LEFT, _WIDTH = 220.0, 760.0
_ROW, _BAR = 20.0, 12.0


@dataclass(frozen=True)
class Bar:
    """A bar of a chart.

    Attributes
    ----------
    name : str
    value : float
        At least 0.
    label : str
        Number printed beside the bar.
    css : str
        CSS class of its color.
    """

    name: str
    value: float
    label: str
    css: str = "s0"


def draw_bars(bars: Sequence[Bar], title: str) -> Markup:
    """Draw bars that start at zero, which a line marks at the left."""
    left = min(_LEFT, 16 + max(map(width_of, (bar.name for bar in bars))))
    right = _WIDTH - 12 - max(map(width_of, (bar.label for bar in bars)))
    largest = max(bar.value for bar in bars)
    across = Scale(0.0, largest if largest > 0 else 1.0, left, right)
    parts = [line(left, 0, left, _ROW * len(bars), "grid")]
    for row, bar in enumerate(bars):
        y = row * _ROW
        parts.append(short_text(left - 8, y + _ROW / 2 + 4, bar.name, left - 12, "end"))
        end = max(across(bar.value), left)
        parts.append(
            element(
                "rect",
                x=left,
                y=y + (_ROW - _BAR) / 2,
                width=end - left,
                height=_BAR,
                class_=f"fill {bar.css}",
            )
        )
        parts.append(text(end + 6, y + _ROW / 2 + 4, bar.label, class_="soft"))
    return drawing(_WIDTH, _ROW * len(bars) + 2, *parts, title=title)
