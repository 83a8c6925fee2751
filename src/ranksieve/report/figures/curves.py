"""Test measure of a study against the number of features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from ranksieve.data import DataError
from ranksieve.report.figures.names import format_name
from ranksieve.report.figures.studies import ALL_FEATURES, base_of, measure_of, runs_of, style_of
from ranksieve.report.figures.style import SMALL_SIZE, finish, legend_above, new_axes
from ranksieve.significance import bootstrap_interval
from ranksieve.study.comparison import LEVEL
from ranksieve.study.results import RANDOM, Outcomes, Run, StudyResult

_MOST_BANDS = 2  # more of them hide each other and the lines
_RESAMPLES = 2000  # a line's width is more than what further ones would change
_MOST_MARKERS = 15
_WIDE = 10.0  # ratio of the numbers of features from which their scale is logarithmic


def plot_curves(
    result: StudyResult,
    ranker: str,
    measure: str | None = None,
    selectors: Sequence[str] | None = None,
    *,
    bands: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    r"""Draw the test measure against the number of features, a line for each selector.

    A line is the mean over folds (and seeds). A horizontal line is that of all features, and a grey
    one the random order.

    A band is about the **difference** to all features: queries differ in difficulty, so that the
    mean of any method alone is uncertain by far more than what parts two methods on the same
    queries. It is the 95 % bootstrap interval of the mean difference over test queries, drawn
    around the line: where it does not reach the line of all features, the difference to them is
    significant, for this one number of features. The band of the random order is
    something else, the range of its seeds; what is far below all other lines is cut off.

    Parameters
    ----------
    result : StudyResult
    ranker : str
        One of the study.
    measure : str, optional
        One of the study; by default the one that tuned everything.
    selectors : sequence of str, optional
        Which to draw; by default all.
    bands : sequence of str, optional
        Selectors with a band; by default the two with the largest mean over all numbers of
        features. There is none if all features are not in the study.
    ax : Axes, optional
        Where to draw; by default on a new figure of one column's width.

    Returns
    -------
    Axes

    References
    ----------
    As the figures of test MAP and NDCG in X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for
    ranking. SIGIR 2007.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.report.figures import plot_curves
    >>> from ranksieve.study import Study
    >>> data, _ = make_ranking(60, n_noise=3)
    >>> study = Study(data, selectors=["gas-e"], rankers=["rankrls"], ks=[2, 5], seeds=1)
    >>> ax = plot_curves(study.run(), "rankrls")
    >>> [line.get_label() for line in ax.lines], ax.get_ylabel()
    (['all features', 'gas-e', 'random'], 'MAP on test queries')
    """
    name = measure_of(result, measure)
    runs = runs_of(result, ranker, selectors)
    base = base_of(result, ranker)
    banded = _best(runs, name) if bands is None else _check_bands(bands, runs)
    if ax is None:
        ax = new_axes(legend=["all features", *(format_name(run.selector) for run in runs)])
    if base is not None:
        ax.axhline(base.mean(name), zorder=1.5, **ALL_FEATURES)
    for run in runs:
        if run.selector != RANDOM:
            _draw(ax, result, run, name)
            if base is not None and run.selector in banded:
                _shade_interval(ax, result, run, base, name)
    selected = ax.dataLim.frozen()
    for run in runs:
        if run.selector == RANDOM:
            _draw(ax, result, run, name)
            _shade_range(ax, result, run, name)
    if len(runs) > 1:
        _cut_below(ax, *selected.intervaly)
    finish(ax, "number of features", f"{name} on test queries")
    _number_ticks(ax, sorted({k for run in runs for k in run.by_k}))
    legend_above(ax)
    return ax


def _best(runs: list[Run], measure: str) -> list[str]:
    """The selectors that deserve a band."""
    means = {
        run.selector: np.mean([tested.mean(measure) for tested in run.by_k.values()])
        for run in runs
        if run.selector != RANDOM
    }
    return sorted(means, key=lambda name: -means[name])[:_MOST_BANDS]


def _check_bands(bands: Sequence[str], runs: list[Run]) -> list[str]:
    drawn = [run.selector for run in runs]
    unknown = [name for name in bands if name not in drawn]
    if unknown:
        raise DataError(f"a band of {unknown[0]!r} needs its line; drawn are {', '.join(drawn)}")
    return list(bands)


def _draw(ax: Axes, result: StudyResult, run: Run, measure: str) -> None:
    means = [tested.mean(measure) for tested in run.by_k.values()]
    ax.plot(
        list(run.by_k),
        means,
        linewidth=1.0,
        markersize=3.5,
        # Of many, some at even distances along the line, as a share of the diagonal.
        markevery=None if len(means) <= _MOST_MARKERS else 0.08,
        label=format_name(run.selector),
        **style_of(result, run.selector),
    )


def _shade_range(ax: Axes, result: StudyResult, run: Run, measure: str) -> None:
    """Shade what lies between the worst and the best seed."""
    seeds = np.array([tested.values(measure).mean(axis=1) for tested in run.by_k.values()])
    _shade(ax, result, run, seeds.min(axis=1), seeds.max(axis=1))


def _shade_interval(ax: Axes, result: StudyResult, run: Run, base: Outcomes, measure: str) -> None:
    """Shade the interval of the difference to all features, around the line.

    The interval is about the mean over queries, the line is the mean over folds. They differ where
    folds differ in size, so that the interval moves with the line.
    """
    ends = np.empty((len(run.by_k), 2))
    for place, tested in enumerate(run.by_k.values()):
        queries = tested.per_query(measure), base.per_query(measure)
        found = bootstrap_interval(*queries, LEVEL, _RESAMPLES, weights=tested.query_weights)
        ends[place] = tested.mean(measure) + np.array(found[1:]) - found.estimate
    _shade(ax, result, run, *ends.T)


def _shade(ax: Axes, result: StudyResult, run: Run, lower: np.ndarray, upper: np.ndarray) -> None:
    color = style_of(result, run.selector)["color"]
    ax.fill_between(list(run.by_k), lower, upper, color=color, alpha=0.2, linewidth=0, zorder=1)


def _cut_below(ax: Axes, low: float, high: float) -> None:
    """Keep as much room below these ends as there is between them.

    Few features in a random order rank so badly that all other lines would look alike.
    """
    if ax.dataLim.y0 < low - (high - low) < low:
        ax.set_ylim(low - (high - low))


def _number_ticks(ax: Axes, ks: list[int]) -> None:
    """Ticks at the numbers of features, with a number where there is room."""
    logarithmic = ks[-1] >= _WIDE * ks[0]
    if logarithmic:
        ax.set_xscale("log")
    places = np.log(ks) if logarithmic else np.array(ks, dtype=float)
    if len(ks) > 1:
        width = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted()).width
        places *= width / (places[-1] - places[0])
    room = (len(str(ks[-1])) + 1) * SMALL_SIZE * 0.6 / 72
    shown = [0]
    for place in range(1, len(ks)):
        if places[place] - places[shown[-1]] >= room:
            shown.append(place)
    if shown[-1] != len(ks) - 1:
        shown[max(1, len(shown) - 1) :] = [len(ks) - 1]
    ax.set_xticks([ks[place] for place in shown], [str(ks[place]) for place in shown])
    ax.set_xticks(ks, minor=True)
    ax.xaxis.set_minor_formatter(NullFormatter())
