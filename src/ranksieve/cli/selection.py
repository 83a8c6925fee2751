"""Commands that select features."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ranksieve.cli.options import (
    DATA,
    DaskAddress,
    DaskWorkers,
    Demo,
    Exclude,
    Format,
    Groups,
    Include,
    NFeatures,
    Seed,
    Settings,
    Verify,
    ZeroBased,
    option,
    show_result,
)
from ranksieve.cli.settings import chosen_features, parameters_of
from ranksieve.cli.sources import open_training_data, open_validation_data

if TYPE_CHECKING:
    from ranksieve.rankers.base import Ranker

_Method = Annotated[str, option("NAME", "Selection method; --methods lists them.")]
_Number = Annotated[
    str | None,
    option(
        "K",
        "Number of features to select, or of groups of features: an integer, a fraction "
        "below 1, or a rule such as eigengap for methods that can choose the number. "
        "Default: that of the method.",
        "-k",
    ),
]
_HeldOut = Annotated[
    Path | None,
    option(
        "FILE",
        "File of held-out data, for methods that use it. Default: these methods hold out some "
        "training queries.",
        "--eval",
    ),
]
_Ranker = Annotated[
    str | None,
    option(
        "NAME",
        "Ranker inside the method, for methods around a ranker; train --rankers lists "
        "them. Default: that of the method.",
    ),
]
_RankerSettings = Annotated[
    list[str] | None,
    option(
        "NAME=VALUE",
        "Set a parameter of --ranker. May be repeated. Default: the ranker's defaults.",
        "--ranker-param",
    ),
]
_Out = Annotated[
    Path | None,
    option(
        "FILE", "Write the selection here as JSON, for convert and train. Default: only print it."
    ),
]
_Count = Annotated[
    Literal["features", "groups"] | None,
    typer.Option(help="What -k counts. Default: features."),
]
_ListMethods = Annotated[
    bool, typer.Option("--methods", help="List the selection methods and exit.")
]


def select(
    data: Annotated[list[Path] | None, DATA] = None,
    demo: Demo = False,
    method: _Method = "gas-e",
    k: _Number = None,
    include: Include = None,
    exclude: Exclude = None,
    groups: Groups = None,
    count: _Count = None,
    evaluate_on: _HeldOut = None,
    settings: Settings = None,
    ranker: _Ranker = None,
    ranker_settings: _RankerSettings = None,
    seed: Seed = None,
    out: _Out = None,
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    dask: DaskAddress = None,
    workers: DaskWorkers = None,
    verify: Verify = None,
    form: Format = "terminal",
    methods: _ListMethods = False,
) -> None:
    """Select the features that matter, best first.

    With --out, convert --features and train --features apply the selection to other files.
    """
    from ranksieve.datasets.opening import title_of
    from ranksieve.io.files import check_replaceable
    from ranksieve.io.selection import write_selection
    from ranksieve.progress import progress_bar
    from ranksieve.report.formats.printing import show_sheets
    from ranksieve.report.sheets.registry import registry_sheet
    from ranksieve.report.sheets.selection import Counted, selection_sheet
    from ranksieve.selectors.record import record_selection
    from ranksieve.selectors.registry import SELECTORS, make_selector

    if methods:
        show_sheets([registry_sheet(SELECTORS)], form)
        return
    parameters = parameters_of(SELECTORS, method, settings or [], seed)
    for name, value in chosen_features(include, exclude, groups, count).items():
        if name in parameters:
            raise ValueError(f"{name} is given twice, by --{name} and by --param {name}")
        SELECTORS.check_parameters(method, [name])
        parameters[name] = value
    selector = make_selector(method, None if k is None else _number(k), **parameters)
    if ranker is not None:
        selector.set_params(ranker=_ranker(method, ranker, ranker_settings or []))
    elif ranker_settings:
        raise typer.BadParameter("--ranker-param needs --ranker")
    if evaluate_on is not None and not SELECTORS[method].uses_held_out_data:
        able = [name for name, known in SELECTORS.items() if known.uses_held_out_data]
        raise ValueError(
            f"method {method!r} does not use held-out data: leave out --eval; methods that use it "
            f"are {', '.join(able)}"
        )
    if out is not None:
        check_replaceable(out)
    how = {"n_features": n_features, "zero_based": zero_based}
    with progress_bar(), ExitStack() as stack:
        source = stack.enter_context(open_training_data(data, demo, dask, workers, verify, **how))
        beside: dict[str, Any] = {}
        if evaluate_on is not None:
            validation = open_validation_data(evaluate_on, source, verify, zero_based=zero_based)
            beside["eval_set"] = stack.enter_context(validation)
        selector.fit(source, **beside)
        files = [str(path) for path in data] if data else [title_of(data)]
        selection = record_selection(selector, source, method, files)
    if out is not None:
        write_selection(selection, out)
    # Numbers of features and groups are shown anyway.
    changed = {
        name: value
        for name, value in SELECTORS[method].changed(selector).items()
        if name not in ("groups", "count")
        and (name != "n_features_to_select" or isinstance(value, str))
    }
    counted = Counted(getattr(selector, "n_groups_", None), selector.count == "groups")
    sheet = selection_sheet(title_of(data), selection, changed, counted)
    show_result([sheet], form, selection.to_json())


def _ranker(method: str, name: str, settings: list[str]) -> Ranker:
    from ranksieve.rankers.registry import RANKERS, make_ranker
    from ranksieve.selectors.registry import SELECTORS

    if "ranker" not in SELECTORS[method].defaults:
        able = [other for other, known in SELECTORS.items() if "ranker" in known.defaults]
        raise ValueError(
            f"method {method!r} needs no ranker: leave out --ranker; methods around a ranker are "
            f"{', '.join(able)}"
        )
    return make_ranker(name, **parameters_of(RANKERS, name, settings, None))


def _number(text: str) -> float | str:
    """Parse a number of features, a fraction of them, or a rule."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
