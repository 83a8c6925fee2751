"""Draw curves, such as quality by the number of features, gains of queries, densities, and bars."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ranksieve.report.charts import svg
from ranksieve.report.charts.colors import GAIN, LOSS, PLAIN, WHOLE, color_class
from ranksieve.report.charts.svg import Scale
from ranksieve.report.formats.html import element

_HEIGHT, _SHAPE = (
    380.0,
    0.7,
)  # most pixels, and the height of a narrow chart as a share of its width
_LEFT, _TOP, _BOTTOM = 72.0, 12.0, 48.0
_LABELS = 200.0  # maximum width of the names at the right with their lines, in pixels
_LINE = 16.0  # distance between names
_WIDE = 10.0  # ratio of numbers from which the scale is logarithmic
_BOLD = 1.15  # width of bold text, relative to the same that is not
_MOST_DOTS = 60  # points of a line that are drawn as dots, too
_SMALL_WIDTH, _SMALL_GAP = 190.0, 24.0  # of small charts side by side: least width, and distance
_GAINS_HEIGHT, _GAINS_TOP = 140.0, 44.0
_DENSITY_HEIGHT, _DENSITY_TOP = 130.0, 24.0
_BARS_LEFT, _BARS_WIDTH = 220.0, 760.0  # most room of names, and most width of all
_ROW, _BAR = 20.0, 12.0
_MOST_POINTS = 90  # of a chart of gains; more cannot be distinguished


@dataclass(frozen=True)
class Curve:
    """A line of a chart."""

    name: str  # none is written if it is empty
    x: Sequence[float]
    y: Sequence[float]
    tips: Sequence[str]  # text shown at each point; none if there are many
    css: str  # CSS classes of its color and dashes; the first is the color
    band: Sequence[tuple[float, float]] = ()  # ends of an interval at each point, drawn as an area
    marked: int | None = None  # index of the point with a ring, if any
    hollow: Collection[int] = ()  # indices of points that are not filled
    has_dots: bool = True  # whether points are drawn on the line, if they are not too many
    may_leave: bool = False  # whether the scale ignores it, as for random orders
    stops: Sequence[int] = ()  # numbers of its points on the slider of the page, if there is one


@dataclass(frozen=True)
class Level:
    """A horizontal line with a band below it for the allowed loss."""

    name: str
    value: float
    allowed: float = 0.0  # height of the band


@dataclass(frozen=True)
class Landmark:
    """A point that is named below the axis, too, with a line down to it."""

    x: float
    y: float
    name: str
    css: str  # CSS class of the color of the line


@dataclass(frozen=True)
class Span:
    """A part of the x axis, measured by a line above it."""

    start: float
    end: float
    name: str


@dataclass(frozen=True)
class Bar:
    """A bar of a chart."""

    name: str
    value: float
    label: str  # number printed beside the bar
    css: str = PLAIN  # CSS class of its color


def draw_curves(
    curves: Sequence[Curve],
    title: str,
    x_label: str,
    y_label: str,
    width: float,
    *,
    level: Level | None = None,
    ticks: Sequence[float] | Mapping[float, str] | None = None,
    floor: float | None = None,
    ends: tuple[float, float] | None = None,
    is_log: bool | None = None,
    landmarks: Sequence[Landmark] = (),
    span: Span | None = None,
) -> Markup:
    """Draw lines with their names beside them, and values that show under the pointer.

    By default, ``ticks`` below the axis are round numbers, and the x scale, from the smallest to
    the largest number or between ``ends``, is logarithmic if the numbers differ much. A mapping
    names the ticks. The y scale starts at ``floor``, by default below most of the points.
    """
    names = [curve.name for curve in curves if curve.name] + ([level.name] if level else [])
    labels = min(_LABELS, 0.36 * width, 46 + max(map(svg.width_of, names)))
    below = _BOTTOM + (_LINE if landmarks else 0.0)
    height = max(min(_HEIGHT, _SHAPE * width), _TOP + below + _LINE * (len(names) + 1))
    xs = [x for curve in curves for x in curve.x] if ends is None else [*ends]
    if is_log is None:
        is_log = min(xs) > 0 and max(xs) >= _WIDE * min(xs)
    ends = (min(xs), max(xs)) if is_log or max(xs) > min(xs) else svg.padded_range(xs)
    across = Scale(*ends, _LEFT + 12, width - labels - 12, is_log)
    low, high = _range(curves, level)
    low = low if floor is None else floor
    down = Scale(low, high, height - below, _TOP)
    return svg.drawing(
        width,
        height,
        *_axes(across, down, height - 8, (x_label, y_label), ticks),
        *_level(level, across, down),
        *_landmarks(landmarks, across, down),
        *_span(span, across, down),
        _clip_curves(curves, across, down),
        *_names(curves, level, across, down, labels - 45),
        title=title,
    )


def _range(curves: Sequence[Curve], level: Level | None) -> tuple[float, float]:
    """Return the range of most points: one bad selection would make all other lines look alike."""
    kept = [y for curve in curves if not curve.may_leave for y in curve.y]
    kept += [end for curve in curves if not curve.may_leave for ends in curve.band for end in ends]
    others = [y for curve in curves if curve.may_leave for y in curve.y]
    if level:
        kept += [level.value, level.value - level.allowed]
    if all(len(curve.x) == 1 for curve in curves):  # no line hides another
        return svg.padded_range(kept + others)
    ordered = sorted(kept or others)
    quarter = ordered[len(ordered) // 4]
    floor = quarter - 2 * (ordered[-1] - quarter)
    if level:
        floor = min(floor, level.value - level.allowed)
    seen = [y for y in kept + others if y >= floor]
    cut = [floor] if len(seen) < len(kept + others) else []
    return svg.padded_range(seen + cut)


def _axes(
    across: Scale,
    down: Scale,
    lowest: float,
    names: tuple[str, str],
    ticks: Sequence[float] | Mapping[float, str] | None,
) -> list[Markup]:
    left, right, bottom = across.start - 12, across.stop + 12, down.start
    marks = down.ticks()
    digits = svg.decimals_of(marks)
    parts = [svg.line(left, down(value), right, down(value), "grid") for value in marks]
    parts += [
        svg.text(left - 8, down(value) + 4, f"{value:.{digits}f}", "end", class_="soft")
        for value in marks
    ]
    values = across.ticks(10) if ticks is None else ticks
    texts = values if isinstance(values, Mapping) else {x: f"{x:g}" for x in values}
    shown = _with_room(across, texts)
    parts += [svg.text(across(x), bottom + 18, texts[x], "middle", class_="soft") for x in shown]
    parts.append(svg.text((left + right) / 2, lowest, names[0], "middle", class_="soft"))
    turned = f"translate(12 {(down.start + down.stop) / 2:.0f}) rotate(-90)"
    parts.append(svg.text(0, 0, names[1], "middle", class_="soft", transform=turned))
    return parts


def _with_room(across: Scale, texts: Mapping[float, str]) -> list[float]:
    """Return ticks whose texts do not overlap, including the last one."""
    shown: list[float] = []
    for value in sorted(texts, reverse=True):
        room = 8 + svg.width_of(texts[value])
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
    return [*band, svg.line(left, y, right, y, f"base {WHOLE}")]


def _landmarks(landmarks: Sequence[Landmark], across: Scale, down: Scale) -> list[Markup]:
    parts: list[Markup] = []
    widths = [_BOLD * svg.width_of(one.name) for one in landmarks]
    apart = 12 + sum(widths) / max(1, len(widths))  # exact for two
    wanted = [across(one.x) for one in landmarks]
    right = across.stop + 12
    centers = svg.spread_labels(wanted, apart, 0.0, max(right, wanted[-1]) if wanted else right)
    for one, x, center in zip(landmarks, wanted, centers, strict=True):
        parts.append(svg.line(x, down(one.y), x, down.start, f"drop {one.css}"))
        parts.append(svg.text(center, down.start + 34, one.name, "middle", class_="strong"))
    return parts


def _span(span: Span | None, across: Scale, down: Scale) -> list[Markup]:
    """Draw a line with ends between two places of the x axis, and its name above."""
    if span is None:
        return []
    start, end, y = across(span.start), across(span.end), down.start - 10
    ends = [svg.line(x, y - 4, x, y + 4, "whisker") for x in (start, end)]
    has_room = _BOLD * svg.width_of(span.name) <= end - start
    x, anchor = ((start + end) / 2, "middle") if has_room else (end, "end")
    name = svg.text(x, y - 6, span.name, anchor, class_="strong")
    return [svg.line(start, y, end, y, "whisker"), *ends, name]


def _clip_curves(curves: Sequence[Curve], across: Scale, down: Scale) -> Markup:
    """Draw the lines and points, clipped to the axes."""
    left, right = across.start - 12, across.stop + 12
    parts = [_band(curve, across, down, left) for curve in curves if curve.band]
    for curve in reversed(curves):
        at = [(across(x) - left, down(y)) for x, y in zip(curve.x, curve.y, strict=True)]
        if len(at) > 1:
            parts.append(svg.path(at, f"line {curve.css}"))
    for curve in reversed(curves):
        color = curve.css.split()[0]
        for index, (x, y) in enumerate(zip(curve.x, curve.y, strict=True)):
            kind = _kind(curve, index)
            if kind == "ring" or (curve.has_dots and len(curve.x) <= _MOST_DOTS):
                where = {"cx": across(x) - left, "cy": down(y), "r": 7 if kind == "ring" else 4.5}
                tip = curve.tips[index] if curve.tips else None
                stop = curve.stops[index] if curve.stops else None
                css = f"{kind} {color}"
                parts.append(element("circle", **where, class_=css, data_tip=tip, data_stop=stop))
    return element("svg", *parts, x=left, width=right - left, height=down.start)


def _band(curve: Curve, across: Scale, down: Scale, left: float) -> Markup:
    """Draw an area between the ends of an interval at each point; a broad line if there is one."""
    xs = [across(x) - left for x in curve.x]
    xs = xs if len(xs) > 1 else [xs[0] - 6, xs[0] + 6]
    ends = curve.band if len(curve.band) > 1 else [*curve.band, *curve.band]
    lower = [(x, down(low)) for x, (low, _) in zip(xs, ends, strict=True)]
    upper = [(x, down(high)) for x, (_, high) in zip(xs, ends, strict=True)]
    return svg.path([*lower, *upper[::-1]], f"range {curve.css.split()[0]}", closed=True)


def _is_ring(curve: Curve) -> bool:
    """Whether it is a single point with a ring."""
    return len(curve.x) == 1 and curve.marked == 0


def _kind(curve: Curve, index: int) -> str:
    if index == curve.marked:
        return "ring"
    return "hollow" if index in curve.hollow else "dot"


def _names(
    curves: Sequence[Curve], level: Level | None, across: Scale, down: Scale, room: float
) -> list[Markup]:
    """Write names at the right ends of the lines, moved apart, each with a piece of its line."""
    ends = [
        (curve.name, curve.y[-1], f"{'ring' if _is_ring(curve) else 'line'} {curve.css}")
        for curve in curves
        if curve.name
    ]
    ends += [(level.name, level.value, f"base {WHOLE}")] if level else []
    wanted = [min(down(y), down.start) for _, y, _ in ends]
    positions = svg.spread_labels(wanted, _LINE, down.stop + 6, down.start)
    x = across.stop + 18
    parts = []
    for (name, _, css), y in zip(ends, positions, strict=True):
        if css.startswith("ring"):
            parts.append(element("circle", cx=x + 8, cy=y, r=5, class_=css))
        else:
            parts.append(svg.path([(x, y), (x + 16, y)], css))
        parts.append(svg.short_text(x + 22, y + svg.SMALL / 3, name, room))
    return parts


def draw_gains(
    differences: Sequence[tuple[str, str, np.ndarray]], title: str, width: float
) -> Markup:
    """Draw the differences of each method, the largest gain at the left, on a common scale.

    ``differences`` has the method's name, the CSS class of its color, and the values of all
    queries.
    """
    largest = max((float(np.abs(values).max()) for _, _, values in differences), default=0.0)
    down = Scale(-(largest or 1.0), largest or 1.0, _GAINS_HEIGHT, _GAINS_TOP)
    each = _width_of_each(len(differences), width)
    counts = [
        f"{name} gains {(values > 0).sum():,} and loses {(values < 0).sum():,} queries"
        for name, _, values in differences
    ]
    charts = [_draw_gains_of_one(*one, down, each) for one in differences]
    return _side_by_side(charts, each, _GAINS_HEIGHT, width, f"{title}: {'; '.join(counts)}")


def _width_of_each(n_charts: int, width: float) -> float:
    """Width of each of several small charts side by side."""
    most = int((width + _SMALL_GAP) // (_SMALL_WIDTH + _SMALL_GAP))
    n_beside = max(1, min(most, n_charts))
    return (width - (n_beside - 1) * _SMALL_GAP) / n_beside


def _side_by_side(
    charts: Sequence[Sequence[Markup]],
    each: float,
    height: float,
    width: float,
    title: str,
    key: Sequence[Markup] = (),
    top: float = 0.0,
) -> Markup:
    """Draw small charts of the same size in rows, below a key to their lines of height ``top``."""
    n_beside = round((width + _SMALL_GAP) / (each + _SMALL_GAP))
    placed = list(key)
    for number, parts in enumerate(charts):
        row, column = divmod(number, n_beside)
        x, y = column * (each + _SMALL_GAP), top + row * (height + _SMALL_GAP)
        placed.append(element("g", *parts, transform=f"translate({x:.1f} {y:.1f})"))
    n_rows = -(-len(charts) // n_beside)
    return svg.drawing(width, top + n_rows * (height + _SMALL_GAP), *placed, title=title)


def _draw_gains_of_one(
    name: str, css: str, values: np.ndarray, down: Scale, width: float
) -> list[Markup]:
    ordered = np.sort(values)[::-1]
    shown = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), _MOST_POINTS)).round())
    across = Scale(0, max(len(ordered) - 1, 1), 0, width)
    points = [(across(index), float(ordered[int(index)])) for index in shown]
    won, lost = int((values > 0).sum()), int((values < 0).sum())
    return [
        element("circle", cx=5, cy=10, r=5, class_=f"fill {css}"),
        svg.text(16, 14, svg.shorten(name, width - 16), class_="strong"),
        _area([(x, max(y, 0.0)) for x, y in points], down, f"fill {GAIN}"),
        _area([(x, min(y, 0.0)) for x, y in points], down, f"fill {LOSS}"),
        svg.line(0, down(0), width, down(0), "grid"),
        _describe_end(0, won, "won", ordered[0], "start"),
        _describe_end(width, lost, "lost", ordered[-1], "end"),
    ]


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


def draw_densities(
    panels: Sequence[tuple[str, np.ndarray, np.ndarray]],
    grades: Sequence[str],
    title: str,
    width: float,
) -> Markup:
    """Draw densities of features, a small chart with a line for each grade.

    A panel has the name of the feature, points, and its densities there (grades, points).
    """
    each = _width_of_each(len(panels), width)
    charts = [_draw_densities_of_one(*panel, each) for panel in panels]
    key, x, y = [], 0.0, 8.0
    for index, grade in enumerate(grades):
        room = 44 + svg.width_of(grade)
        if x + room > width:
            x, y = 0.0, y + _LINE
        key.append(svg.path([(x, y), (x + 24, y)], f"line {color_class(index)}"))
        key.append(svg.text(x + 30, y + 4, grade))
        x += room
    return _side_by_side(charts, each, _DENSITY_HEIGHT, width, title, key, y + _LINE)


def _draw_densities_of_one(
    name: str, points: np.ndarray, densities: np.ndarray, width: float
) -> list[Markup]:
    bottom = _DENSITY_HEIGHT - 20
    across = Scale(float(points[0]), float(points[-1]), 0, width)
    down = Scale(0.0, float(densities.max()) or 1.0, bottom, _DENSITY_TOP)
    parts = [
        svg.short_text(0, 14, name, width, class_="strong"),
        svg.line(0, bottom, width, bottom, "grid"),
    ]
    for index, values in enumerate(densities.tolist()):
        at = [(across(x), down(y)) for x, y in zip(points.tolist(), values, strict=True)]
        parts.append(svg.path(at, f"line {color_class(index)}"))
    ends = zip((points[0], points[-1]), (0.0, width), ("start", "end"), strict=True)
    parts += [svg.text(x, bottom + 16, f"{end:.3g}", side, class_="soft") for end, x, side in ends]
    return parts


def draw_bars(
    bars: Sequence[Bar], title: str, width: float, *, start: float = 0.0, start_name: str = ""
) -> Markup:
    """Draw bars from ``start``, which a line marks, with its name above; lower ones go left."""
    width = min(width, _BARS_WIDTH)
    left = min(_BARS_LEFT, 0.4 * width, 16 + max(map(svg.width_of, (bar.name for bar in bars))))
    right = width - 12 - max(map(svg.width_of, (bar.label for bar in bars)))
    values = [start, *(bar.value for bar in bars)]
    across = svg.bar_scale(min(values), max(values), left, right)
    zero, top = across(start), _ROW if start_name else 0.0
    bottom = top + _ROW * len(bars)
    parts = [svg.line(zero, top, zero, bottom, "grid")]
    if start_name:
        parts.append(svg.text(left, 14, start_name, class_="soft"))
    for row, bar in enumerate(bars):
        y = top + row * _ROW
        parts.append(svg.short_text(left - 8, y + _ROW / 2 + 4, bar.name, left - 12, "end"))
        first, last = sorted((zero, across(bar.value)))
        where = {"x": first, "y": y + (_ROW - _BAR) / 2, "width": last - first, "height": _BAR}
        parts.append(element("rect", **where, class_=f"fill {bar.css}"))
        parts.append(svg.text(last + 6, y + _ROW / 2 + 4, bar.label, class_="soft"))
    return svg.drawing(width, bottom + 2, *parts, title=title)
