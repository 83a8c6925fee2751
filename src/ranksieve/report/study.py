"""The tables and figures of a study, in its directory and on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from ranksieve.data import DataError
from ranksieve.engine.memo import sharing
from ranksieve.experiments import TrialData
from ranksieve.io.records import write_text
from ranksieve.metrics import get_convention
from ranksieve.report import figures as draw
from ranksieve.report.figures.study import enough_of
from ranksieve.report.figures.style import Drawing, embed
from ranksieve.report.files import ReportFiles, names_written
from ranksieve.report.formats.plain_text import escape
from ranksieve.report.formats.terminal import show, to_terminal
from ranksieve.report.page.page import write_page
from ranksieve.report.page.study import study_page
from ranksieve.report.sheets.sheet import Sheet
from ranksieve.report.sheets.study_quality import comparison_sheet, curves_sheet, folds_sheet
from ranksieve.report.sheets.study_selections import (
    cost_sheet,
    features_sheet,
    selected_sheet,
    stability_sheet,
)
from ranksieve.report.sheets.study_statistics import pairs_sheet, statistics_sheet
from ranksieve.selectors import FSED, GreedyRankRLS, GreedyRankRLSCV, Importance
from ranksieve.selectors._search.filters import ImportanceFilter, SimilarityFilter
from ranksieve.selectors.registry import SELECTORS
from ranksieve.study import Plan, Study, StudyResult
from ranksieve.study.comparison import MARGIN, describe_enough
from ranksieve.study.first_fold import (
    FIRST_FOLD,
    describe_first_fold,
    read_first_fold,
    write_first_fold,
)
from ranksieve.study.results import BASE, RANDOM

_OF_DATA = "figures of the data"  # part of a report that only a run with the data can write


def write_report(result: StudyResult, directory: Path, *, figures: bool = True) -> None:
    """Write all tables (Markdown, LaTeX, CSV, JSON) and figures (SVG, PNG), and pages with them.

    ``tables/``, ``figures/``, ``report.html`` and ``report.md`` are created in the directory, or
    replaced; tables and figures of an earlier report are removed. What :func:`write_data_facts` and
    :func:`write_data_figures` wrote there last is also shown.
    """
    seen = read_first_fold(directory, len(result.feature_names))
    write_page(study_page(result, seen), directory / "report.html")
    page = [f"# {escape(result.title)}"]
    with ReportFiles(directory) as files:
        for ranker in result.rankers:
            page.append(f"## {escape(ranker)}")
            if figures:
                page += map(files.write_drawing, _figures_of(result, ranker))
            page += map(files.write_table, _sheets_of(result, ranker))
        page.append("## All comparisons")
        page += map(files.write_table, _statistics(result))
        files.write_table(features_sheet(result, seen))
    written = names_written(directory, _OF_DATA)
    captions = {name: f"figures/{name}.txt" for name in _selectors_of_figures(result.selectors)}
    of_data = [
        name
        for name, caption in captions.items()
        if caption in written and (directory / caption).exists()
    ]
    if of_data:
        page.append("## What the selectors saw on the first fold")
        page += [embed(name, directory) for name in of_data]
    write_text("\n\n".join(page) + "\n", directory / "report.md")


def write_data_facts(study: Study, result: StudyResult, directory: Path) -> None:
    """Write the facts about the data that the page shows, so that reports need no data.

    Facts that cannot be computed, such as the similarity of missing values, are left out; those of
    an earlier study in the directory are removed.
    """
    (directory / FIRST_FOLD).unlink(missing_ok=True)
    with suppress(DataError):
        write_first_fold(describe_first_fold(study, result), directory)


def write_data_figures(study: Study | None, directory: Path) -> list[str]:
    """Draw the data as selectors use it, to ``figures/``, and return the names of the figures.

    Those of an earlier study in the directory are removed; without a study, nothing is drawn.

    They show importance, similarity, densities and validation curves, each for the first selector
    of the plan that uses such a quantity. Those that cannot be computed, such as densities of
    missing values, are left out. The training queries of the first fold are drawn, and its
    validation queries in the curves; test queries are not used.
    """
    drawn: list[str] = []
    with ReportFiles(directory, _OF_DATA) as files:
        if study is None:
            return drawn
        fold = study.trials[0].open()
        for name, selector in _selectors_of_figures(study.plan.selectors).items():
            draw_figure = _DATA_FIGURES[name][1]
            with sharing(fold.memo), suppress(DataError):  # such as missing values
                ax, caption = draw_figure(fold, study.plan, selector)
                caption = f"{caption} Training queries of the first fold."
                files.write_drawing(Drawing(ax, name, caption))
                drawn.append(name)
    return drawn


def _selectors_of_figures(selectors: Sequence[str]) -> dict[str, str]:
    """Stems of figures of the data -> first selector that uses what they show."""
    known = [selector for selector in selectors if selector in SELECTORS]
    found = {
        figure: next((s for s in known if issubclass(SELECTORS[s].kind, kinds)), None)
        for figure, (kinds, _) in _DATA_FIGURES.items()
    }
    return {figure: selector for figure, selector in found.items() if selector is not None}


def _draw_importance(fold: TrialData, plan: Plan, selector: str) -> tuple[Axes, str]:
    found, names = _fit(fold, plan, selector), fold.train.feature_names.tolist()
    label, values = Importance.from_estimator(found).label, found.importance_
    caption = draw.describe_importance(values, names, label)
    return draw.plot_importance(values, names, label=label), f"{caption} Of {selector}."


def _draw_similarity(fold: TrialData, plan: Plan, selector: str) -> tuple[Axes, str]:
    values, names = _fit(fold, plan, selector).similarity_, fold.train.feature_names.tolist()
    return draw.plot_similarity(values, names=names), draw.describe_similarity(values, names)


def _draw_densities(fold: TrialData, plan: Plan, selector: str) -> tuple[Axes, str]:
    axes = draw.plot_class_densities(_fit(fold, plan, selector), fold.train)
    return axes.flat[0], draw.describe_class_densities(axes, f"scores of {selector}")


def _draw_validation(fold: TrialData, plan: Plan, _: str) -> tuple[Axes, str]:
    path = GreedyRankRLSCV(measure=plan.tune, convention=get_convention(plan.convention))
    path.fit(fold.train, eval_set=fold.vali)
    names = fold.train.feature_names.tolist()
    return draw.plot_path_scores(path, names=names), draw.describe_path_scores(path, names)


def _fit(fold: TrialData, plan: Plan, selector: str) -> Any:
    held_out = {"eval_set": fold.vali} if SELECTORS[selector].uses_held_out_data else {}
    return plan.make_selector(selector, 1).fit(fold.train, **held_out)


_DATA_FIGURES = {
    "importance": ((ImportanceFilter,), _draw_importance),
    "similarity": ((SimilarityFilter,), _draw_similarity),
    "densities": ((FSED,), _draw_densities),
    "validation": ((GreedyRankRLS, GreedyRankRLSCV), _draw_validation),
}
"""Stems of the figures of the data: selectors that use what they show, and what draws it."""


def show_report(result: StudyResult, directory: Path, *, figures: bool = True) -> None:
    """Print the comparison with every ranker, how few features are enough, and the directory."""
    sheets = [comparison_sheet(result, ranker) for ranker in result.rankers]
    # Notes that explain marks are printed once; findings are printed for each ranker.
    shared = [
        note
        for note in sheets[0].notes
        if "random order" not in note and all(note in sheet.notes for sheet in sheets)
    ]
    for ranker, sheet in zip(result.rankers, sheets, strict=True):
        own = [note for note in sheet.notes if note not in shared]
        if (BASE, ranker) in result.runs:
            own.append(_list_enough(result, ranker))
        show(to_terminal(replace(sheet, notes=own), directory))
        show("")
    if BASE in result.selectors and result.selecting:
        shared.append(describe_enough(result, result.main_measure))
    for note in shared:
        show(note)
    show("")
    written = "Tables, figures and the ledger" if figures else "Tables and the ledger"
    show(f"{written} are in {directory}; open {directory / 'report.html'} first")


def _list_enough(result: StudyResult, ranker: str) -> str:
    """Fewest features of each selector that are shown to be enough."""
    found = enough_of(result, ranker, result.main_measure)
    shown = [f"{selector} {k}" for selector, k in found.items() if k is not None]
    others = [selector for selector, k in found.items() if k is None]
    head = f"Enough features (less than {MARGIN:.0%} of {result.main_measure} lost): "
    if others:
        shown.append(f"not shown for {', '.join(others)}")
    return head + ("; ".join(shown) or "no selector to test")


def _sheets_of(result: StudyResult, ranker: str) -> Iterator[Sheet]:
    yield comparison_sheet(result, ranker)
    for measure in result.measures:
        yield curves_sheet(result, ranker, measure)
    for measure in result.measures:
        yield folds_sheet(result, ranker, measure)
    yield stability_sheet(result, ranker)
    yield cost_sheet(result, ranker)
    yield selected_sheet(result, ranker)


def _statistics(result: StudyResult) -> Iterator[Sheet]:
    if len(result.selectors) > 1:
        for base in (BASE, RANDOM):
            if base in result.selectors:
                yield statistics_sheet(result, base)
        yield pairs_sheet(result)


def draw_curves(result: StudyResult, ranker: str, measure: str) -> Drawing:
    """Draw a measure against the number of features."""
    of = result, ranker, measure
    name = f"curves-{ranker}-{measure.lower().replace('@', '')}"
    return Drawing(draw.plot_curves(*of), name, draw.describe_curves(*of))


def _figures_of(result: StudyResult, ranker: str) -> Iterator[Drawing]:
    selecting = set(result.selectors) - {BASE}
    if not selecting:  # nothing to draw
        return
    of = result, ranker
    for measure in result.measures:
        yield draw_curves(*of, measure)
    if selecting != {RANDOM}:
        caption = draw.describe_selection_frequency(*of)
        yield Drawing(draw.plot_selection_frequency(*of), f"frequency-{ranker}", caption)
        caption = draw.describe_quality_and_time(*of)
        yield Drawing(draw.plot_quality_and_time(*of), f"quality-and-time-{ranker}", caption)
