"""Sheets of papers' claims: best numbers of features, and statements about curves."""

from __future__ import annotations

from collections.abc import Iterator

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column, text_column
from ranksieve.report.sheets.study_captions import SELECTOR, setting_of, stem
from ranksieve.reproduction import Reproduction
from ranksieve.reproduction.bests import LEVEL, Best
from ranksieve.study import StudyResult
from ranksieve.study.comparison import compare_pairs
from ranksieve.study.results import BASE


def best_numbers_sheet(result: Reproduction) -> Sheet:
    """Numbers of features at the best result; empty if the paper prints no such numbers."""
    bests = result.bests()
    measure = result.paper.measures[0]
    source = result.paper.sources.get("", "the paper")
    return Sheet(
        f"{result.paper.name}-numbers",
        f"Number of features at the best result on {result.facts.title}: paper and ours",
        "" if result.study is None else setting_of(result.study),
        [
            name_column("selector"),
            name_column("ranker"),
            name_column("best on"),
            Column("features", "k"),
            Column(measure),
            Column("difference", "diff"),
            Column("p (t-test)", only_csv=True),
            Column("p (Holm)", "p"),
            text_column("better than"),
        ],
        [list(_rows_of(best)) for best in bests],
        [
            f"k: number of features. paper: {source}. validation: with the largest mean over the "
            "folds on validation queries; test: the same on test queries. *: chosen by looking at "
            "the test queries, so that its quality and tests say little.",
            f"{measure}: on test queries, mean over the folds; diff: to all "
            f"{result.facts.n_features} features; p: of the paired t-test between them, adjusted "
            "for all pairs of selectors with all rankers (Holm).",
            f"better than: selectors, each at its own best, that are significantly worse (such a "
            f"p below {LEVEL:g}); all is no selection.",
            *result.paper.notes,
        ],
    )


def _rows_of(best: Best) -> Iterator[Row]:
    names = [Entry(best.selector), Entry(best.ranker)]
    if best.published is not None:
        yield [*names, Entry("paper"), Entry(best.published), *[Entry("")] * 5]
    for source, peak in (("validation", best.by_validation), ("test", best.by_test)):
        base = peak.against[BASE]
        yield [
            *names,
            Entry(source),
            Entry(peak.k, mark="*" if source == "test" else ""),
            Entry(peak.value, ".4f"),
            Entry(peak.value - best.base, "+z.4f"),
            Entry(base.p_value, ".3f"),
            Entry(base.adjusted, ".3f"),
            Entry(", ".join(peak.better_than) or None),
        ]


def printed_numbers_sheet(result: Reproduction) -> Sheet:
    """The paper's table of the same numbers for all its collections, with ours beside them."""
    printed = result.paper.best_numbers
    collections = list(dict.fromkeys(name for own in printed.values() for name in own))
    ours = {(best.selector, best.ranker): best for best in result.bests()}
    rows = []
    for (selector, ranker), numbers in printed.items():
        best = ours.get((selector, ranker))
        own = (None, None) if best is None else (best.by_validation.k, best.by_test.k)
        shown = [selector, ranker, *map(numbers.get, collections), *own]
        rows.append([Entry(value) for value in shown])
    return Sheet(
        f"{result.paper.name}-printed-numbers",
        f"Number of features at the best result: all that the {result.paper.title} paper prints",
        f"Ours are for {result.facts.title}, by the largest mean over folds on validation or on "
        "test queries: the paper does not say which it took.",
        [
            name_column("selector"),
            name_column("ranker"),
            *(Column(name, group="paper") for name in collections),
            Column("validation", group="ours"),
            Column("test", group="ours"),
        ],
        [rows] if ours else [],
    )


def pairs_sheet(study: StudyResult, ranker: str) -> Sheet:
    """Differences between all selectors with a ranker, with marks where they are significant."""
    measure, names = study.measures[0], study.selectors
    pairs = compare_pairs(study, measure, [ranker])
    cells = {}
    for pair in pairs:
        mark = "*" if pair.adjusted < LEVEL else ""
        cells[pair.selector, pair.base] = Entry(pair.difference, "+z.4f", mark=mark)
        cells[pair.base, pair.selector] = Entry(-pair.difference, "+z.4f", mark=mark)
    return Sheet(
        stem("pairs", ranker),
        f"Selectors against each other with {ranker} on {study.title}: {measure}",
        f"{setting_of(study)} Numbers of features are chosen on the validation queries of each "
        "fold.",
        [SELECTOR, *(Column(f"minus {name}") for name in names)],
        [[[Entry(one), *(cells.get((one, other), Entry("")) for other in names)] for one in names]],
        [
            "Mean over queries of the selector of the row minus that of the column; *: significant "
            f"at {LEVEL:g}, by paired t-tests over queries, adjusted for all {len(pairs)} pairs "
            "(Holm)."
        ],
    )


def statements_sheet(result: Reproduction) -> Sheet:
    """Sentences of the paper about the collection; empty if there are none."""
    found = result.findings()
    setting = ""
    if result.study is not None:
        setting = f"Test MAP with {result.study.rankers[0]}. {setting_of(result.study)}"
    title = result.facts.title
    about = title if result.is_published else "its collections"
    rows = [
        [Entry(theirs), Entry(ours.text), Entry.yes_or_no(ours.holds)] for theirs, ours in found
    ]
    return Sheet(
        f"{result.paper.name}-statements",
        f"What the {result.paper.title} paper says of {about}, and what is found on {title}",
        setting,
        [text_column("paper"), text_column("ours"), Column("holds")],
        [rows],
        result.paper.notes,
    )
