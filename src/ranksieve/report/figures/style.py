"""What all figures share: names that fit, sizes, colors, legends, scales, and files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ranksieve.data import DataError
from ranksieve.io.files import make_directory, replace_on_success
from ranksieve.io.records import write_text
from ranksieve.report.formats.plain_text import escape
from ranksieve.text import file_stem, on_one_line, shorten

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
LONGEST = 24  # characters of a name, so that enough of the fixed width remains for the figure
LETTER = 0.06  # inches: width of a character of the smallest text
_LEGEND_ROW = 0.15  # inches
_LONGEST_OF_THREE = 16  # characters of a name in a legend of three columns
_WIDE = 10.0  # ratio of the numbers of features from which their scale is logarithmic
# Warnings about glyphs that the font lacks.
_NO_GLYPH = ("Glyph .* missing from", "Matplotlib currently does not support .* natively")
_FORMATS = (".pdf", ".png", ".svg")


def format_name(name: str, longest: int = LONGEST) -> str:
    r"""Format a name for matplotlib: without formulas, on one line, its middle left out if long.

    >>> print(format_name("$5 or $6"), format_name("abc\x1b"))
    \$5 or \$6 abc\x1b
    >>> format_name("one_two_three_four", 11)
    'one_...four'
    """
    return shorten(on_one_line(name), longest, width_of).replace("$", r"\$")


def names_of(names: Sequence[str] | None, n_features: int, longest: int = LONGEST) -> list[str]:
    """Names of features to draw, by default numbers; raises a DataError for a wrong number."""
    if names is None:
        return [str(number) for number in range(1, n_features + 1)]
    if len(names) != n_features:
        raise DataError(f"there are {len(names)} names but {n_features} features")
    return [format_name(str(name), longest) for name in names]


def check_shown(n_shown: int | None) -> None:
    """Raise a ValueError unless there are features to show."""
    if n_shown is not None and n_shown < 1:
        raise ValueError(f"n_shown must be at least 1, got {n_shown}")


def width_of(name: str) -> int:
    """Width of a drawn name in characters; wide ones, as of East Asian scripts, count twice."""
    seen = name.replace(r"\$", "$")
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in seen)


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


def write_figure(ax: Axes, path: str | Path) -> None:
    """Write the figure of some Axes to a file in the format of its suffix (pdf, png or svg).

    Text stays text in vector formats, and the same figure gives the same bytes.
    """
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise ValueError(f"{path}: the name of a figure must end in {', '.join(_FORMATS)}")
    figure = ax.get_figure(root=True)
    assert figure is not None
    kind = path.suffix[1:].lower()
    no_date = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with (
        mpl.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "ranksieve"}),
        replace_on_success(path) as temporary,
        warnings.catch_warnings(),
    ):
        for message in _NO_GLYPH:
            warnings.filterwarnings("ignore", message)
        figure.savefig(temporary, format=kind, dpi=300, metadata=no_date)


class Drawing(NamedTuple):
    """A figure, the stem of its files, and what is said below it."""

    ax: Axes
    name: str
    caption: str


def write_drawing(drawing: Drawing, directory: Path) -> str:
    """Write a figure as SVG and PNG, and its caption, to ``figures/``; return what shows it."""
    figures, name = make_directory(directory / "figures"), file_stem(drawing.name)
    figure = drawing.ax.get_figure(root=True)
    assert figure is not None
    for suffix in (".svg", ".png"):
        write_figure(drawing.ax, figures / f"{name}{suffix}")
        figure.set_layout_engine(None)  # the layout of the first format serves all: it takes long
    write_text(f"{on_one_line(drawing.caption)}\n", figures / f"{name}.txt")
    return embed(name, directory)


def embed(name: str, directory: Path) -> str:
    """Markdown that shows a written figure with its caption."""
    caption = (directory / "figures" / f"{name}.txt").read_text(encoding="utf-8")
    return f"![{name}](figures/{name}.svg)\n\n{escape(caption)}"
