"""The command that exports models."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import typer

from ranksieve.cli.options import COSTS, N_FEATURES_OF_MODEL, ReadingRows, argument, command
from ranksieve.cli.parameters import read_costs
from ranksieve.cli.sources import open_for
from ranksieve.report.formats import FormatName


@command(
    model=argument(
        "MODEL: Model that train --out or recommend wrote, or a model file of LightGBM (text), "
        "XGBoost (JSON) or CatBoost (cbm)."
    ),
    to="TARGET: Where the model will run; --targets lists the targets. Required.",
    out="DIR: Directory for the files; created if it does not exist. It must be empty, or have an "
    "earlier export, whose files are replaced unless they were changed. Required.",
    overwrite="Replace files in --out that have the names of exported ones, whatever they are. "
    "Default: replace only files of an earlier export.",
    missing="RULE: What the target gets for a missing value: nan (no value) or zero. Required for "
    "search engines if the model was, or may have been, trained on missing values. Default: nan "
    "for libraries and programs, zero for linear models and engines.",
    feature_set="FILE: JSON file in which the engine defines all features; the definitions that "
    "the model needs are written beside the model. Default: none.",
    verify="DATA: Score this data with the exported files, in the arithmetic of the target, and "
    "compare that with the model. If the order of documents changes, nothing is written. May be "
    "repeated. Default: do not verify.",
    tolerate="Write the files even if the order of documents changes. Default: stop with an error.",
    name="NAME: Name of the model in the engine. Default: the name of the model file.",
    costs=f"{COSTS} They are shown beside the features to switch off. Default: none.",
    group_costs="FILE: Costs of the groups of --costs, paid once: a file with the columns group "
    "and cost. Default: none.",
    n_features=N_FEATURES_OF_MODEL,
    targets="List the targets and exit.",
)
def export(
    model: Path | None = None,
    to: str = "",
    out: Path | None = None,
    missing: str | None = None,
    feature_set: Path | None = None,
    verify: list[Path] | None = None,
    tolerate: bool = False,
    name: str | None = None,
    overwrite: bool = False,
    costs: Path | None = None,
    group_costs: Path | None = None,
    reading: ReadingRows = ReadingRows(),
    form: FormatName = "terminal",
    targets: bool = False,
) -> None:
    """Write a model for a search engine, a library or a program.

    Search engines get only the features that the model uses. Nothing is written unless the model
    can run on the target and, with --verify, ranks documents in the same order.
    """
    from ranksieve.export import export_model
    from ranksieve.export.targets import TARGETS, find_target
    from ranksieve.rankers import load_model
    from ranksieve.report.formats.terminal import show_sheets
    from ranksieve.report.sheets.export import export_sheets, targets_sheet
    from ranksieve.report.sheets.sheet import long_list

    if targets:
        show_sheets([targets_sheet(TARGETS)], form)
        return
    if model is None or out is None or not to:
        raise typer.BadParameter("MODEL, --to TARGET and --out DIR are required")
    find_target(to)
    priced = read_costs(costs, group_costs)
    ranker = load_model(model)
    with ExitStack() as stack:
        data = None
        if verify:
            data = stack.enter_context(open_for(ranker, verify, reading))
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
            overwrite=overwrite,
        )
    sheets = export_sheets(exported)
    show_sheets(list(map(long_list, sheets)) if form == "terminal" else sheets, form)
