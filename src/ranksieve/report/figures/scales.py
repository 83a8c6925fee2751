"""Scales that several figures share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from ranksieve.report.figures.style import SMALL_SIZE

_WIDE = 10.0  # ratio of the numbers of features from which their scale is logarithmic


def cut_below(ax: Axes, low: float, high: float) -> None:
    """Limit the space below these values to the distance between them.

    A few features in random order rank so badly that all other lines would look the same.
    """
    if ax.dataLim.y0 < low - (high - low) < low:
        ax.set_ylim(low - (high - low))


def number_ticks(ax: Axes, ks: Sequence[int]) -> None:
    """Ticks at the numbers of features, with a number where there is room.

    Their scale is logarithmic if they are of several magnitudes.
    """
    if ks[-1] >= _WIDE * ks[0]:
        ax.set_xscale("log")
    shown = positions_with_room(ax, ks, (len(str(ks[-1])) + 1) * SMALL_SIZE * 0.6 / 72)
    if shown[-1] != len(ks) - 1:
        shown[max(1, len(shown) - 1) :] = [len(ks) - 1]
    ax.set_xticks([ks[index] for index in shown], [str(ks[index]) for index in shown])
    ax.set_xticks(ks, minor=True)
    ax.xaxis.set_minor_formatter(NullFormatter())


def positions_with_room(ax: Axes, ks: Sequence[int], room: float) -> list[int]:
    """Positions of numbers of features, from the first, that are at least ``room`` inches apart."""
    positions = np.log(ks) if ax.get_xscale() == "log" else np.array(ks, dtype=float)
    if len(ks) > 1:
        width = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted()).width
        low, high = ax.dataLim.intervalx if ax.has_data() else (ks[0], ks[-1])
        span = np.log(high / low) if ax.get_xscale() == "log" else high - low
        positions *= width / max(span, positions[-1] - positions[0])
    shown = [0]
    for index in range(1, len(ks)):
        if positions[index] - positions[shown[-1]] >= room:
            shown.append(index)
    return shown
