"""Test measure of a study against the number of features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from ranksieve.data import DataError
from ranksieve.report.figures import style
from ranksieve.report.figures.study import base_of, enough_of, measure_of, runs_of, style_of
from ranksieve.significance import bootstrap_interval
from ranksieve.study.comparison import LEVEL, MARGIN, describe_enough
from ranksieve.study.results import RANDOM, Outcomes, Run, StudyResult
from ranksieve.text import every

_ENOUGH = "enough"
_MOST_BANDS = 2  # more bands would hide each other and the lines
_RESAMPLES = 2000  # more would change bands by less than the width of a line
_MOST_MARKERS = 15


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

    A line is the mean over folds (and seeds). A horizontal line is that of all features, with the
    margin as a strip below it, and a gray one the random order. A ring marks the fewest features
    of a selector that are enough: shown to lose less than the margin, see
    :func:`ranksieve.study.enough_features`.

    A band shows the **difference** to all features: queries differ in difficulty, so the mean of a
    single method is far more uncertain than the difference of two methods on the same queries. It
    is the 95 % bootstrap interval of the mean difference over test queries, drawn around the line:
    if it does not reach the line of all features, the difference is significant for this one number
    of features. The band of the random order, in contrast, is the range of its seeds; values far
    below all other lines are cut off.

    Parameters
    ----------
    bands : sequence of str, optional
        Selectors with a band; by default the two with the largest mean over all numbers of
        features. There is none if all features are not in the study.

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
        names = [style.format_name(run.selector) for run in runs]
        lines = [style.ALL_FEATURES, style.margin_label(MARGIN)]
        ax = style.new_axes(legend=[*lines, *names, _ENOUGH])
    if base is not None:
        style.draw_all_features(ax, base.mean(name), MARGIN)
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
    _ring_enough(ax, runs, enough_of(result, ranker, name), name)
    if len(runs) > 1:
        style.cut_below(ax, *selected.intervaly)
    style.finish(ax, "number of features", f"{name} on test queries")
    style.number_ticks(ax, sorted({k for run in runs for k in run.by_k}))
    style.legend_above(ax)
    return ax


def describe_curves(result: StudyResult, ranker: str, measure: str | None = None) -> str:
    """Describe what :func:`plot_curves` shows of all selectors, and what it means."""
    name = measure_of(result, measure)
    runs, base = runs_of(result, ranker), base_of(result, ranker)
    sentences = [
        f"{name} of {ranker} on test queries, by the number of features: means over "
        f"{every(len(result.folds), 'fold')}."
    ]
    if base is not None:
        sentences.append(
            f"The line of all features is at {base.mean(name):.4f}; the strip below it is a loss "
            f"of up to {MARGIN:.0%}."
        )
        sentences += _list_enough(enough_of(result, ranker, name))
        if result.selecting:
            sentences.append(describe_enough(result, name))
        best = _best(runs, name)
        if best:
            sentences.append(
                f"Colored bands ({' and '.join(best)}, the best on average) are {LEVEL:.0%} "
                "intervals of the difference to all features: where a band does not reach their "
                "line, the difference is significant, for this number of features alone."
            )
    for run in runs:
        if run.selector == RANDOM:
            seeds = every(run.chosen.n_seeds, "random order")
            sentences.append(
                f"The gray band is the range of {seeds}; values far below are cut off."
            )
    return " ".join(sentences)


def _list_enough(enough: Mapping[str, int | None]) -> Iterator[str]:
    """Sentences on how many features are enough for each selector."""
    shown = [f"{name} with {k}" for name, k in enough.items() if k is not None]
    others = [name for name, k in enough.items() if k is None]
    if shown:
        yield f"Rings mark enough features: {', '.join(shown)}."
    if others:
        yield f"No number of features is shown to be enough for {', '.join(others)}."


def _best(runs: list[Run], measure: str) -> list[str]:
    """The selectors with the largest means, which get a band."""
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
        # For many points, markers at even distances along the line, as a share of the diagonal.
        markevery=None if len(means) <= _MOST_MARKERS else 0.08,
        label=style.format_name(run.selector),
        **style_of(result, run.selector),
    )


def _shade_range(ax: Axes, result: StudyResult, run: Run, measure: str) -> None:
    """Shade the range between the worst and the best seed."""
    seeds = np.array([tested.values(measure).mean(axis=1) for tested in run.by_k.values()])
    _shade(ax, result, run, seeds.min(axis=1), seeds.max(axis=1))


def _shade_interval(ax: Axes, result: StudyResult, run: Run, base: Outcomes, measure: str) -> None:
    """Shade the interval of the difference to all features, around the line.

    The interval is about the mean over queries, the line is the mean over folds. They differ where
    folds differ in size, so that the interval moves with the line.
    """
    ends = np.empty((len(run.by_k), 2))
    for index, tested in enumerate(run.by_k.values()):
        queries = tested.per_query(measure), base.per_query(measure)
        found = bootstrap_interval(*queries, LEVEL, _RESAMPLES, weights=tested.query_weights)
        ends[index] = tested.mean(measure) + np.array(found[1:]) - found.estimate
    _shade(ax, result, run, *ends.T)


def _shade(ax: Axes, result: StudyResult, run: Run, lower: np.ndarray, upper: np.ndarray) -> None:
    color = style_of(result, run.selector)["color"]
    if len(run.by_k) == 1:  # an area without a width
        ax.vlines(list(run.by_k), lower, upper, color=color, alpha=0.2, linewidth=8, zorder=1)
    else:
        ax.fill_between(list(run.by_k), lower, upper, color=color, alpha=0.2, lw=0, zorder=1)


def _ring_enough(
    ax: Axes, runs: Sequence[Run], enough: Mapping[str, int | None], measure: str
) -> None:
    """Put a ring around the fewest features of each selector that are enough."""
    found = [(run.by_k[k], k) for run in runs if (k := enough.get(run.selector)) is not None]
    if found:
        values = [tested.mean(measure) for tested, _ in found]
        style.draw_rings(ax, [k for _, k in found], values, _ENOUGH)
