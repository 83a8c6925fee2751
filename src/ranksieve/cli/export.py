"""The command that exports models."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from ranksieve.cli.option_groups import ReadingRows
from ranksieve.cli.options import Format, option
from ranksieve.cli.quick_start import rehearse
from ranksieve.cli.settings import read_costs
from ranksieve.cli.sources import open_for


def export(
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="MODEL",
            help="Model that train --out or recommend wrote, or a model file of LightGBM (text) or "
            "XGBoost (JSON).",
        ),
    ] = None,
    to: Annotated[
        str, option("TARGET", "Where the model will run; --targets lists the targets. Required.")
    ] = "",
    out: Annotated[
        Path | None,
        option("DIR", "Directory for the files; created if it does not exist. Required."),
    ] = None,
    missing: Annotated[
        str | None,
        option(
            "RULE",
            "What the target gets for a missing value: nan (no value) or zero. Required for "
            "search engines if the model was, or may have been, trained on missing values. "
            "Default: nan for libraries and programs, zero for linear models and engines.",
        ),
    ] = None,
    feature_set: Annotated[
        Path | None,
        option(
            "FILE",
            "JSON file in which the engine defines all features; the definitions that the model "
            "needs are written beside the model. Default: none.",
        ),
    ] = None,
    verify: Annotated[
        list[Path] | None,
        option(
            "DATA",
            "Score this data with the exported files, in the arithmetic of the target, and compare "
            "that with the model. If the order of documents changes, nothing is written. May be "
            "repeated. Default: do not verify.",
        ),
    ] = None,
    tolerate: Annotated[
        bool,
        typer.Option(
            "--tolerate",
            help="Write the files even if the order of documents changes. Default: stop with an "
            "error.",
        ),
    ] = False,
    name: Annotated[
        str | None,
        option("NAME", "Name of the model in the engine. Default: the name of the model file."),
    ] = None,
    costs: Annotated[
        Path | None,
        option(
            "FILE",
            "Costs of features, for the list of those to switch off: CSV, TSV or Parquet with the "
            "columns feature and cost, and group for features that share a cost. Default: none.",
        ),
    ] = None,
    group_costs: Annotated[
        Path | None,
        option(
            "FILE",
            "Costs of the groups of --costs, paid once: a file with the columns group and cost. "
            "Default: none.",
        ),
    ] = None,
    reading: ReadingRows = ReadingRows(),
    form: Format = "terminal",
    targets: Annotated[bool, typer.Option("--targets", help="List the targets and exit.")] = False,
) -> None:
    """Write a model for a search engine, a library or a program.

    Search engines get only the features that the model uses. Nothing is written unless the model
    can run on the target and, with --verify, ranks documents in the same order.
    """
    from ranksieve.export import TARGETS, export_model
    from ranksieve.export.targets.registry import find_target
    from ranksieve.export.verifying import measure
    from ranksieve.rankers import load_model
    from ranksieve.report.formats.terminal import show_sheets
    from ranksieve.report.sheets.export import export_sheets, targets_sheet

    if targets:
        show_sheets([targets_sheet(TARGETS)], form)
        return
    if model is None or out is None or not to:
        raise typer.BadParameter("MODEL, --to TARGET and --out DIR are required")
    find_target(to)
    priced = read_costs(costs, group_costs)
    wait_for_kernels = rehearse(lambda few: measure(few, few.X[:, 0]), is_busy=bool(verify))
    ranker = load_model(model)
    with ExitStack() as stack:
        data = None
        if verify:
            data = stack.enter_context(open_for(ranker, verify, reading))
            wait_for_kernels()
        exported = export_model(
            ranker,
            to,
            out,
            missing=missing,
            feature_set=feature_set,
            verify=data,
            tolerate=tolerate,
            name=name or model.name.partition(".")[0],
            costs=priced,
            inputs=[model, *(path for path in (costs, group_costs) if path is not None)],
        )
    show_sheets(export_sheets(exported), form)
