"""Figures, as Axes of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ranksieve.io.files import replacing
from ranksieve.metrics import parse_measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ranksieve.selectors.greedy_rankrls_cv import GreedyRankRLSCV

FORMATS = (".pdf", ".png", ".svg")
_WIDTH, _HEIGHT = 3.5, 2.6  # inches: one column of a two-column page
# Colors that differ to color-blind eyes (Okabe and Ito); dashes serve where there is no color.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 2)))
_MOST = 4  # curves that are easily told apart


def plot_path_scores(
    selector: GreedyRankRLSCV,
    lams: Sequence[float] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw the validation measure against the number of features, a line for each regularization.

    A circle marks what the selector chose.

    Parameters
    ----------
    selector : GreedyRankRLSCV
        Fitted.
    lams : sequence of float, optional
        Regularizations to draw, of those that were tried; by default up to four, spread evenly.
    ax : Axes, optional
        Where to draw; by default on a new figure of one column's width.

    Returns
    -------
    Axes
        ``ax.figure.savefig`` writes it; see also :func:`write_figure`.

    References
    ----------
    Figures 1 to 4 of T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear
    time algorithm for learning sparse ranking models. SIGIR 2010 workshop on feature generation
    and selection.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.plots import plot_path_scores
    >>> from ranksieve.selectors import GreedyRankRLSCV
    >>> data, _ = make_ranking(50)
    >>> ax = plot_path_scores(GreedyRankRLSCV(lams=[0.5, 64]).fit(data, eval_set=data))
    >>> [line.get_label() for line in ax.lines], ax.get_ylabel()
    (['$\\lambda = 2^{-1}$', '$\\lambda = 2^{6}$'], 'MAP on validation queries')
    """
    tried = list(selector.lams_)
    shown = _spread(tried) if lams is None else list(lams)
    unknown = [lam for lam in shown if lam not in tried]
    if unknown:
        raise ValueError(f"lam={unknown[0]:g} was not tried; tried were {_listed(tried)}")
    if ax is None:
        ax = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained").subplots()
    sizes = np.arange(1, selector.values_.shape[1] + 1)
    for place, lam in enumerate(shown):
        ax.plot(
            sizes,
            selector.values_[tried.index(lam)],
            color=_COLORS[place % len(_COLORS)],
            linestyle=_DASHES[place % len(_DASHES)],
            linewidth=1.2,
            label=_label(lam),
        )
    k = len(selector.selected_)
    value = selector.values_[tried.index(selector.lam_), k - 1]
    chosen = f"chosen: {_label(selector.lam_)}"
    ax.scatter([k], [value], s=36, facecolors="none", edgecolors="black", zorder=3, label=chosen)
    ax.set_xlabel("number of features")
    ax.set_ylabel(_what(selector))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    # Above the axes: curves of this kind leave no corner free.
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
        frameon=False,
        fontsize="x-small",
        handlelength=1.8,
        columnspacing=1.0,
    )
    return ax


def write_figure(ax: Axes, path: str | Path) -> None:
    """Write the figure of some Axes to a file; its suffix says how (pdf, png or svg).

    Text stays text in vector formats, and the same figure gives the same bytes.
    """
    path = Path(path)
    check_format(path)
    figure = ax.get_figure(root=True)
    assert figure is not None
    kind = path.suffix[1:].lower()
    no_date = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with (
        mpl.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "ranksieve"}),
        replacing(path) as temporary,
    ):
        figure.savefig(temporary, format=kind, dpi=300, metadata=no_date)


def check_format(path: Path) -> None:
    """Raise a ValueError unless the suffix is that of a format for figures."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: the name of a figure must end in {', '.join(FORMATS)}")


def _spread(lams: list[float]) -> list[float]:
    places = np.linspace(0, len(lams) - 1, min(_MOST, len(lams))).round().astype(int)
    return [lams[place] for place in places]


def _label(lam: float) -> str:
    power = log2(lam)
    value = f"2^{{{round(power)}}}" if power == round(power) else f"{lam:g}"
    return rf"$\lambda = {value}$"


def _listed(lams: list[float]) -> str:
    return ", ".join(f"{lam:g}" for lam in lams)


def _what(selector: GreedyRankRLSCV) -> str:
    if selector.validated_:
        return f"{parse_measure(selector.measure)} on validation queries"
    if selector.criterion == "squared":
        return "leave-query-out error"
    return f"leave-query-out {parse_measure(selector.criterion)}"
