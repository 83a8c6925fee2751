"""Tables of the evidence of a recommendation: parts of the queries, queries, features, work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ranksieve.recommendation.answer import Recommendation
from ranksieve.recommendation.evidence import Evidence
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.text import quantity


def evidence_sheets(answer: Recommendation) -> list[Sheet]:
    """All of these tables; none if an older version wrote the answer."""
    if answer.evidence is None:
        return []
    return [
        parts_sheet(answer, answer.evidence),
        queries_sheet(answer, answer.evidence),
        alone_sheet(answer, answer.evidence),
        spent_sheet(answer.evidence),
    ]


def parts_sheet(answer: Recommendation, evidence: Evidence) -> Sheet:
    """Which features were chosen without each part of the queries."""
    parts = [one.part for one in evidence.outcomes]
    counts = np.zeros(len(answer.feature_names), dtype=int)
    for one in evidence.outcomes:
        counts[one.features] += 1
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
            Column("feature", align="left", is_name=True),
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
            Column("query", align="left", is_name=True),
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
    rows = [
        [
            Entry(answer.feature_names[feature]),
            Entry(alone.values[feature], ".4f"),
            Entry("large values" if alone.directions[feature] > 0 else "small values"),
            Entry("yes" if feature in kept else ""),
        ]
        for feature in order[:n_shown]
    ]
    notes = [
        f"alone: mean {answer.claim.measure} if the feature alone ranks the documents of each "
        "query, in its better direction; all queries of the data."
    ]
    left_out = len(order) - len(rows)
    if left_out:
        notes.append(f"{quantity(left_out, 'feature')} left out; tables/alone.csv has them all.")
    return Sheet(
        "alone",
        "How well each feature ranks alone",
        "",
        [
            Column("feature", align="left", is_name=True),
            Column("alone", heading=f"{answer.claim.measure} alone"),
            Column("good", align="left"),
            Column("recommended", align="left"),
        ],
        [rows],
        notes,
    )


def spent_sheet(evidence: Evidence) -> Sheet:
    """Fits and seconds of each method."""
    rows = [
        [Entry(one.method), Entry(one.fits, ","), Entry(one.seconds, ".3g")]
        for one in evidence.spent
    ]
    again = (
        f", {quantity(evidence.n_resumed, 'fit')} of an earlier run among them"
        if evidence.n_resumed
        else ""
    )
    return Sheet(
        "work",
        "Work of each method",
        "",
        [
            Column("method", align="left", is_name=True),
            Column("fits"),
            Column("seconds", heading="seconds in all"),
        ],
        [rows],
        [f"The last run took {evidence.elapsed:.3g} s from the start to the answer{again}."],
    )


def similar_sheet(
    names: Sequence[str], similarity: np.ndarray, setting: str, n_shown: int = 60
) -> Sheet:
    """Pairs of features, the most similar first."""
    pairs = sorted(
        combinations(range(len(names)), 2), key=lambda pair: (-abs(similarity[pair]), pair)
    )
    rows = [
        [Entry(names[i]), Entry(names[j]), Entry(float(similarity[i, j]), ".3f")]
        for i, j in pairs[:n_shown]
    ]
    left_out = len(pairs) - len(rows)
    notes = [f"{quantity(left_out, 'pair')} of smaller similarity left out."] if left_out else []
    return Sheet(
        "similar",
        "Pairs of similar features",
        setting,
        [
            Column("feature", align="left", is_name=True),
            Column("other", align="left", is_name=True),
            Column("similarity"),
        ],
        [rows],
        notes,
    )
