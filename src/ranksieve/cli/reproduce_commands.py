"""Commands that make published results again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ranksieve.cli.options import AsJson

if TYPE_CHECKING:
    from rich.console import Group

    from ranksieve.reproduction import (
        GreedyReproduction,
        RankersReproduction,
        SelectorsReproduction,
    )


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="greedy-rankrls, rankers or selectors: what was published about them on the "
            "five folds of MQ2008.",
        ),
    ],
    data: Annotated[
        Path,
        typer.Option("--data", metavar="DIR", help="LETOR 4.0 MQ2008: S1.txt .. S5.txt or Fold1.."),
    ],
    ranker: Annotated[
        list[str] | None,
        typer.Option("--ranker", metavar="NAME", help="Of rankers: only this one; repeatable."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME", help="Of selectors: only this one; repeatable."),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Of selectors: runs of methods that are random.")
    ] = 10,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Of greedy-rankrls: draw validation MAP against the number of features (.pdf, "
            ".png, .svg).",
        ),
    ] = None,
    fold: Annotated[int, typer.Option("--fold", min=1, max=5, help="Fold of the figure.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Make published results again, and print them beside those of the paper."""
    import json

    known = ("greedy-rankrls", "rankers", "selectors")
    if what not in known:
        raise ValueError(
            f"there is nothing to reproduce for {what!r}; known are {', '.join(known)}"
        )
    given = {"greedy-rankrls": ("--figure", figure), "rankers": ("--ranker", ranker)}
    given["selectors"] = ("--method", method)
    for owner, (option, value) in given.items():
        if value and what != owner:
            raise ValueError(f"{option} is for reproduce {owner}: leave it out")
    from ranksieve.tables import show

    result: GreedyReproduction | RankersReproduction | SelectorsReproduction
    tables: Group
    if what == "rankers":
        result, tables = _rankers(data, ranker)
    elif what == "selectors":
        result, tables = _selectors(data, method, seeds)
    else:
        result, tables = _greedy_rankrls(data, figure, fold)
    if as_json:
        typer.echo(json.dumps(result.as_dict(), indent=2))
    else:
        show(tables)


def _greedy_rankrls(data: Path, figure: Path | None, fold: int) -> tuple[GreedyReproduction, Group]:
    if figure is not None:
        from ranksieve.io.files import check_replaceable
        from ranksieve.plots import check_format

        check_format(figure)
        check_replaceable(figure)
    from ranksieve.progress import progress_bar
    from ranksieve.reproduction import reproduce_greedy_rankrls
    from ranksieve.reproduction.greedy_rankrls import FIGURE_LAMS
    from ranksieve.tables import greedy_reproduction_tables

    with progress_bar():
        result = reproduce_greedy_rankrls(data)
    if figure is not None:
        from ranksieve.plots import plot_path_scores, write_figure

        selector = result.folds[fold - 1].selector
        assert selector is not None
        write_figure(plot_path_scores(selector, FIGURE_LAMS), figure)
    return result, greedy_reproduction_tables(result)


def _rankers(data: Path, names: list[str] | None) -> tuple[RankersReproduction, Group]:
    from ranksieve.progress import progress_bar
    from ranksieve.reproduction import reproduce_rankers
    from ranksieve.tables import rankers_reproduction_tables

    with progress_bar():
        result = reproduce_rankers(data, names or None)
    return result, rankers_reproduction_tables(result)


def _selectors(
    data: Path, names: list[str] | None, n_seeds: int
) -> tuple[SelectorsReproduction, Group]:
    from ranksieve.progress import progress_bar
    from ranksieve.reproduction import reproduce_selectors
    from ranksieve.tables import selectors_reproduction_tables

    with progress_bar():
        result = reproduce_selectors(data, names or None, n_seeds)
    return result, selectors_reproduction_tables(result)
