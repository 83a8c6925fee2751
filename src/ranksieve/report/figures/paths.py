"""Validation measure along the paths of greedy RankRLS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ranksieve.metrics import parse_measure
from ranksieve.report.figures.studies import ALL_FEATURES
from ranksieve.report.figures.style import finish, legend_above, line_style, new_axes

if TYPE_CHECKING:
    from ranksieve.selectors.embedded.greedy_rankrls_cv import GreedyRankRLSCV

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
    >>> from ranksieve.report.figures import plot_path_scores
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
        known = ", ".join(f"{lam:g}" for lam in tried)
        raise ValueError(f"lam={unknown[0]:g} was not tried; tried were {known}")
    if ax is None:
        ax = new_axes()
    sizes = np.arange(1, selector.values_.shape[1] + 1)
    for place, lam in enumerate(shown):
        style = line_style(place) | {"marker": None}  # hundreds of points, one beside another
        values = selector.values_[tried.index(lam)]
        ax.plot(sizes, values, linewidth=1.2, label=_label(lam), **style)
    k = len(selector.selected_)
    value = selector.values_[tried.index(selector.lam_), k - 1]
    chosen = f"chosen: {_label(selector.lam_)}"
    ax.scatter([k], [value], s=36, facecolors="none", edgecolors="black", zorder=3, label=chosen)
    finish(ax, "number of features", _what(selector))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_above(ax, ncols=3)  # formulas are shorter than how they are written
    return ax


def plot_mean_paths(
    curves: Mapping[float, np.ndarray],
    label: str,
    *,
    base: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw means over folds against the number of features, a line for each regularization.

    Parameters
    ----------
    curves : mapping of float to array
        Regularization -> means for 1, 2, ... features.
    label : str
        What the numbers are.
    base : float, optional
        That of all features, tuned by itself: a horizontal line.
    ax : Axes, optional
        Where to draw; by default on a new figure of one column's width.

    Returns
    -------
    Axes

    References
    ----------
    As of :func:`plot_path_scores`.

    Examples
    --------
    >>> from ranksieve.report.figures import plot_mean_paths
    >>> ax = plot_mean_paths({4.0: [0.2, 0.3], 64.0: [0.25, 0.31]}, "MAP", base=0.3)
    >>> [line.get_label() for line in ax.lines]
    ['all features', '$\\lambda = 2^{2}$', '$\\lambda = 2^{6}$']
    """
    if ax is None:
        ax = new_axes()
    if base is not None:
        ax.axhline(base, zorder=1.5, **ALL_FEATURES)
    for place, (lam, values) in enumerate(curves.items()):
        style = line_style(place) | {"marker": None}
        ax.plot(np.arange(1, len(values) + 1), values, linewidth=1.2, label=_label(lam), **style)
    finish(ax, "number of features", label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_above(ax, ncols=3)
    return ax


def _spread(lams: list[float]) -> list[float]:
    places = np.linspace(0, len(lams) - 1, min(_MOST, len(lams))).round().astype(int)
    return [lams[place] for place in places]


def _label(lam: float) -> str:
    power = log2(lam)
    value = f"2^{{{round(power)}}}" if power == round(power) else f"{lam:g}"
    return rf"$\lambda = {value}$"


def _what(selector: GreedyRankRLSCV) -> str:
    if selector.validated_:
        return f"{parse_measure(selector.measure)} on validation queries"
    if selector.criterion == "squared":
        return "leave-query-out error"
    return f"leave-query-out {parse_measure(selector.criterion)}"
