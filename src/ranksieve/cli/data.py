"""Commands that inspect data, convert it and evaluate scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ranksieve.cli.options import (
    SHARED,
    Cluster,
    Reading,
    ReadingRows,
    argument,
    command,
    missing_help,
    option,
    show_result,
)
from ranksieve.cli.sources import check_output, missing_policy, open_training_data
from ranksieve.report.formats import FormatName
from ranksieve.text import on_one_line, printable, quantity

if TYPE_CHECKING:
    from ranksieve.data import RankingData
    from ranksieve.data.times import Times
    from ranksieve.engine import Source
    from ranksieve.io.selection import Selection


@command(
    top=option("N: Number of best features to list.", min=1),
    measure="M: Measure of how well each feature ranks on its own (see evaluate --help).",
    missing=missing_help("keep."),
    html="FILE: Also write an HTML page with charts to this file. Default: no page.",
    write_columns="FILE: Write to this file what the columns of DATA are, for --columns of every "
    "command, to edit and to keep. It must not exist. Default: no file.",
)
def inspect(
    context: typer.Context,
    data: list[Path] | None = None,
    demo: bool = False,
    top: int = 10,
    measure: str = "ndcg@10",
    convention: str = "standard",
    reading: Reading = Reading(),
    cluster: Cluster = Cluster(),
    verify: bool | None = None,
    html: Path | None = None,
    write_columns: Path | None = None,
    form: FormatName = "terminal",
) -> None:
    """Describe data: size, labels, useless and best features.

    What the names of the columns of a table do not say is guessed, and columns that cannot be
    features are left out. The same command without any guess is printed.
    """
    import json

    from ranksieve.datasets.opening import title_of
    from ranksieve.progress import progress_bar
    from ranksieve.report.inspection import inspection_report
    from ranksieve.sums.inspection import inspect as inspect_source

    check_output(html, data)
    if write_columns is not None:
        check_output(write_columns, data)
        if write_columns.exists():
            raise typer.BadParameter(f"{write_columns} exists; name another file")
    with (
        progress_bar(),
        _open_to_inspect(data, demo, cluster, verify, reading) as (source, held),
    ):
        _tell_columns(source, context.obj[1:], reading, write_columns, held)
        times = _times_of(source, data)
        inspection = inspect_source(source, measure, convention, times=times)
    report = inspection_report(title_of(data), inspection, context.obj, top)
    if html is not None:
        from ranksieve.report.page import write_page

        write_page(report, html)
    sheets = [part.brief for part in report.parts if part.brief is not None]
    show_result(sheets, form, json.dumps(inspection.to_record(), indent=2))
    if html is not None and form == "terminal":
        typer.echo(f"\nThe page is in {on_one_line(str(html))}")


def _times_of(source: Source, data: list[Path] | None) -> Times | None:
    """Times of the rows of a table that was read into memory."""
    from ranksieve.data import RankingData
    from ranksieve.datasets.times import times_of

    if not data or not isinstance(source, RankingData):
        return None
    return times_of(source, data)


@contextmanager
def _open_to_inspect(
    data: list[Path] | None, demo: bool, cluster: Cluster, verify: bool | None, reading: Reading
) -> Iterator[tuple[Source, Mapping[str, str]]]:
    """Open data without the columns that cannot be features, and say what these hold."""
    from ranksieve.data.columns import ColumnsError

    options = reading.read_options | {"missing": reading.policy}
    with ExitStack() as stack:
        held: Mapping[str, str] = {}
        try:
            opened = open_training_data(data, demo, cluster, verify, **options)
            source = stack.enter_context(opened)
        except ColumnsError as error:
            if error.is_guess:
                raise
            options["columns"], held = error.complete, error.unfit
            opened = open_training_data(data, demo, cluster, verify, **options)
            source = stack.enter_context(opened)
        yield source, held


def _tell_columns(
    source: Source,
    words: list[str],
    reading: Reading,
    file: Path | None,
    held: Mapping[str, str],
) -> None:
    """Print the command that says what all columns are, and write them to a file."""
    from ranksieve.cli.columns import complete_command
    from ranksieve.data import DataError
    from ranksieve.io.columns_file import write_columns as write_file

    columns = getattr(source, "table_columns", None)
    if file is not None:
        if columns is None:
            raise DataError(f"{file}: not written: only tables have columns that need a file")
        indicated = source.missing.indicated if source.missing else ()
        names = source.feature_names[: source.n_features - len(indicated)].tolist()
        write_file(replace(columns, features=names, missing=reading.policy), file, held)
        typer.echo(f"What the columns are is in {on_one_line(str(file))}", err=True)
    elif columns is not None and columns != reading.roles:
        typer.echo("The same without a guess:", err=True)
        typer.echo(f"  {complete_command(words, reading.roles, columns)}", err=True)
        typer.echo("or, for all commands: --write-columns FILE, then --columns FILE", err=True)


@command(
    sources=SHARED["data"],
    destination=argument(
        "DESTINATION: Where to write: a Parquet file if the name ends in .parquet; a directory of "
        "shards if it ends in .shards or has no suffix; otherwise LETOR text (also .gz, .zst). CSV "
        "is not written."
    ),
    selected=option(
        "FILE: Keep only the features that select --out wrote to this file, in the order of the "
        "data. Default: all features.",
        "--selection",
    ),
    scale="HOW: Scale features within each query: none, min-max or standard. Text and Parquet "
    "only.",
    sparse="Do not write zeros: sparse text or CSR shards. Default: write all values.",
    dtype="TYPE: Type of the feature values: float64 or float32. Default: that of the shards or "
    "Parquet files that are converted, and float64 for text.",
    missing=missing_help(
        "as recorded in the --selection, if there is one; otherwise they are written as they are."
    ),
    overwrite="Replace existing shards. Default: stop with an error.",
    judgments="FILE: Read JSON responses of Elasticsearch, OpenSearch or Solr with logged "
    "features, and join them with these judgments: TREC qrels, or CSV with query, document and "
    "grade. --qid and --doc-id then name fields of the responses, such as search.id and "
    "_source.sku. Default: the sources are not feature logs.",
    unjudged="With --judgments: drop logged documents without a judgment, or give them grade 0.",
)
def convert(
    sources: list[Path],
    destination: Path,
    selected: Path | None = None,
    scale: str = "none",
    reading: Reading = Reading(),
    sparse: bool = False,
    dtype: str | None = None,
    overwrite: bool = False,
    judgments: Path | None = None,
    unjudged: Literal["drop", "zero"] = "drop",
) -> None:
    """Convert data: LETOR text, Parquet, CSV, shards, feature logs.

    Shards are for data larger than memory and for Dask clusters. Data of any size can be converted
    to shards, because it is streamed. Feature logs must fit into memory.
    """
    from ranksieve.datasets.opening import are_shards, files_of, paths_of, read_whole
    from ranksieve.io.selection import read_selection
    from ranksieve.progress import progress_bar

    if judgments is None and unjudged != "drop":
        raise typer.BadParameter("--unjudged is for feature logs: it needs --judgments")
    sources = paths_of(sources)
    is_directory = destination.suffix in ("", ".shards")
    if not is_directory:
        files = sources if are_shards(sources) else files_of(sources)
        check_output(destination, files, selected, judgments)
    elif scale != "none":
        raise typer.BadParameter(
            "--scale writes only text or Parquet: scale first, then convert that to shards"
        )
    kept = None if selected is None else read_selection(selected)
    policy = missing_policy(reading.policy, kept)
    stored: dict[str, Any] = {"sparse": sparse} | ({} if dtype is None else {"dtype": dtype})
    with progress_bar():
        data = None  # streamed to shards, unless it is a feature log
        if judgments is not None:
            data = _read_log(sources, judgments, reading, unjudged, **stored)
        elif not is_directory:
            data = read_whole(sources, **reading.read_options, **stored)
        if data is not None and policy is not None:
            data = data.with_missing(policy)
        if data is None or is_directory:
            stored |= {"features": kept, "overwrite": overwrite}
            written = _write_shards(data, sources, destination, reading, policy, **stored)
        else:
            written = _write_file(data, sources, destination, kept, scale)
    _print_size(written, destination)


def _write_shards(
    log: RankingData | None,
    sources: list[Path],
    destination: Path,
    reading: Reading,
    missing: Any,
    **stored: Any,
) -> Source:
    """Write shards from a feature log, from shards or from files, and open them."""
    from ranksieve.datasets.opening import are_shards, files_of
    from ranksieve.io import shards
    from ranksieve.io.formats import check_no_options

    if log is not None:
        kept = _keep(log, stored["features"], sources)
        shards.write_shards(kept, destination, overwrite=stored["overwrite"])
    elif are_shards(sources):
        check_no_options(sources[0], "shards", reading.roles, reading.read_options)
        _rewrite_shards(sources, destination, missing, **stored)
    else:
        read_options = reading.read_options | stored | {"missing": missing}
        shards.convert_to_shards(files_of(sources), destination, **read_options)
    return shards.open_shards(destination)


def _rewrite_shards(sources: list[Path], destination: Path, missing: Any, **stored: Any) -> None:
    """Write shards from shards; the type and format stay the same unless options change them."""
    from ranksieve.io import shards

    features = stored.pop("features")
    stored["sparse"] = stored["sparse"] or None
    with shards.open_shards(sources[0], missing=missing) as opened:
        shards.write_shards(_keep(opened, features, sources), destination, **stored)


def _print_size(written: Source, destination: Path) -> None:
    typer.echo(
        f"{on_one_line(str(destination))}: {quantity(written.n_rows, 'row')}, "
        f"{quantity(written.n_queries, 'query', 'queries')}, "
        f"{quantity(written.n_features, 'feature')}"
    )


def _read_log(
    sources: list[Path], judgments: Path, reading: Reading, unjudged: str, **stored: Any
) -> RankingData:
    """Read a feature log, and print what was guessed and left out."""
    from ranksieve.io.feature_logs import read_feature_log
    from ranksieve.io.formats import check_no_options

    roles = reading.roles
    others = replace(roles, qid=None, doc_id=None)
    check_no_options(sources[0], "feature logs", others, reading.read_options)
    where: dict[str, Any] = {"unjudged": unjudged, "qid": roles.qid, "doc_id": roles.doc_id}
    data, summary = read_feature_log(sources, judgments, **where, **stored)
    typer.echo(printable(str(summary)))
    return data


def _write_file(
    data: RankingData, sources: list[Path], destination: Path, kept: Selection | None, scale: str
) -> Source:
    from ranksieve.io.formats import write_data

    if scale != "none":  # scalers need scikit-learn, which is slow to import
        from ranksieve.preprocessing import scaled_within_queries

        data = scaled_within_queries(data, scale)
    data = _keep(data, kept, sources)
    write_data(data, destination)
    return data


def _keep(data: Any, kept: Selection | None, sources: list[Path]) -> Any:
    """Keep the selected features of data or of opened shards."""
    if kept is None:
        return data
    kept.check_fits(data.n_features, data.feature_names, sources[0])
    return data.take_features(kept.columns)


@command(
    data=argument("DATA: Ranking data with labels and query ids."),
    scores=argument("SCORES: Scores: one per line, in the order of the rows."),
    measures="M,M,..: Measures, separated by commas: ndcg, dcg, map, ap, p, mean-ndcg, err, mrr "
    "or pairwise-error. @K sets a cutoff, as in ndcg@10.",
    per_query="Also print the values of each query. Default: only the means.",
)
def evaluate(
    data: Path,
    scores: Path,
    measures: str = "map,ndcg@10,p@10,mean-ndcg",
    convention: str = "standard",
    per_query: bool = False,
    reading: ReadingRows = ReadingRows(),
    form: FormatName = "terminal",
) -> None:
    """Evaluate how well scores rank the documents."""
    import json

    from ranksieve.data import DataError
    from ranksieve.datasets.opening import read_whole
    from ranksieve.io.letor import read_scores
    from ranksieve.metrics import evaluate as measure_ranking
    from ranksieve.metrics import parse_measure
    from ranksieve.progress import progress_bar
    from ranksieve.report.sheets.evaluation import evaluation_sheet, none_for_nan

    parsed = [parse_measure(name) for name in measures.split(",") if name.strip()]
    for measure in parsed:
        measure.check_defined(convention)
    with progress_bar():
        loaded = read_whole([data], **reading.read_options)
    values = read_scores(scores)
    if len(values) != loaded.n_rows:
        raise DataError(
            f"{scores}:{len(values)}: {len(values)} scores, but {data} has {loaded.n_rows} rows"
        )
    result = measure_ranking(
        loaded.y,
        values[loaded.row_order],
        loaded.qid,
        parsed,
        convention,
        doc_ids=loaded.doc_ids,
        query_weights=loaded.query_weights,
        row_weights=loaded.row_weights,
    )
    means = dict(zip(result.mean, none_for_nan(result.mean.values()), strict=True))
    answer: dict[str, Any] = {"convention": result.convention, "mean": means}
    if per_query:
        answer["query_ids"] = result.query_ids.tolist()
        answer["per_query"] = {
            name: none_for_nan(values.tolist()) for name, values in result.per_query.items()
        }
    sheet = evaluation_sheet(f"{scores} on {data}", result, per_query)
    show_result([sheet], form, json.dumps(answer, indent=2))
