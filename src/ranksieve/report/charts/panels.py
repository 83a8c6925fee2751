"""Draw what is known of features, as bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ranksieve.report.charts import svg
from ranksieve.report.charts.colors import PLAIN
from ranksieve.report.formats.html import element

# Pixels: LEFT and TEXT are the room that texts at the left and at the right may take.
_LEFT, _TEXT, _GAP = 200.0, 190.0, 28.0
_ROW, _BAR, _TOP = 22.0, 10.0, 26.0


@dataclass(frozen=True)
class Panel:
    """A quantity to show for all features."""

    name: str  # heading above the bars
    values: Sequence[float | None]  # None if there is no bar
    form: str  # format of the numbers printed beside the bars
    ends: Sequence[tuple[float, float] | None] | None = None  # of intervals, drawn as whiskers
    css: str = PLAIN  # CSS class of the color
    below: str = ""  # CSS class of the color of bars below their start, if it is another
    start: float = 0.0  # where bars start
    width: float = 90.0  # width of the bars in pixels, without the numbers
    tips: Sequence[str] = ()  # text shown for each bar
    # Values that the scale reaches at least: panels with the same ones can be compared.
    reach: Sequence[float] = ()

    @property
    def labels(self) -> list[str]:
        """Numbers printed beside the bars."""
        return ["" if value is None else format(value, self.form) for value in self.values]


def draw_panels(
    names: Sequence[str],
    panels: Sequence[Panel],
    texts: Sequence[str],
    heading: str,
    title: str,
    width: float,
) -> Markup:
    """Draw the panels side by side, with a text for each named feature at the right, if any."""
    x = left = min(_LEFT, 0.3 * width, 16 + max(map(svg.width_of, names)))
    height = _TOP + _ROW * len(names)
    parts = [_label(left - 10, row, name, left - 12, "end") for row, name in enumerate(names)]
    for panel in panels:
        numbers = 10 + max(map(svg.width_of, panel.labels), default=0.0)
        parts.append(svg.text(x, 14, panel.name, class_="soft"))
        parts += _panel_bars(panel, x, height)
        parts += [
            svg.text(x + panel.width + 8, _middle(row) + 4, label, class_="soft")
            for row, label in enumerate(panel.labels)
            if label
        ]
        x += max(panel.width + numbers, svg.width_of(panel.name)) + _GAP
    if texts:
        parts.append(svg.text(x, 14, heading, class_="soft"))
        parts += [_label(x, row, beside, _TEXT) for row, beside in enumerate(texts) if beside]
        x += _TEXT
    return svg.drawing(x, height + 4, *parts, title=title)


def _middle(row: int) -> float:
    return _TOP + (row + 0.5) * _ROW


def _label(x: float, row: int, label: str, room: float, anchor: str = "start") -> Markup:
    return svg.short_text(x, _middle(row) + 4, label, room, anchor)


def _panel_bars(panel: Panel, left: float, bottom: float) -> list[Markup]:
    ends = panel.ends or [None] * len(panel.values)
    reached = [value for value in panel.values if value is not None]
    reached += [end for pair in ends if pair is not None for end in pair]
    reached += [panel.start, *panel.reach]
    across = svg.bar_scale(min(reached), max(reached), left, left + panel.width)
    zero = across(panel.start)
    parts = [svg.line(zero, _TOP, zero, bottom, "grid")]
    for row, (value, pair) in enumerate(zip(panel.values, ends, strict=True)):
        if value is None:
            continue
        start, end = sorted((zero, across(value)))
        css = panel.css if value >= panel.start else panel.below or panel.css
        tip = panel.tips[row] if panel.tips else None
        y = _middle(row)
        where = {
            "x": start,
            "y": y - _BAR / 2,
            "width": max(end - start, 0.5),
            "height": _BAR,
        }
        parts.append(element("rect", **where, class_=f"fill {css}", data_tip=tip))
        if pair is not None:
            parts += _whiskers(across(pair[0]), across(pair[1]), y)
    return parts


def _whiskers(low: float, high: float, y: float) -> list[Markup]:
    return [
        svg.line(low, y, high, y, "whisker"),
        svg.line(low, y - 3, low, y + 3, "whisker"),
        svg.line(high, y - 3, high, y + 3, "whisker"),
    ]
