"""Files: LETOR / SVMlight text, Parquet, feature logs of engines, and lists of scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ranksieve.data import RankingData


def is_parquet(path: Path) -> bool:
    """Whether a file's name says that it is Parquet."""
    return path.suffix in (".parquet", ".pq")


def is_feature_log(path: Path) -> bool:
    """Whether a file's name says that it is JSON, maybe compressed: responses of an engine."""
    suffix = Path(path.stem).suffix if path.suffix in (".gz", ".zst") else path.suffix
    return suffix in (".json", ".jsonl", ".ndjson")


def are_parquet(paths: Sequence[Path]) -> bool:
    """Whether all files are Parquet; a DataError if only some are."""
    from ranksieve.errors import DataError

    parquet = [path for path in paths if is_parquet(path)]
    if parquet and len(parquet) < len(paths):
        raise DataError(f"{parquet[0]}: Parquet files and text files cannot be joined")
    return bool(parquet)


def read_data(paths: Sequence[Path], *, judgments: Any = None, **how: Any) -> RankingData:
    """Read files of one format, told by their names: ``.parquet`` or ``.pq``, else LETOR text.

    With ``judgments`` they are feature logs. ``how`` goes to :func:`read_letor`, and ``sparse`` and
    ``dtype`` of it to feature logs; Parquet files know their features and types themselves.
    """
    from ranksieve.errors import DataError
    from ranksieve.io.feature_logs import read_feature_log
    from ranksieve.io.letor import read_letor
    from ranksieve.io.parquet import read_parquet
    from ranksieve.joining import concatenate

    if judgments is not None:
        kept = {name: how[name] for name in ("sparse", "dtype") if name in how}
        return read_feature_log(paths, judgments, **kept)[0]
    for path in filter(is_feature_log, paths):
        raise DataError(
            f"{path}: a feature log needs judgments: ranksieve convert {path} data.parquet "
            "--judgments FILE"
        )
    if not are_parquet(paths):
        return read_letor(paths, **how)
    parts = [read_parquet(path) for path in paths]
    return parts[0] if len(parts) == 1 else concatenate(parts)


def write_data(data: RankingData, path: Path) -> None:
    """Write a file whose name tells the format: ``.parquet`` or ``.pq``, else LETOR text."""
    from ranksieve.io.letor import write_letor
    from ranksieve.io.parquet import write_parquet

    (write_parquet if is_parquet(path) else write_letor)(data, path)
