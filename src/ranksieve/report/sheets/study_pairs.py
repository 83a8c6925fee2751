"""Sheet of all selectors of a study compared with each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.report.sheets.study_captions import setting_of, stem
from ranksieve.report.sheets.study_statistics import format_p_value
from ranksieve.study.comparison import LEVEL, Pair, compare_pairs
from ranksieve.study.results import StudyResult
from ranksieve.text import every


def pairs_sheet(
    result: StudyResult, ranker: str | None = None, pairs: Sequence[Pair] | None = None
) -> Sheet:
    """Every selector against every other: differences, intervals and adjusted p-values.

    Parameters
    ----------
    result : StudyResult
    ranker : str, optional
        By default all of the study. p-values are adjusted for the pairs with all of them.
    pairs : sequence of Pair, optional
        Result of ``compare_pairs(result)``, if it is already computed.

    Returns
    -------
    Sheet
        A row for each pair and ranker.
    """
    rankers = result.rankers if ranker is None else [ranker]
    if pairs is None:
        pairs = compare_pairs(result)
    told = [pair for pair in pairs if pair.ranker in rankers]
    return Sheet(
        stem("pairs", ranker or ""),
        f"{result.main_measure} of each selector against each other with {', '.join(rankers)} "
        f"on {result.title}",
        setting_of(result),
        [
            Column("ranker", align="left", is_name=True, only_csv=len(rankers) == 1),
            Column("selector", align="left", is_name=True),
            Column("against", align="left", is_name=True),
            Column("difference", group="difference"),
            Column("from", group="difference"),
            Column("to", group="difference"),
            Column("p", group="tests"),
            Column("Holm", group="tests"),
            Column("won", group="queries"),
            Column("tied", group="queries"),
            Column("lost", group="queries"),
        ],
        [list(map(_row, group)) for _, group in groupby(told, lambda pair: pair.ranker)],
        [
            f"difference: mean {result.main_measure} over queries of the selector minus the other; "
            f"from, to: its {LEVEL:.0%} interval (Student), for this pair alone.",
            f"p: paired two-sided t-test over queries; Holm: adjusted for "
            f"{every(len(pairs), 'pair')} of the study. won, tied, lost: queries.",
        ],
    )


def _row(pair: Pair) -> Row:
    return [
        Entry(pair.ranker),
        Entry(pair.first),
        Entry(pair.second),
        Entry(pair.difference, "+z.4f"),
        Entry(pair.interval.lower, "+z.4f"),
        Entry(pair.interval.upper, "+z.4f"),
        format_p_value(pair.p_value),
        format_p_value(pair.adjusted),
        *map(Entry, pair.counts),
    ]
