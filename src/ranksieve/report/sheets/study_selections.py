"""Sheets of the features that a study selects: on each fold, how stable, how fast, how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ranksieve.report.sheets.sheet import (
    Column,
    Entry,
    Fields,
    Row,
    Sheet,
    name_column,
    text_column,
)
from ranksieve.report.sheets.study_quality import SELECTOR, on_folds_of, setting_of, stem
from ranksieve.study.comparison import (
    LEVEL,
    describe_enough,
    enough_candidates,
    enough_features,
    share_of_random_below,
    stability_of,
)
from ranksieve.study.first_fold import FirstFold, count_taken, rank_features
from ranksieve.study.results import BASE, RANDOM, Outcome, Outcomes, Run, StudyResult, are_resamples
from ranksieve.text import every

_WIDE = 24  # maximum characters of parameters that do not wrap


def selected_sheet(result: StudyResult, ranker: str) -> Sheet:
    """Features selected on each fold, in the order of choice, with the chosen parameters.

    It has a row for each fold of each seed of each selector, as in Tables 1 and 2 of the paper on
    greedy RankRLS. All features and random orders are left out, if there are other selectors.
    """
    everything = result.runs_with(ranker)
    runs = [run for run in everything if run.selector in result.selecting] or everything
    outcomes = [outcome for run in runs for seed in run.chosen.outcomes for outcome in seed]
    parameters = list(map(_parameters, outcomes))
    columns = [
        name_column("selector", only_csv=len(runs) == 1),
        Column("seed", is_name=True, only_csv=all(run.chosen.n_seeds == 1 for run in runs)),
        name_column("fold", only_csv=len(result.folds) == 1),
        Column("k"),
        Column("found", only_csv=all(one.k == len(one.features) for one in outcomes)),
        text_column(
            "parameters",
            wraps=any(len(text) > _WIDE for text in parameters),
            only_csv=not any(parameters),
            importance=0,
        ),
        text_column("features in order", importance=2),
    ]
    names = [str(name) for name in result.feature_names]
    whose = runs[0].selector if len(runs) == 1 else "selectors"
    return Sheet(
        stem("selected", ranker),
        f"Features of {whose} with {ranker} {on_folds_of(result)}",
        setting_of(result),
        columns,
        [list(_selected_rows(run, names)) for run in runs],
        [
            "k: number of features asked for"
            + ("" if columns[4].only_csv else "; found: number of features found")
            + ("" if columns[5].only_csv else "; parameters: of the selector; of the ranker")
            + ". All were chosen on validation queries."
        ],
    )


def _selected_rows(run: Run, names: Sequence[str]) -> Iterator[Row]:
    # Spaces cannot separate names that contain spaces.
    between = "; " if any(" " in name for name in names) else " "
    for seed, outcomes in enumerate(run.chosen.outcomes, start=1):
        for fold, outcome in zip(run.chosen.folds, outcomes, strict=True):
            n_found, parameters = len(outcome.features), _parameters(outcome)
            features = between.join(names[feature] for feature in outcome.features)
            shown = (run.selector, seed, fold.name, outcome.k, n_found, parameters, features)
            yield [Entry(value) for value in shown]


def _parameters(outcome: Outcome) -> str:
    both = (outcome.selector_parameters, outcome.ranker_parameters)
    return "; ".join(", ".join(_settings(chosen)) for chosen in both if chosen)


def _settings(chosen: Mapping[str, Any]) -> Iterator[str]:
    for name, value in chosen.items():
        yield f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"


def stability_sheet(result: StudyResult, ranker: str) -> Sheet:
    """How much the selections of the folds agree, and how few features are enough, by selector."""
    runs = result.runs_with(ranker)
    measure = result.main_measure
    columns = [
        SELECTOR,
        Column("features"),
        Column("Nogueira", group="Nogueira"),
        Column("from", group="Nogueira", importance=0),
        Column("to", group="Nogueira", importance=0),
        Column("Jaccard", importance=0),
        Column("random below"),
        Column("enough features", importance=2),
    ]
    return Sheet(
        stem("stability", ranker),
        f"Stability of selectors with {ranker} on {result.title}",
        setting_of(result),
        columns,
        [[_stability_row(result, run, measure) for run in runs]],
        [*_stability_notes(result, ranker, measure)],
    )


def _stability_row(result: StudyResult, run: Run, measure: str) -> Row:
    # With a given seed, a random order is the same on all folds, which is not stability.
    is_order = run.selector == RANDOM
    fixed = {*result.included, *result.excluded}
    n_features = len(result.feature_names)
    stability = None if is_order else stability_of(run.chosen, n_features, fixed)
    index = None if stability is None else stability.nogueira
    enough = None
    if (run.selector, run.ranker) in enough_candidates(result):
        enough = enough_features(result, run.selector, run.ranker, measure)
    return [
        Entry(run.selector),
        Entry(run.chosen.n_features, ".1f"),
        *(Entry(value, "z.3f") for value in (index or (None, None, None))),
        Entry(None if stability is None else stability.jaccard, ".3f"),
        Entry(share_of_random_below(result, run, measure), ".1%"),
        Entry(enough),
    ]


def _stability_notes(result: StudyResult, ranker: str, measure: str) -> Iterator[str]:
    if len(result.folds) == 1:
        yield (
            "Nogueira, Jaccard: not defined for one split; to estimate them, select and train on "
            "several resamples of its training queries (--resamples 10)."
        )
    else:
        folds = "resamples" if are_resamples(result.folds) else "folds"
        yield (
            f"Nogueira: 1 if all {folds} select the same features, 0 if they agree only by chance; "
            f"its {LEVEL:.0%} interval is too narrow, because {folds} share queries. "
            "Jaccard: mean over all pairs of selections."
        )
    if (RANDOM, ranker) in result.runs:
        n_orders = result.run(RANDOM, ranker).chosen.n_seeds
        yield f"random below: share of random orders ({n_orders}) with a smaller mean {measure}."
    else:
        yield f"random below: unknown, as {RANDOM!r} is not in the study."
    if (BASE, ranker) in result.runs:
        yield f"{describe_enough(result, measure)} -: none is shown, or a baseline."
    else:
        yield f"enough features: unknown, as {BASE!r} is not in the study."


def cost_sheet(result: StudyResult, ranker: str) -> Sheet:
    """Numbers of features and seconds of each selector: means over folds and seeds."""
    runs = result.runs_with(ranker)
    base = result.runs.get((BASE, ranker))
    all_seconds = 0.0 if base is None else base.chosen.training_seconds

    def share(run: Run) -> float | None:
        return run.chosen.training_seconds / all_seconds if all_seconds > 0 else None

    is_one = all(len(run.chosen.selections) == 1 for run in runs)  # fewest, most and mean in one
    size = Column("features", group="features")
    fewest, most = (Column(n, group="features", only_csv=is_one) for n in ("fewest", "most"))
    fields: Fields[Run] = {
        SELECTOR: lambda run: Entry(run.selector),
        size: lambda run: Entry(run.chosen.n_features, ",.0f" if is_one else ".1f"),
        fewest: lambda run: Entry(min(map(len, run.chosen.selections))),
        most: lambda run: Entry(max(map(len, run.chosen.selections))),
        Column("selection seconds", group="seconds"): (
            lambda run: _seconds(run.chosen.selection_seconds)
        ),
        Column("training seconds", group="seconds"): (
            lambda run: _seconds(run.chosen.training_seconds)
        ),
        Column("training share", group="seconds"): lambda run: Entry(share(run), ".0%"),
    }
    return Sheet.of_items(
        stem("cost", ranker),
        f"Features and seconds of selectors with {ranker} on {result.title}",
        setting_of(result),
        fields,
        [runs],
        [
            f"features: of {len(result.feature_names):,}."
            if is_one
            else f"features: mean number over folds and seeds, of {len(result.feature_names):,}; "
            "fewest, most: of one fold.",
            "seconds: of one selection and one training with the chosen parameters, on one "
            "thread, without tuning and without compiling kernels. training share: of the training "
            "time with all features.",
        ],
    )


def _seconds(value: float) -> Entry:
    """Format seconds with at least three digits, but no digits below milliseconds."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return Entry(value, f".{digits}f")


