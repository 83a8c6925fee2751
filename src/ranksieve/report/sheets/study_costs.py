"""Sheet of what the selections of a study cost and save."""

from __future__ import annotations

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.report.sheets.study_captions import SELECTOR, setting_of, stem
from ranksieve.study.results import BASE, Run, StudyResult


def cost_sheet(result: StudyResult, ranker: str) -> Sheet:
    """Numbers of features, and seconds of selection and training.

    Parameters
    ----------
    result : StudyResult
    ranker : str

    Returns
    -------
    Sheet
        A row for each selector; means over folds and seeds.
    """
    runs = result.of_ranker(ranker)
    base = result.runs.get((BASE, ranker))
    columns = [
        SELECTOR,
        Column("features", group="features"),
        Column("fewest", group="features"),
        Column("most", group="features"),
        Column("selection seconds", group="seconds"),
        Column("training seconds", group="seconds"),
        Column("training share", group="seconds"),
    ]
    return Sheet(
        stem("cost", ranker),
        f"Features and seconds of selectors with {ranker} on {result.title}",
        setting_of(result),
        columns,
        [[_row(run, base) for run in runs]],
        [
            f"features: mean number over folds and seeds, of {len(result.feature_names):,}; "
            "fewest, most: of one fold.",
            "seconds: of one selection and one training with the chosen parameters, on one "
            "thread, without tuning and without compiling kernels. training share: of the training "
            "time with all features.",
        ],
    )


def _row(run: Run, base: Run | None) -> Row:
    tested = run.chosen
    sizes = [len(features) for features in tested.selections]
    all_seconds = 0.0 if base is None else base.chosen.training_seconds
    return [
        Entry(run.selector),
        Entry(tested.n_features, ".1f"),
        Entry(min(sizes)),
        Entry(max(sizes)),
        _seconds(tested.selection_seconds),
        _seconds(tested.training_seconds),
        Entry(tested.training_seconds / all_seconds if all_seconds > 0 else None, ".0%"),
    ]


def _seconds(value: float) -> Entry:
    """Three digits or more, and no more than milliseconds."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return Entry(value, f".{digits}f")
