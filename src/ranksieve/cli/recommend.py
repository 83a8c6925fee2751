"""The commands ``recommend`` and ``check``: which features to keep, and whether that holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ranksieve.cli.options import (
    COSTS,
    Cluster,
    Reading,
    ReadingRows,
    Splitting,
    argument,
    command,
    option,
    show_result,
)
from ranksieve.cli.resumable import resumable, take_source
from ranksieve.report.formats import CheckFormatName, FormatName


@command(
    data=argument(
        "DATA: Data, as for compare: a file or shards, whose queries are divided into parts; a "
        "collection, or a directory of train, vali and test files; with --test, the training data. "
        "Default: the embedded demo, with its costs."
    ),
    ranker="NAME: Ranker that will use the features: a name from train --rankers, or "
    "MODULE:OBJECT.",
    ranker_param="NAME=VALUE: Set a parameter of the ranker. May be repeated. Default: the "
    "ranker's defaults, but 50 trees of 10 leaves for the demo.",
    measure="M: Measure of quality whose mean is compared (see evaluate --help).",
    margin="SHARE: Largest acceptable loss of the measure, relative to its mean with all features, "
    "such as 1% or 0.01.",
    include="NAMES: Features that must be kept, separated by commas. May be repeated. Default: "
    "none.",
    exclude="NAMES: Features to leave out, separated by commas, as if they were not in the data. "
    "May be repeated. Default: none.",
    confirm="FILE: Data with other queries, on which the recommended features are tested once; "
    "queries that the data has, too, with other labels, are left out of it. May "
    "be repeated. Default: none.",
    selectors="A,B,..: Selectors whose ranks are added up to order the features, separated by "
    "commas; select --methods lists them. Default: those that suit the ranker; if costs differ, "
    "the cheapest sets that are worth ever more, by least squares.",
    level="P: Confidence level of all claims together: a probability above 0.5 and below 1.",
    folds=option(
        "N: Number of parts into which the queries are divided, again and again; each part judges "
        "features that the others have chosen. Data that comes with folds is divided by them "
        "first. Default: 5.",
        min=3,
    ),
    vali="FILE: Validation data, whose queries choose and judge as the training queries do. Needs "
    "--test. May be repeated. Default: none.",
    test="FILE: Test data, whose queries have no part in anything but a test of the recommended "
    "features; DATA is then the training data. May be repeated. Default: the split that DATA comes "
    "with, or none: all queries choose and judge, part by part (see --folds).",
    costs=f"{COSTS} Default: every feature costs 1, but those of the demo have costs.",
    seed=option("N: Random seed of the division and of all methods.", min=0),
    time="TIME: Give the best answer within about this time, such as 90s, 10m or 2h, and say what "
    "was left out. Default: no limit.",
    out="DIR: Directory for the answer, models, tables, figures and the ledger of finished work.",
)
def recommend(
    context: typer.Context,
    data: list[Path] | None = None,
    ranker: str = "lambdamart",
    ranker_param: list[str] | None = None,
    ranker_param_file: Path | None = None,
    measure: str = "ndcg@10",
    margin: str = "1%",
    costs: Path | None = None,
    group_costs: Path | None = None,
    cost_unit: str | None = None,
    budget: float | None = None,
    include: list[str] | None = None,
    exclude: list[str] | None = None,
    confirm: list[Path] | None = None,
    selectors: str | None = None,
    level: float = 0.95,
    folds: int | None = None,
    convention: str = "standard",
    scale: str | None = None,
    seed: int = 0,
    time: str | None = None,
    out: Path = Path("recommendation"),
    no_figures: bool = False,
    form: FormatName = "terminal",
    splitting: Splitting = Splitting(),
    reading: Reading = Reading(),
    cluster: Cluster = Cluster(),
) -> None:
    """Recommend the cheapest features that are shown to be enough.

    The ranker is trained on sets of features of rising cost, and queries that had no part in it
    judge them, again and again in other divisions. Bounds of the losses hold for all sets at once.
    The cheapest set whose bound is within the margin is recommended, or with --budget the best set
    within it; what else can be had is listed. Finished work is kept in --out, and the same command
    resumes it, also with another margin.
    """
    import json

    from ranksieve.cli.parameters import allow_own_code, constraint_parameters, read_costs
    from ranksieve.datasets.demo import demo_costs
    from ranksieve.io.model import ANSWER, MODEL, MODEL_OF_ALL
    from ranksieve.recommendation import recommend as run
    from ranksieve.recommendation.directory import EVIDENCE, LEDGER, SELECTION
    from ranksieve.report import write_report
    from ranksieve.report.directory import check_place
    from ranksieve.report.formats.terminal import show_report

    others = [EVIDENCE, MODEL, MODEL_OF_ALL, SELECTION]
    check_place(out, [LEDGER, ANSWER], others)
    allow_own_code(ranker, selectors)
    wanted: dict[str, Any] = {}
    source = take_source(wanted, data, splitting, reading)
    if source is None:
        wanted["scale"] = "min-max"  # the features of the demo are not normalized
    wanted |= constraint_parameters(include, exclude)
    if source is None and ranker == "lambdamart" and not ranker_param and ranker_param_file is None:
        ranker_param = ["n_estimators=50", "num_leaves=10"]  # keep the demo fast
    wanted |= _parameters(ranker, ranker_param or [], ranker_param_file)
    settings = {
        "scale": scale,
        "folds": folds,
        "missing": reading.policy,
        "budget": budget,
        "cost_unit": cost_unit,
        "costs": read_costs(costs, group_costs) or (demo_costs() if source is None else None),
        "confirm": confirm,
        "selectors": selectors and [name.strip() for name in selectors.split(",")],
        "time": time and _seconds(time),
    }
    wanted |= {name: value for name, value in settings.items() if value is not None}
    with resumable(out, cluster) as client:
        answer = run(
            source,
            measure=measure,
            margin=_share(margin),
            level=level,
            convention=convention,
            seed=seed,
            out=out,
            client=client,
            command=context.obj,
            **wanted,
        )
        report = write_report(answer, out, figures=not no_figures)
    if form == "terminal":
        show_report(report, out)
    else:
        show_result(report.main_sheets, form, json.dumps(answer.to_record(), indent=2))


@command(
    directory=argument("DIR: Directory that recommend --out wrote."),
    data=argument("NEW_DATA: New data, as files or a directory of shards."),
    level="P: Confidence level of the verdict: a probability above 0.5 and below 1. Default: that "
    "of the recommendation.",
    form=option(
        "Format of the result: json has all of it, openmetrics is for monitoring, such as the "
        "textfile collector of Prometheus.",
        "--format",
    ),
    out="PATH: Also write the result: to a file if the name ends in .json, else to a directory, "
    "which is made, under a name with the time; report shows all results of a directory on one "
    "page. Default: write no file.",
)
def check(
    directory: Path,
    data: list[Path],
    level: float | None = None,
    form: CheckFormatName = "terminal",
    out: Path | None = None,
    reading: ReadingRows = ReadingRows(),
) -> None:
    """Check whether recommended features are enough on new data.

    Both rankers of the recommendation, trained on the kept features and on all features, rank the
    new queries; nothing is trained again. The exit status is 0 if the recommendation holds, 1 if it
    is broken, and 2 if the queries cannot tell or if there is an error, for use in scheduled jobs.
    """
    import json

    from ranksieve.recommendation import check as run
    from ranksieve.recommendation.checked import prepare_place
    from ranksieve.report.formats.openmetrics import to_openmetrics
    from ranksieve.report.formats.terminal import show_check
    from ranksieve.report.sheets.checks import check_sheets

    if out is not None:
        prepare_place(out, data)
    result = run(directory, data, level=level, **reading.read_options)
    if out is not None:
        result.write(out / result.file_name if out.is_dir() else out)
    if form == "openmetrics":
        typer.echo(to_openmetrics(result), nl=False)
    elif form == "terminal":
        show_check(result)
    else:
        show_result(check_sheets(result), form, json.dumps(result.to_record(), indent=2))
    raise typer.Exit(result.exit_status)


def _parameters(ranker: str, settings: list[str], file: Path | None) -> dict[str, Any]:
    """Return the arguments for the ranker and its parameters."""
    from ranksieve.cli.parameters import ranker_parameters
    from ranksieve.rankers.registry import RANKERS

    method = RANKERS.find(ranker)
    own = ranker_parameters(method, settings, None, file)
    return {"ranker": ranker, "parameters": {method.name: own} if own else {}}


def _share(text: str) -> float:
    """Parse a share such as ``1%`` or ``0.01``."""
    try:
        share = float(text.rstrip("% ")) / (100 if text.rstrip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise typer.BadParameter(f"--margin should be a share such as 1% or 0.01, got {text!r}")
    return share


_UNITS = {"s": 1, "m": 60, "h": 3600}


def _seconds(text: str) -> float:
    """Parse a duration such as ``90s``, ``10m`` or ``2h`` into seconds."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        seconds = float(number) * _UNITS[unit]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise typer.BadParameter(f"--time should be like 90s, 10m or 2h, got {text!r}")
    return seconds
