"""Commands that select features."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ranksieve.cli.options import Cluster, Reading, command, option, show_result
from ranksieve.cli.parameters import (
    allow_own_code,
    constraint_parameters,
    explain_errors,
    method_parameters,
    ranker_parameters,
    read_costs,
)
from ranksieve.cli.sources import check_output, open_training_data, open_validation_data
from ranksieve.report.formats import FormatName

if TYPE_CHECKING:
    from ranksieve.base import RankSelector
    from ranksieve.registry import Method


@command(
    method="NAME: Selection method (--methods lists them), or MODULE:OBJECT for a class or an "
    "object of your own code. Default: borda, which suits boosted trees; cegb with --costs, "
    "greedy-rankrls with --budget.",
    k=option(
        "K: Number of features (or groups, see --count) to select: an integer, a fraction below 1, "
        "or a rule such as best or eigengap for methods that can choose the number. Default: that "
        "of the method; with --budget, best.",
        "-k",
    ),
    count="Whether -k counts features or groups (see --groups). Default: features.",
    vali="FILE: Validation data, for methods that use it. Default: these methods hold out some of "
    "the training queries.",
    param="NAME=VALUE: Set a parameter of the method. May be repeated. Default: the method's "
    "defaults.",
    ranker="NAME: Ranker that a wrapper method trains (train --rankers lists them), or "
    "MODULE:OBJECT. Default: that of the method.",
    ranker_param="NAME=VALUE: Set a parameter of the --ranker. May be repeated. Default: the "
    "ranker's defaults.",
    out="FILE: Write the selection to this file as JSON, for convert and train. Default: only "
    "print it.",
    methods="List the selection methods and exit.",
)
def select(
    data: list[Path] | None = None,
    demo: bool = False,
    method: str | None = None,
    k: str | None = None,
    include: list[str] | None = None,
    exclude: list[str] | None = None,
    groups: Path | None = None,
    count: Literal["features", "groups"] | None = None,
    costs: Path | None = None,
    group_costs: Path | None = None,
    cost_unit: str | None = None,
    budget: float | None = None,
    vali: Path | None = None,
    param: list[str] | None = None,
    ranker: str | None = None,
    ranker_param: list[str] | None = None,
    ranker_param_file: Path | None = None,
    seed: int | None = None,
    out: Path | None = None,
    reading: Reading = Reading(),
    cluster: Cluster = Cluster(),
    verify: bool | None = None,
    form: FormatName = "terminal",
    methods: bool = False,
) -> None:
    """Select the features that matter, best first.

    With --out, convert --selection and train --selection apply the selection to other files.
    """
    from ranksieve.datasets.opening import title_of
    from ranksieve.io.selection import write_selection
    from ranksieve.progress import progress_bar
    from ranksieve.rankers.registry import RANKERS
    from ranksieve.report.formats.terminal import show_sheets
    from ranksieve.report.sheets.methods import registry_sheet, selection_sheet
    from ranksieve.selectors.record import record_selection
    from ranksieve.selectors.registry import SELECTORS

    if methods:
        show_sheets([registry_sheet(SELECTORS)], form)
        return
    allow_own_code(method, ranker)
    chosen = SELECTORS.find(
        _default_method(costs or group_costs, budget) if method is None else method
    )
    from_settings = method_parameters(SELECTORS, chosen, param or [], seed)
    priced = read_costs(costs, group_costs, cost_unit or reading.roles.cost_unit)
    paid = {"costs": priced, "budget": budget}
    from_options = constraint_parameters(include, exclude, groups, count)
    from_options |= {name: value for name, value in paid.items() if value is not None}
    selector = _make_selector(chosen, k, from_settings, from_options)
    if ranker is not None:
        _check_able(
            chosen, lambda m: "ranker" in m.defaults, "takes no ranker", "ranker", "take one"
        )
        inside = RANKERS.find(ranker)
        own = ranker_parameters(inside, ranker_param or [], None, ranker_param_file)
        selector.set_params(ranker=inside.make(**own))
    elif ranker_param or ranker_param_file:
        raise typer.BadParameter("--ranker-param and --ranker-param-file need --ranker")
    if vali is not None:
        lacks = "does not use validation data"
        _check_able(chosen, lambda m: m.uses_held_out_data, lacks, "vali", "use it")
    check_output(out, data, vali, groups, costs, group_costs, ranker_param_file)
    with progress_bar(), ExitStack() as stack:
        read_options = reading.read_options | {"missing": reading.policy}
        opened = open_training_data(data, demo, cluster, verify, **read_options)
        source = stack.enter_context(opened)
        held_out: dict[str, Any] = {}
        if vali is not None:
            validation = open_validation_data(vali, source, verify, **reading.read_options)
            held_out["eval_set"] = stack.enter_context(validation)
        if priced is not None:  # without the rest of a catalogue, which nobody needs to store
            others = priced.describe_others(source.feature_names)
            priced = priced.only(source.feature_names)
            selector.set_params(costs=priced)
        with explain_errors(chosen):
            selector.fit(source, **held_out)
        files = [str(path) for path in data] if data else [title_of(data)]
        selection = record_selection(selector, source, chosen.name, files)
    if out is not None:
        write_selection(selection, out)
    changed = _changed_parameters(chosen, selector)
    groups_chosen = getattr(selector, "n_groups_", None), selector.count == "groups"
    sheet = selection_sheet(title_of(data), selection, changed, priced, *groups_chosen)
    if priced is not None and others:
        sheet = replace(sheet, notes=[*sheet.notes, others])
    show_result([sheet], form, selection.to_json())


def _default_method(costs: Any, budget: float | None) -> str:
    """Default method: the best one for trees that takes the given costs and budget."""
    if budget is not None:
        return "greedy-rankrls"
    return "borda" if costs is None else "cegb"


def _make_selector(
    method: Method, k: str | None, from_settings: dict[str, Any], from_options: dict[str, Any]
) -> RankSelector:
    """Make a selector with the parameters of --param and those of other options."""
    from ranksieve.selectors.registry import SELECTORS, make_method

    for name in from_options.keys() & {"costs", "budget"}:
        _check_able(method, methodcaller("accepts", name), f"takes no {name}", name, "take it")
    for name in from_options:
        if name in from_settings:
            raise ValueError(f"{name} is given twice, by --{name} and by --param {name}")
        SELECTORS.check_parameters(method, [name])
    if k is None and "budget" in from_options:
        k = "best"  # the best number within the budget
    return make_method(
        method, None if k is None else _parse_number(k), **from_settings, **from_options
    )


def _check_able(
    method: Method, is_able: Callable[[Method], bool], lacks: str, option: str, able: str
) -> None:
    """Raise a ValueError that lists the able methods unless this is one."""
    from ranksieve.selectors.registry import SELECTORS

    if not is_able(method):
        names = [name for name, known in SELECTORS.items() if is_able(known)]
        raise ValueError(
            f"method {method.name!r} {lacks}: leave out --{option}; methods that {able} are "
            f"{', '.join(names)}"
        )


def _changed_parameters(method: Method, selector: RankSelector) -> dict[str, Any]:
    """Parameters that differ from the defaults, without the numbers that the table shows."""
    return {
        name: value
        for name, value in method.changed(selector).items()
        if name not in ("groups", "count")
        and (name != "n_features_to_select" or isinstance(value, str))
    }


def _parse_number(text: str) -> float | str:
    """Parse a number of features, a fraction of them, or a rule."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
