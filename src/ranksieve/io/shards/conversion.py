"""Convert files to shards without reading them into memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.columns import Columns
from ranksieve.data.frames import explain_weight_errors
from ranksieve.data.inputs import weights_by_query
from ranksieve.data.missing import Missing
from ranksieve.io import open_if_tables
from ranksieve.io.files import as_paths
from ranksieve.io.letor_blocks import Grammar, decode, header_names, read_blocks
from ranksieve.io.selection import Selection
from ranksieve.io.shards.filler import Piece, ReturningQueryError, ShardFiller
from ranksieve.io.shards.store import ShardStore, replace_directory_on_success
from ranksieve.io.shards.writer import SHARD_BYTES, PathLike, convert_ids
from ranksieve.io.tables import Tables, convert_text_ids

_FILE = 2**40  # position = number of the file * _FILE + line: one small integer per query


def convert_to_shards(
    paths: PathLike | Sequence[PathLike],
    directory: PathLike,
    *,
    n_features: int | None = None,
    dtype: str | None = None,
    sparse: bool = False,
    zero_based: bool = False,
    columns: Columns | None = None,
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
    directory : path
        Created only when everything is written; an error or interruption leaves nothing behind.
    n_features : int, optional
        Number of features; by default the largest index found. If it is found late, earlier shards
        are rewritten.
    dtype : {"float64", "float32"}, optional
        Type of the stored feature values; by default that of Parquet files, and float64 for text.
    sparse : bool
        Whether to store CSR matrices.
    zero_based : bool
        Whether indices in text start at 0.
    columns : Columns, optional
        Roles of the columns of Parquet and CSV files; by default they are recognized by name.
    features : Selection, optional
        Features to keep, from :func:`ranksieve.io.selection.read_selection`; they keep their names
        and the order of the data. It is an error if the number or the names of the files' features
        differ from those of the data that the features were selected from.
    missing : str or Missing, optional
        How missing values (NaN) are filled in; see :class:`ranksieve.Missing`. ``"keep"`` writes
        NaN, which is also the default. For indicators, convert without them first, open these
        shards with them, and pass those to :func:`write_shards`.
    shard_bytes : int
        Minimum size of a shard, which ends with the query that reaches it; queries are never split.
    overwrite : bool
        Whether to replace the shards in ``directory`` once the new ones are complete. A directory
        that contains anything else is never replaced.

    Raises
    ------
    DataError
        ``file:line: what is wrong``. Rows of a query that are not adjacent are grouped within a
        shard; a query that reappears after its shard was written is an error. Rows of Parquet files
        are counted from 0; in CSV files, the header is row 1.

    Notes
    -----
    Takes time linear in the size of the files, and memory for a few shards and the id of every
    query.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve.io.shards import convert_to_shards
    >>> from ranksieve.io.shards import open_shards
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
    how = Missing.of(missing)
    if how is not None and how.indicators:
        raise DataError(
            f"{files[0]}: which features need indicators of missing values is known only at the "
            "end; convert to shards without indicators first, and then these shards with them"
        )
    if features is not None and n_features is not None:
        features.check_fits(n_features, None, files[0])
    with replace_directory_on_success(Path(directory), overwrite=overwrite) as temporary:
        filler = ShardFiller(
            ShardStore(temporary),
            shard_bytes=shard_bytes,
            dtype=grammar.dtype if tables is None or dtype is not None else tables.dtype,
            is_sparse=sparse,
            width=(n_features or 0) if features is None else len(features.columns),
            missing=how,
        )
        try:
            if tables is None:
                names, ids = _convert_text(files, grammar, filler, features)
            else:
                names, ids = _convert_tables(tables, n_features, filler, features)
        except ReturningQueryError as error:
            unit = "line" if tables is None else "row"
            raise DataError(_explain(error, files, unit)) from None
        filler.finish(names, ids)


def _explain(error: ReturningQueryError, files: list[Path], unit: str) -> str:
    (first_file, first), (file, again) = divmod(error.first, _FILE), divmod(error.again, _FILE)
    here = f"{files[file]}:{again}" if unit == "line" else f"{files[file]}: row {again}"
    there = f"{unit} {first}" + ("" if first_file == file else f" of {files[first_file]}")
    return (
        f"{here}: query {error.query!r} continues here, but its rows from {there} on are "
        "already written; sort the file by query"
    )


def _convert_text(
    files: list[Path], grammar: Grammar, filler: ShardFiller, features: Selection | None
) -> tuple[list[str] | None, np.ndarray | list[str]]:
    """Add the rows of text files; return feature names and query ids."""
    names: dict[int, str] = {}
    width = grammar.n_features or 0
    for block in read_blocks(files, grammar):
        names.update(block.names)
        width = max(width, block.matrix.shape[1], max(names, default=-1) + 1)
        if features is None:
            filler.width = width
        elif width > features.n_features_in:
            features.check_fits(width, None, block.path or files[0])
        documents = None if block.doc_ids is None else np.array(block.doc_ids, dtype=object)
        positions = block.run_lines + files.index(block.path or files[0]) * _FILE
        ids = [decode(query) for query in block.run_ids]
        X = block.matrix if features is None else features.take_from(block.matrix)
        filler.add(Piece(X, block.labels, documents, ids, block.run_lengths, positions.tolist()))
    all_names = header_names(names, width, files[0])
    return _kept_names(all_names, width, features, files[0]), _text_ids(filler)


def _kept_names(
    names: list[str] | None, n_features: int, features: Selection | None, source: Path
) -> list[str] | None:
    """Names of the kept features, checked against those of the selection."""
    if features is None:
        return names
    features.check_fits(n_features, names, source)
    # A feature without a name keeps its number at its new position.
    return [names[f] if names else str(f + 1) for f in features.columns.tolist()]


def _convert_tables(
    tables: Tables, n_features: int | None, filler: ShardFiller, features: Selection | None
) -> tuple[list[str] | None, np.ndarray | list[str]]:
    """Add the rows of Parquet or CSV files; return feature names and query ids."""
    first, names = tables.files[0].path, list(tables.roles.features)
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
            piece = Piece.of(data, positions.tolist())
            piece.run_weights = weights_by_query(weights, data.query_ptr, data.row_order)
            filler.add(piece)
    if all(file.ids_are_text for file in tables.files):
        return kept, _text_ids(filler)
    return kept, convert_ids(list(filler.positions))


def _text_ids(filler: ShardFiller) -> np.ndarray | list[str]:
    """Return query ids that were read as text, as integers if all of them look like integers."""
    return convert_ids(convert_text_ids(np.array(list(filler.positions), dtype=object)).tolist())
