"""Quality of selectors against their time."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ranksieve.choosing import pareto_front
from ranksieve.report.figures.studies import base_of, measure_of, runs_of, style_of
from ranksieve.report.figures.style import (
    ALL_FEATURES,
    draw_all_features,
    finish,
    format_name,
    legend_above,
    new_axes,
)
from ranksieve.study.results import RANDOM, StudyResult

_SHORTEST = 1e-6  # seconds: resolution of clocks, and smallest value on a logarithmic scale
_MOST_TICKS = 7


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

    Parameters
    ----------
    result : StudyResult
    ranker : str
        One of the study.
    measure : str, optional
        One of the study; by default the one that tuned everything.
    selectors : sequence of str, optional
        Which to draw; by default all.
    ax : Axes, optional
        Where to draw; by default on a new figure of one column's width.

    Returns
    -------
    Axes

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
        ax = new_axes(legend=[ALL_FEATURES, *(format_name(run.selector) for run in runs)])
    if base is not None:
        draw_all_features(ax, base.mean(name))
    for run in runs:
        point = max(run.chosen.selection_seconds, _SHORTEST), run.chosen.mean(name)
        style = style_of(result, run.selector) | {
            "linestyle": "",
            "label": format_name(run.selector),
        }
        ax.plot(*([value] for value in point), markersize=4.5, **style)
    finish(ax, "seconds of one selection", f"{name} on test queries")
    ax.margins(x=0.12, y=0.12)
    _time_ticks(ax)
    legend_above(ax)
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
