"""A reproduction in a folder: every table and figure, and a page that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ranksieve.io.records import write_text
from ranksieve.report.figures import plot_curves, plot_mean_paths, plot_path_scores
from ranksieve.report.folder import embed, write_drawing, write_table
from ranksieve.report.formats.markdown import escape
from ranksieve.report.sheets.reproduction import further_sheets, reproduction_sheets
from ranksieve.report.study import write_data_figures
from ranksieve.reproduction import Reproduction
from ranksieve.reproduction.training import PATH_MEASURES, FoldPaths


def write_reproduction(result: Reproduction, directory: Path) -> None:
    """Write all tables (Markdown, LaTeX, CSV, JSON) and figures (SVG, PNG), and a page with them.

    Parameters
    ----------
    result : Reproduction
    directory : Path
        ``tables/``, ``figures/``, ``report.md`` and ``results.json`` are made in it, or replaced.
    """
    title = f"{result.paper.title} on {result.facts.title}: paper and ours"
    page = [f"# {escape(title)}"]
    sheets = [*reproduction_sheets(result), *further_sheets(result)]
    page += [write_table(sheet, directory) for sheet in sheets]
    drawings = [write_drawing(ax, name, directory) for name, ax in _figures(result)]
    if drawings:
        page += ["## Figures", *drawings]
    if result.planned is not None:
        drawn = write_data_figures(result.planned, directory)
        if drawn:
            page += ["## What the selectors saw on the first fold", *map(embed, drawn)]
    write_text("\n\n".join(page) + "\n", directory / "report.md")
    write_text(json.dumps(result.as_dict(), indent=2) + "\n", directory / "results.json")


def _figures(result: Reproduction) -> Iterator[tuple[str, Axes]]:
    study = result.study
    if study is not None and len(study.selectors) > 1:
        for ranker in study.rankers:
            for measure in study.measures:
                stem = measure.lower().replace("@", "")
                yield f"curves-{ranker}-{stem}", plot_curves(study, ranker, measure)
    models = [model for outcome in result.outcomes.values() for model in outcome.models]
    paths = [model for model in models if isinstance(model, FoldPaths)]
    if paths:
        yield from _figures_of_paths(paths, result.paper.figure_lams)


def _figures_of_paths(
    paths: list[FoldPaths], lams: tuple[float, ...]
) -> Iterator[tuple[str, Axes]]:
    """Means over the folds of validation and test queries, and validation curves of each fold."""
    tried = list(paths[0].selector.lams_)
    for measure in PATH_MEASURES:
        for part in ("validation", "test"):
            values = np.mean([fold.values[part, measure] for fold in paths], axis=0)
            curves = {lam: values[tried.index(lam)] for lam in lams}
            # All features have the regularization that is best on each fold's validation queries.
            best = [int(np.argmax(fold.values["validation", "MAP"][:, -1])) for fold in paths]
            base = np.mean(
                [fold.values[part, measure][at, -1] for fold, at in zip(paths, best, strict=True)]
            )
            label = f"{measure} on {part} queries"
            drawn = plot_mean_paths(curves, label, base=float(base))
            yield f"mean-{measure.lower()}-{part}", drawn
    for number, fold in enumerate(paths, start=1):
        yield f"validation-fold-{number}", plot_path_scores(fold.selector, lams)
