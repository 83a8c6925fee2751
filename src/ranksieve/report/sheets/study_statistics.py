"""Sheet of the statistics by which selectors of a study are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.report.sheets.study_captions import setting_of, stem
from ranksieve.study.comparison import LEVEL, MARGIN, Versus, compare_with
from ranksieve.study.results import BASE, StudyResult
from ranksieve.text import every


def statistics_sheet(
    result: StudyResult,
    base: str = BASE,
    ranker: str | None = None,
    comparisons: Sequence[Versus] | None = None,
) -> Sheet:
    """All selectors compared with one of them: differences, intervals and tests.

    Parameters
    ----------
    result : StudyResult
    base : str
        Selector to compare with.
    ranker : str, optional
        By default all of the study. p-values are adjusted for the comparisons with all of them.
    comparisons : sequence of Versus, optional
        Result of ``compare_with(result, base)``, if it is already computed; it takes a while.

    Returns
    -------
    Sheet
        A row for each measure, ranker and selector. CSV also has p-values of Fisher's randomization
        test and Wilcoxon's test.
    """
    rankers = result.rankers if ranker is None else [ranker]
    for one in rankers:
        result.of_ranker(one)  # raises an error if there is no such ranker
    if comparisons is None:
        comparisons = compare_with(result, base)
    if any(versus.base != base for versus in comparisons):
        raise ValueError(f"comparisons must be with {base!r}, as compare_with makes them")
    told = [versus for versus in comparisons if versus.ranker in rankers]
    return Sheet(
        stem("statistics", base, ranker or ""),
        f"Selectors against {base!r} with {', '.join(rankers)} on {result.title}",
        setting_of(result),
        _columns(len(result.measures) == 1, len(rankers) == 1),
        [
            [_row(versus) for versus in group]
            for _, group in groupby(told, lambda versus: (versus.measure, versus.ranker))
        ],
        [*_notes(base, len(comparisons))],
    )


def _columns(one_measure: bool, one_ranker: bool) -> list[Column]:
    return [
        Column("measure", align="left", is_name=True, only_csv=one_measure),
        Column("ranker", align="left", is_name=True, only_csv=one_ranker),
        Column("selector", align="left", is_name=True),
        Column("difference", group="difference"),
        Column("from", group="difference"),
        Column("to", group="difference"),
        Column("change %", group="difference"),
        Column("p (t-test)", "p", group="tests"),
        Column("p (Holm)", "Holm", group="tests"),
        Column("p (randomization)", only_csv=True),
        Column("p (Wilcoxon)", only_csv=True),
        Column("effect", group="size"),
        Column("won", group="queries"),
        Column("tied", group="queries"),
        Column("lost", group="queries"),
        Column("bound %", group="not worse"),
        Column("not worse", align="left", group="not worse"),
    ]


def _row(versus: Versus) -> Row:
    shown = versus.not_worse
    verdict = None if shown is None else "yes" if shown.non_inferior else "no"
    return [
        Entry(versus.measure),
        Entry(versus.ranker),
        Entry(versus.selector),
        Entry(versus.difference, "+z.4f"),
        Entry(versus.interval.lower, "+z.4f"),
        Entry(versus.interval.upper, "+z.4f"),
        Entry(versus.improvement, "+z.2f"),
        format_p_value(versus.p_value),
        format_p_value(versus.adjusted),
        format_p_value(versus.randomization_p),
        format_p_value(versus.wilcoxon_p),
        Entry(versus.effect, "+z.2f"),
        *map(Entry, versus.counts),
        Entry(None if shown is None else 100 * shown.lower, "+z.2f"),
        Entry(verdict),
    ]


def format_p_value(value: float) -> Entry:
    """A p-value with four decimals, or as a power of ten."""
    if value == 0:  # too small for a float
        return Entry(value, ".0f")
    return Entry(value, ".4f" if value >= 0.00005 else ".0e")


def _notes(base: str, n_comparisons: int) -> Iterator[str]:
    if not n_comparisons:
        yield f"There is nothing to compare: the study has no selector but {base!r}."
        return
    yield (
        f"difference: mean over queries of the selector minus {base!r}; from, to: its {LEVEL:.0%} "
        f"bootstrap interval; change: in percent of {base!r}."
    )
    yield (
        "p: paired two-sided t-test over queries; Holm: adjusted for "
        f"{every(n_comparisons, 'comparison')}. effect: difference in its standard deviations; "
        "won, tied, lost: queries."
    )
    yield (
        f"not worse: whether the selector is shown to lose less than {MARGIN:.0%}; bound: largest "
        f"loss that remains possible, the lower {LEVEL:.0%} bound of the change; both are not "
        "corrected for the number of tests."
    )
