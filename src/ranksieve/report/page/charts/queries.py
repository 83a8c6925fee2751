"""Draw the gain or loss of each query in descending order, a small chart for each method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.report.page.svg import Scale, drawing, line, path, shorten, text

_WIDTH, _HEIGHT, _TOP = 216.0, 140.0, 44.0
_MOST_POINTS = 90  # more cannot be distinguished


def draw_gains(
    differences: Sequence[tuple[str, str, np.ndarray]],
    title: str,
    width: float = _WIDTH,
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
    down = Scale(-(largest or 1.0), largest or 1.0, _HEIGHT, _TOP)
    charts = [_draw(*one, down, title, width) for one in differences]
    return element("div", *charts, class_="multiples")


def _draw(name: str, css: str, values: np.ndarray, down: Scale, title: str, width: float) -> Markup:
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
        text(0, _TOP - 12, _ends(won, float(ordered[0]), "won"), class_="soft"),
        text(width, _TOP - 12, _ends(lost, float(ordered[-1]), "lost"), "end", class_="soft"),
    ]
    summary = f"{title}: {name}. {won:,} queries gain, {lost:,} lose"
    return drawing(width, _HEIGHT + 4, *parts, title=summary)


def _ends(n_queries: int, value: float, what: str) -> str:
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
