"""Sheets of FS-ED beside its paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ranksieve.report.sheets.sheet import Cell, Column, Row, Sheet
from ranksieve.report.sheets.study_captions import setting_of
from ranksieve.report.sheets.study_quality import curves_sheet
from ranksieve.reproduction.fs_ed import MEASURE

if TYPE_CHECKING:
    from ranksieve.reproduction import FSEDReproduction
    from ranksieve.reproduction.fs_ed import Best


def fs_ed_sheets(result: FSEDReproduction) -> list[Sheet]:
    """Numbers of features at the best result, and a curve for each ranker."""
    return [_numbers(result), *(_curve(result, ranker) for ranker in result.study.rankers)]


def _curve(result: FSEDReproduction, ranker: str) -> Sheet:
    return curves_sheet(result.study, ranker, MEASURE)


def _numbers(result: FSEDReproduction) -> Sheet:
    return Sheet(
        "fs-ed-numbers",
        f"Number of features at the best result on {result.facts.title}, paper and ours",
        setting_of(result.study),
        [
            Column("selector", align="left", is_name=True),
            Column("ranker", align="left", is_name=True),
            Column("paper", group="numbers"),
            Column("ours", group="numbers"),
            Column("apart", group="numbers"),
            Column("test", group="numbers"),
            Column(MEASURE, group="quality"),
            Column("all", group="quality"),
            Column("difference", group="quality"),
            Column("p (t-test)", "p", group="tests"),
            Column("p (Holm)", "Holm", group="tests"),
        ],
        [[_row(best) for best in result.bests()]],
        [*_notes(result)],
    )


def _row(best: Best) -> Row:
    apart = None if best.published is None else best.by_validation - best.published
    return [
        Cell(best.selector),
        Cell(best.ranker),
        Cell(best.published),
        Cell(best.by_validation),
        Cell("" if apart is None else apart, "+d"),
        Cell(best.by_test, mark="*"),
        Cell(best.value, ".4f"),
        Cell(best.base, ".4f"),
        Cell(best.value - best.base, "+z.4f"),
        Cell(best.p_value, ".3f"),
        Cell(best.adjusted, ".3f"),
    ]


def _notes(result: FSEDReproduction) -> Iterator[str]:
    yield (
        "ours: with the largest mean over the folds on validation queries; test: the same on test "
        "queries. *: chosen by looking at the test queries, so that its quality says little. "
        "paper: Table 1, which does not say how the numbers were chosen."
    )
    yield (
        f"{MEASURE}: of ours on test queries; all: that of all {result.facts.n_features} features; "
        "p: of the paired t-test between them; Holm: adjusted for all rows."
    )
    if "fs-bfs" in result.study.selectors:
        yield "The paper counts new features of fs-bfs, ours are members of these."
