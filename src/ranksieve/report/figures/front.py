"""Cost against quality of the candidates of a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from ranksieve.recommendation.answer import FrontPoint, Recommendation
from ranksieve.recommendation.claim import percent
from ranksieve.report.figures import style

_RECOMMENDED, _SHOWN, _NOT_SHOWN = "recommended", "shown", "not shown"
_MARGINS, _LOSS = 10, 0.1  # largest loss drawn, in margins and as a fraction


def plot_front(answer: Recommendation, *, ax: Axes | None = None) -> Axes:
    """Draw the measure against cost, a line for each selector.

    The horizontal line is the mean with all features, and the strip below it is the margin. Filled
    marks are shown to lose less than the margin, empty ones are not, and sizes without a mark were
    not tested. A ring is around the recommended size. Values far below are cut off.

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
    selectors = answer.selectors
    if ax is None:
        lines = [style.ALL_FEATURES, style.margin_label(answer.claim.margin)]
        names = map(style.format_name, selectors)
        ax = style.new_axes(legend=[*lines, *names, _SHOWN, _NOT_SHOWN, _RECOMMENDED])
    style.draw_all_features(ax, answer.point_of_all.value, answer.claim.margin)
    for number, name in enumerate(selectors):
        points = [point for point in answer.front if point.selector == name]
        _draw(ax, points, style.format_name(name), style.line_style(number) | {"fillstyle": "full"})
    _explain_marks(ax, answer)
    ringed = [point for point in answer.front if answer.is_recommended(point)]
    if ringed:
        style.draw_rings(ax, [p.cost for p in ringed], [p.value for p in ringed], _RECOMMENDED)
    style.finish(ax, "cost" if answer.has_costs else "number of features", answer.claim.measure)
    _scale(ax, answer)
    style.legend_above(ax)
    return ax


def describe_front(answer: Recommendation) -> str:
    """Describe what :func:`plot_front` shows, and what it means."""
    whole, claim = answer.point_of_all, answer.claim
    against = "cost" if answer.has_costs else "the number of features"
    sentences = [
        f"{claim.measure} against {against}, of the candidates. The line of all "
        f"features is at {whole.value:.4f}, and the strip below it is a loss of up to "
        f"{percent(claim.margin)}."
    ]
    marked = answer.selected_points
    shown = [point for point in marked if point.is_shown]
    if any(point.is_shown is not None for point in marked):
        sentences.append(
            f"Filled marks ({len(shown)}) are shown to lose less than that, empty ones "
            f"({sum(point.is_shown is False for point in marked)}) are not; sizes without a mark "
            "were not tested."
        )
    if shown:
        best = min(shown, key=lambda point: (point.cost, -point.value))
        sentences.append(f"The cheapest that is shown: {_name(best, answer)}.")
    sentences += [
        f"The ring is what is recommended: {_name(point, answer)}, {claim.measure} "
        f"{point.value:.4f}, a change of {percent(point.change, sign=True)}"
        f"{_describe_kept(point, answer)}."
        for point in answer.front
        if answer.is_recommended(point)
    ]
    if min(point.value for point in marked) < _lowest(answer):
        sentences.append("Values far below are cut off.")
    return " ".join(sentences)


def _name(point: FrontPoint, answer: Recommendation) -> str:
    cost = f" at a cost of {point.cost:.4g}" if answer.has_costs else ""
    return f"{point.selector} with {point.size}{cost}"


def _describe_kept(point: FrontPoint, answer: Recommendation) -> str:
    """Note on the kept features if some were dropped because of their costs."""
    if len(answer.features) == point.size:
        return ""
    cost = f" at a cost of {answer.cost:.4g}" if answer.has_costs else ""
    return f"; {len(answer.features)} of them are kept{cost}"


def _draw(ax: Axes, points: Sequence[FrontPoint], label: str, line: dict[str, Any]) -> None:
    """Draw a selector's line, and marks that say what was shown."""
    costs, values = [p.cost for p in points], [p.value for p in points]
    ax.plot(costs, values, label=label, linewidth=1.0, markersize=4, markevery=[], **line)
    for verdict, face in ((True, line["color"]), (False, "white")):
        tested = [point for point in points if point.is_shown is verdict]
        costs, values = [p.cost for p in tested], [p.value for p in tested]
        marks = line | {"linestyle": "", "markerfacecolor": face, "markersize": 4, "zorder": 3}
        ax.plot(costs, values, **marks)


def _explain_marks(ax: Axes, answer: Recommendation) -> None:
    verdicts = {point.is_shown for point in answer.selected_points}
    for verdict, face, label in ((True, "0.3", _SHOWN), (False, "white", _NOT_SHOWN)):
        if verdict in verdicts:
            ax.plot([], [], "o", color="0.3", markerfacecolor=face, markersize=4, label=label)


def _scale(ax: Axes, answer: Recommendation) -> None:
    """Set ticks at sizes if these are the costs, and cut off values far below."""
    drawn = [p for p in answer.front if p.selector != "none" or answer.is_recommended(p)]
    costs = sorted({point.cost for point in drawn})
    if not answer.has_costs and costs[0] > 0:
        style.number_ticks(ax, [round(cost) for cost in costs])
    ringed = [point.value for point in drawn if answer.is_recommended(point)]
    kept = min([_lowest(answer), *ringed])
    if min(point.value for point in drawn) < kept:
        ax.set_ylim(kept)


def _lowest(answer: Recommendation) -> float:
    """Value below which candidates are cut off, so that the margin can be seen."""
    return answer.point_of_all.value * (1 - max(_MARGINS * answer.claim.margin, _LOSS))
