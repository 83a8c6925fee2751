"""The report of a check, and that of all checks of a directory over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from math import inf, isfinite

from markupsafe import Markup

from ranksieve.recommendation.checked import Check, CheckHistory, Drift
from ranksieve.recommendation.claim import change_in_words, percent
from ranksieve.recommendation.verdict import IN_WORDS
from ranksieve.report.charts.colors import CHANGE, KEPT, LOSS, color_class
from ranksieve.report.charts.curves import Curve, Level, draw_curves
from ranksieve.report.charts.panels import Panel, draw_panels
from ranksieve.report.section import Chart, Part, Report, Section, provenance, verdict
from ranksieve.report.sheets import checks as sheets
from ranksieve.report.sheets.sheet import SHOWN, long_list
from ranksieve.sums.drift import LARGE, MODERATE
from ranksieve.text import list_names, quantity

_MOST_LINES = 8  # features whose drift is drawn
_MOST_TICKS = 8
_SHORT = 3.0  # days, below which the time of the day is shown


def check_report(found: Check) -> Report:
    """Make the report of one check."""
    sections = [
        _verdict(found, found.sentence, [*_facts(found)]),
        _drift_section(found),
        _helpful_section(found),
        provenance([*_provenance(found)]),
    ]
    return Report(found.title, list(filter(None, sections)), "Check")


def history_report(found: CheckHistory) -> Report:
    """Make the report of all checks of a directory; the latest is the verdict."""
    latest = found.checks[-1]
    broken = sum(one.state == "broken" for one in found.checks)
    facts = [*_facts(latest), ("Checks", f"{len(found.checks):,}", f"{broken:,} broken")]
    sections = [
        _verdict(latest, latest.sentence, facts),
        _change_section(found),
        _history_of_drift(found),
        _drift_section(latest),
        provenance([*_provenance(latest)]),
    ]
    return Report(found.title, list(filter(None, sections)), "Check")


def _verdict(found: Check, sentence: str, facts: Sequence[tuple[str, ...]]) -> Section:
    to_do = [f"Do now: {text}" for text in found.act]
    is_shown, word = found.state == "holds", IN_WORDS[found.state]
    return verdict(sentence, facts, [*to_do, *found.know], is_shown=is_shown, word=word)


def _facts(found: Check) -> Iterator[tuple[str, ...]]:
    """The most important numbers."""
    claim = found.claim
    if claim.about == "all":
        yield claim.measure, f"{claim.with_all:.4f}", "with all features"
    else:
        change, margin = change_in_words(claim.change), percent(claim.margin)
        yield f"Change of {claim.measure}", change, f"margin {margin}"
        if isfinite(claim.bound) and isfinite(found.most):
            ends = f"{change_in_words(claim.bound)} to {change_in_words(found.most)}"
            yield "Bounds", ends
    yield "Queries", f"{claim.n_queries:,}"
    yield "Features that drifted", f"{len(found.drifted)}", f"of {found.n_kept}"


def _drift_section(found: Check) -> Section | None:
    if not found.drift:
        return None
    sheet = sheets.drift_sheet(found)
    caption = (
        "Population stability index of the values, and of the values minus their mean within the "
        f"query, of at most {quantity(SHOWN, 'feature')}: {MODERATE:g} is called moderate, and "
        f"{LARGE:g} large."
    )
    chart = Chart("drift", caption, partial(_draw_drift, found.drift[:SHOWN]))
    part = Part(sheet, chart, is_folded=False, brief=long_list(sheet))
    return Section("Drift", "Have the kept features changed since the recommendation?", [part])


def _draw_drift(drift: Sequence[Drift], width: float) -> Markup:
    shifts = {"values": "PSI of values", "within": "PSI within queries"}
    panels = [
        Panel(
            name,
            [None if one.values is None else getattr(one.values, which).index for one in drift],
            ".2f",
            css=KEPT,
            reach=(LARGE,),
        )
        for which, name in shifts.items()
    ]
    changes = [", ".join(one.changes) for one in drift]
    names = [one.feature for one in drift]
    return draw_panels(names, panels, changes, "changed", "Drift of the kept features", width)


def _helpful_section(found: Check) -> Section | None:
    if not found.helpful:
        return None
    sheet = sheets.helpful_sheet(found)
    return Section("Other features", "What else would help now?", [Part(sheet, brief=sheet)])


def _change_section(found: CheckHistory) -> Section:
    """The change with its bounds against the margin, and the table of all checks."""
    margin = found.checks[-1].claim.margin
    caption = (
        "Line: the relative change from all features to the kept ones; area around it: its "
        f"one-sided bounds; band: the margin of {percent(margin)}. A check whose area is below the "
        "band is broken; hollow points are of checks that cannot be judged. By changed values: the "
        "change from repaired values to the values as they are; 0 if nothing has drifted."
    )
    chart = Chart("change-over-time", caption, partial(_draw_changes, found.checks))
    sheet = sheets.runs_sheet(found.checks)
    part = Part(sheet, chart, is_folded=False, brief=long_list(sheet))
    notes = list(found.notes)
    if len({(one.recommendation, one.claim.margin) for one in found.checks}) > 1:
        notes.append("Not all checks are of the same recommendation and margin.")
    sentence = "Do the kept features still lose less than the margin?"
    return Section("Change over time", sentence, [part], notes)


def _draw_changes(checks: Sequence[Check], width: float) -> Markup:
    times, claim = list(map(_day, checks)), checks[-1].claim
    curve = Curve(
        "kept features",
        times,
        [one.claim.change for one in checks],
        [f"{sheets.when(one)}: {one.sentence}" for one in checks],
        CHANGE,
        band=[_bounds(one) for one in checks],
        hollow=[place for place, one in enumerate(checks) if one.state == "undecided"],
    )
    costs = [0.0 if one.cost is None else one.cost.change for one in checks]
    by_values = Curve(
        "by changed values",
        times,
        costs,
        [f"{sheets.when(one)}: {cost:+.2%}" for one, cost in zip(checks, costs, strict=True)],
        f"{LOSS} d1",
    )
    return draw_curves(
        [curve, *([by_values] if any(costs) else [])],
        f"Change of {claim.measure} over time",
        "time of the check (UTC)",
        f"relative change of {claim.measure}",
        width,
        level=Level("all features", 0.0, claim.margin),
        ticks=_dates(checks),
        floor=1.2 * min(*costs, *curve.y, -claim.margin),
        is_log=False,
    )


def _bounds(found: Check) -> tuple[float, float]:
    """The one-sided bounds; the change where there is none."""
    change, ends = found.claim.change, (found.claim.bound, found.most)
    low, high = (end if isfinite(end) else change for end in ends)
    return low, high


def _history_of_drift(found: CheckHistory) -> Section | None:
    """The drift of the features that have drifted most."""
    largest: dict[str, tuple[bool, float]] = {}
    for one in (one for check in found.checks for one in check.drift):
        known = largest.get(one.feature, (False, -inf))
        largest[one.feature] = max(known, (one.is_notable, one.index))
    if not largest:
        return None
    names = sorted(largest, key=lambda name: largest[name], reverse=True)
    ever = [name for name in names if largest[name][0]]
    caption = (
        f"Population stability index of the {quantity(min(len(names), _MOST_LINES), 'feature')} "
        f"that drifted most: {MODERATE:g} is called moderate, and {LARGE:g} large. Filled points "
        "are notable; without enough queries, the index is large by chance."
    )
    draw = partial(_draw_history, found.checks, names[:_MOST_LINES])
    sheet = sheets.history_sheet(found.checks, names)
    sentence = (
        f"Notable at some time: {list_names(ever)}." if ever else "No feature has drifted notably."
    )
    return Section(
        "Drift over time", sentence, [Part(sheet, Chart("drift-over-time", caption, draw))]
    )


def _draw_history(checks: Sequence[Check], names: Sequence[str], width: float) -> Markup:
    curves = []
    for number, name in enumerate(names):
        own = [(one, drift) for one in checks for drift in one.drift if drift.feature == name]
        curves.append(
            Curve(
                name,
                [_day(one) for one, _ in own],
                [drift.index for _, drift in own],
                [f"{name}, {sheets.when(one)}: {drift.index:.2f}" for one, drift in own],
                color_class(number),
                hollow=[place for place, (_, drift) in enumerate(own) if not drift.is_notable],
            )
        )
    return draw_curves(
        curves,
        "Drift over time",
        "time of the check (UTC)",
        "population stability index",
        width,
        ticks=_dates(checks),
        floor=0.0,
        is_log=False,
    )


def _day(found: Check) -> float:
    """The time of a check in days."""
    return datetime.fromisoformat(found.checked_at).timestamp() / 86_400


def _dates(checks: Sequence[Check]) -> dict[float, str]:
    """Some of the times for an axis, with their names."""
    step = -(-len(checks) // _MOST_TICKS)
    is_short = _day(checks[-1]) - _day(checks[0]) < _SHORT
    chosen = checks[::-1][::step]
    return {
        _day(one): sheets.when(one)[5:16] if is_short else sheets.when(one)[5:10] for one in chosen
    }


def _provenance(found: Check) -> Iterator[tuple[str, str]]:
    """When and how it was checked."""
    yield "Checked at", f"{sheets.when(found)} UTC"
    yield "Recommendation", f"{found.title}, data {found.recommendation:.12}"
    yield "New data", f"{found.data:.12}"
    yield "Versions", ", ".join(f"{name} {version}" for name, version in found.versions.items())
