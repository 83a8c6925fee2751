"""Elements of charts: SVG elements, scales, axes, and labels that fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import east_asian_width

from markupsafe import Markup

from ranksieve.report.formats.html import element, format_length
from ranksieve.text import on_one_line

PAGE, COLUMN = 900.0, 420.0
"""Widths in pixels: of the page, and of one column of a paper."""
WIDE = 704.0
"""A drawing that is wider than this shrinks to as many pixels if there is less room."""
SMALL = 12.0
"""Size of text in charts in pixels, as in the style sheet."""
_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[]{}/\\ -"), frozenset("mwMW@%")
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)


def drawing(width: float, height: float, *children: Markup, title: str, **more: object) -> Markup:
    """An ``svg`` element with a title for screen readers, and ``more`` attributes.

    The size is in pixels. On a narrow screen, a wide one shrinks as far as it can be read, and
    scrolls.
    """
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {format_length(width)} {format_length(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
        class_="wide" if width > WIDE else None,
        **more,
    )


def text(x: float, y: float, label: str, anchor: str = "start", **more: object) -> Markup:
    """A label; ``anchor`` is ``start``, ``middle`` or ``end``."""
    align = None if anchor == "start" else anchor
    return element("text", on_one_line(label), x=x, y=y, text_anchor=align, **more)


def short_text(
    x: float, y: float, label: str, room: float, anchor: str = "start", **more: object
) -> Markup:
    """A label shortened to fit into ``room`` pixels; if it is cut, a tooltip has all of it."""
    short = shorten(label, room)
    return text(x, y, short, anchor, **more, data_tip=label if short != label else None)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[tuple[float, float]], class_: str, *, closed: bool = False) -> Markup:
    """Lines from point to point."""
    steps = " ".join(f"{format_length(x)} {format_length(y)}" for x, y in points)
    return element("path", d=f"M{steps}{'z' if closed else ''}", class_=class_)


def boxes(rectangles: Sequence[tuple[float, float, float, float]], class_: str) -> Markup:
    """Draw rectangles (x, y, width, height) as one element, which keeps pages small."""
    steps = "".join(
        f"M{format_length(x)} {format_length(y)}h{format_length(w)}v{format_length(h)}"
        f"h{format_length(-w)}z"
        for x, y, w, h in rectangles
    )
    return element("path", d=steps, class_=class_)


def width_of(label: str) -> float:
    """Estimate the width of a label in pixels, in a sans-serif font."""
    return SMALL * sum(map(_share, label))


def _share(sign: str) -> float:
    if east_asian_width(sign) in "WF":
        return 1.05
    if sign in _NARROW:
        return 0.36
    return 0.92 if sign in _WIDE else 0.7 if sign.isupper() else 0.58


def shorten(label: str, room: float) -> str:
    """Shorten a label to one line of at most ``room`` pixels by leaving out its middle.

    >>> shorten("number of words in the title", 100), shorten("short", 100)
    ('number...e title', 'short')
    """
    text = on_one_line(label)
    if width_of(text) <= room:
        return text
    kept = len(text) - 1
    while kept > 1 and width_of(_halves(text, kept)) > room:
        kept -= 1
    return _halves(text, kept)


def _halves(label: str, kept: int) -> str:
    return f"{label[: (kept + 1) // 2]}...{label[len(label) - kept // 2 :]}"


@dataclass(frozen=True)
class Scale:
    """Maps values to pixels."""

    low: float  # values at the ends
    high: float
    start: float  # pixels at the ends
    stop: float
    is_log: bool = False  # whether equal ratios are equally far apart; then values are positive

    def __call__(self, value: float) -> float:
        """Pixels of a value."""
        of: Callable[[float], float] = math.log if self.is_log else float
        low, high = of(self.low), of(self.high)
        share = (of(value) - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Evenly spaced round values within the ends; powers of ten and parts on a log scale."""
        if self.is_log:
            return self._log_ticks(most)
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(nice * power for nice in _NICE if span / (nice * power) <= most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [multiple * step for multiple in range(first, last + 1)]

    def _log_ticks(self, most: int) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for parts in ((1, 2, 5), (1, 3), (1,)):
            found = [part * 10.0**power for power in powers for part in parts]
            found = [value for value in found if self.low <= value <= self.high * 1.0001]
            if len(found) <= most:
                break
        return found


def bar_scale(low: float, high: float, start: float, stop: float) -> Scale:
    """The scale of bars with these ends; if all bars are empty, they are at its start."""
    return Scale(low, high if high > low else low + 1.0, start, stop)


def decimals_of(ticks: Sequence[float]) -> int:
    """Number of decimals that distinguishes ticks."""
    steps = [after - before for before, after in pairwise(ticks)]
    smallest = min(steps, default=1.0)
    digits = max(0, -math.floor(math.log10(smallest) + 1e-9)) if smallest > 0 else 2
    return digits if all(abs(round(t, digits) - t) < 1e-9 for t in ticks) else digits + 1


def padded_range(values: Sequence[float]) -> tuple[float, float]:
    """Smallest and largest value, with some space added on both sides."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def spread_labels(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Positions nearest to the wanted ones that are at least a distance apart.

    >>> spread_labels([10, 12, 50], 10, 0, 100)
    [6.0, 16.0, 50.0]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    blocks: list[tuple[float, int]] = []  # wanted center and number of labels

    def first_of(center: float, n: int) -> float:
        half = (n - 1) / 2 * distance
        return min(max(center, low + half), high - half) - half

    for index in order:
        center, n = wanted[index], 1
        while blocks and first_of(*blocks[-1]) + blocks[-1][1] * distance > first_of(center, n):
            before, n_before = blocks.pop()
            center, n = (before * n_before + center * n) / (n_before + n), n_before + n
        blocks.append((center, n))
    places = [
        first_of(*block) + number * distance for block in blocks for number in range(block[1])
    ]
    return [place for _, place in sorted(zip(order, places, strict=True))]
