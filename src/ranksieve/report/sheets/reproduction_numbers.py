"""Sheets of a paper's numbers and ours: on folds, as means, and as improvements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ranksieve.metrics import get_convention
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column
from ranksieve.reproduction import Reproduction
from ranksieve.reproduction.outcomes import Number
from ranksieve.study.results import BASE

TIES = {
    "stable": "equal scores in the order of the files",
    "average": "averaged over the orders of equal scores",
    "document": "equal scores by descending document id",
}
METHOD = name_column("method")
SOURCE = name_column("source")


def folds_sheet(result: Reproduction) -> Sheet:
    """Values on every fold, and their means."""
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
        [name_column("measure"), METHOD, SOURCE, *map(Column, columns)],
        groups,
        _notes(result),
    )


def means_sheet(result: Reproduction, stem: str, title: str, names: Sequence[str]) -> Sheet:
    """Means over the folds of some methods, with their spread over seeds."""
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
        [rows],
        notes,
    )


def improvements_sheet(result: Reproduction) -> Sheet:
    """Improvement of selectors over all features, in percent."""
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
        [rows],
        _notes(result)[:1],
    )


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
    """Notes that explain the rows."""
    if not result.is_published:
        return []
    sources = result.paper.sources
    source = sources.get(result.facts.known_as or "") or sources.get("")
    paper = [] if source is None else [f"paper: {source}."]
    return [
        *paper,
        "diff: ours minus paper, unless it rounds to 0; *: outside the tolerance (below).",
    ]


def rows_beside(names: Sequence[str], numbers: Sequence[Number | None], form: str) -> Iterator[Row]:
    """Rows of published numbers, of ours and of their differences, where available.

    A difference is marked with ``*`` if it exceeds the tolerance.
    """
    first = [Entry(name) for name in names]
    published = [None if number is None else number.published for number in numbers]
    ours = [None if number is None else number.ours for number in numbers]
    for source, values in (("paper", published), ("ours", ours)):
        if any(value is not None for value in values):
            yield [*first, Entry(source), *(Entry(value, form) for value in values)]
    differences = [difference_cell(number, form) for number in numbers]
    if any(cell.text.strip("+0.") for cell in differences):
        yield [*first, Entry("diff"), *differences]


def difference_cell(number: Number | None, form: str) -> Entry:
    """Ours minus the published number; empty if there is none."""
    if number is None or number.difference is None:
        return Entry("")
    mark = "*" if number.is_within is False else ""
    return Entry(number.difference, f"+z{form.removeprefix('+').removeprefix('z')}", mark=mark)
