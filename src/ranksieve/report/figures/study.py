"""Figures of a study: features by how often they are selected, and quality against time.

The runs, the measure and the styles that all figures of a study have are also chosen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ranksieve.choosing import pareto_front
from ranksieve.data import DataError
from ranksieve.metrics import parse_measure
from ranksieve.report.figures import style
from ranksieve.study import enough_features
from ranksieve.study.results import BASE, RANDOM, Outcomes, Run, StudyResult
from ranksieve.text import every, quantity

_ROW = 0.16  # inches
_LISTED = 5  # features in words
_SHORTEST = 1e-6  # seconds: resolution of clocks, and smallest value on a logarithmic scale
_MOST_TICKS = 7


def measure_of(result: StudyResult, measure: str | None) -> str:
    """Name of a measure of the study; by default its main measure."""
    if measure is None:
        return result.main_measure
    name = str(parse_measure(measure))
    if name not in result.measures:
        raise DataError(f"{name} is not in the study; it has {', '.join(result.measures)}")
    return name


def runs_of(
    result: StudyResult,
    ranker: str,
    selectors: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> list[Run]:
    """Some selectors with a ranker; by default all of the study except ``without``.

    All features are never among them, because they have a separate line.
    """
    if selectors is None:
        selectors = [name for name in result.selectors if name not in without]
    runs = [result.run(name, ranker) for name in selectors]
    drawn = [run for run in runs if run.selector != BASE]
    if not drawn:
        raise DataError("there is no selector to draw")
    return drawn


def base_of(result: StudyResult, ranker: str) -> Outcomes | None:
    """All features with a ranker; None if they are not in the study."""
    run = result.runs.get((BASE, ranker))
    return None if run is None else run.chosen


def enough_of(result: StudyResult, ranker: str, measure: str) -> dict[str, int | None]:
    """Fewest features of each selector that are shown to be enough; None where none are.

    Empty if all features, with which to compare, are not in the study.
    """
    if base_of(result, ranker) is None:
        return {}
    return {name: enough_features(result, name, ranker, measure) for name in result.selecting}


def style_of(result: StudyResult, selector: str) -> dict[str, Any]:
    """Color, dashes and marker of a selector: the same in all figures of a study."""
    if selector not in result.selecting:
        return {"color": style.GRAY, "linestyle": (0, (1, 1)), "marker": "x"}
    return style.line_style(result.selecting.index(selector))


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
    k : int, optional
        Number of features that was asked for, one of the study; by default what the validation
        queries of each fold chose.
    selectors : sequence of str, optional
        By default all but ``all`` and ``random``.
    n_shown : int
        Most features to draw; more than 25 names do not fit into a column of a page.

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
    style.check_shown(n_shown)
    runs = runs_of(result, ranker, selectors, without=(RANDOM,))
    shares, taken = _table(result, runs, k)
    shown = taken[:n_shown]
    names = [style.format_name(str(result.feature_names[feature])) for feature in shown]
    if ax is None:
        longest = max(map(style.width_of, names))
        ax = style.new_axes(1.0 + _ROW * len(runs) + style.LETTER * longest)
    image = ax.imshow(
        np.ma.masked_equal(shares[:, shown], 0.0),
        cmap=style.COLOR_MAP,
        vmin=0,
        vmax=1,
        interpolation="nearest",
        aspect="auto",
    )
    style.finish(ax, _axis_label(len(shown), len(taken)), "")
    ax.set_xticks(np.arange(len(names)), names, rotation=90)
    ax.set_yticks(np.arange(len(runs)), [style.format_name(run.selector) for run in runs])
    ax.tick_params(length=0)
    _separate(ax, *shares[:, shown].shape)
    bar = ax.figure.colorbar(image, ax=ax, location="top", aspect=40, shrink=0.8)
    is_seeded = any(run.chosen.n_seeds > 1 for run in runs)
    style.finish_color_bar(bar, "share of folds and seeds" if is_seeded else "share of folds")
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


def plot_quality_and_time(
    result: StudyResult,
    ranker: str,
    measure: str | None = None,
    selectors: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the test measure of selectors against the time of one selection.

    Both are means over folds (and seeds), with the number of features and the parameters that
    validation queries chose. A horizontal line is the measure of all features. The scale of time is
    logarithmic.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.report.figures import plot_quality_and_time
    >>> from ranksieve.study import Study
    >>> data, _ = make_ranking(60, n_noise=3)
    >>> study = Study(data, selectors=["gas-e"], rankers=["rankrls"], ks=[2, 5], seeds=1)
    >>> ax = plot_quality_and_time(study.run(), "rankrls")
    >>> [line.get_label() for line in ax.lines], ax.get_xscale()
    (['all features', 'gas-e', 'random'], 'log')
    """
    name = measure_of(result, measure)
    runs = runs_of(result, ranker, selectors)
    base = base_of(result, ranker)
    if ax is None:
        names = [style.format_name(run.selector) for run in runs]
        ax = style.new_axes(legend=[style.ALL_FEATURES, *names])
    if base is not None:
        style.draw_all_features(ax, base.mean(name))
    for run in runs:
        point = max(run.chosen.selection_seconds, _SHORTEST), run.chosen.mean(name)
        marks = style_of(result, run.selector) | {
            "linestyle": "",
            "label": style.format_name(run.selector),
        }
        ax.plot(*([value] for value in point), markersize=4.5, **marks)
    style.finish(ax, "seconds of one selection", f"{name} on test queries")
    ax.margins(x=0.12, y=0.12)
    _time_ticks(ax)
    style.legend_above(ax)
    return ax


def describe_quality_and_time(result: StudyResult, ranker: str, measure: str | None = None) -> str:
    """Describe what :func:`plot_quality_and_time` shows of all selectors, and what it means."""
    name = measure_of(result, measure)
    runs = runs_of(result, ranker, without=(RANDOM,))
    seconds = [run.chosen.selection_seconds for run in runs]
    means = [run.chosen.mean(name) for run in runs]
    front = [
        f"{runs[index].selector} ({means[index]:.4f} in {seconds[index]:.2g} s)"
        for index in pareto_front(seconds, means)
    ]
    base = base_of(result, ranker)
    whole = "" if base is None else f" The line of all features is at {base.mean(name):.4f}."
    return (
        f"{name} of {ranker} on test queries against the time of one selection on one thread, "
        "with the number of features that validation queries chose; means over folds."
        + whole
        + f" No selector is both faster and better than {', '.join(front)}."
    )


def _time_ticks(ax: Axes) -> None:
    """Set a logarithmic scale of a decade or more with plain numbers; exponents are too small."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    wider = max(1.0, (10 * low / high) ** 0.5)
    ax.set_xlim(low / wider, high * wider)
    subs = (1.0,) if high > 1000 * low else (1.0, 2.0, 5.0)
    ax.xaxis.set_major_locator(LogLocator(subs=subs, numticks=_MOST_TICKS))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
