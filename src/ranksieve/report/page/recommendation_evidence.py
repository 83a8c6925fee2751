"""Sections of a recommendation's page about the evidence."""

from __future__ import annotations

import numpy as np

from ranksieve.recommendation.answer import Evidence, Recommendation
from ranksieve.report.page.charts.cells import Taken, draw_heat_map, draw_selections
from ranksieve.report.page.charts.curves import Bar, draw_bars, draw_gains
from ranksieve.report.page.page import MOST_FEATURES, Chart, Section, Table
from ranksieve.report.sheets import recommendation as sheets
from ranksieve.report.sheets.sheet import first_rows
from ranksieve.report.similarity import order_by_similarity, similar_sheet
from ranksieve.text import quantity

_MOST_BARS = 40
_MOST_QUERIES = 10  # most queries that gain, and that lose
_GAINS = 720.0  # pixels


def evidence_sections(answer: Recommendation) -> list[Section | None]:
    """All sections about the evidence; none if an older version wrote the recommendation."""
    evidence = answer.evidence
    if evidence is None:
        return []
    return [
        _parts_section(answer, evidence),
        _alike_section(answer, evidence),
        _alone_section(answer, evidence),
        _queries_section(answer, evidence),
        _work_section(evidence),
    ]


def _parts_section(answer: Recommendation, evidence: Evidence) -> Section | None:
    """Features chosen without each part of the queries, similar features side by side."""
    shown = _ever_chosen(answer, evidence)
    if not shown:
        return None
    n_chosen, likeness = len(shown), evidence.likeness
    shown = order_by_similarity(shown[:MOST_FEATURES], likeness.features, likeness.matrix)
    chosen = {"recommended": (answer.features, "s2")}
    chosen |= {f"without part {one.part}": (one.features, "s0") for one in evidence.outcomes}
    taken = {
        name: Taken(np.isin(shown, features).astype(float)[:, None], css)
        for name, (features, css) in chosen.items()
    }
    names = [answer.feature_names[feature] for feature in shown]
    how = "1 if it was chosen"
    title = "Features chosen by part"
    svg, data = draw_selections(taken, names, [""], title, "parts", how)
    caption = (
        "A row is a feature, with similar features side by side; green is the recommendation, made "
        "from all queries, and blue what the procedure chose without one part of them. A feature "
        "with a full row is chosen whichever part is left out."
    )
    if n_chosen > len(shown):
        caption += f" {n_chosen - len(shown):,} features that were chosen less often are left out."
    lead = (
        "The claim rests on these choices: features were tested on each part of the queries after "
        "they had been chosen without it."
    )
    table = Table(first_rows(sheets.parts_sheet(answer, evidence), 200))
    chart = Chart(svg, caption, table, data=data)
    return Section("Features chosen without each part", lead, [chart])


def _ever_chosen(answer: Recommendation, evidence: Evidence) -> list[int]:
    """Features that were chosen, the recommended ones first, then those chosen most often."""
    counts = sheets.count_chosen(answer, evidence)
    others = np.argsort(-counts, kind="stable")
    others = others[counts[others] > 0].tolist()
    return list(dict.fromkeys([*answer.features, *others]))


