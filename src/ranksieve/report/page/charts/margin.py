"""Draw a change with its interval and the margin that it must not cross."""

from __future__ import annotations

from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.report.page.svg import Scale, drawing, line, text, width_of

_WIDTH, _HEIGHT = 480.0, 78.0
_LINE, _BAND = 36.0, 18.0  # pixels: middle of the interval, and half of the height of the band


def draw_margin(
    change: float, interval: tuple[float, float], bound: float, margin: float, is_shown: bool
) -> Markup:
    """Draw a relative change, its interval, and the one-sided bound that is tested.

    Parameters
    ----------
    change : float
        Relative to all features.
    interval : (float, float)
        Two-sided.
    bound : float
        Lower bound, which must lie above minus the margin.
    margin : float
    is_shown : bool
        Whether the bound lies above it.
    """
    low, high = min(interval[0], bound, -1.5 * margin), max(interval[1], 0.5 * margin)
    across = Scale(low, high, 60, _WIDTH - 60)
    css = "good" if is_shown else "bad"
    start, end = across(bound), across(interval[1])
    edge, zero = across(-margin), across(0)
    top, height = _LINE - _BAND, 2 * _BAND
    parts = [
        element("rect", x=0, y=top, width=edge, height=height, class_="bad", fill_opacity="0.18"),
        element(
            "rect", x=edge, y=top, width=_WIDTH - edge, height=height,
            class_="good", fill_opacity="0.14",
        ),
        line(zero, top, zero, top + height, "base"),
        line(across(interval[0]), _LINE, end, _LINE, "whisker"),
        element("rect", x=start, y=_LINE - 3, width=max(2.0, end - start), height=6, class_=css),
        element("circle", cx=across(change), cy=_LINE, r=6, class_=css),
        _below(edge, f"margin -{100 * margin:.3g}%"),
        *([_below(zero, "as with all")] if zero - edge > 130 else []),
        _above(across(change), f"{100 * change:+.3g}%", "strong"),
        _above(start, f"bound {100 * bound:+.3g}%", "", across(change)),
    ]  # fmt: skip
    word = "inside" if is_shown else "beyond"
    ends = " to ".join(f"{100 * end:+.3g}%" for end in interval)
    title = (
        f"A change of {100 * change:+.3g}%, {ends}; "
        f"its lower bound of {100 * bound:+.3g}% is {word} the margin of {100 * margin:.3g}%"
    )
    return drawing(_WIDTH, _HEIGHT, *parts, title=title)


def _below(x: float, label: str) -> Markup:
    return text(x, _LINE + _BAND + 16, label, "middle", class_="soft")


def _above(x: float, label: str, css: str, beside: float | None = None) -> Markup:
    """Write a label above the line, to the left of another label if that is near."""
    anchor, room = "middle", width_of(label)
    if beside is not None and beside - x < room:
        anchor, x = "end", min(x + 8, beside - 28)
    return text(x, _LINE - _BAND - 6, label, anchor, class_=css or "soft")
