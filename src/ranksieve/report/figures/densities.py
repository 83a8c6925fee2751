"""Densities of features within the grades of documents."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import FuncFormatter, MaxNLocator
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import RankSelector
from ranksieve.data import DataError
from ranksieve.engine import Source, engine_of
from ranksieve.report.figures import style
from ranksieve.sums.densities import Bandwidth, ClassDensities, bandwidths_of
from ranksieve.sums.grades import grades_of, totals

_POINTS_PER_BANDWIDTH = 4
_N_POINTS = 200, 2000  # of a curve, at least and at most
_MARGIN = 3.0  # bandwidths around the data
_PANEL = 1.05  # inches: height
_BESIDE = 0.35  # inches: width of the labels beside a row
_TICK = 2  # characters of the numbers beside a panel
_SHORTEST = 7  # characters of a name that are always shown, however narrow the panels


_Curves = tuple[int, np.ndarray, np.ndarray]
"""A feature, points, and its densities there (grades, points)."""


def plot_class_densities(
    selector: RankSelector,
    source: Source,
    n_shown: int = 3,
    *,
    figure: FigureBase | None = None,
) -> np.ndarray:
    r"""Draw the densities of feature values in documents of each grade.

    Features with the largest scores are in the upper row, those with the smallest in the lower
    one; those that are constant within every query are left out. If a feature distinguishes grades,
    their densities differ.

    .. math:: \hat f^a(x) = \frac{1}{M_a h_a} \sum_{j: y_j = a} \varphi((x - x_j) / h_a)

    with a Gaussian :math:`\varphi`, over the :math:`M_a` documents of grade a; the bandwidth h is
    that of FS-ED.

    Parameters
    ----------
    selector : RankSelector
        Fitted selector with ``scores_``, usually :class:`~ranksieve.selectors.FSED`.
    source : RankingData or opened shards
        All of its documents count, while FS-ED holds some queries out.
    n_shown : int
        Features in each row, at most; half of them if there are fewer.
    figure : Figure or SubFigure, optional
        Where to draw; by default a new one of one column's width.

    Returns
    -------
    array of Axes
        Of two rows.

    Notes
    -----
    Takes O(m p) time for m rows and p points of all curves, up to 2,000 each, in addition to the
    bandwidths, which take ten passes over the data. Scale features per query first if they have
    long tails, as for FS-ED itself: curves cannot show details narrower than their points.

    References
    ----------
    Figure 3 of P. Gupta, P. Rosso. Expected divergence based feature selection for learning to
    rank. COLING 2012.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.report.figures import plot_class_densities
    >>> from ranksieve.selectors import FSED
    >>> data, _ = make_ranking(50)
    >>> selector = FSED(3).fit(data)
    >>> axes = plot_class_densities(selector, data, 2)
    >>> axes[0, 0].get_title() == data.feature_names[selector.selected_[0]]
    True
    """
    check_is_fitted(selector)
    scores = getattr(selector, "scores_", None)
    if scores is None:
        raise DataError(f"{type(selector).__name__} has no score for each feature")
    if len(scores) != source.n_features:
        raise DataError(
            f"the selector has {len(scores)} features, but the data has {source.n_features}"
        )
    grades, curves = _curves_of(
        source, scores, n_shown, getattr(selector, "bandwidth", "silverman")
    )
    if figure is None:
        figure = style.new_figure(0.5 + 2 * _PANEL, [_name(grade) for grade in grades])
    n_shown = len(curves) // 2
    axes = figure.subplots(2, n_shown, squeeze=False)
    longest = max(_SHORTEST, round((style.WIDTH - _BESIDE) / n_shown / style.LETTER) - _TICK)
    for ax, (feature, points, densities) in zip(axes.flat, curves, strict=True):
        for index, (grade, values) in enumerate(zip(grades, densities, strict=True)):
            line = style.line_style(index) | {"marker": None}
            ax.plot(points, values, linewidth=1.0, label=_name(grade), **line)
        ax.set_ylim(bottom=0.0)
        style.finish(ax)
        name = str(source.feature_names[feature])
        ax.set_label(name)  # not drawn
        ax.set_title(style.format_name(name, longest), fontsize=style.SMALL_SIZE, pad=3)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(2))
            axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    for row, which in zip(axes, ("largest", "smallest"), strict=True):
        row[0].set_ylabel(f"density\n({which} scores)", fontsize=style.SMALL_SIZE)
    figure.supxlabel("value of the feature named above", fontsize=style.LABEL_SIZE)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", **style.legend_style(names))
    return axes


def describe_class_densities(axes: np.ndarray, score: str) -> str:
    """Describe what the Axes of :func:`plot_class_densities` show, and what it means."""
    grades = [line.get_label() for line in axes[0, 0].lines]
    shared = [[f"{ax.get_label()} ({_shared_area(ax):.0%})" for ax in row] for row in axes]
    return (
        "Densities of the values of features in documents of each grade, of the features with the "
        f"largest {score} (above) and with the smallest (below). The farther apart they are, the "
        f"better the feature tells grades apart. The area that {grades[0]} and {grades[-1]} share: "
        f"above {', '.join(shared[0])}; below {', '.join(shared[1])}."
    )


def _short(value: float) -> str:
    """A number with few characters, such as ``2.5e8``."""
    return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")


def _shared_area(ax: Axes) -> float:
    """Area below both the density of the lowest and that of the highest grade."""
    points, lowest = map(np.asarray, ax.lines[0].get_data())
    highest = np.asarray(ax.lines[-1].get_ydata())
    return float(np.trapezoid(np.minimum(lowest, highest), points))


def _curves_of(
    source: Source, scores: np.ndarray, n_shown: int, bandwidth: Bandwidth
) -> tuple[np.ndarray, list[_Curves]]:
    """Grades, and densities of the features with the largest and with the smallest scores."""
    grades = grades_of(source)
    with engine_of(source).start(ClassDensities, grades) as workers:
        found = totals(workers)
        widths = bandwidths_of(workers, found, bandwidth)
        features = _extreme_features(
            scores, found.varies & np.isfinite(widths).all(axis=0), n_shown
        )
        points = [_points(found.low[i], found.high[i], widths[:, i]) for i in features]
        starts = np.cumsum([0, *map(len, points)])
        where = features, np.concatenate(points), starts, widths[:, features]
        values = workers.sum(ClassDensities.kernel_sums, *where) / found.counts[:, None]
    parts = np.split(values, starts[1:-1], axis=1)
    return grades, list(zip(features.tolist(), points, parts, strict=True))


def _points(low: float, high: float, widths: np.ndarray) -> np.ndarray:
    """Evenly spaced points over a feature's values, several in its smallest bandwidth."""
    margin = _MARGIN * widths.max()
    wanted = _POINTS_PER_BANDWIDTH * (high - low + 2 * margin) / widths.min()
    return np.linspace(low - margin, high + margin, int(np.clip(wanted, *_N_POINTS)))


def _extreme_features(scores: np.ndarray, varies: np.ndarray, n_shown: int) -> np.ndarray:
    """The features with the largest scores, then those with the smallest, the smallest last."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    order = order[varies[order]]
    style.check_shown(n_shown)
    if len(order) < 2:
        raise DataError(f"two rows need two features that vary, but there are {len(order)}")
    n_shown = min(n_shown, len(order) // 2)
    return np.concatenate([order[:n_shown], order[-n_shown:]])


def _name(grade: float) -> str:
    return f"grade {grade:g}"
