"""Tables of a recommendation: features to keep and to drop, cost and quality, evidence, checks.

The evidence is about parts of the queries, single queries, features alone, and work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from math import isfinite

import numpy as np

from ranksieve.recommendation.answer import (
    Alone,
    DroppedFeature,
    Evidence,
    FrontPoint,
    KeptFeature,
    Recommendation,
    Spent,
)
from ranksieve.recommendation.checking import Check, Drift, Helpful
from ranksieve.recommendation.claim import confidence
from ranksieve.report.sheets.sheet import (
    SHOWN,
    Column,
    Entry,
    Fields,
    Sheet,
    losses_and_gains,
    name_column,
    text_column,
)
from ranksieve.study.results import BASE
from ranksieve.text import quantity

_SUBSTITUTES = 3  # most substitutes to name


def kept_sheet(answer: Recommendation, alone: Alone | None = None) -> Sheet:
    """The features to keep, in the order in which they were selected.

    With ``alone``, it also shows how well each ranks alone.
    """
    rank_of = {kept.feature: rank for rank, kept in enumerate(answer.kept, start=1)}
    fields: Fields[KeptFeature] = {
        Column("rank", is_name=True): lambda kept: Entry(rank_of[kept.feature]),
        name_column("feature"): lambda kept: Entry(answer.feature_names[kept.feature]),
    }
    notes = []
    if answer.has_costs:
        fields[Column("cost", importance=3)] = lambda kept: Entry(kept.cost, ".4g")
    if any(kept.loss is not None for kept in answer.kept):
        fields[Column("loss without it", importance=3)] = lambda kept: _percent(kept.loss)
        fields[Column("interval", align="left")] = _interval
        notes.append(
            f"loss without it: of {answer.claim.measure}, relative to all features, with its 95% "
            "interval, if the ranker is trained on the other features that are kept. "
            + _who_judges(answer)
        )
    if any(kept.stability is not None for kept in answer.kept):
        fields[Column("stability", importance=0)] = lambda kept: Entry(kept.stability, ".2f")
        fields[Column("with copies", importance=0)] = lambda kept: Entry(
            kept.cluster_stability, ".2f"
        )
        notes.append(
            "stability: share of random halves of the queries on which it is selected; with "
            "copies: on which it or one of its substitutes is."
        )
    if alone is not None:
        values = alone.values
        fields[Column("alone", importance=0)] = lambda kept: Entry(values[kept.feature], ".4f")
        notes.append(f"alone: {answer.claim.measure} if the feature alone ranks.")
    if any(kept.substitutes for kept in answer.kept):
        fields[text_column("substitutes", importance=2)] = lambda kept: Entry(
            substitutes_text(kept, answer)
        )
        notes.append(
            "substitutes: features that order documents nearly the same (|tau_b| of at least 0.9)"
            + (", with their costs." if answer.has_costs else ".")
        )
    title = f"Features to keep: {len(answer.kept)} of {len(answer.kept) + len(answer.dropped)}"
    pruned = ", then pruned by cost" if answer.is_pruned else ""
    setting = f"Selected by {answer.selector}{pruned}."
    return Sheet.of_items("kept", title, setting, fields, [answer.kept], notes)


def dropped_sheet(answer: Recommendation, alone: Alone | None = None) -> Sheet:
    """The features to drop, with the reason; with ``alone``, also how well each ranks alone."""
    fields: Fields[DroppedFeature] = {
        name_column("feature"): lambda one: Entry(answer.feature_names[one.feature])
    }
    notes = []
    if answer.has_costs:
        fields[Column("cost")] = lambda one: Entry(one.cost, ".4g")
    if alone is not None:
        values = alone.values
        fields[Column("alone")] = lambda one: Entry(values[one.feature], ".4f")
        notes.append(f"alone: {answer.claim.measure} if the feature alone ranks.")
    fields[text_column("reason", importance=2)] = lambda one: Entry(one.reason)
    title = f"Features to drop: {len(answer.dropped)}"
    return Sheet.of_items("dropped", title, "", fields, [answer.dropped], notes)


def front_sheet(answer: Recommendation) -> Sheet:
    """Cost and quality of all candidates, with those of the Pareto front marked."""
    claim, is_tested = answer.claim, any(point.is_shown is not None for point in answer.front)

    def mark(point: FrontPoint) -> str:
        return "*" * point.is_front + "<" * answer.is_recommended(point)

    fields: Fields[FrontPoint] = {
        name_column("selector"): lambda point: Entry(point.selector),
        Column("features", importance=2): lambda point: Entry(point.size, mark=mark(point)),
        Column("cost", importance=2): lambda point: Entry(point.cost, ".4g"),
        Column("measure", claim.measure, importance=0): lambda point: Entry(point.value, ".4f"),
        Column("change", importance=2): lambda point: _percent(point.change, "+.2f"),
        Column("bound"): (
            lambda point: _percent(point.lower if point.lower > -1e300 else None, "+.2f")
        ),
        Column("shown", align="left", only_csv=not is_tested): (
            lambda point: Entry.yes_or_no(point.is_shown)
        ),
        Column("front", only_csv=True): lambda point: Entry.yes(point.is_front),
        Column("chosen", only_csv=True): lambda point: Entry.yes(answer.is_recommended(point)),
    }
    pruned = ", and then pruned by cost" if answer.is_pruned else ""
    notes = [
        f"*: on the front: no candidate that costs no more is better. <: chosen{pruned}.",
        f"change, bound: relative to all features; one-sided {confidence(claim.level)} lower bound "
        "of the candidate alone.",
    ]
    if is_tested:
        notes.append(
            f"shown: to lose less than {100 * claim.margin:.3g}%, tested from the largest size "
            "down until one fails, with the level divided between the selectors; sizes that were "
            "added to find the smallest that is enough are not tested."
        )
    title = "Cost and quality of the candidates"
    return Sheet.of_items("front", title, answer.protocol, fields, [answer.front], notes)


def notable_front_sheet(answer: Recommendation) -> Sheet:
    """What a terminal shows of many candidates: the front, the choice, and its neighborhood.

    That is the next smaller and the next larger candidate of the same selector.
    """
    if len(answer.front) <= SHOWN:
        return front_sheet(answer)
    same = [point for point in answer.front if point.selector == answer.selector]
    same.sort(key=lambda point: point.size)
    at = [index for index, point in enumerate(same) if answer.is_recommended(point)]
    near = [point for index in at for point in same[max(index - 1, 0) : index + 2]]
    shown = [p for p in answer.front if p.is_front or p in near or p.selector == BASE]
    sheet = front_sheet(replace(answer, front=shown))
    note = (
        f"The front and the neighborhood of the choice: {len(shown)} of {len(answer.front)} "
        "candidates; tables/front.csv has them all."
    )
    return replace(sheet, notes=[note, *sheet.notes])


def _percent(share: float | None, form: str = ".2f") -> Entry:
    return Entry(None if share is None else f"{100 * share:{form}}%")


def _interval(kept: KeptFeature) -> Entry:
    if kept.lower is None or kept.upper is None:
        return Entry(None)
    return Entry(f"{100 * kept.lower:.2f} to {100 * kept.upper:.2f}%")


def substitutes_text(kept: KeptFeature, answer: Recommendation) -> str:
    """Near-copies of a feature, with similarity and cost; only the first few."""
    shown = []
    for one in kept.substitutes[:_SUBSTITUTES]:
        cost = f", cost {one.cost:.4g}" if answer.has_costs else ""
        shown.append(f"{answer.feature_names[one.feature]} ({one.similarity:.2f}{cost})")
    more = len(kept.substitutes) - _SUBSTITUTES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _who_judges(answer: Recommendation) -> str:
    if answer.claim.about == "set":
        return "Measured on the test queries."
    return "Measured on queries that were left out of the training, but not of the choice."


def count_chosen(answer: Recommendation, evidence: Evidence) -> np.ndarray:
    """Number of parts without which the procedure chose each feature."""
    counts = np.zeros(len(answer.feature_names), dtype=int)
    for one in evidence.outcomes:
        counts[one.features] += 1
    return counts


def parts_sheet(answer: Recommendation, evidence: Evidence) -> Sheet:
    """Which features were chosen without each part of the queries."""
    counts = count_chosen(answer, evidence).tolist()
    kept = set(answer.features)
    chosen = [f for f in range(len(counts)) if counts[f] or f in kept]
    chosen.sort(key=lambda feature: (-counts[feature], feature not in kept, feature))
    fields: Fields[int] = {
        name_column("feature"): lambda feature: Entry(answer.feature_names[feature]),
        Column("recommended", align="left", importance=2): _is_among(kept),
        Column("times", importance=2): lambda feature: Entry(counts[feature]),
    }
    for outcome in evidence.outcomes:
        fields[Column(f"part {outcome.part}", align="left")] = _is_among(outcome.features)
    title = "Features chosen without each part of the queries"
    notes = ["times: number of parts without which the procedure chose it."]
    return Sheet.of_items("parts", title, "", fields, [chosen], notes)


def queries_sheet(answer: Recommendation, evidence: Evidence, n_shown: int = 20) -> Sheet:
    """The queries that lose and gain most by the chosen features."""
    changes, rows = [], []
    for outcome in evidence.outcomes:
        values = zip(outcome.queries, outcome.with_chosen, outcome.with_all, strict=True)
        for query, chosen, whole in values:
            changes.append(float(chosen - whole))
            numbers = Entry(changes[-1], "+.4f"), Entry(float(chosen), ".4f")
            rows.append([Entry(query), Entry(outcome.part), *numbers, Entry(float(whole), ".4f")])
    groups = [[rows[index] for index in found] for found in losses_and_gains(changes, n_shown)]
    columns = [
        name_column("query"),
        Column("part", align="left"),
        *map(Column, ("change", "with chosen features", "with all features")),
    ]
    measure = answer.claim.measure
    title = f"Queries that lose and gain most {measure}"
    notes = [
        f"change: {measure} with the features that were chosen without the query's part, minus "
        f"that with all features; at most {n_shown} losses and {n_shown} gains."
    ]
    return Sheet("queries", title, "", columns, [group for group in groups if group], notes)


def _is_among(features: Collection[int]) -> Callable[[int], Entry]:
    return lambda feature: Entry.yes(feature in features)


def spent_sheet(evidence: Evidence) -> Sheet:
    """Fits and seconds of each method."""
    fields: Fields[Spent] = {
        name_column("method"): lambda one: Entry(one.method),
        Column("fits"): lambda one: Entry(one.fits, ","),
        Column("seconds", "seconds in all"): lambda one: Entry(one.seconds, ".3g"),
    }
    again = f", {quantity(evidence.n_resumed, 'fit')} of an earlier run among them"
    again = again if evidence.n_resumed else ""
    notes = [f"The last run took {evidence.elapsed:.3g} s from the start to the answer{again}."]
    return Sheet.of_items("work", "Work of each method", "", fields, [evidence.spent], notes)


def check_sheets(found: Check) -> list[Sheet]:
    """How the kept features rank now, and which others would help."""
    drift = [_drift_sheet(found)] if found.drift else []
    helpful = [_helpful_sheet(found)] if found.helpful else []
    return drift + helpful


def _drift_sheet(found: Check) -> Sheet:
    fields: Fields[Drift] = {
        name_column("feature"): lambda one: Entry(one.feature),
        Column("before"): lambda one: Entry(one.before, ".4f"),
        Column("now"): lambda one: Entry(one.now, ".4f"),
        Column("shift"): (
            lambda one: Entry(one.shift if isfinite(one.shift) else "turned", "+.1f")
        ),
        Column("missing before", importance=0): lambda one: Entry(f"{one.missing_before:.1%}"),
        Column("missing now"): lambda one: Entry(f"{one.missing_now:.1%}"),
        Column("notable", align="left", importance=2): lambda one: Entry.yes(one.is_notable),
    }
    notes = [
        f"before, now: {found.claim.measure} if the feature alone ranks the documents of each "
        "query; shift: the difference in standard errors, or turned if the other direction is now "
        "the better one; notable from 3 standard errors or 5% of missing values on."
    ]
    notable_first = sorted(found.drift, key=lambda one: not one.is_notable)
    return Sheet.of_items("drift", "Features that are kept", "", fields, [notable_first], notes)


def _helpful_sheet(found: Check) -> Sheet:
    fields: Fields[Helpful] = {
        name_column("feature"): lambda one: Entry(one.feature),
        Column("gain"): lambda one: _percent(one.gain),
        Column("new", align="left"): lambda one: Entry.yes(one.is_new),
    }
    notes = [
        "gain: share of the leave-query-out error of a linear ranker on the kept features that "
        "it removes, one after the other; new: not in the data of the recommendation."
    ]
    title = "Features that are not kept but would help now"
    return Sheet.of_items("helpful", title, "", fields, [found.helpful], notes)
