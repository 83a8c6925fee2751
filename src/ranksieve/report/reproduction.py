"""A reproduction in a folder: every table and figure, and a page that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ranksieve.io.records import write_text
from ranksieve.report.figures import describe_path_scores, plot_mean_paths, plot_path_scores
from ranksieve.report.figures.style import Drawing, embed
from ranksieve.report.files import ReportFiles
from ranksieve.report.formats.plain_text import escape
from ranksieve.report.sheets.reproduction import further_sheets, reproduction_sheets
from ranksieve.report.study import draw_curves, write_data_figures
from ranksieve.reproduction import Reproduction
from ranksieve.reproduction.training import PATH_MEASURES, PATH_PARTS, FoldPaths


def write_reproduction(result: Reproduction, directory: Path) -> None:
    """Write all tables (Markdown, LaTeX, CSV, JSON) and figures (SVG, PNG), and a page with them.

    ``report.md`` and ``results.json`` of the directory are replaced, and in ``tables/`` and
    ``figures/`` the files of an earlier report.
    """
    paper = result.paper
    page = [f"# {escape(f'{paper.title} on {result.facts.title}: paper and ours')}"]
    page += [escape(paragraph) for paragraph in paper.paragraphs]
    links = []
    with ReportFiles(directory) as files:
        page += ["## Tables", *map(files.write_table, reproduction_sheets(result))]
        drawn = [files.write_drawing(drawing) for drawing in _figures(result)]
        for sheet in further_sheets(result):
            files.write_table(sheet)
            links.append(f"- [{escape(sheet.title)}](tables/{sheet.name}.md)")
    names = write_data_figures(result.planned, directory)
    drawn += [embed(name, directory) for name in names]
    if drawn:
        page += ["## Figures", *filter(None, [escape(paper.figures)]), *drawn]
    if links:
        page += ["## Further tables", "\n".join(links)]
    write_text("\n\n".join(page) + "\n", directory / "report.md")
    write_text(json.dumps(result.as_dict(), indent=2) + "\n", directory / "results.json")


def _figures(result: Reproduction) -> Iterator[Drawing]:
    study = result.study
    if study is not None and len(study.selectors) > 1:
        for measure in study.measures:
            for ranker in study.rankers:
                yield draw_curves(study, ranker, measure)
    paths = [own for outcome in result.outcomes.values() for own in outcome.paths]
    if paths:
        yield from _figures_of_paths(paths, result.paper.figure_lams)


def _figures_of_paths(paths: list[FoldPaths], lams: tuple[float, ...]) -> Iterator[Drawing]:
    """Means over the folds of validation and test queries, and validation curves of each fold."""
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
            label = f"{measure} on {part} queries"
            yield Drawing(
                plot_mean_paths(curves, label, base=float(base)),
                f"mean-{measure.lower()}-{part}",
                f"{label}, mean over the {len(paths)} folds, by the number of features and "
                "lambda. The line of all features has the lambda with the best validation MAP on "
                "each fold.",
            )
    for number, fold in enumerate(paths, start=1):
        yield Drawing(
            plot_path_scores(fold, lams),
            f"validation-fold-{number}",
            f"Fold {number}: {describe_path_scores(fold)}",
        )
