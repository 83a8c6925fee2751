"""How all figures look: sizes for one column of a page, colors, dashes, markers and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure

from ranksieve.report.figures.names import width_of

WIDTH, HEIGHT = 3.5, 2.6  # inches: one column of a two-column page
LABEL_SIZE, SMALL_SIZE = 8.0, 7.0  # points: of axis labels, and the smallest text there is
GRAY = "#808080"
# From pale to dark in nearly even steps of lightness, for color-blind eyes and printing in gray.
COLOR_MAP = "YlGnBu"
_MARGIN_COLOR = "#F0E442"  # not used by lines; pale in gray
# Colors that differ to color-blind eyes (Okabe and Ito); dashes and markers serve where there is
# no color. There are 7, 8 and 9 of them, without a common divisor: a line that has the color of
# an earlier one has other dashes, and one with the same dashes has another marker. Markers that
# come again are filled in another way.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 2)), (0, (8, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", "*")
_FILLS = ("full", "none", "left", "top")
ALL_FEATURES = "all features"  # label of the baseline without selection
LETTER = 0.06  # inches: width of a character of the smallest text
_LEGEND_ROW = 0.15  # inches
_LONGEST_OF_THREE = 16  # characters of a name in a legend of three columns


def line_style(index: int) -> dict[str, Any]:
    """Color, dashes and marker of the line with this number, from 0."""
    return {
        "color": _COLORS[index % len(_COLORS)],
        "linestyle": _DASHES[index % len(_DASHES)],
        "marker": _MARKERS[index % len(_MARKERS)],
        "fillstyle": _FILLS[index // len(_MARKERS) % len(_FILLS)],
    }


def new_axes(height: float = HEIGHT, legend: Sequence[str] = ()) -> Axes:
    """Axes on a :func:`new_figure`."""
    return new_figure(height, legend).subplots()


def new_figure(height: float = HEIGHT, legend: Sequence[str] = ()) -> Figure:
    """Make a figure of one column's width that keeps its parts from overlapping.

    It is higher by the rows of a legend, beyond the first, that these names fill.
    """
    n_rows = max(1, -(-len(legend) // _legend_columns(legend)))
    height += _LEGEND_ROW * (n_rows - 1)
    return Figure(figsize=(WIDTH, height), layout="constrained")


def draw_all_features(ax: Axes, value: float, margin: float | None = None) -> None:
    """Draw a line at the mean with all features, and a strip below it that is the margin."""
    ax.axhline(value, color="black", linewidth=0.8, label=ALL_FEATURES, zorder=1.5)
    if margin is not None:
        strip: dict[str, Any] = {"fc": (_MARGIN_COLOR, 0.4), "ec": "0.5", "lw": 0.4}
        ax.axhspan(value * (1 - margin), value, zorder=0.5, label=margin_label(margin), **strip)


def margin_label(margin: float) -> str:
    """Name of the margin in a legend."""
    return f"{100 * margin:.3g}% margin"


def draw_rings(ax: Axes, xs: Sequence[float], ys: Sequence[float], label: str) -> None:
    """Draw rings around the points that matter most."""
    ax.plot(xs, ys, "o", color="black", fillstyle="none", ms=8, mew=0.9, zorder=4, label=label)


def finish(ax: Axes, xlabel: str = "", ylabel: str = "") -> None:
    """Name the axes, and set the size of all text and which edges are drawn."""
    ax.set_xlabel(xlabel, fontsize=LABEL_SIZE)
    ax.set_ylabel(ylabel, fontsize=LABEL_SIZE)
    ax.tick_params(which="both", labelsize=SMALL_SIZE)
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_offset_text().set_fontsize(SMALL_SIZE)
    ax.spines[["top", "right"]].set_visible(False)


def legend_above(ax: Axes, **options: Any) -> None:
    """Put the legend above the axes, where it covers no data: curves leave no corner free.

    ``options`` of matplotlib's take precedence.
    """
    names = ax.get_legend_handles_labels()[1]
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), **legend_style(names) | options)


def legend_style(names: Sequence[str]) -> dict[str, Any]:
    """Columns, sizes and distances of a legend with these names."""
    return {
        "ncols": _legend_columns(names),
        "frameon": False,
        "fontsize": SMALL_SIZE,
        "handlelength": 2.6,
        "columnspacing": 1.0,
    }


def _legend_columns(names: Sequence[str]) -> int:
    """As many columns as fit into the figure."""
    return 2 if any(width_of(name) > _LONGEST_OF_THREE for name in names) else 3


def finish_color_bar(bar: Colorbar, label: str) -> None:
    """Name a color bar and set the size of its text."""
    bar.set_label(label, fontsize=LABEL_SIZE)
    bar.ax.tick_params(labelsize=SMALL_SIZE)
    bar.outline.set_linewidth(0.5)
