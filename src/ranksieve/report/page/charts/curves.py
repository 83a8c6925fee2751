"""Draw curves of quality against the number or cost of features, gains of queries, and bars."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.report.page.charts import svg
from ranksieve.report.page.charts.svg import Scale

_WIDTH, _HEIGHT = 900.0, 380.0
_LEFT, _TOP, _BOTTOM = 72.0, 12.0, 48.0
_LABELS = 200.0  # maximum width of the names at the right with their lines, in pixels
_LINE = 16.0  # distance between names
_WIDE = 10.0  # ratio of numbers from which the scale is logarithmic
_GAINS_WIDTH, _GAINS_HEIGHT, _GAINS_TOP = 216.0, 140.0, 44.0
_BARS_LEFT, _BARS_WIDTH = 220.0, 760.0  # _BARS_LEFT is the room that names may take
_ROW, _BAR = 20.0, 12.0
_MOST_POINTS = 90  # of a chart of gains; more cannot be distinguished


@dataclass(frozen=True)
class Curve:
    """A line of a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    tips: Sequence[str]  # text shown at each point
    css: str  # CSS classes of its color and dashes
    marked: int | None = None  # index of the point with a ring, if any
    hollow: Collection[int] = ()  # indices of points that are not filled
    may_leave: bool = False  # whether the scale ignores it, as for random orders


@dataclass(frozen=True)
class Level:
    """A horizontal line with a band below it for the allowed loss."""

    name: str
    value: float
    allowed: float = 0.0  # height of the band


@dataclass(frozen=True)
class Bar:
    """A bar of a chart."""

    name: str
    value: float  # at least 0
    label: str  # number printed beside the bar
    css: str = "s0"  # CSS class of its color


def draw_curves(
    curves: Sequence[Curve],
    title: str,
    x_label: str,
    y_label: str,
    level: Level | None = None,
    ticks: Sequence[float] | None = None,
    floor: float | None = None,
    is_log: bool | None = None,
) -> Markup:
    """Draw lines with their names beside them, and hover values at their points.

    By default, ``ticks`` below the axis are round numbers, and the x scale is logarithmic if the
    numbers differ much. Lines are cut off below ``floor``.
    """
    names = [curve.name for curve in curves] + ([level.name] if level else [])
    labels = min(_LABELS, 46 + max(map(svg.width_of, names)))
    height = max(_HEIGHT, _TOP + _BOTTOM + _LINE * (len(names) + 1))
    xs = [x for curve in curves for x in curve.x]
    if is_log is None:
        is_log = min(xs) > 0 and max(xs) >= _WIDE * min(xs)
    ends = (min(xs), max(xs)) if is_log or max(xs) > min(xs) else svg.padded(xs)
    across = Scale(*ends, _LEFT + 12, _WIDTH - labels - 12, is_log)
    low, high = _range(curves, level)
    low = low if floor is None else max(low, floor)
    down = Scale(low, high, height - _BOTTOM, _TOP)
    return svg.drawing(
        _WIDTH,
        height,
        *_axes(across, down, x_label, y_label, ticks),
        *_level(level, across, down),
        _clipped(curves, across, down),
        *_names(curves, level, across, down),
        title=title,
    )


