"""Sheets of the statistics by which selectors of a study are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ranksieve.report.sheets.sheet import Column, Entry, Fields, Sheet, name_column
from ranksieve.report.sheets.study_quality import setting_of, stem
from ranksieve.significance import NonInferiority
from ranksieve.study.comparison import LEVEL, MARGIN, Pair, Versus, compare_with
from ranksieve.study.results import BASE, StudyResult
from ranksieve.text import every

_DIFFERENCE: Fields[Pair] = {
    Column("difference", group="difference", importance=2): (
        lambda pair: Entry(pair.difference, "+z.4f")
    ),
    Column("from", group="difference"): lambda pair: Entry(pair.interval.lower, "+z.4f"),
    Column("to", group="difference"): lambda pair: Entry(pair.interval.upper, "+z.4f"),
}
_QUERIES: Fields[Pair] = {
    Column("won", group="queries", importance=0): lambda pair: Entry(pair.counts.wins),
    Column("tied", group="queries", importance=0): lambda pair: Entry(pair.counts.ties),
    Column("lost", group="queries", importance=0): lambda pair: Entry(pair.counts.losses),
}


def statistics_sheet(result: StudyResult, base: str = BASE) -> Sheet:
    """All selectors compared with ``base``: differences, intervals and tests.

    It has a row for each measure, ranker and selector. CSV also has p-values of Fisher's
    randomization test and Wilcoxon's test.
    """
    comparisons = compare_with(result, base)
    groups = groupby(comparisons, lambda versus: (versus.measure, versus.ranker))
    return Sheet.of_items(
        stem("statistics", base),
        f"Selectors against {base!r} with {', '.join(result.rankers)} on {result.title}",
        setting_of(result),
        _statistics_fields(len(result.measures) == 1, len(result.rankers) == 1),
        [list(group) for _, group in groups],
        [*_statistics_notes(base, len(comparisons))],
    )


def pairs_sheet(result: StudyResult, ranker: str, pairs: Sequence[Pair]) -> Sheet:
    """Every selector against every other with a ranker: differences, intervals and p-values.

    ``pairs`` are those of all rankers of the study, for which p-values are adjusted together.
    """
    fields: Fields[Pair] = {
        name_column("ranker", only_csv=True): lambda pair: Entry(pair.ranker),
        name_column("selector"): lambda pair: Entry(pair.selector),
        name_column("against"): lambda pair: Entry(pair.base),
        **_DIFFERENCE,
        Column("p", group="tests"): lambda pair: _format_p_value(pair.p_value),
        Column("Holm", group="tests", importance=2): lambda pair: _format_p_value(pair.adjusted),
        **_QUERIES,
    }
    return Sheet.of_items(
        stem("pairs", ranker),
        f"{result.main_measure} of all pairs of selectors with {ranker} on {result.title}",
        setting_of(result),
        fields,
        [[pair for pair in pairs if pair.ranker == ranker]],
        [
            f"difference: mean {result.main_measure} over queries of the selector minus the other; "
            f"from, to: its {LEVEL:.0%} interval (Student), for this pair alone.",
            f"p: paired two-sided t-test over queries; Holm: adjusted for "
            f"{every(len(pairs), 'pair')} of the study. won, tied, lost: queries.",
        ],
    )


def _statistics_fields(one_measure: bool, one_ranker: bool) -> Fields[Versus]:
    return {
        name_column("measure", only_csv=one_measure): lambda v: Entry(v.measure),
        name_column("ranker", only_csv=one_ranker): lambda v: Entry(v.ranker),
        name_column("selector"): lambda v: Entry(v.selector),
        **_DIFFERENCE,
        Column("change %", group="difference", importance=0): lambda v: Entry(
            v.improvement, "+z.2f"
        ),
        Column("p (t-test)", "p", group="tests"): lambda v: _format_p_value(v.p_value),
        Column("p (Holm)", "Holm", group="tests", importance=2): (
            lambda v: _format_p_value(v.adjusted)
        ),
        Column("p (randomization)", only_csv=True): lambda v: _format_p_value(v.randomization_p),
        Column("p (Wilcoxon)", only_csv=True): lambda v: _format_p_value(v.wilcoxon_p),
        Column("effect", group="size", importance=0): lambda v: Entry(v.effect, "+z.2f"),
        **_QUERIES,
        Column("bound %", group="not worse"): lambda v: _bound(v.not_worse),
        Column("not worse", align="left", group="not worse", importance=2): (
            lambda v: Entry.yes_or_no(v.is_not_worse)
        ),
    }


def _bound(shown: NonInferiority | None) -> Entry:
    return Entry(None if shown is None else 100 * shown.lower, "+z.2f")


def _format_p_value(value: float) -> Entry:
    """A p-value with four decimals, or as a power of ten."""
    if value == 0:  # too small for a float
        return Entry(value, ".0f")
    return Entry(value, ".4f" if value >= 0.00005 else ".0e")


def _statistics_notes(base: str, n_comparisons: int) -> Iterator[str]:
    if not n_comparisons:
        yield f"There is nothing to compare: the study has no selector but {base!r}."
        return
    yield (
        f"difference: mean over queries of the selector minus {base!r}; from, to: its {LEVEL:.0%} "
        f"bootstrap interval; change: in percent of {base!r}."
    )
    yield (
        "p: paired two-sided t-test over queries; Holm: adjusted for "
        f"{every(n_comparisons, 'comparison')}. effect: difference divided by its standard "
        "deviation; won, tied, lost: queries."
    )
    yield (
        f"not worse: whether the selector is shown to lose less than {MARGIN:.0%} (Holm, as "
        f"above); bound: largest loss that remains possible, the lower {LEVEL:.0%} bound of the "
        "change, for this comparison alone."
    )
