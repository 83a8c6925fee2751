"""Sheets of a reproduction: what is published, ours, how far they are apart, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ranksieve.metrics import get_convention
from ranksieve.report.sheets.reproduction_study import (
    best_numbers_sheet,
    pairs_sheet,
    printed_numbers_sheet,
    statements_sheet,
)
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.report.sheets.study_quality import curves_sheet
from ranksieve.report.sheets.study_statistics import statistics_sheet
from ranksieve.reproduction import Reproduction
from ranksieve.reproduction.outcomes import Number
from ranksieve.reproduction.paper import FOUR_DIGITS
from ranksieve.reproduction.ranks import recompute_ranks
from ranksieve.study.results import BASE

TIES = {
    "stable": "equal scores in the order of the files",
    "average": "averaged over the orders of equal scores",
    "document": "equal scores by descending document id",
}
METHOD = Column("method", align="left", is_name=True)
SOURCE = Column("source", align="left", is_name=True)
_PARAMETERS = {
    "lam": "lambda",
    "n_features": "features",
    "features": "in order",
    "n_rounds": "rounds",
    "best_round": "rounds",
    "best_epoch": "epochs",
    "best_iteration": "trees",
    "best_restart": "restart",
}
"""What tables call parameters."""


def reproduction_sheets(result: Reproduction) -> list[Sheet]:
    """All tables of a reproduction, as far as there is something to show in them.

    Parameters
    ----------
    result : Reproduction

    Returns
    -------
    list of Sheet
        Values on folds and means, how methods were run, what was chosen, and what the paper
        derives of these. The first says what to know before numbers are compared.
    """
    sheets = [sheet for sheet in _sheets(result) if any(sheet.groups)]
    if result.facts.warning is not None:
        sheets[0] = replace(sheets[0], setting=f"{result.facts.warning} {sheets[0].setting}")
    if not result.is_published:
        note = f"Nothing is published about {result.facts.title}: its numbers have no verdict."
        sheets[-1] = replace(sheets[-1], notes=[*sheets[-1].notes, note])
    return sheets


def _sheets(result: Reproduction) -> Iterator[Sheet]:
    paper, study = result.paper, result.study
    if paper.fold_measures:
        yield _folds(result)
    for number, (title, names) in enumerate(paper.groups.items(), start=1):
        shown = [name for name in result.shown if name in names]
        yield _means(result, f"means-{number}", title, shown)
    if paper.mean_measures:
        yield _improvements(result)
    yield _methods(result)
    yield _choices(result)
    for table in paper.unified_ranks:
        yield _ranks(result, table)
    yield best_numbers_sheet(result)
    yield printed_numbers_sheet(result)
    yield statements_sheet(result)
    if study is not None and paper.shows_curves:
        for ranker in study.rankers:
            yield curves_sheet(study, ranker, study.measures[0])
        if len(study.selectors) > 1:
            yield from (pairs_sheet(study, ranker) for ranker in study.rankers)


def further_sheets(result: Reproduction) -> Iterator[Sheet]:
    """Tables that only some readers need: curves of other measures, and all statistics."""
    study = result.study
    if study is None or not result.paper.shows_curves:
        return
    for measure in study.measures[1:]:
        for ranker in study.rankers:
            yield curves_sheet(study, ranker, measure)
    if len(study.selectors) > 1:
        yield statistics_sheet(study)


def _setting(result: Reproduction) -> str:
    """Queries, convention, tuning and protocol of results on folds, in sentences."""
    facts = result.facts
    is_seeded = any(len(outcome.n_features) > 1 for outcome in result.outcomes.values())
    return (
        f"Measured on test queries ({facts.n_queries:,} queries in all), convention "
        f"{facts.convention}, {TIES[get_convention(facts.convention).ties]}; everything was "
        "tuned by MAP on validation queries, unless the settings below say otherwise. Protocol: "
        f"the folds of the collection; means over them{' and over seeds' if is_seeded else ''}."
    )


def _notes(result: Reproduction) -> list[str]:
    """What the rows are."""
    if not result.is_published:
        return []
    sources = result.paper.sources
    source = sources.get(result.facts.known_as or "") or sources.get("")
    paper = [] if source is None else [f"paper: {source}."]
    return [*paper, "diff: ours minus paper, if it shows; *: further than asked (below)."]


def rows_beside(names: Sequence[str], numbers: Sequence[Number | None], form: str) -> Iterator[Row]:
    """Rows of published numbers, of ours and of their differences, as far as there are any.

    A difference is marked with ``*`` if it is larger than asked.
    """
    first = [Entry(name) for name in names]
    published = [None if number is None else number.published for number in numbers]
    ours = [None if number is None else number.ours for number in numbers]
    for source, values in (("paper", published), ("ours", ours)):
        if any(value is not None for value in values):
            yield [*first, Entry(source), *(Entry(value, form) for value in values)]
    differences = [_difference(number, form) for number in numbers]
    if any(cell.text.strip("+0.") for cell in differences):
        yield [*first, Entry("diff"), *differences]


def _difference(number: Number | None, form: str) -> Entry:
    """Ours minus the published number; empty if there is none."""
    if number is None or number.difference is None:
        return Entry("")
    mark = "*" if number.is_within is False else ""
    return Entry(number.difference, f"+z{form.removeprefix('+').removeprefix('z')}", mark=mark)


def _folds(result: Reproduction) -> Sheet:
    measures = result.paper.fold_measures
    n_folds = max(len(result.on_folds(name, measures[0])) for name in result.shown)
    columns = [*(f"fold {number}" for number in range(1, n_folds + 1)), "mean"]
    groups = []
    for measure in measures:
        rows: list[Row] = []
        for name in result.shown:
            numbers = [*result.on_folds(name, measure), result.mean(name, measure)]
            if len(numbers) == n_folds + 1:
                rows += rows_beside([measure, result.label(name)], numbers, ".4f")
        groups.append(rows)
    return Sheet(
        f"{result.paper.name}-folds",
        f"{result.paper.title}: paper and ours on the folds of {result.facts.title}",
        _setting(result),
        [Column("measure", align="left", is_name=True), METHOD, SOURCE, *map(Column, columns)],
        groups,
        _notes(result),
    )


def _means(result: Reproduction, stem: str, title: str, names: Sequence[str]) -> Sheet:
    measures = result.paper.mean_measures
    rows: list[Row] = []
    notes = _notes(result)
    for name in names:
        if name not in result.outcomes:
            continue
        rows += rows_beside([result.label(name)], [result.mean(name, m) for m in measures], ".4f")
        spreads = [result.spread(name, measure) for measure in measures]
        if None not in spreads:
            spread = (Entry(value, ".4f") for value in spreads)
            rows.append([Entry(result.label(name)), Entry("spread"), *spread])
    if any(row[1].value == "spread" for row in rows):
        notes.append("spread: standard deviation over seeds.")
    return Sheet(
        f"{result.paper.name}-{stem}",
        f"{title.format(title=result.facts.title)}: paper and ours",
        _setting(result),
        [METHOD, SOURCE, *map(Column, measures)],
        [rows] if rows else [],
        notes,
    )


def _improvements(result: Reproduction) -> Sheet:
    measures = result.paper.mean_measures
    rows: list[Row] = []
    for name in next(iter(result.paper.groups.values())):
        numbers = [
            result.improvement(name, measure)
            for measure in measures
            if name in result.outcomes and name != BASE
        ]
        rows += rows_beside([result.label(name)], numbers, "+z.2f")
    return Sheet(
        f"{result.paper.name}-improvements",
        f"Improvement over all features of {result.facts.title}, in percent: paper and ours",
        _setting(result),
        [METHOD, SOURCE, *map(Column, measures)],
        [rows] if rows else [],
        _notes(result)[:1],
    )


def _methods(result: Reproduction) -> Sheet:
    names = [name for name in result.shown if result.note(name)]
    columns = {
        "features": [Entry(_mean_number(result, n), ".1f") for n in names],
        "random below": [Entry(result.random_below(n), ".0%") for n in names],
        "asked of means": [Entry(_limit(result, n, 0)) for n in names],
        "asked of folds": [Entry(_limit(result, n, 1)) for n in names],
        "holds": [
            Entry({True: "yes", False: "no", None: None}[result.is_within(n)]) for n in names
        ],
    }
    shown = {
        name: cells
        for name, cells in columns.items()
        if any(cell.value is not None for cell in cells)
    }
    settings = [Entry(result.note(name)) for name in names]
    labels = [Entry(result.label(name)) for name in names]
    rows = [list(row) for row in zip(labels, *shown.values(), settings, strict=True)]
    return Sheet(
        f"{result.paper.name}-methods",
        f"How methods were run on {result.facts.title}, and whether they are as near as asked",
        "",
        [METHOD, *map(Column, shown), Column("settings", align="left", wraps=True)],
        [rows] if rows else [],
        [*_methods_notes(result, names)],
    )


def _methods_notes(result: Reproduction, names: Sequence[str]) -> Iterator[str]:
    yield "features: mean number over folds and seeds."
    if any(result.random_below(name) is not None for name in names):
        yield "random below: share of the random orders with a smaller MAP."
    verdicts = {name: result.verdicts(name) for name in names if result.verdicts(name)}
    if not verdicts:
        return
    yield from result.paper.notes
    near = sum(map(sum, verdicts.values()))
    n_numbers, n_methods = sum(map(len, verdicts.values())), sum(map(all, verdicts.values()))
    yield (
        f"As near as asked: {near} of {n_numbers} published numbers, all those of {n_methods} of "
        f"{len(verdicts)} methods."
    )


def _mean_number(result: Reproduction, name: str) -> float | None:
    """Mean number of features; None for methods whose numbers are only printed."""
    if name not in result.outcomes:
        return None
    numbers = result.outcomes[name].n_features
    return sum(numbers) / len(numbers)


def _limit(result: Reproduction, name: str, place: int) -> str | None:
    """How near means (0) or folds (1) are asked to be."""
    asked = result.asked(name)
    tolerance = None if asked is None else asked[place]
    if tolerance is None:
        return None
    return "4 digits" if tolerance == FOUR_DIGITS else f"{tolerance:g}"


def _choices(result: Reproduction) -> Sheet:
    rows: list[Row] = []
    notes = []
    chosen = {name: own.chosen for name, own in result.outcomes.items() if any(own.chosen)}
    for name, ours in chosen.items():
        published = result.published_choices(name)
        for parameter in ours[0]:
            first = [Entry(result.label(name)), Entry(_PARAMETERS.get(parameter, parameter))]
            for source, folds in (("paper", published), ("ours", ours)):
                if folds is not None:
                    rows.append(
                        [*first, Entry(source), *(Entry(_shown(own, parameter)) for own in folds)]
                    )
        same = result.same_features(name)
        if same is not None:
            notes.append(
                f"The features of {sum(same)} of {len(same)} folds are those of the paper, in "
                "order."
            )
    n_folds = max((len(ours) for ours in chosen.values()), default=0)
    return Sheet(
        f"{result.paper.name}-choices",
        f"What was chosen on the folds of {result.facts.title}",
        "As published for the fold, or else by MAP on the validation queries.",
        [
            METHOD,
            Column("chosen", align="left", is_name=True),
            SOURCE,
            *(Column(f"fold {number}") for number in range(1, n_folds + 1)),
        ],
        [rows] if rows else [],
        notes,
    )


def _shown(chosen: Any, parameter: str) -> str:
    value = chosen[parameter]
    if parameter == "lam":
        return f"2^{math.log2(value):g}"
    if parameter == "features":
        more = " ..." if chosen["n_features"] > len(value) else ""
        return " ".join(map(str, value)) + more
    return f"{value:g}"


def _ranks(result: Reproduction, table: str) -> Sheet:
    here = result.unified_ranks(table) or {}
    paper, recomputed = result.paper, recompute_ranks(result.paper, table)
    rows = []
    for name, printed in paper.unified_ranks[table].items():
        rank = here.get(name)
        rows.append(
            [
                Entry(result.label(name)),
                Entry(printed, ".1f"),
                Entry(recomputed[name], ".1f"),
                Entry(None if rank is None else rank.published, ".2f"),
                Entry(None if rank is None else rank.ours, ".2f"),
                _difference(rank, ".2f"),
            ]
        )
    n_measures = len(paper.mean_measures)
    notes = [
        f"printed, recomputed: over {', '.join(paper.means)}, {len(paper.means) * n_measures} "
        f"cells; paper, ours, diff: over the {n_measures} measures of {result.facts.title} alone."
    ]
    if not here:
        notes.append(f"ours needs all {len(rows)} methods.")
    return Sheet(
        f"{paper.name}-unified-rank-{table.split()[-1]}",
        f"Unified ranks of {table}",
        f"One number for {len(rows)} methods, from their ranks in every cell of a collection and "
        "a measure; the best possible one is the number of cells.",
        [METHOD, *map(Column, ("printed", "recomputed", "paper", "ours", "diff"))],
        [rows],
        notes,
    )
