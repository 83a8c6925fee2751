"""Sheets of features: how often they are selected, their importance, and similar features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ranksieve.report.sheets.sheet import Column, Entry, Row, Sheet
from ranksieve.report.sheets.study_captions import setting_of
from ranksieve.study.first_fold import FirstFold, count_taken
from ranksieve.study.results import BASE, RANDOM, Outcomes, StudyResult
from ranksieve.text import quantity


def rank_features(result: StudyResult, seen: FirstFold | None) -> list[int]:
    """All features, the most often selected first, then the most important."""
    counts = count_taken(result)
    importance = np.zeros(len(result.feature_names)) if seen is None else seen.importance
    return sorted(
        range(len(result.feature_names)),
        key=lambda feature: (-counts[feature], -importance[feature]),
    )


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
    selecting = [name for name in result.selectors if name not in (BASE, RANDOM)]
    counts = count_taken(result)
    n_selections = sum(
        len(run.chosen.selections) for (name, _), run in result.runs.items() if name in selecting
    )
    columns = [
        Column("feature", align="left", is_name=True),
        Column("kept", only_csv=kept is None),
        Column("selected", only_csv=not n_selections),
        Column("importance", only_csv=seen is None),
        Column("similar", "most similar", align="left", wraps=True, only_csv=seen is None),
    ]
    names = list(map(str, result.feature_names))

    def row(feature: int) -> Row:
        share = counts[feature] / n_selections if n_selections else None
        return [
            Entry(names[feature]),
            Entry(None if kept is None else _share_with(feature, kept.selections), ".0%"),
            Entry(share, ".0%"),
            Entry(None if seen is None else float(seen.importance[feature]), ".4f"),
            Entry(None if seen is None else _similar(seen, feature, names)),
        ]

    return Sheet(
        "features",
        f"Features of {result.title}",
        setting_of(result),
        columns,
        [[row(feature) for feature in rank_features(result, seen)]],
        [*_notes(seen, kept, n_selections)],
    )


def _share_with(feature: int, selections: Sequence[Sequence[int]]) -> float:
    return sum(feature in features for features in selections) / len(selections)


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


def similar_sheet(result: StudyResult, seen: FirstFold, n_shown: int | None = None) -> Sheet:
    """Pairs of features, the most similar first.

    Parameters
    ----------
    result : StudyResult
    seen : FirstFold
    n_shown : int, optional
        Number of pairs; by default all.
    """
    names = list(map(str, result.feature_names))
    n = len(seen.compared)
    pairs = sorted(combinations(range(n), 2), key=lambda pair: -seen.similarity[pair])[:n_shown]
    rows = [
        [
            Entry(names[seen.compared[first]]),
            Entry(names[seen.compared[second]]),
            Entry(float(seen.similarity[first, second]), ".3f"),
        ]
        for first, second in pairs
    ]
    left_out = n * (n - 1) // 2 - len(rows)
    notes = [f"{quantity(left_out, 'pair')} of smaller similarity left out."] if left_out else []
    return Sheet(
        "similar",
        f"Pairs of similar features of {result.title}",
        f"Training queries of {seen.fold}: absolute value of the mean over queries of Spearman's "
        "coefficient.",
        [
            Column("feature", align="left", is_name=True),
            Column("other", align="left", is_name=True),
            Column("similarity"),
        ],
        [rows],
        notes,
    )
