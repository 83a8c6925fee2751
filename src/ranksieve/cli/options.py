"""Arguments and options that commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranksieve.report.formats import FormatName

if TYPE_CHECKING:
    from ranksieve.report.sheets.sheet import Sheet


def option(metavar: str, text: str, *names: str, **limits: Any) -> Any:
    """Make an option with a value, given its metavar and its help text.

    Without ``names`` it has the name of the command's parameter; ``limits`` are those of typer.
    """
    return typer.Option(*names, metavar=metavar, help=text, **limits)


DATA = typer.Argument(
    metavar="DATA",
    help="Ranking data: files of LETOR / SVMlight text (also .gz, .zst), Parquet, CSV or TSV, or a "
    "pattern such as 'part-*.parquet' (several files are one data set); or one directory: shards, "
    "or a collection (LETOR, MSLR, Yahoo, Istella).",
)
Demo = Annotated[
    bool, typer.Option("--demo", help="Use the embedded demo as data. Default: read DATA.")
]
Format = Annotated[
    FormatName,
    typer.Option("--format", help="Format of the printed tables; json prints the whole result."),
]
ConventionName = Annotated[
    str,
    option(
        "NAME",
        "Metric convention, because programs compute measures differently: standard, letor3, "
        "letor4, mslr, lightgbm, xgboost, ranklib, trec or sklearn. With NAME:2, only labels of "
        "2 or more count as relevant.",
    ),
]
DaskAddress = Annotated[
    str | None,
    option(
        "ADDRESS",
        "Run on the Dask cluster of this scheduler, such as tcp://host:8786. "
        "Default: run in this process.",
    ),
]
DaskWorkers = Annotated[
    int | None,
    option(
        "N",
        "Start a local Dask cluster of N processes and run on it. Default: run in this process.",
        min=1,
    ),
]
Verify = Annotated[
    bool | None,
    typer.Option(
        "--verify/--no-verify",
        help="Verify the checksums of all shards first, or of none. Default: verify each shard "
        "when it is first read.",
    ),
]
Settings = Annotated[
    list[str] | None,
    option(
        "NAME=VALUE",
        "Set a parameter of the method or ranker. May be repeated. Default: the defaults of the "
        "method or ranker.",
        "--param",
        "--set",
    ),
]
Include = Annotated[
    list[str] | None,
    option(
        "NAMES",
        "Features that must be selected, in this order, separated by commas: names, or numbers "
        "from 1 if features have no names. They count toward the number to select. May be "
        "repeated. Default: none.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    option(
        "NAMES",
        "Features that must not be selected, separated by commas: the others are selected as if "
        "these were not in the data. May be repeated. Default: none.",
    ),
]
Groups = Annotated[
    Path | None,
    option(
        "FILE",
        "Groups of features that are selected or dropped together: CSV with the columns feature "
        "and group, or JSON with lists of features. Default: none.",
    ),
]
Costs = Annotated[
    Path | None,
    option(
        "FILE",
        "Costs of features, in any unit: CSV, TSV or Parquet with the columns feature and cost, "
        "and group for features that share a cost. Default: every feature costs 1.",
    ),
]
GroupCosts = Annotated[
    Path | None,
    option(
        "FILE",
        "Costs of the groups of --costs, paid once if any feature of a group is used: CSV, TSV or "
        "Parquet with the columns group and cost. Default: none.",
    ),
]
Budget = Annotated[
    float | None,
    option(
        "COST",
        "Largest total cost of the selected features, in the unit of --costs. Default: no limit.",
        min=0,
    ),
]
Scale = Annotated[
    str | None,
    option(
        "HOW",
        "Scale features within each query: none, min-max or standard. Default: none, but "
        "min-max for the demo.",
    ),
]
NoFigures = Annotated[
    bool, typer.Option("--no-figures", help="Do not draw figures. Default: draw them.")
]
RankerParameters = Annotated[
    Path | None,
    option(
        "FILE",
        "Read the parameters of the ranker from this file: JSON in the form of LightGBM, XGBoost "
        "or CatBoost, or a trained model (LightGBM's text, XGBoost's save_config, CatBoost's cbm, "
        "or one that train wrote). Other options take precedence. Default: none.",
        "--ranker-params",
    ),
]
Seed = Annotated[
    int | None,
    option(
        "N",
        "Random seed, for methods that draw random numbers. Default: that of the method.",
        min=0,
    ),
]


def show_result(sheets: Sequence[Sheet], form: FormatName, document: str) -> None:
    """Print the tables of a result, or, as JSON, the whole result (``document``)."""
    from ranksieve.report.formats.terminal import show_sheets

    if form == "json":
        typer.echo(document)
    else:
        show_sheets(sheets, form)
