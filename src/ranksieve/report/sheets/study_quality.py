"""Sheets of how well the selectors of a study rank, and the setting that all its sheets state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ranksieve.data import DataError
from ranksieve.experiments.of_rows import caution_of_rows, describe_of_rows
from ranksieve.report.sheets.sheet import (
    Column,
    Entry,
    Row,
    Sheet,
    losses_and_gains,
    name_column,
    rank_cells,
)
from ranksieve.significance.samples import Sample
from ranksieve.study.comparison import (
    LEVEL,
    MARGIN,
    Versus,
    compare_with,
    enough_features,
    share_of_random_below,
    unified_ranks,
)
from ranksieve.study.results import BASE, RANDOM, Run, StudyResult, are_resamples
from ranksieve.text import every, file_stem, quantity

_SHOWN = 5  # queries that gain and that lose, for each selector
SELECTOR = name_column("selector")


def setting_of(result: StudyResult) -> str:
    """Test queries, convention, tuning and protocol, in sentences."""
    queries = quantity(result.n_queries, "test query", "test queries")
    if result.query_weights is not None:
        sample = Sample.of(result.query_weights, result.query_weights)
        queries += f", weighted (as informative as {sample.degrees + 1:.0f} of equal weight)"
    sentences = [
        f"Measured on {queries}, convention {result.convention}; everything was tuned by "
        f"{result.tune} on validation queries.",
        f"Protocol: {result.protocol.strip().rstrip('.')}.",
    ]
    if len(result.folds) > 1:
        folds = "resamples" if are_resamples(result.folds) else "folds"
        sentences.append(f"Means are over {folds} and seeds, tests and intervals over queries.")
    if result.missing != "none":
        sentences.append(f"Missing values: {result.missing}.")
    sentences += describe_of_rows(result.of_rows, result.without_of_rows)
    sentences += caution_of_rows(result.of_rows, result.measures)
    fixed = [
        f"{quantity(len(features), 'feature')} {what}"
        for features, what in ((result.included, "included"), (result.excluded, "excluded"))
        if features
    ]
    if fixed:
        sentences.append(f"In all selections: {', '.join(fixed)}.")
    if result.leaks:
        values = [
            f"{measure} {order.value:.3f} against {order.by_chance:.3f}"
            for measure, order in result.leaks.items()
        ]
        sentences.append(
            "Ties are broken by file order, which ranks better than chance here "
            f"({', '.join(values)}): weak models look better than they are."
        )
    return " ".join(sentences)


def stem(*words: str) -> str:
    """Stem of a file from names of methods and measures, such as ``folds-ranksvm-ndcg10``."""
    parts = (file_stem(word) for word in words)
    return "-".join(part for part in parts if part)


def _check_measure(result: StudyResult, measure: str) -> None:
    """Raise a DataError that lists the measures unless the study has this one."""
    if measure not in result.measures:
        raise DataError(
            f"measure {measure!r} is not in the study; it has {', '.join(result.measures)}"
        )


def comparison_sheet(result: StudyResult, ranker: str) -> Sheet:
    """Means of all measures with their ranks, and whether they differ from all features.

    A row for each selector has every measure (mean over folds and seeds) with its standard
    deviation over resamples, or over seeds if any has several, the mean number of features, and
    the unified rank. The notes name selectors that do not beat all random orders.
    """
    runs = result.runs_with(ranker)
    has_base = (BASE, ranker) in result.runs
    comparisons = compare_with(result) if has_base else []
    marks = {(v.selector, v.measure): _mark(v) for v in comparisons if v.ranker == ranker}
    with_spread = any(run.chosen.n_seeds > 1 for run in runs) or are_resamples(result.folds)
    columns, cells = [SELECTOR], [[Entry(run.selector) for run in runs]]
    for measure in result.measures:
        means = rank_cells([run.chosen.mean(measure) for run in runs], with_ranks=True)
        columns.append(Column(measure, group=measure, importance=_importance(result, measure)))
        cells.append(
            [
                replace(cell, mark=marks.get((run.selector, measure), ""))
                for run, cell in zip(runs, means, strict=True)
            ]
        )
        if with_spread:
            columns.append(Column(f"{measure} sd", "sd", group=measure, importance=0))
            cells.append([Entry(run.chosen.spread(measure), ".4f") for run in runs])
    columns.append(Column("features", group="all", importance=2))
    columns.append(Column("unified rank", group="all", importance=0))
    cells.append([Entry(run.chosen.n_features, ".1f") for run in runs])
    unified = unified_ranks(result, ranker)
    cells.append([Entry(unified[run.selector], ".2f") for run in runs])
    notes = [*_comparison_notes(result, comparisons, has_base, with_spread)]
    return Sheet(
        stem("comparison", ranker),
        f"Quality of selectors with {ranker} on {result.title}",
        setting_of(result),
        columns,
        [list(zip(*cells, strict=True))],
        [
            *notes,
            *(_compare_with_random(result, runs, measure) for measure in result.measures),
            *([_list_enough(result, ranker)] if has_base else []),
        ],
    )


def _importance(result: StudyResult, measure: str) -> int:
    return 3 if measure == result.main_measure else 1


def _list_enough(result: StudyResult, ranker: str) -> str:
    """Fewest features of each selector that are shown to be enough."""
    measure = result.main_measure
    found = {name: enough_features(result, name, ranker, measure) for name in result.selecting}
    shown = [f"{selector} {k}" for selector, k in found.items() if k is not None]
    others = [selector for selector, k in found.items() if k is None]
    if others:
        shown.append(f"not shown for {', '.join(others)}")
    head = f"Enough features with {ranker} (less than {MARGIN:.0%} of {measure} lost): "
    return head + ("; ".join(shown) or "no selector to test")


def folds_sheet(result: StudyResult, ranker: str, measure: str) -> Sheet:
    """One measure on the test queries of each fold, and the average of the folds.

    A row for each selector is averaged over seeds, as in Tables 7 to 10 of the paper on greedy
    RankRLS (T. Pahikkala et al., SIGIR 2010 workshop on feature generation and selection).
    """
    runs = result.runs_with(ranker)
    _check_measure(result, measure)
    on_folds = zip(*(run.chosen.on_folds(measure).tolist() for run in runs), strict=True)
    average = [run.chosen.mean(measure) for run in runs]
    names = _distinct([fold.name for fold in result.folds])
    is_one = len(names) == 1  # and its own average
    return Sheet(
        stem("folds", ranker, measure),
        f"{measure} of selectors with {ranker} {on_folds_of(result)}",
        setting_of(result),
        [SELECTOR, *map(Column, names), Column("average", importance=2, only_csv=is_one)],
        [_rows(runs, [*map(rank_cells, on_folds), rank_cells(average)])],
        ["Bold: the best." if is_one else "Bold: the best of a fold, and on average."],
    )


def on_folds_of(result: StudyResult) -> str:
    """Where something was done: on each fold of the data, or on the data if they have one split."""
    return f"on {'each fold of ' * (len(result.folds) > 1)}{result.title}"


def curves_sheet(result: StudyResult, ranker: str, measure: str) -> Sheet:
    """Values of one measure by the number of features.

    A row for each selector has the value with the number chosen on validation queries, then with
    each number that was tried; averaged over folds and seeds.
    """
    runs = result.runs_with(ranker)
    _check_measure(result, measure)
    numbers = sorted({k for run in runs for k in run.by_k})
    chosen = rank_cells([run.chosen.mean(measure) for run in runs])
    curves = [
        rank_cells([run.by_k[k].mean(measure) if k in run.by_k else None for run in runs])
        for k in numbers
    ]
    return Sheet(
        stem("curves", ranker, measure),
        f"{measure} by number of features with {ranker} on {result.title}",
        setting_of(result),
        [SELECTOR, Column("chosen", importance=len(numbers) + 2), *_number_columns(numbers)],
        [_rows(runs, [chosen, *curves])],
        [
            "chosen: with the number of features that validation queries chose on each fold; other "
            "columns: with this number of features, all else tuned. Bold: the best of a column."
        ],
    )


def _number_columns(numbers: Sequence[int]) -> list[Column]:
    """Columns of numbers of features, of which few span the curve.

    A narrow terminal leaves out every second one, then every second of the others, and so on, but
    neither the first nor the last.
    """
    steps = [(index & -index).bit_length() for index in range(len(numbers))]  # 0, 1, 2, 1, 3, ...
    steps[0] = steps[-1] = len(numbers) + 1
    return [
        Column(str(number), importance=step) for number, step in zip(numbers, steps, strict=True)
    ]


def queries_sheet(result: StudyResult, ranker: str) -> Sheet:
    """The queries that lose and gain most against all features, by selector.

    The study must include the baseline of all features.
    """
    name = result.main_measure
    base = result.run(BASE, ranker)
    groups = [
        _query_rows(result, run, base, name)
        for run in result.runs_with(ranker)
        if run.selector != BASE
    ]
    return Sheet(
        stem("queries", ranker),
        f"Queries that lose and gain most {name} with {ranker} on {result.title}",
        setting_of(result),
        [
            SELECTOR,
            name_column("query"),
            Column("difference"),
            Column(name, group="values"),
            Column("all features", group="values"),
        ],
        [group for group in groups if group],
        [
            f"difference: {name} with the selected features minus that with all features, averaged "
            f"over seeds; at most {_SHOWN} losses and {_SHOWN} gains for each selector."
        ],
    )


def _query_rows(result: StudyResult, run: Run, base: Run, measure: str) -> list[Row]:
    own, with_all = (one.chosen.per_query(measure) for one in (run, base))
    differences = (own - with_all).tolist()
    losses, gains = losses_and_gains(differences, _SHOWN)
    return [
        [
            Entry(run.selector),
            Entry(str(result.query_ids[query])),
            Entry(differences[query], "+z.4f"),
            Entry(float(own[query]), ".4f"),
            Entry(float(with_all[query]), ".4f"),
        ]
        for query in [*losses, *gains]
    ]


def _rows(runs: Sequence[Run], columns: Sequence[Sequence[Entry]]) -> list[Row]:
    names = [Entry(run.selector) for run in runs]
    return list(zip(names, *columns, strict=True))


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of folds, numbered if two are the same."""
    if len(set(names)) == len(names) and not {"selector", "average"} & set(names):
        return list(names)
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]


