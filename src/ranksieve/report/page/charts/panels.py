"""Draw several bars for each feature: a row is a feature, a panel is a quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.report.page.svg import Scale, drawing, line, short_text, text, width_of

_LEFT, _TEXT, _GAP = 200.0, 190.0, 28.0
_ROW, _BAR, _TOP = 22.0, 10.0, 26.0


@dataclass(frozen=True)
class Panel:
    """A quantity to show for all features.

    Attributes
    ----------
    name : str
        Heading above the bars.
    values : sequence of float or None
        None if there is no bar.
    labels : sequence of str
        Numbers printed beside the bars.
    ends : sequence of (float, float) or None
        Ends of intervals, drawn as whiskers.
    css : str
        CSS class of the color; bars below zero have the color for bad values.
    width : float
        Width of the bars in pixels, without the numbers.
    tips : sequence of str
        Text shown for each bar.
    most : float
        Minimum upper end of the scale, so that panels with the same value can be compared.
    """

    name: str
    values: Sequence[float | None]
    labels: Sequence[str]
    ends: Sequence[tuple[float, float] | None] | None = None
    css: str = "s0"
    width: float = 90.0
    tips: Sequence[str] = ()
    most: float = 0.0


def draw_panels(
    names: Sequence[str], panels: Sequence[Panel], texts: Sequence[str], heading: str, title: str
) -> Markup:
    """Draw the panels side by side, with a text for each feature at the right.

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    panels : sequence of Panel
    texts : sequence of str
        Texts at the right; empty for none.
    heading : str
        Heading of the texts.
    title : str
    """
    x = left = min(_LEFT, 16 + max(map(width_of, names)))
    height = _TOP + _ROW * len(names)
    parts = [_label(left - 10, row, name, left - 12, "end") for row, name in enumerate(names)]
    for panel in panels:
        numbers = 10 + max(map(width_of, panel.labels), default=0.0)
        parts.append(text(x, 14, panel.name, class_="soft"))
        parts += _bars(panel, x, height)
        parts += [
            text(x + panel.width + 8, _middle(row) + 4, label, class_="soft")
            for row, label in enumerate(panel.labels)
        ]
        x += max(panel.width + numbers, width_of(panel.name)) + _GAP
    if texts:
        parts.append(text(x, 14, heading, class_="soft"))
        parts += [_label(x, row, text, _TEXT) for row, text in enumerate(texts) if text]
        x += _TEXT
    return drawing(x, height + 4, *parts, title=title)


def _middle(row: int) -> float:
    return _TOP + (row + 0.5) * _ROW


def _label(x: float, row: int, text: str, room: float, anchor: str = "start") -> Markup:
    return short_text(x, _middle(row) + 4, text, room, anchor)


def _bars(panel: Panel, left: float, bottom: float) -> list[Markup]:
    ends = panel.ends or [None] * len(panel.values)
    reached = [value for value in panel.values if value is not None]
    reached += [end for pair in ends if pair is not None for end in pair]
    low, high = min([0.0, *reached]), max([panel.most, *reached, 0.0])
    across = Scale(low, high if high > low else low + 1.0, left, left + panel.width)
    parts = [line(across(0), _TOP, across(0), bottom, "grid")]
    for row, (value, pair) in enumerate(zip(panel.values, ends, strict=True)):
        if value is None:
            continue
        start, end = sorted((across(0), across(value)))
        css = panel.css if value >= 0 else "s-"
        tip = panel.tips[row] if panel.tips else None
        y = _middle(row)
        where = {"x": start, "y": y - _BAR / 2, "width": max(end - start, 0.5), "height": _BAR}
        parts.append(element("rect", **where, class_=f"fill {css}", data_tip=tip))
        if pair is not None:
            parts += _whiskers(across(pair[0]), across(pair[1]), y)
    return parts


def _whiskers(low: float, high: float, y: float) -> list[Markup]:
    return [
        line(low, y, high, y, "whisker"),
        line(low, y - 3, low, y + 3, "whisker"),
        line(high, y - 3, high, y + 3, "whisker"),
    ]
