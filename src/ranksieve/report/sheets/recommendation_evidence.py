"""Tables of the evidence of a recommendation: parts of the queries, queries, features, work."""

from __future__ import annotations

import numpy as np

from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.evidence import Evidence, Spent
from ranksieve.report.sheets.sheet import Column, Entry, Fields, Row, Sheet, name_column
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
    parts = [one.part for one in evidence.outcomes]
    counts = count_chosen(answer, evidence)
    kept = set(answer.features)
    chosen = [f for f in range(len(counts)) if counts[f] or f in kept]
    chosen.sort(key=lambda feature: (-counts[feature], feature not in kept, feature))

    def row(feature: int) -> Row:
        taken = [Entry("yes" if feature in one.features else "") for one in evidence.outcomes]
        name = Entry(answer.feature_names[feature])
        return [name, Entry("yes" if feature in kept else ""), Entry(int(counts[feature])), *taken]

    return Sheet(
        "parts",
        "What was chosen without each part of the queries",
        "",
        [
            name_column("feature"),
            Column("recommended", align="left"),
            Column("times"),
            *(Column(f"part {part}", align="left") for part in parts),
        ],
        [[row(feature) for feature in chosen]],
        ["times: number of parts without which the procedure chose it."],
    )


def queries_sheet(answer: Recommendation, evidence: Evidence, n_shown: int = 20) -> Sheet:
    """The queries that lose and gain most by the chosen features."""
    rows = [
        (chosen - whole, query, one.part, chosen, whole)
        for one in evidence.outcomes
        for query, chosen, whole in zip(one.queries, one.with_chosen, one.with_all, strict=True)
    ]
    rows.sort(key=lambda row: row[0])
    lost = [row for row in rows[:n_shown] if row[0] < 0]
    won = [row for row in rows[::-1][:n_shown] if row[0] > 0]

    def describe_row(row: tuple[float, str, str, float, float]) -> Row:
        change, query, part, chosen, whole = row
        return [
            Entry(query),
            Entry(part),
            Entry(float(change), "+.4f"),
            Entry(float(chosen), ".4f"),
            Entry(float(whole), ".4f"),
        ]

    measure = answer.claim.measure
    return Sheet(
        "queries",
        f"Queries that lose and gain most {measure}",
        "",
        [
            name_column("query"),
            Column("part", align="left"),
            Column("change"),
            Column("with chosen features"),
            Column("with all features"),
        ],
        [
            group
            for group in ([describe_row(r) for r in lost], [describe_row(r) for r in won])
            if group
        ],
        [
            f"change: {measure} with the features that were chosen without the query's part, minus "
            f"that with all features; at most {n_shown} losses and {n_shown} gains."
        ],
    )


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
        Column("recommended", align="left"): lambda feature: Entry(
            "yes" if feature in kept else ""
        ),
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
