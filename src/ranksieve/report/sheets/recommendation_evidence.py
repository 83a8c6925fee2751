"""Tables of the evidence of a recommendation: parts of the queries, queries, features, work."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.evidence import Evidence, Spent
from ranksieve.report.sheets.sheet import (
    Column,
    Entry,
    Fields,
    Sheet,
    losses_and_gains,
    name_column,
)
from ranksieve.text import quantity


def evidence_sheets(answer: Recommendation) -> list[Sheet]:
    """All tables of the evidence; none if an older version wrote the recommendation."""
    if answer.evidence is None:
        return []
    return [
        parts_sheet(answer, answer.evidence),
        queries_sheet(answer, answer.evidence),
        alone_sheet(answer, answer.evidence),
        spent_sheet(answer.evidence),
    ]


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
        Column("recommended", align="left"): _is_among(kept),
        Column("times"): lambda feature: Entry(counts[feature]),
    }
    for outcome in evidence.outcomes:
        fields[Column(f"part {outcome.part}", align="left")] = _is_among(outcome.features)
    title = "What was chosen without each part of the queries"
    notes = ["times: number of parts without which the procedure chose it."]
    return Sheet.of_items("parts", title, "", fields, [chosen], notes)


class _Change(NamedTuple):
    """Values of a query with the chosen features and with all."""

    change: float
    query: str
    part: str
    with_chosen: float
    with_all: float


def queries_sheet(answer: Recommendation, evidence: Evidence, n_shown: int = 20) -> Sheet:
    """The queries that lose and gain most by the chosen features."""
    changes = [
        _Change(chosen - whole, query, outcome.part, chosen, whole)
        for outcome in evidence.outcomes
        for query, chosen, whole in zip(
            outcome.queries, outcome.with_chosen, outcome.with_all, strict=True
        )
    ]
    losses, gains = losses_and_gains([one.change for one in changes], n_shown)
    groups = [[changes[index] for index in indices] for indices in (losses, gains)]
    fields: Fields[_Change] = {
        name_column("query"): lambda one: Entry(one.query),
        Column("part", align="left"): lambda one: Entry(one.part),
        Column("change"): lambda one: Entry(float(one.change), "+.4f"),
        Column("with chosen features"): lambda one: Entry(float(one.with_chosen), ".4f"),
        Column("with all features"): lambda one: Entry(float(one.with_all), ".4f"),
    }
    measure = answer.claim.measure
    title = f"Queries that lose and gain most {measure}"
    notes = [
        f"change: {measure} with the features that were chosen without the query's part, minus "
        f"that with all features; at most {n_shown} losses and {n_shown} gains."
    ]
    return Sheet.of_items("queries", title, "", fields, filter(None, groups), notes)


def alone_sheet(answer: Recommendation, evidence: Evidence, n_shown: int | None = None) -> Sheet:
    """How well each feature ranks alone, the best first."""
    alone, kept = evidence.alone, set(answer.features)
    order = np.argsort(-np.array(alone.values), kind="stable").tolist()
    fields: Fields[int] = {
        name_column("feature"): lambda feature: Entry(answer.feature_names[feature]),
        Column("alone", f"{answer.claim.measure} alone"): (
            lambda feature: Entry(alone.values[feature], ".4f")
        ),
        Column("good", align="left"): lambda feature: Entry(
            "large values" if alone.directions[feature] > 0 else "small values"
        ),
        Column("recommended", align="left"): _is_among(kept),
    }
    notes = [
        f"alone: mean {answer.claim.measure} if the feature alone ranks the documents of each "
        "query, in its better direction; all queries of the data."
    ]
    shown = order[:n_shown]
    left_out = len(order) - len(shown)
    if left_out:
        notes.append(f"{quantity(left_out, 'feature')} left out; tables/alone.csv has them all.")
    title = "How well each feature ranks alone"
    return Sheet.of_items("alone", title, "", fields, [shown], notes)


def _is_among(features: Collection[int]) -> Callable[[int], Entry]:
    return lambda feature: Entry.yes(feature in features)


def spent_sheet(evidence: Evidence) -> Sheet:
    """Fits and seconds of each method."""
    fields: Fields[Spent] = {
        name_column("method"): lambda one: Entry(one.method),
        Column("fits"): lambda one: Entry(one.fits, ","),
        Column("seconds", "seconds in all"): lambda one: Entry(one.seconds, ".3g"),
    }
    again = (
        f", {quantity(evidence.n_resumed, 'fit')} of an earlier run among them"
        if evidence.n_resumed
        else ""
    )
    notes = [f"The last run took {evidence.elapsed:.3g} s from the start to the answer{again}."]
    return Sheet.of_items("work", "Work of each method", "", fields, [evidence.spent], notes)
