"""Cost against quality of the candidates of a recommendation."""

from __future__ import annotations

from matplotlib.axes import Axes

from ranksieve.recommendation.answer import Recommendation
from ranksieve.report.figures.names import format_name
from ranksieve.report.figures.style import SMALL_SIZE, finish, legend_above, line_style, new_axes

_BASELINES = ("all", "none")


def plot_front(answer: Recommendation, *, ax: Axes | None = None) -> Axes:
    """Draw the measure against cost, a line for each selector.

    The horizontal line is the mean with all features, and the band below it is the margin. Filled
    marks are shown to lose less than the margin; a ring is around the recommended size.

    Parameters
    ----------
    answer : Recommendation
    ax : Axes, optional
        Where to draw; by default on a new figure of one column's width.

    Examples
    --------
    >>> from ranksieve import make_ranking, recommend
    >>> from ranksieve.report.figures import plot_front
    >>> data, _ = make_ranking(40, n_noise=2)
    >>> answer = recommend(data, "rankrls", selectors=["gas-e"], details=False)
    >>> ax = plot_front(answer)
    >>> ax.get_ylabel()
    'NDCG@10'
    """
    selectors = [p.selector for p in answer.front if p.selector not in _BASELINES]
    selectors = list(dict.fromkeys(selectors))
    if ax is None:
        ax = new_axes(legend=["all features", *(format_name(name) for name in selectors)])
    whole = next(point for point in answer.front if point.selector == "all")
    low = whole.value * (1 - answer.claim.margin)
    ax.axhspan(low, whole.value, color="0.9", lw=0, zorder=0)
    ax.axhline(whole.value, color="0.3", lw=0.8, ls="--", label="all features", zorder=1)
    for number, name in enumerate(selectors):
        style = {key: value for key, value in line_style(number).items() if "mark" not in key}
        points = [point for point in answer.front if point.selector == name]
        costs, values = [p.cost for p in points], [p.value for p in points]
        (line,) = ax.plot(costs, values, label=format_name(name), zorder=2, **style)
        for point in points:
            face = line.get_color() if point.is_shown else "white"
            ax.plot(point.cost, point.value, "o", ms=4, mec=line.get_color(), mfc=face, zorder=3)
    _mark_recommended(ax, answer)
    label = "cost" if answer.has_costs else "number of features"
    finish(ax, label, answer.claim.measure)
    legend_above(ax)
    return ax


def _mark_recommended(ax: Axes, answer: Recommendation) -> None:
    for point in answer.front:
        if (point.selector, point.size) == (answer.selector, answer.size):
            place = (point.cost, point.value)
            ax.plot(*place, "o", ms=9, mec="0.2", mfc="none", zorder=4)
            how = {"textcoords": "offset points", "fontsize": SMALL_SIZE}
            ax.annotate("recommended", place, xytext=(7, -11), **how)  # type: ignore[arg-type]
