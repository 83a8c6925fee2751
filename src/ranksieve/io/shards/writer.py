"""Write shards from data in memory, from other shards or from a stream of pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.inputs import query_runs
from ranksieve.data.joining import check_same_features
from ranksieve.io.collecting import check_dtype
from ranksieve.io.files import PathLike
from ranksieve.io.shards.filler import Piece, ReturningQueryError, ShardFiller
from ranksieve.io.shards.format import as_integers, as_strings
from ranksieve.io.shards.shards import Shards
from ranksieve.io.shards.store import ShardStore, replace_directory_on_success

SHARD_BYTES = 64 * 2**20


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

    Raises
    ------
    DataError
        If pieces have different features, or a query is in two of them.

    Notes
    -----
    Query and document ids that are 64-bit integers are read back as integers, all others as their
    ``str``; the order of the input, ``row_order``, is not stored. Needs memory for a piece, a few
    shards and the query ids.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve.io.shards import open_shards
    >>> from ranksieve.io.shards import write_shards
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
            if first is None or filler is None:
                first = data.take_queries([])
                filler = ShardFiller(
                    ShardStore(temporary),
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
        filler.finish(names, convert_ids(list(filler.positions)))


def _add_piece(filler: ShardFiller, data: RankingData, number: int, shard_bytes: int) -> None:
    try:
        for part in _parts(data, shard_bytes, filler.is_sparse):
            filler.add(Piece.of(part, repeat(number, part.n_queries)))
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


def convert_ids(ids: list[Any]) -> np.ndarray | list[str]:
    """Convert query ids to integers or strings, which must stay distinct."""
    integers = as_integers(ids)
    if integers is not None:
        return integers
    strings = as_strings(ids)
    as_string: dict[str, Any] = {}
    for query, string in zip(ids, strings, strict=True):
        if string in as_string:
            raise DataError(f"queries {as_string[string]!r} and {query!r} have the same id as text")
        as_string[string] = query
    return strings
