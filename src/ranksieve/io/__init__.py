"""Files: LETOR / SVMlight text, Parquet, and lists of scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranksieve.data import RankingData


def is_parquet(path: Path) -> bool:
    """Whether a file's name says that it is Parquet."""
    return path.suffix in (".parquet", ".pq")


def are_parquet(paths: Sequence[Path]) -> bool:
    """Whether all files are Parquet; a DataError if only some are."""
    from ranksieve.errors import DataError

    parquet = [path for path in paths if is_parquet(path)]
    if parquet and len(parquet) < len(paths):
        raise DataError(f"{parquet[0]}: Parquet files and text files cannot be joined")
    return bool(parquet)


def read_data(paths: Sequence[Path], **how: Any) -> RankingData:
    """Read files of one format, told by their names: ``.parquet`` or ``.pq``, else LETOR text.

    ``how`` goes to :func:`read_letor`; Parquet files know their features and types themselves.
    """
    from ranksieve.io.letor import read_letor
    from ranksieve.io.parquet import read_parquet
    from ranksieve.joining import concatenate

    if not are_parquet(paths):
        return read_letor(paths, **how)
    parts = [read_parquet(path) for path in paths]
    return parts[0] if len(parts) == 1 else concatenate(parts)


def write_data(data: RankingData, path: Path) -> None:
    """Write a file whose name tells the format: ``.parquet`` or ``.pq``, else LETOR text."""
    from ranksieve.io.letor import write_letor
    from ranksieve.io.parquet import write_parquet

    (write_parquet if is_parquet(path) else write_letor)(data, path)
