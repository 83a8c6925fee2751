"""Commands that make published results again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from ranksieve.cli.options import Format, show_result

if TYPE_CHECKING:
    from ranksieve.report.sheets import Sheet
    from ranksieve.study import StudyResult


_What = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="greedy-rankrls, fs-scpr, fs-ed or gas: what the papers about these selectors "
        "print; or rankers: what is published about rankers on all features.",
    ),
]
_Data = Annotated[
    Path,
    typer.Option(
        "--data",
        metavar="DIR",
        help="A collection with folds: S1.txt .. S5.txt or Fold1.. MQ2007, MQ2008, OHSUMED, "
        "HP2004, NP2004 and TD2004 of LETOR are known by their sizes; others run, too.",
    ),
]
_Ranker = Annotated[
    list[str] | None,
    typer.Option("--ranker", metavar="NAME", help="Of rankers, fs-ed: only this one; repeatable."),
]
_Method = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Of fs-scpr: only this one; of fs-ed: fs-ed, fs-bfs (slow) or random; repeatable.",
    ),
]
_Seeds = Annotated[
    int | None,
    typer.Option("--seeds", min=1, help="Of fs-scpr, fs-ed, gas: runs of what is random."),
]
_Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Of fs-scpr, fs-ed, gas: keep what is computed, and go on from there.",
    ),
]
_Convention = Annotated[
    str | None,
    typer.Option(
        "--convention", help="Of the measures, if not that of the paper; see evaluate --help."
    ),
]
_Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Of greedy-rankrls, fs-ed, gas: draw a measure against the number of features "
        "(.pdf, .png, .svg).",
    ),
]
_Fold = Annotated[
    int | None,
    typer.Option("--fold", min=1, help="Of greedy-rankrls: fold of the figure, by default 1."),
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
    """Make published results again, and print them beside those of the paper."""
    import json

    if what not in _REPRODUCTIONS:
        raise ValueError(
            f"there is nothing to reproduce for {what!r}; known are {', '.join(_REPRODUCTIONS)}"
        )
    options = {
        "--ranker": ranker or None,
        "--method": method or None,
        "--seeds": seeds,
        "--out": out,
        "--figure": figure,
        "--fold": fold,
    }
    given = {name: value for name, value in options.items() if value is not None}
    _check_options(what, given)
    if figure is not None:
        _check_figure(figure)
    from ranksieve.progress import progress_bar

    reproduction = _REPRODUCTIONS[what]
    with progress_bar():
        result = reproduction.run(data, given, convention)
    if figure is not None:
        reproduction.draw(result, given)
    show_result(reproduction.tables(result), form, json.dumps(result.as_dict(), indent=2))


class Result(Protocol):
    """What a reproduction has found."""

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""


@dataclass(frozen=True)
class Reproduction:
    """How a name is run, printed and drawn.

    Attributes
    ----------
    options : sequence of str
        Those that it takes.
    run : callable
        From the data, options that are given and the convention to a result.
    tables : callable
        From a result to what is printed.
    draw : callable
        Draws a result, if there is something to draw.
    """

    options: Sequence[str]
    run: Callable[[Path, dict[str, Any], str | None], Result]
    tables: Callable[[Any], list[Sheet]]
    draw: Callable[[Any, dict[str, Any]], None] = lambda result, given: None


def _check_options(what: str, given: dict[str, Any]) -> None:
    for option in given:
        owners = [name for name, own in _REPRODUCTIONS.items() if option in own.options]
        if what not in owners:
            raise ValueError(f"{option} is for reproduce {' or '.join(owners)}: leave it out")
    if "--fold" in given and "--figure" not in given:
        raise ValueError("--fold is that of the figure: name a file with --figure, too")


def _check_figure(path: Path) -> None:
    from ranksieve.io.files import check_replaceable
    from ranksieve.report.figures import check_format

    check_format(path)
    check_replaceable(path)


def _named(given: dict[str, Any], **names: str) -> dict[str, Any]:
    """Arguments by their names in the library, as far as their options are given."""
    return {name: given[option] for name, option in names.items() if option in given}


def _run_greedy_rankrls(data: Path, given: dict[str, Any], convention: str | None) -> Result:
    from ranksieve.datasets import open_collection
    from ranksieve.reproduction import reproduce_greedy_rankrls

    wanted = given.get("--fold", 1)
    if "--figure" in given and wanted > 1 and wanted > len(open_collection(data).folds):
        raise ValueError(f"--fold {wanted}: the collection has fewer folds")
    return reproduce_greedy_rankrls(data, convention)


def _run_rankers(data: Path, given: dict[str, Any], convention: str | None) -> Result:
    from ranksieve.reproduction import reproduce_rankers

    return reproduce_rankers(data, given.get("--ranker"), convention)


def _run_fs_scpr(data: Path, given: dict[str, Any], convention: str | None) -> Result:
    from ranksieve.reproduction import reproduce_fs_scpr

    named = _named(given, methods="--method", n_seeds="--seeds", out="--out")
    return reproduce_fs_scpr(data, convention=convention, **named)


def _run_fs_ed(data: Path, given: dict[str, Any], convention: str | None) -> Result:
    from ranksieve.reproduction import reproduce_fs_ed

    named = _named(given, methods="--method", rankers="--ranker", n_seeds="--seeds", out="--out")
    return reproduce_fs_ed(data, convention=convention, **named)


def _run_gas(data: Path, given: dict[str, Any], convention: str | None) -> Result:
    from ranksieve.reproduction import reproduce_gas

    named = _named(given, n_seeds="--seeds", out="--out")
    return reproduce_gas(data, convention=convention, **named)


def _tables_by(name: str) -> Callable[[Any], list[Sheet]]:
    """The function of this name, imported when it is first used."""

    def tables(result: Any) -> list[Sheet]:
        from ranksieve.report.sheets import reproduction

        return getattr(reproduction, name)(result)

    return tables


def _draw_paths(result: Any, given: dict[str, Any]) -> None:
    from ranksieve.report.figures import plot_path_scores, write_figure
    from ranksieve.reproduction.greedy_rankrls import FIGURE_LAMS

    selector = result.folds[given.get("--fold", 1) - 1].selector
    write_figure(plot_path_scores(selector, FIGURE_LAMS), given["--figure"])


def _draw_rankers(result: Any, given: dict[str, Any]) -> None:
    study: StudyResult = result.study
    curves = [(ranker, study.measures[0]) for ranker in study.rankers]
    _draw_curves(study, curves, given["--figure"])


def _draw_measures(result: Any, given: dict[str, Any]) -> None:
    study: StudyResult = result.study
    curves = [(study.rankers[0], measure) for measure in study.measures]
    _draw_curves(study, curves, given["--figure"])


def _draw_curves(study: StudyResult, curves: Sequence[tuple[str, str]], path: Path) -> None:
    """Draw curves of rankers and measures, one below the other."""
    from ranksieve.report.figures import plot_curves, write_figure
    from ranksieve.report.figures.style import HEIGHT, new_figure

    panels = new_figure(len(curves) * HEIGHT).subplots(len(curves), squeeze=False).ravel()
    for ax, (ranker, measure) in zip(panels, curves, strict=True):
        plot_curves(study, ranker, measure, ax=ax)
        if len(study.rankers) > 1:
            ax.set_ylabel(f"{measure} with {ranker}")
    write_figure(panels[0], path)


_REPRODUCTIONS = {
    "greedy-rankrls": Reproduction(
        ["--figure", "--fold"],
        _run_greedy_rankrls,
        _tables_by("greedy_reproduction_tables"),
        _draw_paths,
    ),
    "fs-scpr": Reproduction(
        ["--method", "--seeds", "--out"],
        _run_fs_scpr,
        _tables_by("fs_scpr_reproduction_tables"),
    ),
    "fs-ed": Reproduction(
        ["--method", "--ranker", "--seeds", "--out", "--figure"],
        _run_fs_ed,
        _tables_by("fs_ed_reproduction_tables"),
        _draw_rankers,
    ),
    "gas": Reproduction(
        ["--seeds", "--out", "--figure"],
        _run_gas,
        _tables_by("gas_reproduction_tables"),
        _draw_measures,
    ),
    "rankers": Reproduction(["--ranker"], _run_rankers, _tables_by("rankers_reproduction_tables")),
}
