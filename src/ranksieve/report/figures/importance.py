"""Features by importance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ranksieve.data import DataError
from ranksieve.report.figures.names import check_shown, names_of
from ranksieve.report.figures.style import SMALL_SIZE, finish, line_style, new_axes

MOST_NAMED = 30
"""Features up to which names are printed."""
_ROW = 0.125  # inches


def plot_importance(
    values: Any,
    names: Sequence[str] | None = None,
    n_shown: int | None = None,
    *,
    label: str = "importance",
    ax: Axes | None = None,
) -> Axes:
    """Draw the importance of features, the most important first.

    Up to 30 features are bars with names; more are a curve over their rank, whose shape tells how
    many are of use.

    Parameters
    ----------
    values : array of shape (features,)
        Such as ``importance_`` or ``scores_`` of a fitted selector.
    names : sequence of str, optional
        Of the features; by default their numbers, from 1.
    n_shown : int, optional
        How many of the most important to draw; by default all.
    label : str
        What the values are, such as ``"MAP of the feature alone"``.
    ax : Axes, optional
        Where to draw; by default on a new figure of one column's width.

    Returns
    -------
    Axes

    References
    ----------
    Figure 6 of X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.report.figures import plot_importance
    >>> from ranksieve.selectors import GAS
    >>> data, _ = make_ranking(50)
    >>> selector = GAS(3).fit(data)
    >>> ax = plot_importance(selector.importance_, data.feature_names, 5, label="MAP")
    >>> best = ax.get_yticklabels()[0].get_text()
    >>> best == data.feature_names[selector.importance_.argmax()]
    True
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise DataError("importance must be one finite number for each feature")
    labels = names_of(names, len(values))
    check_shown(n_shown)
    shown = np.argsort(-values, kind="stable")[:n_shown]
    if len(shown) > MOST_NAMED:
        ax = new_axes() if ax is None else ax
        _draw_curve(ax, values[shown], label)
    else:
        ax = new_axes(0.6 + _ROW * len(shown)) if ax is None else ax
        _draw_bars(ax, values[shown], [labels[feature] for feature in shown], label)
    return ax


def _draw_bars(ax: Axes, values: np.ndarray, labels: list[str], label: str) -> None:
    ax.barh(np.arange(len(values)), values, height=0.7, color=line_style(0)["color"])
    finish(ax, label, "")
    ax.set_yticks(np.arange(len(values)), labels, fontsize=SMALL_SIZE)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(values) - 0.4, -0.6)


def _draw_curve(ax: Axes, values: np.ndarray, label: str) -> None:
    ranks = np.arange(1, len(values) + 1)
    ax.plot(ranks, values, linewidth=0.8, markersize=2.5, **line_style(0))
    finish(ax, "features, the most important first", label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
