"""The command line: one function per command, each a thin call of the library.

Only what ``--help`` needs is imported at the top; each command imports what it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from ranksieve.data import RankingData
    from ranksieve.inspection import Inspection

app = typer.Typer(
    help="Find the few ranking features that matter.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)

DATA = typer.Argument(
    help="LETOR / SVMlight text (.gz and .zst too) or Parquet; several files are joined; "
    "or the directory of a collection (LETOR, MSLR, Yahoo, Istella).",
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
ConventionName = Annotated[
    str,
    typer.Option(
        "--convention",
        help="What to do where programs differ: standard, letor3, letor4, mslr, lightgbm, "
        "xgboost, ranklib, trec, sklearn.",
    ),
]
NFeatures = Annotated[
    int | None, typer.Option("--n-features", help="Number of features, if not the largest index.")
]
ZeroBased = Annotated[
    bool, typer.Option("--zero-based", help="Feature indices of the text start at 0.")
]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors of the input are told without a traceback."""
    try:
        app(arguments, prog_name="ranksieve")
    except ValueError as error:  # bad data, or an unknown measure or convention
        sys.exit(f"error: {error}")
    except MemoryError as error:
        sys.exit(f"error: not enough memory: {error}")
    except BrokenPipeError:  # the reader of the output has seen enough
        sys.stderr.close()
        sys.exit(1)


def _show_version(wanted: bool) -> None:
    if wanted:
        from ranksieve import __version__

        typer.echo(f"ranksieve {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


@app.command()
def inspect(
    data: Annotated[list[Path] | None, DATA] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Look at the embedded demo data.")] = False,
    top: Annotated[int, typer.Option("--top", min=1, help="Features to list.")] = 10,
    measure: Annotated[str, typer.Option("--measure", help="Quality of a feature alone.")] = (
        "ndcg@10"
    ),
    convention: ConventionName = "standard",
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    as_json: AsJson = False,
) -> None:
    """Look at ranking data: size, labels, useless features and the best single ones."""
    import dataclasses
    import json

    from ranksieve.inspection import inspect as look

    if demo == bool(data):
        raise typer.BadParameter("name a file, or use --demo")
    if demo:
        from ranksieve.datasets import load_demo

        source, loaded = "embedded demo", load_demo()[0]
    else:
        assert data is not None
        source = str(data[0]) + (f" and {len(data) - 1} more files" if len(data) > 1 else "")
        loaded = _load(data, n_features=n_features, zero_based=zero_based)
    found = look(loaded, measure, convention)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        _print_inspection(source, found, top)


@app.command()
def convert(
    sources: Annotated[list[Path], DATA],
    destination: Annotated[
        Path, typer.Argument(help="File to write: .parquet, else LETOR text (.gz, .zst too).")
    ],
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Leave zeros out of the text that is written.")
    ] = False,
) -> None:
    """Convert ranking data between LETOR text and Parquet."""
    from ranksieve.io import write_data

    loaded = _load(sources, n_features=n_features, zero_based=zero_based, sparse=sparse)
    write_data(loaded, destination)
    typer.echo(
        f"{destination}: {loaded.n_rows:,} rows, {loaded.n_queries:,} queries, "
        f"{loaded.n_features:,} features"
    )


@app.command()
def evaluate(
    data: Annotated[Path, typer.Argument(help="Ranking data with labels and query ids.")],
    scores: Annotated[Path, typer.Argument(help="One score per line, as the data's lines.")],
    measures: Annotated[
        str, typer.Option("--measures", help="Comma-separated, such as map,ndcg@10,p@10.")
    ] = "map,ndcg@10,p@10,mean-ndcg",
    convention: ConventionName = "standard",
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Print the value of every query too.")
    ] = False,
    zero_based: ZeroBased = False,
    as_json: AsJson = False,
) -> None:
    """Measure how well scores rank the documents."""
    from ranksieve.data import DataError
    from ranksieve.io.scores import read_scores
    from ranksieve.metrics import evaluate as measure_ranking

    loaded = _load([data], zero_based=zero_based)
    values = read_scores(scores)
    if len(values) != loaded.n_rows:
        raise DataError(
            f"{scores}:{len(values)}: {len(values)} scores, but {data} has {loaded.n_rows} rows"
        )
    result = measure_ranking(
        loaded.y,
        values[loaded.row_order],
        loaded.qid,
        [name for name in measures.split(",") if name.strip()],
        convention,
        doc_ids=loaded.doc_ids,
    )
    if as_json:
        _echo_json(result, per_query)
    else:
        _print_evaluation(result, per_query)


