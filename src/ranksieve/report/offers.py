"""What can be had: sets of features to choose from, as a table, a curve and a slider."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import NamedTuple

from ranksieve.costs import cost_heading
from ranksieve.recommendation.answer import CurvePoint, Recommendation
from ranksieve.recommendation.claim import change_in_words, confidence, loss_in_words, percent
from ranksieve.report.charts.colors import CHANGE, KEPT, LOSS, MARGIN, WHOLE
from ranksieve.report.charts.curves import Curve, Landmark, Level, Span, draw_curves
from ranksieve.report.section import Chart, Part, Section
from ranksieve.report.sheets import recommendation as sheets
from ranksieve.report.slider import Slider, Stop
from ranksieve.text import quantity

_MARGINS = 3, 6  # below all features that the curve shows: at least, and at most for offers
_WIDE = 50.0  # ratio of costs from which their scale is logarithmic


def offers_section(answer: Recommendation) -> Section | None:
    """What can be had: a short table, and the curve with its band and its slider."""
    if not answer.curve:
        return None
    offers = sheets.offers_sheet(answer)
    parts = [
        Part(offers, brief=offers),
        Part(sheets.curve_sheet(answer), _curve(answer), slider=_slider(answer)),
    ]
    sentence = (
        "The bounds of all sets hold at once, so any of them may be picked: by its cost, by its "
        "loss, or by taste. To have another set, repeat the command with its margin; finished work "
        "is used again."
    )
    return Section("What can be had", sentence, parts)


def kind_of_cost(answer: Recommendation) -> str:
    """What sets of features cost, with the unit."""
    unit = answer.settings["cost_unit"]
    return cost_heading(unit) if answer.has_costs else "number of features"


class _Named(NamedTuple):
    """The set that the verdict names, as it is called beside the curve."""

    name: str
    css: str
    point: CurvePoint


def _named(answer: Recommendation) -> _Named:
    """What is recommended, or what may be kept at a risk."""
    if answer.risk is not None:
        return _Named("at a risk", LOSS, answer.risk)
    return _Named("recommended", KEPT, answer.recommended or answer.whole)


class _Shown(NamedTuple):
    """The part of the curve that loses not too much, and the lowest change on the axis."""

    first: int  # number of sets that are left out
    points: list[CurvePoint]
    low: float
    ends: tuple[float, float]  # of the costs on the axis
    is_log: bool


def _shown(answer: Recommendation) -> _Shown:
    least, most = (-number * answer.claim.margin for number in _MARGINS)
    named = _named(answer).point.bound
    offered = [max(one.point.bound, most) for one in answer.offers]
    low = 1.1 * min([least, *offered, *([named] if isfinite(named) else [])])
    inside = [place for place, point in enumerate(answer.curve) if point.change >= low]
    first = min(inside, default=len(answer.curve))
    costs = [*(point.cost for point in answer.curve[first:]), answer.cost_of_all]
    is_log = 0 < _WIDE * min(costs) <= max(costs)
    first = max(0, first - 1)  # for the line from below
    if is_log and first < len(answer.curve) and answer.curve[first].cost <= 0:
        first += 1
    ends = min(costs) if is_log else 0.0, max(costs)
    return _Shown(first, answer.curve[first:], low, ends, is_log)


def _curve(answer: Recommendation) -> Chart:
    """Change and bound of the sets against their cost, to that of all features."""
    measure = answer.claim.measure
    kind = kind_of_cost(answer)
    shown, named = _shown(answer), _named(answer)
    title = f"Change of {measure} against {kind}"
    draw = partial(
        draw_curves,
        _lines(answer, shown, named),
        title,
        kind,
        f"change of {measure} in %",
        level=Level("all features", 0.0),
        floor=100 * shown.low,
        ends=shown.ends,
        is_log=shown.is_log,
        landmarks=_landmarks(answer, named),
        span=_saving(answer, named),
    )
    return Chart("curve", _caption(answer, shown, named), draw)


def _caption(answer: Recommendation, shown: _Shown, named: _Named) -> str:
    margin = percent(answer.claim.margin)
    ring = "all features, which are recommended" if not answer.dropped else "the recommended set"
    if answer.risk is not None:
        ring = "the set to keep at a risk"
    caption = (
        f"Each point is a set of features. The solid line is its mean change of "
        f"{answer.claim.measure}; the dashed line is the lower bound, which holds for all sets at "
        f"once. Points are filled if their bound is within {margin}. The ring is {ring}."
    )
    if answer.confirmed is not None:
        caption += " All of this is without the test queries, whose result the verdict has."
    if shown.first:
        caption += (
            f" {quantity(shown.first, 'cheaper set')} that lose more left out; the table has all."
        )
    return caption


def _lines(answer: Recommendation, shown: _Shown, named: _Named) -> list[Curve]:
    """The ring, all features, the mean changes, their bounds, and the margin."""
    margin, lowest = answer.claim.margin, 2 * shown.low
    points = [*shown.points, answer.whole]
    x = [point.cost for point in points]
    change = [100 * max(point.change, lowest) for point in points]
    bounds = [point.bound if isfinite(point.bound) else lowest for point in shown.points]
    bound = [*(100 * max(one, lowest) for one in bounds), 0.0]  # nothing is lost with all
    stops = range(shown.first, len(answer.curve) + 1)
    own = points.index(named.point) if named.point in points else None
    lines = [
        Curve(
            "mean change",
            x,
            change,
            [_tip(answer, point) for point in points],
            CHANGE,
            list(zip(bound, change, strict=True)),
            hollow=[place for place, point in enumerate(shown.points) if not point.bound > -margin],
            stops=stops,
        ),
        Curve("lower bound", x, bound, [], f"{CHANGE} d1", has_dots=False),
        Curve(
            f"margin {percent(margin)}",
            shown.ends,
            [-100 * margin] * 2,
            [],
            MARGIN,
            has_dots=False,
        ),
    ]
    every = Curve("", x[-1:], change[-1:], [_tip(answer, points[-1])], WHOLE, stops=stops[-1:])
    if own is None:
        return [every, *lines]
    tip, place = _tip(answer, points[own]), slice(own, own + 1)
    ring = Curve(
        named.name, x[place], change[place], [tip], named.css, marked=0, stops=stops[place]
    )
    return [ring, *([] if points[own] is points[-1] else [every]), *lines]


def _landmarks(answer: Recommendation, named: _Named) -> list[Landmark]:
    """The named set and all features, on the axis of costs."""
    whole = Landmark(answer.whole.cost, 0.0, f"all {answer.price(answer.whole.cost)}", WHOLE)
    if named.point == answer.whole:
        return [whole]
    label = f"{named.name} {answer.price(named.point.cost)}"
    return [Landmark(named.point.cost, 100 * named.point.change, label, named.css), whole]


def _saving(answer: Recommendation, named: _Named) -> Span | None:
    """What the named set saves, from it to all features."""
    saved = answer.cost_of_all - named.point.cost
    if saved <= 0:
        return None
    what = answer.price(saved) if answer.has_costs else quantity(round(saved), "feature")
    label = f"saves {what} ({saved / answer.cost_of_all:.0%})"
    return Span(named.point.cost, answer.cost_of_all, label)


def _tip(answer: Recommendation, point: CurvePoint) -> str:
    named = _named(answer)
    words = [f"{name}: {value} {beside}".rstrip() for name, value, beside in _facts(answer, point)]
    return "\n".join([*words, *([named.name] if point == named.point else [])])


def _facts(answer: Recommendation, point: CurvePoint) -> list[tuple[str, str, str]]:
    """What a set keeps, costs, loses on average, and is shown to lose at most."""
    facts = [("Features", f"{point.size:,}", f"of {answer.n_all:,}")]
    if answer.has_costs:
        facts.append(("Cost", answer.price(point.cost), f"of {answer.price(answer.cost_of_all)}"))
    if point == answer.whole:
        return facts
    what = "Lost" if point.change < 0 else "Gained"
    change = change_in_words(point.change).lstrip("+-")
    facts.append((f"{what} on average", change, f"of {answer.claim.measure}"))
    if isfinite(point.bound):
        sure = f"with {confidence(answer.claim.level)} confidence"
        facts.append(("Shown to lose less than", loss_in_words(point.bound), sure))
    return facts


def _slider(answer: Recommendation) -> Slider:
    """All sets of the curve and all features; it begins at what the verdict names."""
    points, named = [*answer.curve, answer.whole], _named(answer)
    stops = [Stop(_facts(answer, one), one.features, _remark(answer, one, named)) for one in points]
    return Slider(
        "Move along the sets, from the cheapest to all features",
        answer.feature_names,
        stops,
        points.index(named.point),
        "the set at a risk" if answer.risk is not None else "the recommended set",
    )


def _remark(answer: Recommendation, point: CurvePoint, named: _Named) -> str:
    """What is special about a set: why it is named, or for which margin it is offered."""
    if point == named.point:
        every = "All features are" if point == answer.whole else "This set is"
        return f"{every} {named.name}." if answer.risk is None else "This set is a risk."
    if point == answer.whole:
        return "Nothing is dropped."
    offered = [margin for margin, own in answer.offers if own == point]
    if offered:
        return (
            f"This is the cheapest set that is shown to lose less than {percent(offered[0])}; to "
            f"have it, repeat the command with --margin {percent(offered[0])}."
        )
    return ""
