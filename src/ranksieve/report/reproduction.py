"""The report of a reproduction: tables and figures of a paper beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import log2

import numpy as np

from ranksieve.report.charts.colors import color_class
from ranksieve.report.charts.curves import Curve, Level, draw_curves
from ranksieve.report.first_fold import data_sections
from ranksieve.report.section import Chart, Part, Report, Section
from ranksieve.report.sheets.reproduction import reproduction_sheets
from ranksieve.report.sheets.sheet import Column, Entry, Sheet
from ranksieve.report.sheets.study_statistics import statistics_sheet
from ranksieve.report.study import curves_part
from ranksieve.reproduction import Reproduction
from ranksieve.reproduction.training import PATH_MEASURES, PATH_PARTS, FoldPaths
from ranksieve.study import StudyResult
from ranksieve.text import quantity

_LISTED = 5  # features in words


def reproduction_report(result: Reproduction) -> Report:
    """Make the report of a reproduction."""
    paper, study = result.paper, result.study
    curves = {part.sheet.name: part for part in _curves(study)}
    tables = [
        replace(curves.pop(sheet.name, Part(sheet)), sheet=sheet, brief=sheet)
        for sheet in reproduction_sheets(result)
    ]
    figures, statistics = [*curves.values(), *_paths(result)], []
    if study is not None and paper.shows_curves and len(study.selectors) > 1:
        statistics = [Part(statistics_sheet(study))]
    first, *others = paper.paragraphs
    sections = [
        Section("Tables", first, tables, others),
        Section("Figures", paper.figures, figures) if figures else None,
        *([] if study is None else data_sections(study)),
        Section("Tests", "All selectors against all features.", statistics) if statistics else None,
    ]
    title = f"{paper.title} on {result.facts.title}: paper and ours"
    return Report(title, list(filter(None, sections)), "Reproduction")


def _curves(study: StudyResult | None) -> Iterator[Part]:
    if study is not None and len(study.selectors) > 1:
        for measure in study.measures:
            for ranker in study.rankers:
                yield curves_part(study, ranker, measure)


def _paths(result: Reproduction) -> Iterator[Part]:
    paths = [own for outcome in result.outcomes.values() for own in outcome.paths]
    if paths:
        yield from _mean_paths(paths, result.paper.figure_lams)
        for number, fold in enumerate(paths, start=1):
            yield _validation_path(fold, number, result.paper.figure_lams)


def _mean_paths(paths: list[FoldPaths], lams: tuple[float, ...]) -> Iterator[Part]:
    """Means over the folds of validation and of test queries, by the number of features."""
    tried = paths[0].lams_
    for measure in PATH_MEASURES:
        for part in PATH_PARTS:
            values = np.mean([fold.mean(part, measure) for fold in paths], axis=0)
            curves = {lam: values[tried.index(lam)] for lam in lams}
            # All features have the regularization that is best on each fold's validation queries.
            best = [int(np.argmax(fold.values_[:, -1])) for fold in paths]
            base = np.mean(
                [fold.mean(part, measure)[at, -1] for fold, at in zip(paths, best, strict=True)]
            )
            caption = (
                f"{measure} on {part} queries, mean over the {len(paths)} folds, by the number of "
                "features and lambda. The line of all features has the lambda with the best "
                "validation MAP on each fold."
            )
            name, level = f"mean-{measure.lower()}-{part}", Level("all features", float(base))
            yield _paths_part(name, f"{measure} on {part} queries", caption, curves, level=level)


def _validation_path(fold: FoldPaths, number: int, lams: tuple[float, ...]) -> Part:
    """Validation MAP by the number of features, for some lambdas and the chosen one."""
    shown = list(dict.fromkeys([*lams, fold.lam_]))
    curves = {lam: fold.values_[fold.lams_.index(lam)] for lam in shown}
    k, chosen = len(fold.selected_), curves[fold.lam_]
    last = int(np.flatnonzero(np.isfinite(chosen))[-1])
    beside = "" if last + 1 == k else f"; with {last + 1}, this lambda has {chosen[last]:.4f}"
    names = [str(feature + 1) for feature in fold.selected_]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    caption = (
        f"Fold {number}: MAP on validation queries, by the number of features, for some of the "
        f"{quantity(len(fold.lams_), 'lambda')} that were tried. Chosen (ring): lambda "
        f"{fold.lam_:g} with {quantity(k, 'feature')}, {chosen[k - 1]:.4f}{beside}. In the order "
        f"of selection: {', '.join(names[:_LISTED])}{more}."
    )
    name, title = f"validation-fold-{number}", f"Fold {number}: MAP on validation queries"
    return _paths_part(name, title, caption, curves, chosen={fold.lam_: k - 1})


def _paths_part(
    name: str,
    title: str,
    caption: str,
    by_lam: dict[float, np.ndarray],
    *,
    level: Level | None = None,
    chosen: dict[float, int] | None = None,
) -> Part:
    """A line for each lambda, with a ring at what is chosen."""
    curves = []
    for index, (lam, values) in enumerate(by_lam.items()):
        ks = (np.flatnonzero(np.isfinite(values)) + 1).tolist()
        shown = values[np.isfinite(values)].tolist()
        tips = [
            f"lambda {lam:g}, {quantity(k, 'feature')}\n{v:.4f}"
            for k, v in zip(ks, shown, strict=True)
        ]
        marked = (chosen or {}).get(lam)
        curves.append(Curve(_label(lam), ks, shown, tips, color_class(index), marked=marked))
    draw = partial(draw_curves, curves, title, "number of features", title, level=level)
    sizes = range(max(len(values) for values in by_lam.values()))
    rows = [
        [Entry(size + 1), *(Entry(_value(values, size), ".4f") for values in by_lam.values())]
        for size in sizes
    ]
    columns = [Column("features", is_name=True), *(Column(_label(lam)) for lam in by_lam)]
    return Part(Sheet(name, title, "", columns, [rows]), Chart(name, caption, draw), title)


def _value(values: np.ndarray, index: int) -> float | None:
    known = index < len(values) and np.isfinite(values[index])
    return float(values[index]) if known else None


def _label(lam: float) -> str:
    power = log2(lam)
    return f"2^{power:g}" if power == round(power) else f"{lam:g}"