def features_sheet(result: StudyResult, kept: Outcomes | None = None) -> Sheet:
    """How often each feature is selected, how well it ranks alone, and similar features.

    The features that are selected most often come first. Without ``result.seen``, importance and
    similarity are left out; ``kept`` is the recommended selection.
    """
    counts, seen = count_taken(result), result.seen
    n_selections = sum(
        len(run.chosen.selections)
        for (name, _), run in result.runs.items()
        if name in result.selecting
    )
    names = list(map(str, result.feature_names))
    kept_shares = None if kept is None else kept.shares(len(names))

    # One selector with one ranker is the only selection there is.
    is_same = kept is not None and n_selections == len(kept.selections)

    def share(feature: int) -> float | None:
        return counts[feature] / n_selections if n_selections else None

    fields: Fields[int] = {
        name_column("feature"): lambda feature: Entry(names[feature]),
        Column("kept", only_csv=kept is None): lambda feature: Entry(
            None if kept_shares is None else float(kept_shares[feature]), ".0%"
        ),
        Column("selected", only_csv=not n_selections or is_same): lambda feature: Entry(
            share(feature), ".0%"
        ),
        Column("importance", only_csv=seen is None): lambda feature: Entry(
            None if seen is None else float(seen.importance[feature]), ".4f"
        ),
        text_column("similar", "most similar", only_csv=seen is None): (
            lambda feature: Entry(None if seen is None else _similar_features(seen, feature, names))
        ),
    }
    return Sheet.of_items(
        "features",
        f"Features of {result.title}",
        setting_of(result),
        fields,
        [rank_features(result, None if seen is None else seen.importance)],
        [*_feature_notes(seen, kept, 0 if is_same else n_selections)],
    )


def _similar_features(seen: FirstFold, feature: int, names: Sequence[str]) -> str | None:
    near = [f"{names[other]} ({alike:.2f})" for other, alike in seen.similar_to(feature)]
    return ", ".join(near) or None


def _feature_notes(seen: FirstFold | None, kept: Outcomes | None, n_selections: int) -> list[str]:
    notes = []
    if kept is not None:
        notes.append("kept: share of the folds (and seeds) where the selection above contains it.")
    if n_selections:
        notes.append(
            f"selected: share of {every(n_selections, 'selection')} with this feature, by all "
            "selectors with all rankers on all folds and seeds."
        )
    if seen is not None:
        notes.append(
            f"importance: mean {seen.measure} of the training queries of {seen.fold} if they are "
            "ranked by this feature alone, in its better direction. most similar: with the "
            "absolute value of the mean over queries of Spearman's coefficient, if at least 0.5."
        )
    return notes
