"""Tables of a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ranksieve.recommendation.answer import KeptFeature, Recommendation
from ranksieve.recommendation.checking import Check
from ranksieve.recommendation.evidence import Alone
from ranksieve.report.sheets.sheet import Column, Entry, Sheet

_SUBSTITUTES = 3  # named at most


def recommendation_sheets(answer: Recommendation) -> list[Sheet]:
    """The features to keep, those to drop, and cost against quality."""
    sheets = [kept_sheet(answer)] if answer.kept else []
    sheets += [dropped_sheet(answer)] if answer.dropped else []
    return [*sheets, front_sheet(answer)]


def kept_sheet(answer: Recommendation, alone: Alone | None = None) -> Sheet:
    """The features to keep, in the order in which they were selected.

    With ``alone``, it tells also how well each ranks alone.
    """
    columns = [Column("rank", is_name=True), Column("feature", align="left", is_name=True)]
    rows = [[Entry(rank), Entry(name)] for rank, name in enumerate(answer.names, start=1)]
    notes = []
    if answer.has_costs:
        columns.append(Column("cost"))
        _add(rows, [Entry(kept.cost, ".4g") for kept in answer.kept])
    if any(kept.loss is not None for kept in answer.kept):
        columns.append(Column("loss without it"))
        columns.append(Column("interval", align="left"))
        _add(rows, [_percent(kept.loss) for kept in answer.kept])
        _add(rows, [_interval(kept) for kept in answer.kept])
        notes.append(
            f"loss without it: of {answer.claim.measure}, relative to all features, with its 95% "
            "interval, if the ranker is trained on the other features that are kept. "
            + _who_judges(answer)
        )
    if any(kept.stability is not None for kept in answer.kept):
        columns += [Column("stability"), Column("with copies")]
        _add(rows, [_share(kept.stability) for kept in answer.kept])
        _add(rows, [_share(kept.cluster_stability) for kept in answer.kept])
        notes.append(
            "stability: share of random halves of the queries on which it is selected; with "
            "copies: on which it or one of its substitutes is."
        )
    if alone is not None:
        columns.append(Column("alone"))
        _add(rows, [Entry(alone.values[feature], ".4f") for feature in answer.features])
        notes.append(f"alone: {answer.claim.measure} if the feature alone ranks.")
    if any(kept.substitutes for kept in answer.kept):
        columns.append(Column("substitutes", align="left", wraps=True))
        _add(rows, [Entry(substitutes_text(kept, answer)) for kept in answer.kept])
        notes.append(
            "substitutes: features that order documents nearly alike (|tau_b| of at least 0.9)"
            + (", with their costs." if answer.has_costs else ".")
        )
    title = f"Features to keep: {len(answer.kept)} of {len(answer.kept) + len(answer.dropped)}"
    pruned = ", then pruned by cost" if answer.is_pruned else ""
    about = f"Selected by {answer.selector}{pruned}."
    return Sheet("kept", title, about, columns, [rows], notes)


def dropped_sheet(answer: Recommendation, alone: Alone | None = None) -> Sheet:
    """The features to drop, with the reason; with ``alone``, also how well each ranks alone."""
    columns = [Column("feature", align="left", is_name=True)]
    rows = [[Entry(answer.feature_names[one.feature])] for one in answer.dropped]
    notes = []
    if answer.has_costs:
        columns.append(Column("cost"))
        _add(rows, [Entry(one.cost, ".4g") for one in answer.dropped])
    if alone is not None:
        columns.append(Column("alone"))
        _add(rows, [Entry(alone.values[one.feature], ".4f") for one in answer.dropped])
        notes.append(f"alone: {answer.claim.measure} if the feature alone ranks.")
    columns.append(Column("reason", align="left", wraps=True))
    _add(rows, [Entry(one.reason) for one in answer.dropped])
    return Sheet("dropped", f"Features to drop: {len(rows)}", "", columns, [rows], notes)


def front_sheet(answer: Recommendation) -> Sheet:
    """Cost against quality of all candidates that no cheaper one equals, and all others."""
    claim = answer.claim
    columns = [
        Column("selector", align="left", is_name=True),
        Column("features"),
        Column("cost"),
        Column("measure", heading=claim.measure),
        Column("change"),
        Column("bound"),
        Column("shown", align="left"),
        Column("front", align="left"),
    ]
    rows = [
        [
            Entry(point.selector),
            Entry(point.size),
            Entry(point.cost, ".4g"),
            Entry(point.value, ".4f"),
            _percent(point.change, "+.2f"),
            _percent(point.lower if point.lower > -1e300 else None, "+.2f"),
            Entry({True: "yes", False: "no", None: None}[point.is_shown]),
            Entry("*" if point.is_front else ""),
        ]
        for point in answer.front
    ]
    notes = [
        f"change, bound: relative to all features; one-sided {claim.level:.0%} lower bound "
        "of the candidate alone.",
        "front: no candidate that costs no more is better.",
    ]
    if any(point.is_shown is not None for point in answer.front):
        notes.append(
            f"shown: to lose less than {100 * claim.margin:.3g}%, tested from the largest size "
            "down until one fails, with the level divided between the selectors; sizes that were "
            "added to find the smallest that is enough are not tested."
        )
    return Sheet("front", "Cost and quality of the candidates", "", columns, [rows], notes)


def check_sheets(found: Check) -> list[Sheet]:
    """How the kept features rank now, and which others would help."""
    columns = [
        Column("feature", align="left", is_name=True),
        Column("before"),
        Column("now"),
        Column("shift"),
        Column("missing before"),
        Column("missing now"),
        Column("notable", align="left"),
    ]
    rows = [
        [
            Entry(one.feature),
            Entry(one.before, ".4f"),
            Entry(one.now, ".4f"),
            Entry(one.shift if isfinite(one.shift) else "turned", "+.1f"),
            Entry(f"{one.missing_before:.1%}"),
            Entry(f"{one.missing_now:.1%}"),
            Entry("yes" if one.is_notable else ""),
        ]
        for one in found.drift
    ]
    notes = [
        f"before, now: {found.verdict.measure} if the feature alone ranks the documents of each "
        "query; shift: the difference in standard errors, or turned if the other direction is now "
        "the better one; notable from 3 standard errors or 5% of missing values on."
    ]
    sheets = [Sheet("drift", "Features that are kept", "", columns, [rows], notes)] if rows else []
    if found.helpful:
        columns = [
            Column("feature", align="left", is_name=True),
            Column("gain"),
            Column("new", align="left"),
        ]
        others = [
            [Entry(one.feature), _percent(one.gain), Entry("yes" if one.is_new else "")]
            for one in found.helpful
        ]
        notes = [
            "gain: part of the leave-query-out error of a linear ranker on the kept features that "
            "it takes away, one after the other; new: not in the data of the recommendation."
        ]
        title = "Features that are not kept but would help now"
        sheets.append(Sheet("helpful", title, "", columns, [others], notes))
    return sheets


def _add(rows: Sequence[list[Entry]], entries: Sequence[Entry]) -> None:
    for row, entry in zip(rows, entries, strict=True):
        row.append(entry)


def _percent(share: float | None, form: str = ".2f") -> Entry:
    return Entry(None if share is None else f"{100 * share:{form}}%")


def _share(share: float | None) -> Entry:
    return Entry(share, ".2f")


def _interval(kept: KeptFeature) -> Entry:
    if kept.lower is None or kept.upper is None:
        return Entry(None)
    return Entry(f"{100 * kept.lower:.2f} to {100 * kept.upper:.2f}%")


def substitutes_text(kept: KeptFeature, answer: Recommendation) -> str:
    """Near-copies of a feature, with similarity and cost; only the first few are named."""
    told = []
    for one in kept.substitutes[:_SUBSTITUTES]:
        cost = f", cost {one.cost:.4g}" if answer.has_costs else ""
        told.append(f"{answer.feature_names[one.feature]} ({one.similarity:.2f}{cost})")
    more = len(kept.substitutes) - _SUBSTITUTES
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def _who_judges(answer: Recommendation) -> str:
    if answer.claim.about == "set":
        return "The test queries judge."
    return "The queries that judge were left out of the training, but not of the choice."
