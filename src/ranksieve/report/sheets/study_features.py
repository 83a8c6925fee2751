"""Sheets of features: how often they are selected, their importance, and similar features."""

from __future__ import annotations

from collections.abc import Sequence

from ranksieve.report.sheets.sheet import Column, Entry, Fields, Sheet, name_column, text_column
from ranksieve.report.sheets.study_captions import setting_of
from ranksieve.study.first_fold import FirstFold, count_taken, rank_features
from ranksieve.study.results import Outcomes, StudyResult
from ranksieve.text import quantity


def features_sheet(
    result: StudyResult, seen: FirstFold | None = None, kept: Outcomes | None = None
) -> Sheet:
    """How often each feature is selected, how well it ranks alone, and similar features.

    Parameters
    ----------
    result : StudyResult
    seen : FirstFold, optional
        Without it, importance and similarity are left out.
    kept : Outcomes, optional
        The recommended selection.

    Returns
    -------
    Sheet
        A row for each feature, those selected most often first.
    """
    counts = count_taken(result)
    n_selections = sum(
        len(run.chosen.selections)
        for (name, _), run in result.runs.items()
        if name in result.selecting
    )
    names = list(map(str, result.feature_names))
    kept_shares = None if kept is None else kept.shares(len(names))

    def share(feature: int) -> float | None:
        return counts[feature] / n_selections if n_selections else None

    fields: Fields[int] = {
        name_column("feature"): lambda feature: Entry(names[feature]),
        Column("kept", only_csv=kept is None): lambda feature: Entry(
            None if kept_shares is None else float(kept_shares[feature]), ".0%"
        ),
        Column("selected", only_csv=not n_selections): lambda feature: Entry(share(feature), ".0%"),
        Column("importance", only_csv=seen is None): lambda feature: Entry(
            None if seen is None else float(seen.importance[feature]), ".4f"
        ),
        text_column("similar", "most similar", only_csv=seen is None): (
            lambda feature: Entry(None if seen is None else _similar(seen, feature, names))
        ),
    }
    return Sheet.of_items(
        "features",
        f"Features of {result.title}",
        setting_of(result),
        fields,
        [rank_features(result, None if seen is None else seen.importance)],
        [*_notes(seen, kept, n_selections)],
    )


def _similar(seen: FirstFold, feature: int, names: Sequence[str]) -> str | None:
    near = [f"{names[other]} ({alike:.2f})" for other, alike in seen.similar_to(feature)]
    return ", ".join(near) or None


def _notes(seen: FirstFold | None, kept: Outcomes | None, n_selections: int) -> list[str]:
    notes = []
    if kept is not None:
        notes.append("kept: share of the folds (and seeds) in which the selection above has it.")
    if n_selections:
        notes.append(
            f"selected: share of {quantity(n_selections, 'selection')}, by all selectors with all "
            "rankers on all folds and seeds, that has it."
        )
    if seen is not None:
        notes.append(
            f"importance: mean {seen.measure} of the training queries of {seen.fold} if they are "
            "ranked by this feature alone, in its better direction. most similar: with the "
            "absolute value of the mean over queries of Spearman's coefficient, if at least 0.5."
        )
    return notes
