"""How often each feature is selected in a study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from ranksieve.data import DataError
from ranksieve.report.figures.studies import runs_of
from ranksieve.report.figures.style import (
    COLOR_MAP,
    LETTER,
    check_shown,
    finish,
    finish_color_bar,
    format_name,
    new_axes,
    width_of,
)
from ranksieve.study.results import RANDOM, Outcomes, Run, StudyResult
from ranksieve.text import every, quantity

_ROW = 0.16  # inches
_LISTED = 5  # features in words


def plot_selection_frequency(
    result: StudyResult,
    ranker: str,
    k: int | None = None,
    selectors: Sequence[str] | None = None,
    n_shown: int = 25,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of the folds (and seeds) in which each selector selects each feature.

    Rows are selectors and columns are features, those selected most often by all selectors first.
    A stable method has only dark and white cells; features that are never selected are white.

    Parameters
    ----------
    result : StudyResult
    ranker : str
        A ranker of the study, with which the parameters of selectors were tuned.
    k : int, optional
        Number of features that was asked for, one of the study; by default what the validation
        queries of each fold chose.
    selectors : sequence of str, optional
        Which to draw; by default all but ``all`` and ``random``.
    n_shown : int
        Most features to draw; more than 25 names do not fit into a column of a page.
    ax : Axes, optional
        Where to draw; by default on a new figure of one column's width.

    Returns
    -------
    Axes

    References
    ----------
    An index of the same is S. Nogueira, K. Sechidis, G. Brown. On the stability of feature
    selection algorithms. Journal of Machine Learning Research 18(174), 2018; see
    :func:`ranksieve.significance.nogueira`.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.report.figures import plot_selection_frequency
    >>> from ranksieve.study import Study
    >>> data, _ = make_ranking(60, n_noise=3)
    >>> study = Study(data, selectors=["gas-e"], rankers=["rankrls"], ks=[2, 5], seeds=1)
    >>> ax = plot_selection_frequency(study.run(), "rankrls", k=2)
    >>> [tick.get_text() for tick in ax.get_xticklabels()], ax.images[0].get_array().tolist()
    (['8', '13'], [[1.0, 1.0]])
    """
    check_shown(n_shown)
    runs = runs_of(result, ranker, selectors, without=(RANDOM,))
    shares, taken = _table(result, runs, k)
    shown = taken[:n_shown]
    names = [format_name(str(result.feature_names[feature])) for feature in shown]
    if ax is None:
        longest = max(map(width_of, names))
        ax = new_axes(1.0 + _ROW * len(runs) + LETTER * longest)
    image = ax.imshow(
        np.ma.masked_equal(shares[:, shown], 0.0),
        cmap=COLOR_MAP,
        vmin=0,
        vmax=1,
        interpolation="nearest",
        aspect="auto",
    )
    finish(ax, _axis_label(len(shown), len(taken)), "")
    ax.set_xticks(np.arange(len(names)), names, rotation=90)
    ax.set_yticks(np.arange(len(runs)), [format_name(run.selector) for run in runs])
    ax.tick_params(length=0)
    _separate(ax, *shares[:, shown].shape)
    bar = ax.figure.colorbar(image, ax=ax, location="top", aspect=40, shrink=0.8)
    is_seeded = any(run.chosen.n_seeds > 1 for run in runs)
    finish_color_bar(bar, "share of folds and seeds" if is_seeded else "share of folds")
    return ax


def describe_selection_frequency(result: StudyResult, ranker: str, k: int | None = None) -> str:
    """Describe what :func:`plot_selection_frequency` shows of all selectors, and what it means."""
    runs = runs_of(result, ranker, without=(RANDOM,))
    shares, taken = _table(result, runs, k)
    n_selections = sum(len(_choose_outcomes(run, k).selections) for run in runs)
    caption = (
        "How often each selector chooses each feature, as a share of the folds (and seeds): the "
        "darker the more often, white is never. Only dark and white cells mean a stable "
        f"selection. Of {every(n_selections, 'selection')}, {len(taken):,} of "
        f"{quantity(len(result.feature_names), 'feature')} are in at least one"
    )
    most = [f"{result.feature_names[f]} ({shares[:, f].mean():.0%})" for f in taken[:_LISTED]]
    always = [run.selector for run, row in zip(runs, shares, strict=True) if set(row) <= {0.0, 1.0}]
    caption += f"; most often, on average over selectors: {', '.join(most)}."
    if always and n_selections > len(runs):
        caption += f" The same features on every fold: {', '.join(always)}."
    return caption


def _table(result: StudyResult, runs: Sequence[Run], k: int | None) -> tuple[np.ndarray, ...]:
    """Shares by selector and feature, and the features that are taken, most often first."""
    n_features = len(result.feature_names)
    shares = np.array([_choose_outcomes(run, k).shares(n_features) for run in runs])
    order = np.argsort(-shares.mean(axis=0), kind="stable")
    return shares, order[shares[:, order].any(axis=0)]


def _choose_outcomes(run: Run, k: int | None) -> Outcomes:
    if k is None:
        return run.chosen
    if k not in run.by_k:
        known = ", ".join(str(number) for number in run.by_k)
        raise DataError(f"{run.selector} was not run with {k} features, but with {known}")
    return run.by_k[k]


def _axis_label(n_shown: int, n_taken: int) -> str:
    if n_shown == n_taken:
        return "features, the most often selected first"
    return f"the {n_shown:,} most often selected, of {n_taken:,}"


def _separate(ax: Axes, n_rows: int, n_columns: int) -> None:
    """Separate the cells by lines."""
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="lightgrey", linewidth=0.8)
    ax.tick_params(which="minor", length=0)