def _load(paths: list[Path], **how: Any) -> RankingData:
    """Read files or a collection's directory, with a progress bar on a terminal."""
    from ranksieve.progress import progress_bar

    with progress_bar():
        if len(paths) == 1 and os.path.isdir(paths[0]):
            from ranksieve.datasets import open_collection

            return open_collection(paths[0]).read_all(**how)
        from ranksieve.io import read_data

        return read_data(paths, **how)


def _print_inspection(source: str, found: Inspection, top: int) -> None:
    from rich.table import Table

    console = _console()
    console.print(source, style="bold", soft_wrap=True)
    facts = Table(show_header=False, box=None, pad_edge=False)
    facts.add_column()
    facts.add_column(overflow="fold")
    for name, text in _facts(found):
        facts.add_row(name, text)
    console.print(facts)
    if found.best_features is None:
        return
    title = f"Best single features by {found.measure} ({found.convention}, ties averaged)"
    console.print(f"\n{title}", style="bold", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("feature")
    table.add_column("order")
    table.add_column(found.measure, justify="right")
    table.add_column("")
    for feature in found.best_features[:top]:
        bar = "#" * round(30 * min(1.0, feature.value))
        table.add_row(feature.name, feature.direction, f"{feature.value:.4f}", bar)
    console.print(table)


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    """Lines of the first table: what it is, and in words how much of it there is."""
    length = found.documents_per_query
    total = found.n_rows
    yield "rows", f"{total:,}"
    yield "queries", f"{found.n_queries:,}"
    yield "features", f"{found.n_features:,} ({found.density:.0%} of the values are not zero)"
    shares = (f"{label:g}: {n:,} ({n / total:.1%})" for label, n in found.labels.items())
    yield "labels", ", ".join(shares) if len(found.labels) <= 12 else f"{len(found.labels)} values"
    yield (
        "documents per query",
        f"{length['min']:g} to {length['max']:g}, "
        f"median {length['median']:g}, mean {length['mean']:.1f}",
    )
    yield "one-document queries", f"{found.n_single:,}"
    without = found.n_without_relevant
    yield "no relevant document", f"{without:,} queries ({without / found.n_queries:.1%})"
    if found.n_missing:
        yield "missing values", f"{found.n_missing:,}: features are not compared"
    yield "constant features", _listing(found.constant)
    if found.constant_in_queries is not None:
        yield "constant in each query", _listing(found.constant_in_queries)
    yield "duplicated features", _listing([" = ".join(group) for group in found.duplicates])
    if found.near_duplicates is not None:
        pairs = [f"{p.first} ~ {p.second} ({p.correlation:.4f})" for p in found.near_duplicates]
        yield "nearly duplicated", _listing(pairs)
    elif not found.n_missing:
        yield "nearly duplicated", "not looked for: too many features"


def _listing(items: list[str], most: int = 8) -> str:
    if not items:
        return "none"
    more = f", and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def _echo_json(result: Any, per_query: bool) -> None:
    import json

    answer = {"convention": result.convention, "mean": result.mean}
    if per_query:
        answer["query_ids"] = result.query_ids.tolist()
        answer["per_query"] = {name: v.tolist() for name, v in result.per_query.items()}
    typer.echo(json.dumps(answer, indent=2))


def _print_evaluation(result: Any, per_query: bool) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("query" if per_query else f"convention {result.convention}")
    for name in result.mean:
        table.add_column(name, justify="right")
    if per_query:
        columns = zip(*result.per_query.values(), strict=True)
        for query, values in zip(result.query_ids.tolist(), columns, strict=True):
            table.add_row(str(query), *(f"{value:.4f}" for value in values))
    label = f"mean of {len(result.query_ids):,} queries"
    table.add_row(label, *(f"{value:.4f}" for value in result.mean.values()))
    _console().print(table)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)
