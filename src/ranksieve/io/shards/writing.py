"""Write shards: of data in memory, of other shards or a stream of pieces, and of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.categories import refuse_categories
from ranksieve.data.columns import ColumnsLike
from ranksieve.data.frames import explain_weight_errors
from ranksieve.data.inputs import query_runs, weights_by_query
from ranksieve.data.joining import check_same_features
from ranksieve.data.missing import Missing
from ranksieve.io.collecting import check_dtype
from ranksieve.io.files import PathLike, as_paths
from ranksieve.io.formats import open_if_tables
from ranksieve.io.letor_blocks import Grammar, decode, header_names, read_blocks
from ranksieve.io.selection import Selection
from ranksieve.io.shards.directory import replace_directory_on_success
from ranksieve.io.shards.filler import Piece, ReturningQueryError, ShardFiller
from ranksieve.io.shards.shards import Shards
from ranksieve.io.tables import Tables

SHARD_BYTES = 64 * 2**20
_FILE = 2**40  # position = number of the file * _FILE + line: one small integer per query


def write_shards(
    source: RankingData | Shards | Iterable[RankingData],
    directory: PathLike,
    *,
    shard_bytes: int = SHARD_BYTES,
    dtype: Any = None,
    sparse: bool | None = None,
    overwrite: bool = False,
) -> None:
    """Write data to a directory of shards, for :func:`open_shards`.

    Parameters
    ----------
    source : RankingData, Shards or iterable of RankingData
        Data, opened shards, or an iterable of pieces, which is consumed one at a time. Each piece
        has the same features and whole queries.
    directory : path
        Created only when everything is written; an error or interruption leaves nothing behind.
    shard_bytes : int
        Minimum size of a shard, which ends with the query that reaches it; queries are never split.
    dtype : {"float32", "float64"}, optional
        Type of the stored feature values; by default that of the data.
    sparse : bool, optional
        Whether to store CSR matrices; by default if the first piece has one. They are converted to
        canonical form: sorted, without duplicates.
    overwrite : bool
        Whether to replace the shards in ``directory`` once the new ones are complete. A directory
        that contains anything else is never replaced.

    Notes
    -----
    Query and document ids that are 64-bit integers are read back as integers, all others as their
    ``str``; the order of the input, ``row_order``, is not stored. Needs memory for a piece, a few
    shards and the query ids.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve.io.shards import open_shards, write_shards
    >>> from ranksieve.datasets import PlantedRanking, draw_plan
    >>> ranking = PlantedRanking(draw_plan(n_noise=3), docs_per_query=20)
    >>> pieces = (ranking.queries(first, first + 10) for first in range(0, 50, 10))
    >>> directory = pathlib.Path(tempfile.mkdtemp()) / "train"
    >>> write_shards(pieces, directory, shard_bytes=50_000)
    >>> with open_shards(directory) as shards:
    ...     shards.n_rows, shards.n_queries, shards.n_shards
    (1000, 50, 3)
    """
    if isinstance(source, Shards):
        source = map(source.read_shard, range(source.n_shards))
    pieces = [source] if isinstance(source, RankingData) else source
    with replace_directory_on_success(Path(directory), overwrite=overwrite) as temporary:
        filler = None
        first = None
        for number, data in enumerate(pieces, start=1):
            if not isinstance(data, RankingData):
                raise TypeError(f"expected a RankingData, got {type(data).__name__}")
            refuse_categories(data.categories, directory, "shards")
            if first is None or filler is None:
                first = data.take_queries([])
                filler = ShardFiller(
                    temporary,
                    shard_bytes=shard_bytes,
                    dtype=check_dtype(data.X.dtype if dtype is None else dtype),
                    is_sparse=data.is_sparse if sparse is None else sparse,
                    width=data.n_features,
                )
            check_same_features(data, first, "piece", number)
            if dtype is None and data.X.dtype != filler.dtype:
                raise DataError(
                    f"piece 1 has {filler.dtype} values but piece {number} has {data.X.dtype}; "
                    "choose one with dtype="
                )
            _add_piece(filler, data, number, shard_bytes)
        if first is None or filler is None or not filler.positions:
            raise DataError(f"{directory}: there are no rows to write")
        names = first.feature_names.tolist() if first.has_feature_names else None
        filler.finish(names)


def _add_piece(filler: ShardFiller, data: RankingData, number: int, shard_bytes: int) -> None:
    try:
        for part in _parts(data, shard_bytes, filler.is_sparse):
            filler.add(Piece.from_data(part, repeat(number, part.n_queries)))
    except ReturningQueryError as error:
        raise DataError(
            f"query {error.query!r} occurs in pieces {error.first} and {error.again}; "
            "a piece must hold whole queries"
        ) from None
    filler.close_queries()


def _parts(data: RankingData, part_bytes: int, is_sparse: bool) -> Iterator[RankingData]:
    """Split data into runs of whole queries of about a shard, so that copies stay small."""
    row_bytes = data.n_features * data.X.dtype.itemsize + 8
    if data.is_sparse and is_sparse:
        row_bytes = 12 * data.X.nnz // max(1, data.n_rows) + 20
    step = max(1, part_bytes // row_bytes)
    for first, last in query_runs(data.query_ptr, step):
        yield data.take_queries(np.arange(first, last))


def convert_to_shards(
    paths: PathLike | Sequence[PathLike],
    directory: PathLike,
    *,
    n_features: int | None = None,
    dtype: str | None = None,
    sparse: bool = False,
    zero_based: bool = False,
    columns: ColumnsLike = None,
    features: Selection | None = None,
    missing: str | Missing | None = None,
    shard_bytes: int = SHARD_BYTES,
    overwrite: bool = False,
) -> None:
    r"""Convert LETOR text, Parquet or CSV files to shards, without reading them into memory.

    The shards contain the same data that :func:`read_letor`, :func:`read_parquet` or
    :func:`read_csv` would read.

    Parameters
    ----------
    paths : path or list of paths
        Parquet if names end in ``.parquet`` or ``.pq``, CSV or TSV if they end in ``.csv`` or
        ``.tsv``, else LETOR text; ``.gz`` and ``.zst`` are decompressed. Several files form one
        data set; a query may continue in the next file.
    directory, shard_bytes, overwrite
        As in :func:`write_shards`.
    n_features, dtype, sparse, zero_based
        As in :func:`read_letor`; values of Parquet files keep their type by default.
    columns : Columns or path, optional
        Roles of the columns of Parquet and CSV files; by default they are recognized by name.
    features : Selection, optional
        Features to keep, from :func:`ranksieve.io.selection.read_selection`; they keep their names
        and the order of the data. It is an error if the number or the names of the files' features
        differ from those of the data that the features were selected from.
    missing : str or Missing, optional
        How missing values (NaN) are filled in; see :class:`ranksieve.Missing`. ``"keep"`` writes
        NaN, which is also the default. For indicators, convert without them first, open these
        shards with them, and pass those to :func:`write_shards`.

    Notes
    -----
    Rows of a query that are not adjacent are grouped within a shard; a query that reappears after
    its shard was written is an error. Takes time linear in the size of the files, and memory for a
    few shards and the id of every query.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve.io.shards import convert_to_shards, open_shards
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "train.txt").write_text("2 qid:10 1:0.5 3:1e-3\n0 qid:10 2:1\n1 qid:11 1:4\n")
    >>> convert_to_shards(folder / "train.txt", folder / "train", shard_bytes=1)
    >>> with open_shards(folder / "train") as shards:
    ...     [shards.block(number).X.tolist() for number in range(shards.n_shards)]
    [[[0.5, 0.0, 0.001], [0.0, 1.0, 0.0]], [[4.0, 0.0, 0.0]]]
    """
    files = as_paths(paths)
    grammar = Grammar.make(n_features, dtype or "float64", sparse, zero_based)
    tables = open_if_tables(files, columns, {"zero_based": zero_based})
    how = Missing.make(missing or (None if tables is None else tables.missing))
    if how is not None and how.indicators:
        raise DataError(
            f"{files[0]}: which features need indicators of missing values is known only at the "
            "end; convert to shards without indicators first, and then these shards with them"
        )
    if features is not None and n_features is not None:
        features.check_fits(n_features, None, files[0])
    with replace_directory_on_success(Path(directory), overwrite=overwrite) as temporary:
        filler = ShardFiller(
            temporary,
            shard_bytes=shard_bytes,
            dtype=grammar.dtype if tables is None or dtype is not None else tables.dtype,
            is_sparse=sparse,
            width=(n_features or 0) if features is None else len(features.columns),
            missing=how,
        )
        try:
            if tables is None:
                names = _add_text(filler, files, grammar, features)
            else:
                names = _add_tables(filler, tables, n_features, features)
        except ReturningQueryError as error:
            unit = "line" if tables is None else "row"
            raise DataError(_explain(error, files, unit)) from None
        is_text = tables is None or all(file.ids_are_text for file in tables.files)
        filler.finish(names, ids_are_text=is_text)


def _explain(error: ReturningQueryError, files: list[Path], unit: str) -> str:
    (first_file, first), (file, again) = divmod(error.first, _FILE), divmod(error.again, _FILE)
    here = f"{files[file]}:{again}" if unit == "line" else f"{files[file]}: row {again}"
    there = f"{unit} {first}" + ("" if first_file == file else f" of {files[first_file]}")
    return (
        f"{here}: query {error.query!r} continues here, but its rows from {there} on are "
        "already written; sort the file by query"
    )


def _add_text(
    filler: ShardFiller, files: list[Path], grammar: Grammar, features: Selection | None
) -> list[str] | None:
    """Add the rows of text files; return feature names."""
    names: dict[int, str] = {}
    width = grammar.n_features or 0
    for block in read_blocks(files, grammar):
        names.update(block.names)
        width = max(width, block.matrix.shape[1], max(names, default=-1) + 1)
        if features is None:
            filler.width = width
        elif width > features.n_features_in:
            features.check_fits(width, None, block.path)
        documents = None if block.doc_ids is None else np.array(block.doc_ids, dtype=object)
        positions = block.run_lines + files.index(block.path) * _FILE
        ids = [decode(query) for query in block.run_ids]
        X = block.matrix if features is None else features.take_from(block.matrix)
        filler.add(Piece(X, block.labels, documents, ids, block.run_lengths, positions.tolist()))
    return _kept_names(header_names(names, width, files[0]), width, features, files[0])


def _kept_names(
    names: list[str] | None, n_features: int, features: Selection | None, source: Path
) -> list[str] | None:
    """Names of the kept features, checked against those of the selection."""
    if features is None:
        return names
    features.check_fits(n_features, names, source)
    # A feature without a name keeps its number at its new position.
    return [names[f] if names else str(f + 1) for f in features.columns.tolist()]


def _add_tables(
    filler: ShardFiller, tables: Tables, n_features: int | None, features: Selection | None
) -> list[str] | None:
    """Add the rows of Parquet or CSV files; return feature names."""
    first, names = tables.files[0].path, list(tables.roles.features)
    refuse_categories(tables.roles.categorical, first, "shards")
    if n_features not in (None, len(names)):
        raise DataError(f"{first}: there are {len(names)} features, but n_features={n_features}")
    kept = _kept_names(names, len(names), features, first)
    for batch in tables.batches(batch_bytes=filler.shard_bytes, dtype=filler.dtype):
        X = batch.X if features is None else features.take_from(batch.X)
        weights = batch.special.pop("sample_weight")
        data = RankingData(X, **batch.special)
        positions = data.row_order[data.query_ptr[:-1]] + batch.row
        positions += tables.files.index(batch.file) * _FILE
        with explain_weight_errors(
            f"{batch.file.path}: rows from {batch.row} on", tables.roles.weight
        ):
            piece = Piece.from_data(data, positions.tolist())
            piece.run_weights = weights_by_query(weights, data.query_ptr, data.row_order)
            filler.add(piece)
    return kept
