"""Validation measure along the paths of greedy RankRLS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from ranksieve.metrics import parse_measure
from ranksieve.report.figures import style
from ranksieve.text import quantity

if TYPE_CHECKING:
    from ranksieve.reproduction.training import FoldPaths
    from ranksieve.selectors.embedded.greedy_rankrls_cv import GreedyRankRLSCV

_MOST = 4  # curves that are easily distinguished
# Other lines remain visible above it.
_CHOSEN = {"color": "black", "linestyle": "-", "linewidth": 2.2, "zorder": 1.9}
_NAME = 0.13  # inches: width of a rotated name
_LISTED = 5  # features in words


def plot_path_scores(
    selector: GreedyRankRLSCV | FoldPaths,
    lams: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw the validation measure against the number of features, a line for each regularization.

    The regularization that the selector chose has the thick line, and a ring marks the number of
    features. Above are the names of the features in the order of the thick line, where there is
    room.

    Parameters
    ----------
    selector : GreedyRankRLSCV or FoldPaths
        Fitted; or what a reproduction keeps of it.
    lams : sequence of float, optional
        Tried regularizations to draw in addition to the chosen one; by default up to
        four, spread evenly.
    names : sequence of str, optional
        Of all features; by default numbers, from 1.

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
    >>> [line.get_label() for line in ax.lines]
    ['$\\lambda = 2^{-1}$', '$\\lambda = 2^{6}$, chosen', '19 features']
    """
    tried = list(selector.lams_)
    shown = _spread(tried) if lams is None else list(lams)
    unknown = [lam for lam in shown if lam not in tried]
    if unknown:
        known = ", ".join(f"{lam:g}" for lam in tried)
        raise ValueError(f"lam={unknown[0]:g} was not tried; tried were {known}")
    if selector.lam_ not in shown:
        shown.append(selector.lam_)
    labels = style.names_of(names, selector.n_features_in_)
    features = [labels[feature] for feature in selector.selected_]
    longest = style.LETTER * max(map(style.width_of, features))
    if ax is None:
        ax = style.new_axes(style.HEIGHT + longest, [_label(lam) for lam in shown] + [""])
    sizes = np.arange(1, selector.values_.shape[1] + 1)
    for index, lam in enumerate(shown):
        line = style.line_style(index) | {"marker": None}  # there are hundreds of points
        label = _label(lam)
        if lam == selector.lam_:
            label += ", chosen"
            line |= _CHOSEN
        ax.plot(
            sizes, selector.values_[tried.index(lam)], label=label, **{"linewidth": 1.0, **line}
        )
    k = len(selector.selected_)
    style.draw_rings(ax, [k], [_chosen_value(selector)], quantity(k, "feature"))
    style.finish(ax, "number of features", _describe_measure(selector))
    style.number_ticks(ax, sizes.tolist())
    _name_above(ax, features)
    # Formulas are shorter than their source; names are between the axes and the legend.
    style.legend_above(ax, ncols=3, borderaxespad=0.5 + longest * 72 / style.SMALL_SIZE)
    return ax


def describe_path_scores(
    selector: GreedyRankRLSCV | FoldPaths, names: Sequence[str] | None = None
) -> str:
    """Describe what :func:`plot_path_scores` shows, and what it means."""
    k, lam = len(selector.selected_), selector.lam_
    taken = [str(f + 1) if names is None else str(names[f]) for f in selector.selected_]
    more = f" and {len(taken) - _LISTED} more" if len(taken) > _LISTED else ""
    whole = selector.values_[selector.lams_.index(lam)]
    last = np.flatnonzero(np.isfinite(whole))[-1]
    beside = "" if last + 1 == k else f"; with {last + 1}, this lambda has {whole[last]:.4f}"
    return (
        f"{_describe_measure(selector)}, by the number of features, for some of the "
        f"{quantity(len(selector.lams_), 'lambda')} that were tried. Chosen (thick line and ring): "
        f"lambda {lam:g} with {quantity(k, 'feature')}, {_chosen_value(selector):.4f}{beside}. In "
        "the order of selection: "
        f"{', '.join(taken[:_LISTED])}{more}."
    )


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
        Value of all features, tuned separately, drawn as a horizontal line.

    References
    ----------
    As in :func:`plot_path_scores`.

    Examples
    --------
    >>> from ranksieve.report.figures import plot_mean_paths
    >>> ax = plot_mean_paths({4.0: [0.2, 0.3], 64.0: [0.25, 0.31]}, "MAP", base=0.3)
    >>> [line.get_label() for line in ax.lines]
    ['all features', '$\\lambda = 2^{2}$', '$\\lambda = 2^{6}$']
    """
    if ax is None:
        ax = style.new_axes()
    if base is not None:
        style.draw_all_features(ax, base)
    for index, (lam, values) in enumerate(curves.items()):
        line = style.line_style(index) | {"marker": None}
        ax.plot(np.arange(1, len(values) + 1), values, linewidth=1.2, label=_label(lam), **line)
    style.finish(ax, "number of features", label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.legend_above(ax, ncols=3)
    return ax


def _name_above(ax: Axes, features: Sequence[str]) -> None:
    """Print names above the axes, each above the number of features at which it is added."""
    ks = range(1, len(features) + 1)
    shown = style.positions_with_room(ax, ks, _NAME)
    above = ax.secondary_xaxis("top")
    above.set_xticks([ks[index] for index in shown], [features[index] for index in shown])
    above.xaxis.set_minor_locator(NullLocator())
    above.tick_params(labelsize=style.SMALL_SIZE, length=2, rotation=90)
    above.spines["top"].set_visible(False)


def _chosen_value(selector: GreedyRankRLSCV | FoldPaths) -> float:
    row = selector.lams_.index(selector.lam_)
    return float(selector.values_[row, len(selector.selected_) - 1])


def _spread(lams: list[float]) -> list[float]:
    indices = np.linspace(0, len(lams) - 1, min(_MOST, len(lams))).round().astype(int)
    return [lams[index] for index in indices]


def _label(lam: float) -> str:
    power = log2(lam)
    value = f"2^{{{round(power)}}}" if power == round(power) else f"{lam:g}"
    return rf"$\lambda = {value}$"


def _describe_measure(selector: GreedyRankRLSCV | FoldPaths) -> str:
    if selector.validated_:
        return f"{parse_measure(selector.measure)} on validation queries"
    if selector.criterion == "squared":
        return "leave-query-out error"
    return f"leave-query-out {parse_measure(selector.criterion)}"
