"""Sheets of what papers say about studies: best numbers of features, and sentences about curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.report.sheets.study_captions import setting_of

if TYPE_CHECKING:
    from ranksieve.reproduction import Reproduction
    from ranksieve.reproduction.bests import Best


def best_numbers_sheet(result: Reproduction) -> Sheet:
    """Numbers of features at the best result; empty if the paper prints no such numbers."""
    bests = result.bests()
    measure = result.paper.measures[0]
    source = result.paper.sources.get("", "the paper")
    notes = [
        "ours: with the largest mean over the folds on validation queries; test: the same on test "
        "queries. *: chosen by looking at the test queries, so that its quality says little. "
        f"paper: {source}.",
        f"{measure}: of ours on test queries; all: that of all {result.facts.n_features} features; "
        "p: of the paired t-test between them; Holm: adjusted for all rows.",
    ]
    return Sheet(
        f"{result.paper.name}-numbers",
        f"Number of features at the best result on {result.facts.title}: paper and ours",
        "" if result.study is None else setting_of(result.study),
        [
            Column("selector", align="left", is_name=True),
            Column("ranker", align="left", is_name=True),
            Column("paper", group="numbers"),
            Column("ours", group="numbers"),
            Column("diff", group="numbers"),
            Column("test", group="numbers"),
            Column(measure, group="quality"),
            Column("all", group="quality"),
            Column("difference", group="quality"),
            Column("p (t-test)", "p", group="tests"),
            Column("p (Holm)", "Holm", group="tests"),
        ],
        [[_row(best) for best in bests]] if bests else [],
        [*notes, *result.paper.notes],
    )


def printed_numbers_sheet(result: Reproduction) -> Sheet:
    """The paper's table of the same numbers for all its collections, with ours beside them."""
    printed = result.paper.best_numbers
    collections = list(dict.fromkeys(name for own in printed.values() for name in own))
    ours = {(best.selector, best.ranker): best for best in result.bests()}
    rows: list[Row] = []
    for (selector, ranker), numbers in printed.items():
        best = ours.get((selector, ranker))
        rows.append(
            [
                Entry(selector),
                Entry(ranker),
                *(Entry(numbers.get(collection)) for collection in collections),
                Entry(None if best is None else best.by_validation),
                Entry(None if best is None else best.by_test),
            ]
        )
    return Sheet(
        f"{result.paper.name}-printed-numbers",
        f"Number of features at the best result: all that the {result.paper.title} paper prints",
        f"Ours are for {result.facts.title}, by the largest mean over folds on validation or on "
        "test queries: the paper does not say which it took.",
        [
            Column("selector", align="left", is_name=True),
            Column("ranker", align="left", is_name=True),
            *(Column(name, group="paper") for name in collections),
            Column("validation", group="ours"),
            Column("test", group="ours"),
        ],
        [rows] if ours else [],
        [],
    )


def _row(best: Best) -> Row:
    difference = None if best.published is None else best.by_validation - best.published
    return [
        Entry(best.selector),
        Entry(best.ranker),
        Entry(best.published),
        Entry(best.by_validation),
        Entry("" if difference is None else difference, "+d"),
        Entry(best.by_test, mark="*"),
        Entry(best.value, ".4f"),
        Entry(best.base, ".4f"),
        Entry(best.value - best.base, "+z.4f"),
        Entry(best.p_value, ".3f"),
        Entry(best.adjusted, ".3f"),
    ]


def statements_sheet(result: Reproduction) -> Sheet:
    """Sentences of the paper about the collection; empty if there are none."""
    found = result.findings()
    setting = ""
    if result.study is not None:
        setting = f"Test MAP with {result.study.rankers[0]}. {setting_of(result.study)}"
    return Sheet(
        f"{result.paper.name}-statements",
        f"What the {result.paper.title} paper says of {result.facts.title}, and what is found",
        setting,
        [
            Column("paper", align="left", wraps=True),
            Column("ours", align="left", wraps=True),
            Column("holds"),
        ],
        [
            [
                [Entry(theirs), Entry(ours.text), Entry("yes" if ours.holds else "no")]
                for theirs, ours in found
            ]
        ]
        if found
        else [],
        result.paper.notes,
    )
