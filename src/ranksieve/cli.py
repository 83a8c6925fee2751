"""The command line: one function per command, each a thin call of the library.

Only what ``--help`` needs is imported at the top; each command imports what it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ranksieve.data import RankingData
    from ranksieve.engine import Source

app = typer.Typer(
    help="Find the few ranking features that matter.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)

DATA = typer.Argument(
    help="LETOR / SVMlight text (.gz and .zst too) or Parquet; several files are joined; "
    "or a directory: shards, or a collection (LETOR, MSLR, Yahoo, Istella).",
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
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786."),
]
DaskWorkers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Start a local Dask cluster of N processes.")
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
    dask: DaskAddress = None,
    workers: DaskWorkers = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the checksums of shards first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look at ranking data: size, labels, useless features and the best single ones."""
    import dataclasses
    import json

    from ranksieve.inspection import inspect as look
    from ranksieve.planted import load_demo
    from ranksieve.progress import progress_bar
    from ranksieve.tables import inspection_tables, show

    if demo == bool(data):
        raise typer.BadParameter("name a file, or use --demo")
    with progress_bar():
        if data:
            title = str(data[0]) + (f" and {len(data) - 1} more files" if len(data) > 1 else "")
            how = {"n_features": n_features, "zero_based": zero_based}
            with _opened(data, dask, workers, verify, **how) as source:
                found = look(source, measure, convention)
        else:
            title, found = "embedded demo", look(load_demo()[0], measure, convention)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        show(inspection_tables(title, found, top))


@app.command()
def convert(
    sources: Annotated[list[Path], DATA],
    destination: Annotated[
        Path,
        typer.Argument(
            help="What to write: .parquet; a directory of shards if the name has no suffix or "
            "ends in .shards; else LETOR text (.gz, .zst too)."
        ),
    ],
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Leave zeros out: sparse text or CSR shards.")
    ] = False,
    dtype: Annotated[
        str, typer.Option("--dtype", help="How values are kept: float64 or float32.")
    ] = "float64",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace shards that are there already.")
    ] = False,
) -> None:
    """Convert ranking data between LETOR text, Parquet and shards.

    Shards are for data larger than memory and for Dask clusters; data of any size is converted to
    them a piece at a time.
    """
    from ranksieve.progress import progress_bar

    how: dict[str, Any] = {
        "n_features": n_features,
        "zero_based": zero_based,
        "sparse": sparse,
        "dtype": dtype,
    }
    written: Source
    with progress_bar():
        if destination.suffix in ("", ".shards") and not _are_shards(sources):
            from ranksieve.io.shards import convert_to_shards, open_shards

            convert_to_shards(_files(sources), destination, overwrite=overwrite, **how)
            written = open_shards(destination)
        else:
            from ranksieve.io import write_data

            written = _load(sources, **how)
            write_data(written, destination)
    typer.echo(
        f"{destination}: {written.n_rows:,} rows, {written.n_queries:,} queries, "
        f"{written.n_features:,} features"
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
    import json

    from ranksieve.data import DataError
    from ranksieve.io.scores import read_scores
    from ranksieve.metrics import evaluate as measure_ranking
    from ranksieve.progress import progress_bar
    from ranksieve.tables import evaluation_table, show

    with progress_bar():
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
        answer: dict[str, Any] = {"convention": result.convention, "mean": result.mean}
        if per_query:
            answer["query_ids"] = result.query_ids.tolist()
            answer["per_query"] = {name: v.tolist() for name, v in result.per_query.items()}
        typer.echo(json.dumps(answer, indent=2))
    else:
        show(evaluation_table(result, per_query))


@contextmanager
def _opened(
    paths: list[Path], dask: str | None, workers: int | None, verify: bool, **how: Any
) -> Iterator[Source]:
    """Shards where they lie, on a cluster if one is named; other data in memory."""
    from ranksieve.data import DataError

    on_cluster = dask is not None or workers is not None
    if not _are_shards(paths):
        if on_cluster:
            raise DataError(
                f"{paths[0]}:0: a cluster works on shards; make them with: "
                f"ranksieve convert {paths[0]} {paths[0].stem}.shards"
            )
        yield _load(paths, **how)
        return
    from ranksieve.io.shards import open_shards

    with ExitStack() as stack:
        client = None
        if on_cluster:
            from ranksieve.engine.dask import connect

            client = stack.enter_context(connect(dask, workers))
        yield stack.enter_context(open_shards(paths[0], client=client, verify=verify))


def _load(paths: list[Path], **how: Any) -> RankingData:
    """Read shards, a collection's directory or files into memory."""
    if _are_shards(paths):
        from ranksieve.io.shards import open_shards

        with open_shards(paths[0]) as shards:
            return shards.read()
    if len(paths) == 1 and os.path.isdir(paths[0]):
        from ranksieve.datasets import open_collection

        return open_collection(paths[0]).read_all(**how)
    from ranksieve.io import read_data

    return read_data(paths, **how)


def _are_shards(paths: list[Path]) -> bool:
    return len(paths) == 1 and (paths[0] / "manifest.json").is_file()


def _files(paths: list[Path]) -> list[Path]:
    """The paths, or the files of the collection whose directory they name."""
    if len(paths) == 1 and os.path.isdir(paths[0]):
        from ranksieve.datasets import open_collection

        return list(open_collection(paths[0]).whole)
    return paths
