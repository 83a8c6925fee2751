"""The command that repeats published experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranksieve.cli.options import Format, option, show_result
from ranksieve.text import quantity

if TYPE_CHECKING:
    from ranksieve.reproduction import Reproduction
    from ranksieve.reproduction.paper import Paper


_What = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Results to reproduce: those of the papers on greedy-rankrls, fs-scpr, fs-ed or gas; "
        "or rankers, for published results of rankers on all features.",
    ),
]
_Data = Annotated[
    Path,
    option(
        "DIR",
        "A collection with folds (S1.txt .. S5.txt, or Fold1 ..). MQ2007, MQ2008, OHSUMED, "
        "HP2004, NP2004 and TD2004 of LETOR are recognized by their sizes; others can be run, but "
        "have no published numbers.",
    ),
]
_Ranker = Annotated[
    list[str] | None,
    option(
        "NAME",
        "Run only this ranker (rankers and fs-ed only). May be repeated. Default: all rankers "
        "of the paper.",
    ),
]
_Method = Annotated[
    list[str] | None,
    option(
        "NAME",
        "Run only this method (fs-scpr and fs-ed only). May be repeated. Default: all methods "
        "of fs-scpr; for fs-ed, only fs-ed (fs-bfs, which is slow, and random are optional).",
    ),
]
_Seeds = Annotated[
    int | None,
    option(
        "N",
        "Number of runs of methods that draw random numbers (fs-scpr, fs-ed and gas only). "
        "Default: 10 for fs-scpr, else 5.",
        min=1,
    ),
]
_Out = Annotated[
    Path | None,
    option(
        "DIR",
        "Keep finished work here; the same command resumes it (fs-scpr, fs-ed and gas only). "
        "Default: keep nothing.",
    ),
]
_Convention = Annotated[
    str | None,
    option("NAME", "Metric convention (see evaluate --help). Default: that of the paper."),
]
_Figure = Annotated[
    Path | None,
    option(
        "FILE",
        "Draw measures against the number of features to this .pdf, .png or .svg file "
        "(greedy-rankrls, fs-ed and gas only). Default: no figure.",
    ),
]
_Fold = Annotated[
    int | None, option("N", "Fold to draw in --figure (greedy-rankrls only). Default: 1.", min=1)
]


def reproduce(
    what: _What,
    data: _Data,
    ranker: _Ranker = None,
    method: _Method = None,
    seeds: _Seeds = None,
    out: _Out = None,
    convention: _Convention = None,
    figure: _Figure = None,
    fold: _Fold = None,
    form: Format = "terminal",
) -> None:
    """Repeat published experiments, and print the results beside the published ones."""
    import json

    from ranksieve import reproduction
    from ranksieve.progress import progress_bar
    from ranksieve.report.sheets.reproduction import reproduction_sheets

    papers = reproduction.PAPERS
    if what not in papers:
        raise ValueError(
            f"there is nothing to reproduce for {what!r}; known are {', '.join(papers)}"
        )
    options: dict[str, Any] = {
        "--ranker": ranker or None,
        "--method": method or None,
        "--seeds": seeds,
        "--out": out,
        "--figure": figure,
        "--fold": fold,
    }
    given = {name: value for name, value in options.items() if value is not None}
    _check_options(papers, what, given)
    if figure is not None:
        _check_figure(figure, data, fold)
    chosen = {
        _arguments_of(papers[what])[name]: value
        for name, value in given.items()
        if name not in ("--figure", "--fold")
    }
    with progress_bar():
        result = reproduction.reproduce(what, data, convention=convention, **chosen)
    if figure is not None:
        _draw(result, figure, fold or 1)
    show_result(reproduction_sheets(result), form, json.dumps(result.as_dict(), indent=2))


def _arguments_of(paper: Paper) -> dict[str, str]:
    """Options that a paper takes, and the arguments of ``reproduce`` that they stand for."""
    arguments = {}
    if paper.study is not None:
        arguments = {"--seeds": "n_seeds", "--out": "out"}
        if len(paper.rankers) > 1:
            arguments["--ranker"] = "rankers"
    if paper.what:
        arguments[f"--{paper.what}"] = "methods"
    if paper.figure is not None:
        arguments["--figure"] = "figure"
    if paper.figure == "paths":
        arguments["--fold"] = "fold"
    return arguments


def _check_options(papers: dict[str, Paper], what: str, given: dict[str, Any]) -> None:
    for name in given:
        owners = [paper.name for paper in papers.values() if name in _arguments_of(paper)]
        if what not in owners:
            raise ValueError(f"{name} works only with reproduce {' or '.join(owners)}")
    if "--fold" in given and "--figure" not in given:
        raise ValueError("--fold chooses the fold of the figure, so it needs --figure FILE")


def _check_figure(path: Path, data: Path, fold: int | None) -> None:
    """Raise an error before the work if the figure cannot be drawn after it."""
    from ranksieve.datasets import open_collection
    from ranksieve.io.files import check_replaceable
    from ranksieve.report.figures import check_format

    check_format(path)
    check_replaceable(path)
    if fold is not None and fold > (n_folds := len(open_collection(data).folds)):
        raise ValueError(f"--fold {fold}: the collection has only {quantity(n_folds, 'fold')}")


def _draw(result: Reproduction, path: Path, fold: int) -> None:
    """Draw validation curves of a fold, or the curves of a study, one below the other."""
    from ranksieve.report.figures import plot_curves, plot_path_scores, write_figure
    from ranksieve.report.figures.style import HEIGHT, new_figure
    from ranksieve.reproduction.papers.greedy_rankrls import FIGURE_LAMS, GREEDY

    study = result.study
    if study is None:
        selector = result.outcomes[GREEDY].models[fold - 1]
        write_figure(plot_path_scores(selector, FIGURE_LAMS), path)
        return
    curves = [(ranker, measure) for ranker in study.rankers for measure in study.measures]
    panels = new_figure(len(curves) * HEIGHT).subplots(len(curves), squeeze=False).ravel()
    for ax, (ranker, measure) in zip(panels, curves, strict=True):
        plot_curves(study, ranker, measure, ax=ax)
        if len(study.rankers) > 1:
            ax.set_ylabel(f"{measure} with {ranker}")
    write_figure(panels[0], path)
