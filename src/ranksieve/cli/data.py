"""Commands that look at data, convert them and measure scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranksieve.cli.options import (
    DATA,
    AsJson,
    ConventionName,
    DaskAddress,
    DaskWorkers,
    Demo,
    NFeatures,
    Verify,
    ZeroBased,
)
from ranksieve.cli.sources import open_training_data
from ranksieve.text import counted, on_one_line

if TYPE_CHECKING:
    from ranksieve.engine import Source
    from ranksieve.io.selection import Selection


def inspect(
    data: Annotated[list[Path] | None, DATA] = None,
    demo: Demo = False,
    top: Annotated[int, typer.Option("--top", min=1, help="Features to list.")] = 10,
    measure: Annotated[str, typer.Option("--measure", help="Quality of a feature alone.")] = (
        "ndcg@10"
    ),
    convention: ConventionName = "standard",
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    dask: DaskAddress = None,
    workers: DaskWorkers = None,
    verify: Verify = None,
    as_json: AsJson = False,
) -> None:
    """Look at ranking data: size, labels, useless features and the best single ones."""
    import dataclasses
    import json

    from ranksieve.datasets.opening import title_of
    from ranksieve.progress import progress_bar
    from ranksieve.report.sheets import inspection_tables, show
    from ranksieve.sums.inspection import inspect as look

    how = {"n_features": n_features, "zero_based": zero_based}
    with progress_bar(), open_training_data(data, demo, dask, workers, verify, **how) as source:
        found = look(source, measure, convention)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        show(inspection_tables(title_of(data), found, top))


def convert(
    sources: Annotated[list[Path], DATA],
    destination: Annotated[
        Path,
        typer.Argument(
            help="What to write: .parquet; a directory of shards if the name has no suffix or "
            "ends in .shards; else LETOR text (.gz, .zst too)."
        ),
    ],
    features: Annotated[
        Path | None,
        typer.Option(
            "--features",
            metavar="FILE",
            help="Keep the features that select wrote here, in the order of the data.",
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option("--scale", help="Features within queries: none, min-max or standard."),
    ] = "none",
    n_features: NFeatures = None,
    zero_based: ZeroBased = False,
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Leave zeros out: sparse text or CSR shards.")
    ] = False,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="How values are kept: float64 or float32.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace shards that are there already.")
    ] = False,
) -> None:
    """Convert ranking data between LETOR text, Parquet and shards.

    Shards are for data larger than memory and for Dask clusters; data of any size is converted to
    them a piece at a time.
    """
    from ranksieve.datasets.opening import are_shards, files_of
    from ranksieve.progress import progress_bar

    kept = None
    if features is not None:
        from ranksieve.io.selection import read_selection

        kept = read_selection(features)
    text: dict[str, Any] = {"n_features": n_features, "zero_based": zero_based}
    stored: dict[str, Any] = {"sparse": sparse, "dtype": dtype or "float64"}
    written: Source
    with progress_bar():
        if destination.suffix not in ("", ".shards"):
            written = _write_file(sources, destination, kept, scale, **text, **stored)
        elif scale != "none":
            raise typer.BadParameter("--scale writes text or Parquet; convert that to shards")
        else:
            from ranksieve.io.shards import convert_to_shards, open_shards

            if are_shards(sources):
                # Shards stay as they are where nothing else is asked for.
                stored = {"sparse": sparse or None, "dtype": dtype}
                _rewrite_shards(sources[0], destination, kept, overwrite=overwrite, **stored)
            else:
                how = {"features": kept, "overwrite": overwrite, **text, **stored}
                convert_to_shards(files_of(sources), destination, **how)
            written = open_shards(destination)
    typer.echo(
        f"{on_one_line(str(destination))}: {counted(written.n_rows, 'row')}, "
        f"{counted(written.n_queries, 'query', 'queries')}, "
        f"{counted(written.n_features, 'feature')}"
    )


def _write_file(
    sources: list[Path], destination: Path, kept: Selection | None, scale: str, **how: Any
) -> Source:
    from ranksieve.datasets.opening import read_whole
    from ranksieve.io import write_data

    data = read_whole(sources, **how)
    if scale != "none":  # scikit-learn, which scalers are made of, takes seconds to import
        from ranksieve.preprocessing import scaled_within_queries

        data = scaled_within_queries(data, scale)
    if kept is not None:
        kept.check_fits(data.n_features, data.feature_names, sources[0])
        data = data.take_features(kept.columns)
    write_data(data, destination)
    return data


def _rewrite_shards(source: Path, destination: Path, kept: Selection | None, **how: Any) -> None:
    from ranksieve.io.shards import open_shards, write_shards

    with open_shards(source) as shards:
        if kept is not None:
            kept.check_fits(shards.n_features, shards.feature_names, source)
        pieces = (shards.read_shard(number) for number in range(shards.n_shards))
        if kept is not None:
            pieces = (piece.take_features(kept.columns) for piece in pieces)
        write_shards(pieces, destination, **how)


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
    from ranksieve.datasets.opening import read_whole
    from ranksieve.io.scores import read_scores
    from ranksieve.metrics import evaluate as measure_ranking
    from ranksieve.progress import progress_bar
    from ranksieve.report.sheets import evaluation_table, show

    with progress_bar():
        loaded = read_whole([data], zero_based=zero_based)
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
