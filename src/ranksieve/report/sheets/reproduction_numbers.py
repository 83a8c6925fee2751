"""Sheets of a paper's numbers and ours: on folds, means, best numbers, and statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ranksieve.metrics import get_convention
from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet, name_column, text_column
from ranksieve.report.sheets.study_quality import SELECTOR, setting_of, stem
from ranksieve.reproduction import Reproduction
from ranksieve.reproduction.outcomes import LEVEL, Best, Number
from ranksieve.study import StudyResult
from ranksieve.study.comparison import compare_pairs
from ranksieve.study.results import BASE

_TIES = {
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
    columns = [Column(f"fold {number}") for number in range(1, n_folds + 1)]
    groups: list[list[Row]] = [[] for _ in measures]
    for measure, rows in zip(measures, groups, strict=True):
        for name in result.shown:
            numbers = [*result.on_folds(name, measure), result.mean(name, measure)]
            if len(numbers) == n_folds + 1:
                rows += _number_rows([measure, result.label(name)], numbers, ".4f")
    return Sheet(
        f"{result.paper.name}-folds",
        f"{result.paper.title}: paper and ours on the folds of {result.facts.title}",
        _setting(result),
        [name_column("measure"), METHOD, SOURCE, *columns, Column("mean", importance=2)],
        groups,
        _notes(result),
    )


def means_sheet(result: Reproduction, suffix: str, title: str, names: Sequence[str]) -> Sheet:
    """Means over the folds of some methods, with their spread over seeds."""
    measures = result.paper.mean_measures
    rows: list[Row] = []
    notes = _notes(result)
    for name in [name for name in names if name in result.outcomes]:
        means = [result.mean(name, measure) for measure in measures]
        rows += _number_rows([result.label(name)], means, ".4f")
        if result.is_judged_by_noise(name):
            noise = (Entry(number.tolerance, ".4f") for number in means)
            rows.append([Entry(result.label(name)), Entry("noise"), *noise])
        spreads = [result.spread(name, measure) for measure in measures]
        if None not in spreads:
            spread = (Entry(value, ".4f") for value in spreads)
            rows.append([Entry(result.label(name)), Entry("spread"), *spread])
    shown = {row[1].value for row in rows}
    if "noise" in shown:
        notes.append("noise: the tolerance of methods whose runs cannot be repeated (below).")
    if "spread" in shown:
        notes.append("spread: standard deviation over seeds.")
    return _sheet_of_measures(result, suffix, title.format(title=result.facts.title), rows, notes)


def _sheet_of_measures(
    result: Reproduction, suffix: str, title: str, rows: list[Row], notes: list[str]
) -> Sheet:
    columns = [METHOD, SOURCE, *map(Column, result.paper.mean_measures)]
    name = f"{result.paper.name}-{suffix}"
    return Sheet(name, f"{title}: paper and ours", _setting(result), columns, [rows], notes)


def improvements_sheet(result: Reproduction) -> Sheet:
    """Improvement of selectors over all features, in percent."""
    rows: list[Row] = []
    for name in next(iter(result.paper.groups.values())):
        if name in result.outcomes and name != BASE:
            numbers = [result.improvement(name, m) for m in result.paper.mean_measures]
            rows += _number_rows([result.label(name)], numbers, "+z.2f")
    title = f"Improvement over all features of {result.facts.title}, in percent"
    return _sheet_of_measures(result, "improvements", title, rows, _notes(result)[:1])


def _setting(result: Reproduction) -> str:
    """Queries, convention, tuning and protocol of results on folds, in sentences."""
    facts = result.facts
    is_seeded = any(len(outcome.n_features) > 1 for outcome in result.outcomes.values())
    return (
        f"Measured on test queries ({facts.n_queries:,} queries in all), convention "
        f"{facts.convention}, {_TIES[get_convention(facts.convention).ties]}; everything was "
        "tuned by MAP on validation queries, unless the settings below say otherwise. Protocol: "
        f"the folds of the collection; means over them{' and over seeds' if is_seeded else ''}."
    )


def _notes(result: Reproduction) -> list[str]:
    """Notes that explain the rows."""
    if not result.is_published:
        return []
    sources = result.paper.sources
    source = sources.get(result.facts.known_as or "") or sources.get("")
    diff = "diff: ours minus paper, unless it rounds to 0; *: outside the tolerance (below)."
    if any(map(result.n_undecided, result.outcomes)):
        base = result.label(result.paper.base)
        diff += f" ?: within it, but cannot be told apart from {base}."
    return [diff] if source is None else [f"paper: {source}.", diff]


def _number_rows(
    names: Sequence[str], numbers: Sequence[Number | None], form: str
) -> Iterator[Row]:
    """Rows of published numbers, of ours and of their differences, where available.

    Differences are marked: ``*`` if they exceed the tolerance, ``?`` if they are undecided.
    """
    first = [Entry(name) for name in names]
    for source, attribute in (("paper", "published"), ("ours", "ours")):
        values = [getattr(number, attribute, None) for number in numbers]
        if any(value is not None for value in values):
            yield [*first, Entry(source), *(Entry(value, form) for value in values)]
    differences = [difference_cell(number, form) for number in numbers]
    if any(cell.mark or cell.text.strip("+0.") for cell in differences):
        yield [*first, Entry("diff"), *differences]


def difference_cell(number: Number | None, form: str) -> Entry:
    """Ours minus the published number; empty if there is none."""
    if number is None or number.difference is None:
        return Entry("")
    mark = "*" if number.is_within is False else "?" if number.is_undecided else ""
    return Entry(number.difference, f"+z{form.removeprefix('+').removeprefix('z')}", mark=mark)


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
            Column("features", "k", importance=2),
            Column(measure),
            Column("difference", "diff"),
            Column("p (t-test)", only_csv=True),
            Column("p (Holm)", "p"),
            text_column("better than"),
        ],
        [list(_best_rows(best)) for best in bests],
        [
            f"k: number of features. paper: {source}. validation: with the largest mean over the "
            "folds on validation queries; test: the same on test queries. *: chosen by looking at "
            "the test queries, so that its quality and tests say little.",
            f"{measure}: on test queries, mean over the folds; diff: difference from all "
            f"{result.facts.n_features} features; p: of the paired t-test between them, adjusted "
            "for all pairs of selectors with all rankers (Holm).",
            f"better than: selectors, each at its own best, that are significantly worse (p, as "
            f"above, below {LEVEL:g}); 'all' keeps all features.",
            *result.paper.notes,
        ],
    )


def _best_rows(best: Best) -> Iterator[Row]:
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
            *map(Column, collections),
            Column("validation", group="ours", importance=2),
            Column("test", group="ours", importance=2),
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
    setting = ""
    if result.study is not None:
        setting = f"Test MAP with {result.study.rankers[0]}. {setting_of(result.study)}"
    title = result.facts.title
    about = title if result.is_published else "its collections"
    rows = [
        [Entry(theirs), Entry(ours.text), Entry.yes_or_no(ours.holds)]
        for theirs, ours in result.findings()
    ]
    return Sheet(
        f"{result.paper.name}-statements",
        f"What the {result.paper.title} paper says of {about}, and what is found on {title}",
        setting,
        [text_column("paper"), text_column("ours"), Column("holds", importance=2)],
        [rows],
        result.paper.notes,
    )
