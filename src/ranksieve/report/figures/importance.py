"""Features by importance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ranksieve.data import DataError
from ranksieve.report.figures.style import check_shown, finish, line_style, names_of, new_axes
from ranksieve.text import every

_MOST_NAMED = 30
_TOP = 20  # features with names, if there are more than fit
_REST = 6  # height of the area of all other features, in rows
_ROW = 0.125  # inches
_LISTED = 5  # features in words


def plot_importance(
    values: Any,
    names: Sequence[str] | None = None,
    n_shown: int | None = None,
    *,
    label: str = "importance",
    ax: Axes | None = None,
) -> Axes:
    """Draw the importance of features, the most important first.

    Up to 30 features are bars with names. If there are more, the 20 most important are bars, and
    the others form an area below them, whose shape shows how many are useful.

    Parameters
    ----------
    values : array of shape (features,)
        Such as ``importance_`` or ``scores_`` of a fitted selector.
    names : sequence of str, optional
        Of the features; by default their numbers, from 1.
    n_shown : int, optional
        Number of the most important features to draw; by default all.
    label : str
        Label of the values, such as ``"MAP of the feature alone"``.
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
    n_named = len(shown) if len(shown) <= _MOST_NAMED else _TOP
    rows = n_named + (_REST if len(shown) > n_named else 0)
    ax = new_axes(0.6 + _ROW * rows) if ax is None else ax
    _draw_bars(ax, values[shown[:n_named]])
    ticks = [labels[feature] for feature in shown[:n_named]]
    if len(shown) > n_named:
        _draw_rest(ax, values[shown[n_named:]], n_named)
        ticks.append(f"{len(shown) - n_named:,} others")
    finish(ax, label, "")
    ax.set_yticks([*range(n_named), n_named - 0.5 + _REST / 2][: len(ticks)], ticks)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(rows - 0.4, -0.6)
    return ax


def describe_importance(values: Any, names: Sequence[str], label: str) -> str:
    """Describe what :func:`plot_importance` shows of all features."""
    values = np.asarray(values, dtype=float)
    order = np.argsort(-values, kind="stable")
    best = [f"{names[feature]} ({values[feature]:.4g})" for feature in order[:_LISTED]]
    caption = f"{label[:1].upper()}{label[1:]}, the most important feature first: {', '.join(best)}"
    if len(order) > _LISTED:
        median = np.median(values)
        caption += (
            f". The median of {every(len(order), 'feature')} is {median:.4g}, and the least "
            f"is {names[order[-1]]} ({values[order[-1]]:.4g})"
        )
    return f"{caption}."


def _draw_bars(ax: Axes, values: np.ndarray) -> None:
    ax.barh(np.arange(len(values)), values, height=0.7, color=line_style(0)["color"])


def _draw_rest(ax: Axes, values: np.ndarray, start: int) -> None:
    """Draw an area below the bars, on the same scale."""
    edges = start - 0.4 + np.linspace(0, _REST - 0.3, len(values) + 1)
    color = line_style(5)["color"]
    ax.stairs(values, edges, orientation="horizontal", fill=True, color=color, label="others")
