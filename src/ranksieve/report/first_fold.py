"""Sections of a study about its data: the training queries of the first fold."""

from __future__ import annotations

from functools import partial

import numpy as np

from ranksieve.report.charts.curves import draw_densities
from ranksieve.report.features import MOST_FEATURES, alone_section, similar_section
from ranksieve.report.section import Chart, Part, Section
from ranksieve.report.sheets.features import alone_sheet, densities_sheet, similar_sheet
from ranksieve.study.first_fold import FirstFold, rank_features
from ranksieve.study.results import StudyResult
from ranksieve.text import quantity


def data_sections(result: StudyResult) -> list[Section | None]:
    """Sections about the training queries of the first fold, as far as they are known."""
    seen = result.seen
    if seen is None:
        return []
    names = list(map(str, result.feature_names))
    where = f"on the training queries of {seen.fold}"
    varies = np.diag(seen.similarity) > 0  # False if constant within every query
    row_of = {seen.compared[row]: row for row in np.flatnonzero(varies).tolist()}
    shown = [f for f in rank_features(result, seen.importance) if f in row_of][:MOST_FEATURES]
    rows = [row_of[feature] for feature in shown]
    measured = "the absolute value of the mean over queries of Spearman's coefficient"
    left_out = len(names) - len(shown)
    alike = similar_section(
        [names[feature] for feature in shown],
        seen.similarity[np.ix_(rows, rows)],
        f"Which features order documents similarly, {where}.",
        measured,
        f"Left out: {quantity(left_out, 'feature')}, selected less often or constant within "
        "every query."
        if left_out
        else "",
        similar_sheet(
            [names[feature] for feature in seen.compared],
            seen.similarity,
            f"Pairs of similar features of {result.title}",
            f"Training queries of {seen.fold}: {measured}.",
        ),
    )
    alone = alone_section(
        names,
        seen.importance,
        seen.measure,
        seen.chance,
        f"How well each feature ranks on its own, {where}.",
        "A feature that ranks badly alone may still help beside others.",
        alone_sheet(
            names,
            seen.importance,
            seen.measure,
            seen.chance,
            f"the training queries of {seen.fold}",
        ),
    )
    return [alike, alone, _densities_section(names, seen)]


def _densities_section(names: list[str], seen: FirstFold) -> Section | None:
    """Densities of the values of some features, by grade."""
    if not seen.densities:
        return None
    panels = [
        (names[one.feature], np.array(one.points), np.array(one.values)) for one in seen.densities
    ]
    grades = [f"grade {grade:g}" for grade in seen.grades]
    title = "Densities of feature values by grade"
    caption = (
        "Densities of the values of features in documents of each grade: the features that rank "
        "best alone, then those that rank worst. The farther apart the lines are, the better the "
        "feature tells grades apart; each chart has a scale of its own."
    )
    sentence = f"How well values tell grades apart, on the training queries of {seen.fold}."
    chart = Chart("densities", caption, partial(draw_densities, panels, grades, title))
    return Section("Values by grade", sentence, [Part(densities_sheet(names, seen), chart)])