def _range(curves: Sequence[Curve], level: Level | None) -> tuple[float, float]:
    """Return the range of most points: one bad selection would make all other lines look alike."""
    kept = [y for curve in curves if not curve.may_leave for y in curve.y]
    others = [y for curve in curves if curve.may_leave for y in curve.y]
    if level:
        kept += [level.value, level.value - level.allowed]
    ordered = sorted(kept or others)
    quarter = ordered[len(ordered) // 4]
    floor = quarter - 2 * (ordered[-1] - quarter)
    if level:
        floor = min(floor, level.value - level.allowed)
    seen = [y for y in kept + others if y >= floor]
    cut = [floor] if len(seen) < len(kept + others) else []
    return svg.padded(seen + cut)


def _axes(
    across: Scale, down: Scale, x_label: str, y_label: str, ticks: Sequence[float] | None
) -> list[Markup]:
    left, right, bottom = across.start - 12, across.stop + 12, down.start
    marks = down.ticks()
    digits = svg.decimals_of(marks)
    parts = [svg.line(left, down(value), right, down(value), "grid") for value in marks]
    parts += [
        svg.text(left - 8, down(value) + 4, f"{value:.{digits}f}", "end", class_="soft")
        for value in marks
    ]
    shown = _with_room(across, across.ticks(10) if ticks is None else ticks)
    parts += [svg.text(across(x), bottom + 18, f"{x:g}", "middle", class_="soft") for x in shown]
    parts.append(svg.text((left + right) / 2, bottom + 40, x_label, "middle", class_="soft"))
    turned = f"translate(12 {(down.start + down.stop) / 2:.0f}) rotate(-90)"
    parts.append(svg.text(0, 0, y_label, "middle", class_="soft", transform=turned))
    return parts


def _with_room(across: Scale, ticks: Sequence[float]) -> list[float]:
    """Return ticks whose numbers do not overlap, including the last one."""
    shown: list[float] = []
    for value in sorted(ticks, reverse=True):
        room = 8 + svg.width_of(f"{value:g}")
        if not shown or across(shown[-1]) - across(value) >= room:
            shown.append(value)
    return shown


def _level(level: Level | None, across: Scale, down: Scale) -> list[Markup]:
    if level is None:
        return []
    left, right, y = across.start - 12, across.stop + 12, down(level.value)
    band = []
    if level.allowed:
        height = down(level.value - level.allowed) - y
        band = [element("rect", x=left, y=y, width=right - left, height=height, class_="band")]
    return [*band, svg.line(left, y, right, y, "base")]


def _clipped(curves: Sequence[Curve], across: Scale, down: Scale) -> Markup:
    """Draw the lines and points, clipped to the axes."""
    left, right = across.start - 12, across.stop + 12
    parts = [
        svg.path([(across(x) - left, down(y)) for x, y in zip(curve.x, curve.y, strict=True)], css)
        for curve in reversed(curves)
        for css in [f"line {curve.css}"]
        if len(curve.x) > 1
    ]
    for curve in reversed(curves):
        for index, (x, y, tip) in enumerate(zip(curve.x, curve.y, curve.tips, strict=True)):
            kind = _kind(curve, index)
            radius = 7.0 if kind == "ring" else 4.5
            at = {"cx": across(x) - left, "cy": down(y), "r": radius}
            parts.append(element("circle", **at, class_=f"{kind} {curve.css}", data_tip=tip))
    return element("svg", *parts, x=left, width=right - left, height=down.start)


def _kind(curve: Curve, index: int) -> str:
    if index == curve.marked:
        return "ring"
    return "hollow" if index in curve.hollow else "dot"


def _names(
    curves: Sequence[Curve], level: Level | None, across: Scale, down: Scale
) -> list[Markup]:
    """Write names at the right ends of the lines, moved apart, each with a piece of its line."""
    ends = [(curve.name, curve.y[-1], f"line {curve.css}") for curve in curves]
    ends += [(level.name, level.value, "base")] if level else []
    wanted = [min(down(y), down.start) for _, y, _ in ends]
    positions = svg.spread_labels(wanted, _LINE, down.stop + 6, down.start)
    x = across.stop + 18
    parts = []
    for (name, _, css), y in zip(ends, positions, strict=True):
        parts.append(svg.path([(x, y), (x + 16, y)], css))
        parts.append(svg.short_text(x + 22, y + svg.SMALL / 3, name, _LABELS - 46))
    return parts


def draw_gains(
    differences: Sequence[tuple[str, str, np.ndarray]], title: str, width: float = _GAINS_WIDTH
) -> Markup:
    """Draw the differences of each method, the largest gain at the left, on a common scale.

    ``differences`` has the method's name, the CSS class of its color, and the values of all
    queries.
    """
    largest = max((float(np.abs(values).max()) for _, _, values in differences), default=0.0)
    down = Scale(-(largest or 1.0), largest or 1.0, _GAINS_HEIGHT, _GAINS_TOP)
    charts = [_draw_gains_of_one(*one, down, title, width) for one in differences]
    return element("div", *charts, class_="multiples")


def _draw_gains_of_one(
    name: str, css: str, values: np.ndarray, down: Scale, title: str, width: float
) -> Markup:
    ordered = np.sort(values)[::-1]
    shown = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _MOST_POINTS)).round())
    across = Scale(0, max(len(ordered) - 1, 1), 0, width)
    points = [(across(index), float(ordered[int(index)])) for index in shown]
    won, lost = int((values > 0).sum()), int((values < 0).sum())
    parts = [
        element("circle", cx=5, cy=10, r=5, class_=f"fill {css}"),
        svg.text(16, 14, svg.shorten(name, width - 16), class_="strong"),
        _area([(x, max(y, 0.0)) for x, y in points], down, "good"),
        _area([(x, min(y, 0.0)) for x, y in points], down, "bad"),
        svg.line(0, down(0), width, down(0), "grid"),
        _describe_end(0, won, "won", ordered[0], "start"),
        _describe_end(width, lost, "lost", ordered[-1], "end"),
    ]
    summary = f"{title}: {name}. {won:,} queries gain, {lost:,} lose"
    return svg.drawing(width, _GAINS_HEIGHT + 4, *parts, title=summary)


def _describe_end(x: float, n_queries: int, what: str, largest: float, anchor: str) -> Markup:
    """Write the number of queries that won or lost, and their largest difference, above."""
    label = f"{n_queries:,} {what}" + (f" ({largest:+.2f})" if n_queries else "")
    return svg.text(x, _GAINS_TOP - 12, label, anchor, class_="soft")


def _area(points: list[tuple[float, float]], down: Scale, css: str) -> Markup:
    """Draw the area between the points and zero."""
    inside = [(x, y) for x, y in points if y]
    if not inside:
        return Markup()
    edge = [(x, down(y)) for x, y in inside]
    zero = down(0)
    return svg.path([(edge[0][0], zero), *edge, (edge[-1][0], zero)], css, closed=True)


def draw_bars(bars: Sequence[Bar], title: str) -> Markup:
    """Draw bars that start at zero, which a line marks at the left."""
    left = min(_BARS_LEFT, 16 + max(map(svg.width_of, (bar.name for bar in bars))))
    right = _BARS_WIDTH - 12 - max(map(svg.width_of, (bar.label for bar in bars)))
    largest = max(bar.value for bar in bars)
    across = Scale(0.0, largest if largest > 0 else 1.0, left, right)
    parts = [svg.line(left, 0, left, _ROW * len(bars), "grid")]
    for row, bar in enumerate(bars):
        y = row * _ROW
        parts.append(svg.short_text(left - 8, y + _ROW / 2 + 4, bar.name, left - 12, "end"))
        end = max(across(bar.value), left)
        where = {"x": left, "y": y + (_ROW - _BAR) / 2, "width": end - left, "height": _BAR}
        parts.append(element("rect", **where, class_=f"fill {bar.css}"))
        parts.append(svg.text(end + 6, y + _ROW / 2 + 4, bar.label, class_="soft"))
    return svg.drawing(_BARS_WIDTH, _ROW * len(bars) + 2, *parts, title=title)
