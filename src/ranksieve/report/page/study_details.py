"""Sections of a study's page about features, single queries and time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ranksieve.report.page.charts.cells import Taken, draw_heat_map, draw_selections
from ranksieve.report.page.charts.curves import Bar, draw_bars, draw_gains
from ranksieve.report.page.charts.svg import color_class
from ranksieve.report.page.page import MOST_FEATURES, Chart, Section, Table
from ranksieve.report.sheets.sheet import Entry, Sheet, first_rows
from ranksieve.report.sheets.study_quality import queries_sheet
from ranksieve.report.sheets.study_selections import (
    cost_sheet,
    features_sheet,
    selected_sheet,
    stability_sheet,
)
from ranksieve.report.similarity import order_by_similarity, similar_sheet
from ranksieve.study.first_fold import FirstFold, count_taken, rank_features
from ranksieve.study.results import BASE, RANDOM, Outcomes, StudyResult
from ranksieve.text import quantity

_MOST_ROWS = 20  # rows shown at once
_MOST_BARS = 40
_MOST_LISTED = 150
_MOST_CHARACTERS = 300
_ALL = "all are in tables/features.csv"


def css_classes_of(result: StudyResult) -> dict[str, str]:
    """Selector -> classes of its color and dashes, in all charts; baselines are gray."""
    classes = {name: color_class(index) for index, name in enumerate(result.selecting)}
    return classes | {BASE: "s-", RANDOM: "s- d2"}


def features_section(result: StudyResult, seen: FirstFold | None, kept: Outcomes | None) -> Section:
    """Table of features: how often each is selected, how well it ranks alone, similar features."""
    sheet = first_rows(features_sheet(result, seen, kept), _MOST_LISTED, _ALL)
    lead = (
        "Which features are selected, the most frequent first. A feature that all selectors choose "
        "is hard to replace; of similar ones, one is often enough."
    )
    bars = ("kept", "selected", "importance")
    rows = list(sheet.rows)
    if len(rows) <= _MOST_ROWS:
        return Section("Features", lead, [Table(sheet, bars)])
    title = f"The first {_MOST_ROWS} of {quantity(len(result.feature_names), 'feature')}"
    first = replace(sheet, title=title, groups=[rows[:_MOST_ROWS]])
    rest = replace(sheet, title="Further features", groups=[rows[_MOST_ROWS:]])
    return Section("Features", lead, [Table(first, bars), Table(rest, is_open=False)])


def detail_sections(result: StudyResult, seen: FirstFold | None) -> list[Section | None]:
    """Sections that follow those about quality; None where there is nothing to show."""
    return [
        _selections_section(result, seen),
        _similarity_section(result, seen),
        _importance_section(result, seen),
        _queries_section(result),
        _cost_section(result),
    ]


def _selections_section(result: StudyResult, seen: FirstFold | None) -> Section | None:
    """Features that each selector selects on each fold, similar features side by side."""
    if not result.selecting:
        return None
    shown = _in_order(result, seen)
    blocks = [_selections(result, ranker, shown, seen is not None) for ranker in result.rankers]
    lead = (
        "A selector that chooses the same features on every fold fills whole rows: it does not "
        "depend on which queries it saw."
    )
    return Section("Selected features by fold", lead, blocks)


def _in_order(result: StudyResult, seen: FirstFold | None) -> list[int]:
    """The most often selected features, in the order of a tree if similarity is known."""
    counts = count_taken(result)
    ranked = rank_features(result, None if seen is None else seen.importance)
    shown = [feature for feature in ranked if counts[feature]][:MOST_FEATURES]
    if seen is None:
        return shown
    return order_by_similarity(shown, seen.compared.tolist(), seen.similarity)


def _selections(result: StudyResult, ranker: str, shown: list[int], by_tree: bool) -> Chart:
    classes = css_classes_of(result)
    taken = {
        run.selector: Taken(_shares(run.chosen, shown), classes[run.selector].split()[0])
        for run in result.of_ranker(ranker)
        if run.selector in result.selecting
    }
    names = [str(result.feature_names[feature]) for feature in shown]
    key = f"selected-{result.rankers.index(ranker)}"
    folds = [fold.name for fold in result.folds]
    title = f"Features selected with {ranker}"
    svg, data = draw_selections(taken, names, folds, title, key)
    how = "with similar features side by side" if by_tree else "the most often selected first"
    n_taken = len(count_taken(result))
    caption = (
        f"A row is a feature, {how}; a cell is one fold, filled if the selector chooses the "
        "feature there, and faint if only some seeds do."
    )
    if n_taken > len(shown):
        n_left = n_taken - len(shown)
        caption += f" {n_left:,} of {n_taken:,} features that were ever selected are left out."
    sheet = _shorten_texts(selected_sheet(result, ranker))
    return Chart(svg, caption, Table(sheet), f"With {ranker}", data=data)


def _shorten_texts(sheet: Sheet) -> Sheet:
    """Sheet with long texts, such as lists of all features, shortened."""

    def cut(entry: Entry) -> Entry:
        whole = entry.text
        is_long = isinstance(entry.value, str) and len(whole) > _MOST_CHARACTERS
        return replace(entry, value=f"{whole[:_MOST_CHARACTERS]} ...") if is_long else entry

    groups = [[list(map(cut, row)) for row in group] for group in sheet.groups]
    return replace(sheet, groups=groups)


def _shares(tested: Outcomes, shown: list[int]) -> np.ndarray:
    """Share of the seeds that select each feature on each fold."""
    found = np.array(
        [
            [[feature in outcome.features for outcome in seed] for feature in shown]
            for seed in tested.outcomes
        ]
    )
    return found.mean(axis=0)


def _similarity_section(result: StudyResult, seen: FirstFold | None) -> Section | None:
    """Similarity of features as a heat map with a tree."""
    if seen is None:
        return None
    varies = np.diag(seen.similarity) > 0  # False if constant within every query
    row_of = {int(seen.compared[row]): int(row) for row in np.flatnonzero(varies)}
    ranked = rank_features(result, seen.importance)
    shown = [feature for feature in ranked if feature in row_of][:MOST_FEATURES]
    if len(shown) < 2:
        return None
    rows = [row_of[feature] for feature in shown]
    names = [str(result.feature_names[feature]) for feature in shown]
    svg, data = draw_heat_map(
        seen.similarity[np.ix_(rows, rows)], names, "Similarity of all pairs of features"
    )
    caption = (
        "The stronger the color, the more similarly two features order documents: the absolute "
        "value of the mean over queries of Spearman's coefficient. Squares are groups of which one "
        "or two features are often enough. The tree at the right joins similar features; the "
        "farther to the right two branches meet, the less similar they are."
    )
    left_out = len(result.feature_names) - len(shown)
    if left_out:
        caption += (
            f" Left out: {quantity(left_out, 'feature')}, selected less often or the same for all "
            "documents of a query."
        )
    lead = f"Which features order documents similarly, on the training queries of {seen.fold}."
    sheet = similar_sheet(
        [str(result.feature_names[feature]) for feature in seen.compared],
        seen.similarity,
        f"Pairs of similar features of {result.title}",
        f"Training queries of {seen.fold}: absolute value of the mean over queries of Spearman's "
        "coefficient.",
    )
    return Section("Similar features", lead, [Chart(svg, caption, Table(sheet), data=data)])


def _importance_section(result: StudyResult, seen: FirstFold | None) -> Section | None:
    """How well each feature ranks alone."""
    if seen is None:
        return None
    order = np.argsort(-seen.importance, kind="stable")[:_MOST_BARS]
    bars = [
        Bar(str(result.feature_names[f]), float(seen.importance[f]), f"{seen.importance[f]:.4f}")
        for f in order
    ]
    svg = draw_bars(bars, f"{seen.measure} of single features")
    left_out = len(seen.importance) - len(order)
    caption = (
        f"Mean {seen.measure} of the training queries if documents are ranked by one feature, in "
        "its better direction. A feature that ranks badly alone may still help beside others."
    )
    if left_out:
        caption += f" {quantity(left_out, 'feature')} that rank worse are left out."
    lead = f"How well each feature ranks on its own, on the training queries of {seen.fold}."
    sheet = first_rows(_by_importance(features_sheet(result, seen)), MOST_FEATURES, _ALL)
    return Section("Importance of single features", lead, [Chart(svg, caption, Table(sheet))])


def _by_importance(sheet: Sheet) -> Sheet:
    """Only names and importance, the most important first."""
    kept = sheet.keep_columns(lambda column: column.name in ("feature", "importance"))
    rows = sorted(kept.rows, key=lambda row: -float(row[-1].value or 0.0))
    title = "Importance of single features"
    return replace(kept, name="importance", title=title, groups=[rows], notes=[])


def _queries_section(result: StudyResult) -> Section | None:
    """Gains and losses of queries compared with all features, with each ranker."""
    selecting = [name for name in result.selectors if name != BASE]
    if not selecting or BASE not in result.selectors:
        return None
    blocks = [_gains(result, ranker) for ranker in result.rankers]
    lead = (
        f"{result.main_measure} of each test query with the selected features, minus that with all "
        "features. A good mean can hide large losses: look at the right end."
    )
    return Section("Queries that gain and lose", lead, blocks)


def _gains(result: StudyResult, ranker: str) -> Chart:
    measure, classes = result.main_measure, css_classes_of(result)
    base = result.run(BASE, ranker).chosen.per_query(measure)
    differences = [
        (run.selector, classes[run.selector], run.chosen.per_query(measure) - base)
        for run in result.of_ranker(ranker)
        if run.selector != BASE
    ]
    svg = draw_gains(differences, f"Gains and losses of {measure} with {ranker}")
    caption = (
        f"Each chart has all {quantity(result.n_queries, 'test query', 'test queries')} in order, "
        "the largest gain at the left and the largest loss at the right, on one scale; in "
        "parentheses are these two. Queries without a difference are neither won nor lost. The "
        "table has the ids of those that lose and gain most."
    )
    return Chart(svg, caption, Table(queries_sheet(result, ranker)), f"With {ranker}")


def _cost_section(result: StudyResult) -> Section:
    """Seconds of selection and training, and stability, with each ranker."""
    blocks: list[Chart | Table] = []
    for ranker in result.rankers:
        blocks.append(_times(result, ranker))
        blocks.append(Table(stability_sheet(result, ranker), is_open=False))
    lead = "How long the selection takes, and how long training takes with the selected features."
    return Section("Cost and time", lead, blocks)


def _times(result: StudyResult, ranker: str) -> Chart:
    classes = css_classes_of(result)
    bars = []
    for run in result.of_ranker(ranker):
        both = run.chosen.selection_seconds, run.chosen.training_seconds
        for what, seconds in zip(("selection", "training"), both, strict=True):
            label = f"{seconds:.3g} s"
            css = classes[run.selector] if what == "selection" else "s-"
            bars.append(Bar(f"{run.selector}, {what}", seconds, label, css))
    svg = draw_bars(bars, f"Seconds of selection and training with {ranker}")
    caption = (
        "Seconds of one selection (in color) and of one training with its features (gray), on one "
        "thread with the chosen parameters: means over folds and seeds, without tuning."
    )
    return Chart(svg, caption, Table(cost_sheet(result, ranker)), f"With {ranker}")
