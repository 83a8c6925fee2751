"""Tables of checks: how the kept features have changed, which others would help, and all runs."""

from __future__ import annotations

from collections.abc import Sequence

from ranksieve.recommendation.checked import Check, Drift, Helpful
from ranksieve.recommendation.claim import confidence, percent
from ranksieve.recommendation.verdict import IN_WORDS
from ranksieve.report.sheets.sheet import (
    Column,
    Entry,
    Fields,
    Sheet,
    name_column,
    text_column,
)
from ranksieve.sums.drift import FALSE_ALARMS, LARGE, MISSING, MODERATE

_MEDIAN = 2  # place of the median among the quantiles


def check_sheets(found: Check) -> list[Sheet]:
    """How the kept features have changed, and which others would help."""
    drift = [drift_sheet(found)] if found.drift else []
    helpful = [helpful_sheet(found)] if found.helpful else []
    return drift + helpful


def drift_sheet(found: Check) -> Sheet:
    """The drift of the kept features, the most notable first."""
    fields: Fields[Drift] = {
        name_column("feature"): lambda one: Entry(one.feature),
        Column("psi", "PSI", importance=3): lambda one: _index(one, "values"),
        Column("psi_within", "PSI within queries", importance=2): lambda one: _index(one, "within"),
        Column("median_before", "median before"): lambda one: _median(one, "before"),
        Column("median_now", "now"): lambda one: _median(one, "now"),
        Column("missing_before", "missing before"): lambda one: _missing(one, "missing_before"),
        Column("missing_now", "now"): lambda one: _missing(one, "missing_now"),
        Column("alone_before", "alone before"): lambda one: Entry(one.before, ".3f"),
        Column("alone_now", "now"): lambda one: Entry(one.now, ".3f"),
        Column("shift", only_csv=True): lambda one: Entry(one.shift, "+.1f"),
        text_column("changed", importance=3): lambda one: Entry(", ".join(one.changes)),
    }
    notes = [
        f"PSI: population stability index of the values, and of the values minus their mean within "
        f"the query; moderate from {MODERATE:g}, large from {LARGE:g}. Missing: share of documents "
        f"without a value. Alone: {found.claim.measure} if the feature alone ranks.",
        f"changed: what has changed by more than chance, at most {FALSE_ALARMS:.0%} of all checks "
        "without a change say so, and by much: a moderate PSI, a share of missing values that "
        f"differs by {MISSING:.0%}, or another quality alone.",
    ]
    title = "Drift of the kept features"
    return Sheet.of_items("drift", title, "", fields, [found.drift], notes)


def _index(one: Drift, which: str) -> Entry:
    """The index; a new feature has none."""
    if one.values is None:
        return Entry(None)
    shift = getattr(one.values, which)
    return Entry(shift.index, ".2f", is_best=shift.is_notable)


def _median(one: Drift, when: str) -> Entry:
    quantiles = [] if one.values is None else getattr(one.values, when)
    return Entry(quantiles[_MEDIAN] if quantiles else None, ".4g")


def _missing(one: Drift, when: str) -> Entry:
    share = None if one.values is None else getattr(one.values, when)
    return Entry(share, ".1%", is_best=bool(one.values and one.values.misses_otherwise))


def helpful_sheet(found: Check) -> Sheet:
    """Features that are not kept but would now help."""
    fields: Fields[Helpful] = {
        name_column("feature"): lambda one: Entry(one.feature),
        Column("gain"): lambda one: Entry(one.gain, ".2%"),
        Column("new", align="left"): lambda one: Entry.yes(one.is_new),
    }
    notes = [
        "gain: share of the leave-query-out error of a linear ranker on the kept features that "
        "it removes, one after the other; new: not in the data of the recommendation."
    ]
    title = "Features that are not kept but would help now"
    return Sheet.of_items("helpful", title, "", fields, [found.helpful], notes)


def runs_sheet(checks: Sequence[Check]) -> Sheet:
    """All checks, the latest first."""
    fields: Fields[Check] = {
        name_column("checked_at", heading="checked at (UTC)"): lambda one: Entry(when(one)),
        Column("state", align="left", importance=3): lambda one: Entry(IN_WORDS[one.state]),
        Column("change", importance=3): lambda one: Entry(one.claim.change, "+.2%"),
        Column("cost", "by changed values", importance=3): lambda one: _cost(one),
        Column("bound", "at least"): lambda one: Entry(_finite(one.claim.bound), "+.2%"),
        Column("most", "at most"): lambda one: Entry(_finite(one.most), "+.2%"),
        Column("margin", importance=0): lambda one: Entry(percent(one.claim.margin)),
        Column("queries", importance=2): lambda one: Entry(one.claim.n_queries, ","),
        Column("recommendation", only_csv=True): lambda one: Entry(one.recommendation[:12]),
        text_column("drifted"): lambda one: Entry(", ".join(own.feature for own in one.drifted)),
        text_column("reason", only_csv=True): lambda one: Entry(one.reason),
    }
    level = confidence(checks[-1].claim.level)
    notes = [
        f"change: of {checks[-1].claim.measure}, from all features to the kept ones; at least, at "
        f"most: its one-sided bounds, each with {level} confidence; by changed values: the change "
        "from repaired values of features that have drifted to the values as they are; drifted: "
        "kept features whose values, missing values or quality alone have changed notably."
    ]
    return Sheet.of_items("checks", "All checks", "", fields, [checks[::-1]], notes)


def history_sheet(checks: Sequence[Check], names: Sequence[str]) -> Sheet:
    """The index of each feature at each check, the latest check first."""
    columns = [name_column("feature")]
    rows = [[Entry(name)] for name in names]
    for number, one in enumerate(checks[::-1], start=1):
        columns.append(Column(f"check {number}", when(one)))
        known = {drift.feature: drift for drift in one.drift}
        for name, row in zip(names, rows, strict=True):
            drift = known.get(name)
            shown = Entry(None) if drift is None else Entry(drift.index, ".2f", drift.is_notable)
            row.append(shown)
    title = "Population stability index of each feature"
    return Sheet("drift-over-time", title, "", columns, [rows], ["Bold: notable drift."])


def when(check: Check) -> str:
    """The time of a check, to the minute."""
    return check.checked_at[:16].replace("T", " ")


def _cost(one: Check) -> Entry:
    return Entry(None) if one.cost is None else Entry(one.cost.change, "+.2%", one.cost.is_shown)


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