def _mark(versus: Versus) -> str:
    worse = ""
    if versus.adjusted < 1 - LEVEL:
        if versus.difference > 0:
            return "+"
        worse = "-"
    return worse + ("=" if versus.is_not_worse else "")


def _comparison_notes(
    result: StudyResult, comparisons: Sequence[Versus], has_base: bool, with_spread: bool
) -> Iterator[str]:
    yield "(1): rank among the selectors; ties share the better rank. Bold: the best value."
    if has_base:
        yield (
            f"+: significantly better than all features, -: significantly worse (paired t-test "
            f"over queries at the {1 - LEVEL:.0%} level, with Holm's correction for "
            f"{every(len(comparisons), 'comparison')} of the study)."
        )
        yield (
            f"=: shown to lose less than {MARGIN:.0%} of the mean of all features (non-inferiority "
            "test over queries, with the same level and correction)."
        )
    else:
        yield f"Nothing is marked as better or worse: {BASE!r} is not in the study."
    if with_spread and are_resamples(result.folds):
        yield (
            f"sd: standard deviation over {every(len(result.folds), 'resample')} of the training "
            "queries: how much quality depends on which queries are used for training."
        )
    elif with_spread:
        yield "sd: standard deviation over seeds of the mean over folds; - if nothing is random."
    yield (
        f"features: mean number of features. unified rank: that of the FS-SCPR paper, over "
        f"{quantity(len(result.measures), 'measure')}; {len(result.measures)} is best."
    )


def _compare_with_random(result: StudyResult, runs: Sequence[Run], measure: str) -> str:
    """Note on selectors that do not beat all random orders, by one measure."""
    ranker = runs[0].ranker
    if (RANDOM, ranker) not in result.runs:
        return f"{measure} is not compared with random orders: {RANDOM!r} is not in the study."
    n_orders = result.run(RANDOM, ranker).chosen.n_seeds
    shares = {run.selector: share_of_random_below(result, run, measure) for run in runs}
    others = {name: share for name, share in shares.items() if share is not None}
    behind = [
        f"{n_orders - round(share * n_orders)} of {n_orders} for {name}"
        for name, share in others.items()
        if share < 1
    ]
    if behind:
        listed = ", ".join(behind)
        return f"{measure} with {ranker}: random orders that do as well: {listed}."
    return f"{measure} with {ranker}: every other selector beats {every(n_orders, 'random order')}."
