"""The command that repeats published experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranksieve.cli.options import Cluster, argument, command, option, show_result
from ranksieve.cli.resumable import resumable
from ranksieve.report.formats import FormatName

if TYPE_CHECKING:
    from ranksieve.reproduction.paper import Paper


@command(
    what=argument(
        "NAME: Results to reproduce: those of the papers on greedy-rankrls, fs-scpr, fs-ed or gas; "
        "or rankers, for published results of rankers on all features."
    ),
    data="DIR: Directory of a collection with folds (S1.txt to S5.txt, or Fold1, ...). LETOR's "
    "MQ2007, MQ2008, OHSUMED (with 45 features, or with 25 in LETOR 2), HP2004, NP2004 and TD2004 "
    "are recognized by their sizes; others can be run, but have no published numbers.",
    ranker="NAME: Run only this ranker (rankers, fs-ed and gas only). May be repeated. Default: "
    "all rankers of the paper.",
    method="NAME: Run only this method (fs-scpr and fs-ed only). May be repeated. Default: all "
    "methods of the paper.",
    reading="NAME: Run only one reading of the method: literal, with the formulas as they are "
    "printed, or closest, which comes nearest to the printed numbers (fs-scpr only). Default: "
    "both.",
    seeds=option(
        "N: Number of runs of methods that draw random numbers (fs-scpr, fs-ed and gas only). "
        "Default: 10 for fs-scpr, otherwise 5.",
        min=1,
    ),
    out="DIR: Write every table (CSV, LaTeX) and figure (SVG, PDF) to this directory, with "
    "a page, report.html, that shows the results of the paper beside ours. Finished "
    "work is also kept there, and the same command resumes. Default: only print the tables.",
    convention="NAME: Metric convention (see evaluate --help). Default: that of the paper.",
)
def reproduce(
    what: str,
    data: Path,
    ranker: list[str] | None = None,
    method: list[str] | None = None,
    reading: str | None = None,
    seeds: int | None = None,
    out: Path | None = None,
    convention: str | None = None,
    form: FormatName = "terminal",
) -> None:
    """Repeat published experiments, and print the numbers of both.

    The tables show the published numbers beside those of ranksieve.
    """
    import json
    from dataclasses import replace

    from ranksieve import reproduction
    from ranksieve.io.records import write_text
    from ranksieve.progress import progress_bar
    from ranksieve.report.directory import check_place, write_files
    from ranksieve.report.reproduction import reproduction_report
    from ranksieve.reproduction.running import METHODS
    from ranksieve.study.first_fold import add_first_fold

    papers = reproduction.PAPERS
    if what not in papers:
        raise ValueError(f"unknown results {what!r}; choose from {', '.join(papers)}")
    options: dict[str, Any] = {
        "--ranker": ranker or None,
        "--method": method or None,
        "--reading": reading,
        "--seeds": seeds,
    }
    chosen_options = {name: value for name, value in options.items() if value is not None}
    _check_options(papers, what, chosen_options)
    chosen = {_arguments_of(papers[what])[name]: value for name, value in chosen_options.items()}
    if out is not None:  # a run that was killed has left its studies or its ledger
        check_place(out, ["results.json", METHODS, "study"])
    with progress_bar() if out is None else resumable(out, Cluster()):
        result = reproduction.reproduce(what, data, convention=convention, out=out, **chosen)
        if out is not None and result.planned is not None and result.study is not None:
            study = add_first_fold(result.planned, result.study)
            result = replace(result, study=study)
        report, document = reproduction_report(result), json.dumps(result.as_dict(), indent=2)
        if out is not None:
            write_files(report, out)
            write_text(document + "\n", out / "results.json")
    show_result(report.main_sheets, form, document)


def _arguments_of(paper: Paper) -> dict[str, str]:
    """Options that a paper takes, and the arguments of ``reproduce`` that they set."""
    arguments = {}
    if paper.study is not None:
        arguments = {"--seeds": "n_seeds"}
        if len(paper.rankers) > 1:
            arguments["--ranker"] = "rankers"
    if paper.readings:
        arguments["--reading"] = "reading"
    if paper.what:
        arguments[f"--{paper.what}"] = "methods"
    return arguments


def _check_options(papers: dict[str, Paper], what: str, options: dict[str, Any]) -> None:
    for name in options:
        owners = [paper.name for paper in papers.values() if name in _arguments_of(paper)]
        if what not in owners:
            raise ValueError(f"{name} works only with reproduce {' or '.join(owners)}")