def _alike_section(answer: Recommendation, evidence: Evidence) -> Section | None:
    """Similarity of features, with the tree."""
    likeness, values = evidence.likeness, evidence.alone.values
    copies = [one.feature for kept in answer.kept for one in kept.substitutes]
    best = sorted(likeness.features, key=lambda feature: -values[feature])
    shown = list(dict.fromkeys([*answer.features, *copies, *best]))[:MOST_FEATURES]
    row_of = {feature: row for row, feature in enumerate(likeness.features)}
    shown = [feature for feature in shown if feature in row_of]
    if len(shown) < 2:
        return None
    rows = [row_of[feature] for feature in shown]
    kept = set(answer.features)
    names = [
        f"{answer.feature_names[feature]}{' *' if feature in kept else ''}" for feature in shown
    ]
    matrix = likeness.matrix[np.ix_(rows, rows)]
    svg, data = draw_heat_map(matrix, names, "Similarity of features")
    caption = (
        "The stronger the color, the more similarly two features order documents: mean over "
        "queries of the absolute value of Kendall's tau-b. Branches of the tree that meet near the "
        "matrix join near-copies. A star marks recommended features."
    )
    n_others = len(answer.kept) + len(answer.dropped) - len(shown)
    if n_others > 0:
        caption += (
            f" {quantity(n_others, 'feature')} left out; those shown are recommended, near-copies "
            "of recommended ones, or rank best alone."
        )
    lead = "Of features that order documents similarly, one is often enough."
    table = Table(similar_sheet(names, matrix))
    return Section("Similar features", lead, [Chart(svg, caption, table, data=data)])


def _alone_section(answer: Recommendation, evidence: Evidence) -> Section:
    """How well features rank alone."""
    values, kept = evidence.alone.values, set(answer.features)
    order = sorted(range(len(values)), key=lambda feature: -values[feature])[:_MOST_BARS]
    bars = [
        Bar(
            answer.feature_names[feature],
            values[feature],
            f"{values[feature]:.4f}{'' if evidence.alone.directions[feature] > 0 else ' (small)'}",
            "s2" if feature in kept else "s-",
        )
        for feature in order
    ]
    svg = draw_bars(bars, f"{answer.claim.measure} of single features")
    caption = (
        f"Mean {answer.claim.measure} over all queries if one feature alone ranks the documents; "
        "(small) if small values are good. Green: recommended. A feature that ranks well alone may "
        "be dropped because others say the same, and one that ranks badly alone may add to others."
    )
    if len(values) > len(order):
        caption += f" The best {len(order)} of {len(values):,} features."
    lead = "How useful each feature is without the others."
    table = Table(sheets.alone_sheet(answer, evidence, 200))
    return Section("How well features rank alone", lead, [Chart(svg, caption, table)])


def _queries_section(answer: Recommendation, evidence: Evidence) -> Section | None:
    """Gain or loss of each query."""
    changes = [
        np.array(one.with_chosen) - np.array(one.with_all)
        for one in evidence.outcomes
        if one.queries
    ]
    if not changes:
        return None
    changed = np.concatenate(changes)
    measure = answer.claim.measure
    name = "chosen features - all features"
    svg = draw_gains([(name, "s0", changed)], f"Gains and losses of {measure}", width=_GAINS)
    won, lost = int((changed > 0).sum()), int((changed < 0).sum())
    caption = (
        f"All {quantity(len(changed), 'test query', 'test queries')}, the largest gain at the left "
        "and the largest loss at the right."
    )
    lead = (
        f"A good mean can hide large losses: {measure} rises on {won:,} queries, stays on "
        f"{len(changed) - won - lost:,} and falls on {lost:,} with the chosen features. The table "
        "has those with the largest changes."
    )
    table = Table(sheets.queries_sheet(answer, evidence, _MOST_QUERIES))
    chart = Chart(svg, caption, table, is_open=True)
    return Section("Queries that gain and lose", lead, [chart])


def _work_section(evidence: Evidence) -> Section | None:
    """Methods that were tried, and their time."""
    if not evidence.spent:
        return None
    bars = [
        Bar(one.method, one.seconds, f"{one.seconds:.3g} s, {quantity(one.fits, 'fit')}")
        for one in evidence.spent
    ]
    sheet = sheets.spent_sheet(evidence)
    caption = (
        "Seconds of all selections of a selector, and of all trainings of the ranker, on all "
        f"threads together. {sheet.notes[0]}"
    )
    lead = "What was fitted to find the answer, and how long it took."
    chart = Chart(draw_bars(bars, "Seconds of each method"), caption, Table(sheet))
    return Section("Work and time", lead, [chart])
