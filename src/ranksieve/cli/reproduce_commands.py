"""Commands that make published results again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ranksieve.cli.options import AsJson


def reproduce(
    what: Annotated[
        str, typer.Argument(metavar="NAME", help="greedy-rankrls: on the five folds of MQ2008.")
    ],
    data: Annotated[
        Path,
        typer.Option("--data", metavar="DIR", help="LETOR 4.0 MQ2008: S1.txt .. S5.txt or Fold1.."),
    ],
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Draw validation MAP against the number of features (.pdf, .png, .svg).",
        ),
    ] = None,
    fold: Annotated[int, typer.Option("--fold", min=1, max=5, help="Fold of the figure.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Make published results again, and print them beside those of the paper."""
    import json

    if what != "greedy-rankrls":
        raise ValueError(f"there is nothing to reproduce for {what!r}; known is greedy-rankrls")
    if figure is not None:
        from ranksieve.io.files import check_replaceable
        from ranksieve.plots import check_format

        check_format(figure)
        check_replaceable(figure)
    from ranksieve.progress import progress_bar
    from ranksieve.reproduction import FIGURE_LAMS, reproduce_greedy_rankrls
    from ranksieve.tables import reproduction_tables, show

    with progress_bar():
        result = reproduce_greedy_rankrls(data)
    if figure is not None:
        from ranksieve.plots import plot_path_scores, write_figure

        selector = result.folds[fold - 1].selector
        assert selector is not None
        write_figure(plot_path_scores(selector, FIGURE_LAMS), figure)
    if as_json:
        typer.echo(json.dumps(result.as_dict(), indent=2))
    else:
        show(reproduction_tables(result))
