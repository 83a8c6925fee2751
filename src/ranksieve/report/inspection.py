"""The report of an inspection, with warnings first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ranksieve._version import installed_versions
from ranksieve.report.charts.curves import Bar, draw_bars
from ranksieve.report.charts.panels import Panel, draw_panels
from ranksieve.report.features import (
    MOST_BARS,
    MOST_FEATURES,
    bars_from_chance,
    similar_section,
)
from ranksieve.report.section import Chart, Part, Report, Section, provenance, verdict
from ranksieve.report.sheets import inspection as sheets
from ranksieve.report.sheets.features import similar_sheet, suspicions_sheet
from ranksieve.sums.inspection import Correlation, Inspection
from ranksieve.sums.suspicions import warnings_of
from ranksieve.text import quantity

_FEW_QUERIES = 200  # with fewer, only large differences can be shown
_MANY = 0.2  # share of queries without a relevant document from which to warn


def inspection_report(
    title: str, found: Inspection, command: Sequence[str] = (), top: int | None = None
) -> Report:
    """Make the report of an inspection.

    ``title`` is that of the data; a terminal shows the ``top`` best features.
    """
    others = [*_warnings(found)]
    n_warnings = sum(one.is_warning for one in found.suspicions) + len(others)
    measured = f"{found.measure}, convention {found.convention}, ties averaged"
    versions = ", ".join(f"{name} {version}" for name, version in installed_versions().items())
    how = [("Command", shlex.join(command))] if command else []
    how += [("How features were measured", measured), ("Versions", versions)]
    sections = [
        verdict(
            f"{quantity(found.n_rows, 'row')} of {quantity(found.n_queries, 'query', 'queries')} "
            f"with {quantity(found.n_features, 'feature')}.",
            [*_numbers(found)],
            [*warnings_of(found.suspicions), *others],
            is_shown=not n_warnings,
            word=quantity(n_warnings, "warning") if n_warnings else "No warnings",
        ),
        _suspicions_section(found),
        _facts_section(title, found),
        _useless_section(found),
        _missing_section(found, top),
        _alone_section(found, top),
        _alike_section(found),
        provenance(how),
    ]
    return Report(title, list(filter(None, sections)), "Inspection")


def _warnings(found: Inspection) -> Iterator[str]:
    """Other warnings about the data, the most serious first."""
    if found.file_order.better_than_chance:
        yield f"The file order {sheets.describe_file_order(found)}"
    if found.n_queries < _FEW_QUERIES:
        yield (
            f"Few queries: {found.n_queries:,} can show only large differences. They may not be "
            "enough to show that a loss of quality is small."
        )
    if found.n_without_relevant > _MANY * found.n_queries:
        share = found.n_without_relevant / found.n_queries
        yield f"No relevant document in {share:.0%} of the queries: nothing is learned from them."
    if found.n_infinite:
        yield f"{quantity(found.n_infinite, 'infinite value')}: features are not compared."
    if found.n_missing:
        share = found.n_missing / (found.n_rows * found.n_features)
        yield (
            f"Missing values: {share:.1%}, of {quantity(len(found.missing), 'feature')}. Trees "
            "take them as they are; other rankers need --missing."
        )
    yield from (one.sentence for one in found.suspicions if not one.is_warning)
    if found.near_duplicates:
        pairs = quantity(len(found.near_duplicates), "pair")
        yield f"{pairs} of near-duplicate features: correlation of at least 0.99 within queries."


def _suspicions_section(found: Inspection) -> Section | None:
    if not found.suspicions:
        return None
    sheet = suspicions_sheet(found.suspicions)
    sentence = "Columns that are perhaps no features, and features that say nothing of their own."
    return Section("Look at these first", sentence, [Part(sheet, brief=sheet)])


def _numbers(found: Inspection) -> Iterator[tuple[str, ...]]:
    yield "Rows", f"{found.n_rows:,}"
    without = found.n_without_relevant
    yield "Queries", f"{found.n_queries:,}", f"{without:,} without a relevant document"
    yield "Features", f"{found.n_features:,}"
    length = found.documents_per_query
    yield (
        "Documents per query",
        f"{length['median']:g}",
        f"median, from {length['min']:g} to {length['max']:g}",
    )


def _facts_section(title: str, found: Inspection) -> Section:
    """All facts, labels and lengths."""
    parts = []
    if len(found.labels) <= MOST_BARS:
        bars = [
            Bar(f"{label:g}", n, f"{n:,} ({n / found.n_rows:.1%})")
            for label, n in found.labels.items()
        ]
        draw = partial(draw_bars, bars, "Documents by label")
        chart = Chart("labels", "Number of documents with each label.", draw)
        parts.append(Part(sheets.labels_sheet(found), chart, "Labels"))
    bars = [
        Bar(_span(one.least, one.most), one.queries, f"{one.queries:,}") for one in found.lengths
    ]
    draw = partial(draw_bars, bars, "Queries by number of documents")
    chart = Chart("lengths", "Number of queries by their number of documents.", draw)
    parts.append(Part(sheets.lengths_sheet(found), chart, "Documents per query"))
    facts = sheets.facts_sheet("All facts about the data", found)
    parts.append(Part(facts, is_folded=True, brief=sheets.facts_sheet(title, found)))
    return Section("Labels and queries", "What a ranker can learn from.", parts)


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _useless_section(found: Inspection) -> Section | None:
    sheet = sheets.useless_sheet(found)
    if not any(sheet.groups):
        return None
    sentence = "Features that carry no information, or only what another feature carries, too."
    return Section("Features that add nothing", sentence, [Part(sheet)])


def _alone_section(found: Inspection, top: int | None) -> Section | None:
    """How well each feature ranks alone, in both directions."""
    if not found.best_features:
        return None
    shown = found.best_features[:MOST_BARS]
    both = {
        "large values first": [
            one.value if one.direction == "descending" else one.reverse for one in shown
        ],
        "small values first": [
            one.reverse if one.direction == "descending" else one.value for one in shown
        ],
    }
    chance = float(np.nan_to_num(found.file_order.by_chance))  # NaN if no query has a value
    every = [value for values in both.values() for value in values]
    panels = [
        Panel(name, values, ".4f", width=230, start=chance, reach=every)
        for name, values in both.items()
    ]
    names = [one.name for one in shown]
    draw = partial(draw_panels, names, panels, [], "", f"{found.measure} of single features")
    caption = (
        f"Mean {found.measure} if one feature alone ranks the documents of each query, by "
        "descending and by ascending values; features are ordered by the better direction. "
        f"{bars_from_chance(chance)}"
    )
    if len(found.best_features) > len(shown):
        caption += f" The best {len(shown)} of {len(found.best_features):,} features."
    sheet, brief = (sheets.best_features_sheet(found, n) for n in (None, top))
    part = Part(sheet, Chart("alone", caption, draw), brief=brief)
    sentence = "How useful each feature is without the others."
    return Section("How well features rank alone", sentence, [part])


def _alike_section(found: Inspection) -> Section | None:
    """Similarity of features, with clusters."""
    related = found.correlation
    if related is None:
        return None
    rows = _rows_to_compare(found, related)
    names = [related.names[row] for row in rows]
    matrix = np.clip(np.abs(np.nan_to_num(related.values[np.ix_(rows, rows)])), 0.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    further = ""
    if len(rows) < len(related.names):
        further = f"The {len(rows)} features that rank best alone, of {len(related.names):,}."
    return similar_section(
        names,
        matrix,
        "Of similar features, one is often enough.",
        "absolute value of the correlation within queries",
        further,
        similar_sheet(names, matrix),
    )


def _rows_to_compare(found: Inspection, related: Correlation) -> list[int]:
    """Features of the heat map, as rows: those that rank best alone."""
    best = {one.name: rank for rank, one in enumerate(found.best_features or [])}
    order = sorted(range(len(related.names)), key=lambda row: best.get(related.names[row], row))
    return sorted(order[:MOST_FEATURES])


def _missing_section(found: Inspection, top: int | None) -> Section | None:
    if not found.missing:
        return None
    shown = list(found.missing.items())[:MOST_BARS]
    bars = [Bar(name, n / found.n_rows, f"{n:,} ({n / found.n_rows:.1%})") for name, n in shown]
    draw = partial(draw_bars, bars, "Share of rows without a value")
    caption = "Share of rows without a value, the largest first."
    if len(found.missing) > len(shown):
        caption += (
            f" The first {len(shown)} of {len(found.missing):,} features with missing values."
        )
    sheet, brief = (sheets.missing_sheet(found, n) for n in (None, top))
    part = Part(sheet, Chart("missing-values", caption, draw), brief=brief)
    sentence = "Where features are compared, a document without a value ranks last."
    return Section("Missing values", sentence, [part])
