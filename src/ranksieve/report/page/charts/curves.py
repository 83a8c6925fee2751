"""Draw curves: quality against the number or cost of features, and sorted gains of queries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.report.page.charts.svg import (
    SMALL,
    Scale,
    decimals_of,
    drawing,
    line,
    padded,
    path,
    short_text,
    shorten,
    spread_labels,
    text,
    width_of,
)

_WIDTH, _HEIGHT = 900.0, 380.0
_LEFT, _TOP, _BOTTOM = 72.0, 12.0, 48.0
_LABELS = 200.0  # maximum width of the names at the right with their lines, in pixels
_LINE = 16.0  # distance between names
_WIDE = 10.0  # ratio of numbers from which the scale is logarithmic
_GAINS_WIDTH, _GAINS_HEIGHT, _GAINS_TOP = 216.0, 140.0, 44.0
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

    Parameters
    ----------
    curves : sequence of Curve
    title, x_label, y_label : str
    level : Level, optional
        Quality of all features, with the margin as a band.
    ticks : sequence of float, optional
        Values below the axis, such as the tried numbers of features; by default round numbers.
    floor : float, optional
        Value below which lines are cut off.
    is_log : bool, optional
        Whether the x scale is logarithmic; by default if the numbers differ much.
    """
    names = [curve.name for curve in curves] + ([level.name] if level else [])
    labels = min(_LABELS, 46 + max(map(width_of, names)))
    height = max(_HEIGHT, _TOP + _BOTTOM + _LINE * (len(names) + 1))
    xs = [x for curve in curves for x in curve.x]
    if is_log is None:
        is_log = min(xs) > 0 and max(xs) >= _WIDE * min(xs)
    ends = (min(xs), max(xs)) if is_log or max(xs) > min(xs) else padded(xs)
    across = Scale(*ends, _LEFT + 12, _WIDTH - labels - 12, is_log)
    low, high = _range(curves, level)
    low = low if floor is None else max(low, floor)
    down = Scale(low, high, height - _BOTTOM, _TOP)
    return drawing(
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
    return padded(seen + cut)


def _axes(
    across: Scale, down: Scale, x_label: str, y_label: str, ticks: Sequence[float] | None
) -> list[Markup]:
    left, right, bottom = across.start - 12, across.stop + 12, down.start
    marks = down.ticks()
    digits = decimals_of(marks)
    parts = [line(left, down(value), right, down(value), "grid") for value in marks]
    parts += [
        text(left - 8, down(value) + 4, f"{value:.{digits}f}", "end", class_="soft")
        for value in marks
    ]
    shown = _with_room(across, across.ticks(10) if ticks is None else ticks)
    parts += [text(across(x), bottom + 18, f"{x:g}", "middle", class_="soft") for x in shown]
    parts.append(text((left + right) / 2, bottom + 40, x_label, "middle", class_="soft"))
    turned = f"translate(12 {(down.start + down.stop) / 2:.0f}) rotate(-90)"
    parts.append(text(0, 0, y_label, "middle", class_="soft", transform=turned))
    return parts


def _with_room(across: Scale, ticks: Sequence[float]) -> list[float]:
    """Return ticks whose numbers do not overlap, including the last one."""
    shown: list[float] = []
    for value in sorted(ticks, reverse=True):
        room = 8 + width_of(f"{value:g}")
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
    return [*band, line(left, y, right, y, "base")]


def _clipped(curves: Sequence[Curve], across: Scale, down: Scale) -> Markup:
    """Draw the lines and points, clipped to the axes."""
    left, right = across.start - 12, across.stop + 12
    parts = [
        path([(across(x) - left, down(y)) for x, y in zip(curve.x, curve.y, strict=True)], css)
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
    positions = spread_labels(wanted, _LINE, down.stop + 6, down.start)
    x = across.stop + 18
    parts = []
    for (name, _, css), y in zip(ends, positions, strict=True):
        parts.append(path([(x, y), (x + 16, y)], css))
        parts.append(short_text(x + 22, y + SMALL / 3, name, _LABELS - 46))
    return parts


def draw_gains(
    differences: Sequence[tuple[str, str, np.ndarray]],
    title: str,
    width: float = _GAINS_WIDTH,
) -> Markup:
    """Draw the differences of each method, the largest gain at the left, on a common scale.

    Parameters
    ----------
    differences : sequence of (str, str, array)
        Name of the method, CSS class of its color, and the differences of all queries.
    title : str
        Description of the chart, which precedes the name.
    width : float
        Width of each chart in pixels.
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
        text(16, 14, shorten(name, width - 16), class_="strong"),
        _area([(x, max(y, 0.0)) for x, y in points], down, "good"),
        _area([(x, min(y, 0.0)) for x, y in points], down, "bad"),
        line(0, down(0), width, down(0), "grid"),
        text(0, _GAINS_TOP - 12, _describe_end(won, float(ordered[0]), "won"), class_="soft"),
        text(
            width,
            _GAINS_TOP - 12,
            _describe_end(lost, float(ordered[-1]), "lost"),
            "end",
            class_="soft",
        ),
    ]
    summary = f"{title}: {name}. {won:,} queries gain, {lost:,} lose"
    return drawing(width, _GAINS_HEIGHT + 4, *parts, title=summary)


def _describe_end(n_queries: int, value: float, what: str) -> str:
    """Describe the number of queries and their largest difference."""
    return f"{n_queries:,} {what}" + (f" ({value:+.2f})" if n_queries else "")


def _area(points: list[tuple[float, float]], down: Scale, css: str) -> Markup:
    """Draw the area between the points and zero."""
    inside = [(x, y) for x, y in points if y]
    if not inside:
        return Markup()
    edge = [(x, down(y)) for x, y in inside]
    zero = down(0)
    return path([(edge[0][0], zero), *edge, (edge[-1][0], zero)], css, closed=True)
