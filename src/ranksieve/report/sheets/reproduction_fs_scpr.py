"""Sheets of FS-SCPR, and what it is compared with, beside its paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ranksieve.report.sheets.reproduction_numbers import WHOSE, difference, rows_beside
from ranksieve.report.sheets.sheet import Cell, Column, Row, Sheet
from ranksieve.reproduction.fs_scpr import (
    ALL_FEATURES,
    NEAR,
    RANKER,
    SELECTORS,
    recomputed_ranks,
)
from ranksieve.reproduction.published_fs_scpr import ALL, MEANS, MEASURES, TABLES, UNIFIED_RANKS

if TYPE_CHECKING:
    from ranksieve.reproduction import FSSCPRReproduction

METHOD = Column("method", align="left", is_name=True)


def fs_scpr_sheets(result: FSSCPRReproduction) -> list[Sheet]:
    """Means of all measures, improvements, how selectors were tuned, and unified ranks."""
    selectors = [name for name in result.results if name in SELECTORS]
    rankers = [name for name in result.results if name in (ALL, *ALL_FEATURES)]
    sheets = [
        _selectors(result, selectors),
        _improvements(result, [name for name in selectors if name != ALL]),
        _choices(result, selectors),
        _rankers(result, rankers),
        *(_ranks(result, table) for table in UNIFIED_RANKS),
    ]
    return [sheet for sheet in sheets if any(sheet.groups)]


def _setting(result: FSSCPRReproduction) -> str:
    facts = result.facts
    return (
        f"Measured on test queries ({facts.n_queries:,} queries in all), convention "
        f"{facts.convention}; all was tuned by MAP on validation queries. Protocol: the folds of "
        "the collection; means over them and over seeds."
    )


def _selectors(result: FSSCPRReproduction, names: Sequence[str]) -> Sheet:
    return Sheet(
        "fs-scpr-selectors",
        f"Selectors with {RANKER} on {result.facts.title}, published and ours",
        _setting(result),
        [METHOD, WHOSE, *map(Column, MEASURES)],
        _means(result, names),
        [*_source(result, 0), *_means_notes(result, names)],
    )


def _rankers(result: FSSCPRReproduction, names: Sequence[str]) -> Sheet:
    how = f"{', '.join(ALL_FEATURES)}: as by reproduce rankers, which tells their settings."
    return Sheet(
        "fs-scpr-rankers",
        f"Rankers on all features of {result.facts.title}, published and ours",
        _setting(result),
        [METHOD, WHOSE, *map(Column, MEASURES)],
        _means(result, names),
        [*_source(result, 2), *_means_notes(result, names), how],
    )


def _source(result: FSSCPRReproduction, place: int) -> list[str]:
    """Which table of the paper the numbers are from."""
    tables = TABLES.get(result.facts.known_as or "")
    return [] if tables is None else [f"paper: Table {tables[place]}."]


def _means(result: FSSCPRReproduction, names: Sequence[str]) -> list[list[Row]]:
    rows: list[Row] = []
    for name in names:
        numbers = [result.number(name, measure) for measure in MEASURES]
        rows += rows_beside([_shown(name)], numbers, ".4f")
        spreads = [result.spread(name, measure) for measure in MEASURES]
        if None not in spreads:
            rows.append([Cell(_shown(name)), Cell("spread"), *(Cell(s, ".4f") for s in spreads)])
    return [rows] if rows else []


def _means_notes(result: FSSCPRReproduction, names: Sequence[str]) -> list[str]:
    notes = []
    if result.facts.known_as in MEANS:
        is_asked = any(result.number(name, "MAP").tolerance is not None for name in names)
        asked = f"; *: MAP by more than {NEAR:g}" if is_asked else ""
        notes.append(f"apart: ours minus published{asked}.")
    if any(result.spread(name, "MAP") is not None for name in names):
        notes.append("spread: standard deviation over seeds.")
    return notes


def _shown(name: str) -> str:
    return f"{RANKER} on all" if name == ALL else name


def _improvements(result: FSSCPRReproduction, names: Sequence[str]) -> Sheet:
    numbers = {
        name: [result.improvement(name, measure) for measure in MEASURES]
        for name in names
        if result.improvement(name, MEASURES[-1]) is not None
    }
    rows = [row for name, own in numbers.items() for row in rows_beside([name], own, "+z.2f")]
    return Sheet(
        "fs-scpr-improvements",
        f"Improvement over {RANKER} on all features of {result.facts.title}, in percent",
        _setting(result),
        [METHOD, WHOSE, *map(Column, MEASURES)],
        [rows] if rows else [],
        _improvements_notes(result),
    )


def _improvements_notes(result: FSSCPRReproduction) -> list[str]:
    tables = TABLES.get(result.facts.known_as or "")
    if tables is None:
        return []
    return [f"paper: from its rows of Table {tables[0]}; Table {tables[1]} has those of FS-SCPR."]


def _choices(result: FSSCPRReproduction, names: Sequence[str]) -> Sheet:
    rows = []
    for name in names:
        numbers, below = result.results[name].n_features, result.random_below(name)
        rows.append(
            [
                Cell(_shown(name)),
                Cell(sum(numbers) / len(numbers), ".1f"),
                Cell(None if below is None else f"{below:.0%}"),
                Cell(SELECTORS[name]),
            ]
        )
    return Sheet(
        "fs-scpr-choices",
        f"Features that were chosen on {result.facts.title}",
        "Means over folds and seeds of the numbers of features that validation MAP chose.",
        [
            METHOD,
            Column("features"),
            Column("random below"),
            Column("tuned", align="left", wraps=True),
        ],
        [rows] if rows else [],
        ["random below: share of the random orders with a smaller MAP."],
    )


def _ranks(result: FSSCPRReproduction, table: str) -> Sheet:
    here = result.unified_ranks(table)
    recomputed = recomputed_ranks(table)
    rows = []
    for name, printed in UNIFIED_RANKS[table].items():
        rank = None if here is None else here[name]
        rows.append(
            [
                Cell(_shown(name)),
                Cell(printed, ".1f"),
                Cell(recomputed[name], ".1f"),
                Cell(None if rank is None else rank.published, ".2f"),
                Cell(None if rank is None else rank.ours, ".2f"),
                difference(rank, ".2f"),
            ]
        )
    n_methods, n_cells = len(recomputed), len(MEANS) * len(MEASURES)
    notes = [
        f"printed, recomputed: over {', '.join(MEANS)}, {n_cells} cells; paper, ours, apart: over "
        f"the {len(MEASURES)} measures of {result.facts.title} alone."
    ]
    if here is None:
        notes.append(f"ours needs all {n_methods} methods.")
    return Sheet(
        f"fs-scpr-unified-rank-{table.split()[-1]}",
        f"Unified ranks of {table}",
        f"One number for {n_methods} methods, from their ranks in every cell of a collection and "
        "a measure; the best possible one is the number of cells.",
        [METHOD, *map(Column, ("printed", "recomputed", "paper", "ours", "apart"))],
        [rows],
        notes,
    )
