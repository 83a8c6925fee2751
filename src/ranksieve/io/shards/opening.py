"""Open a directory of shards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.missing import Missing
from ranksieve.io.files import PathLike, read_file
from ranksieve.io.records import locate_errors
from ranksieve.io.shards.files import Checks, check_sizes
from ranksieve.io.shards.format import MANIFEST, Manifest, is_file_name
from ranksieve.io.shards.shards import Shards, Verify


def open_shards(
    directory: PathLike,
    *,
    client: Any = None,
    verify: Verify = "first-read",
    missing: str | Missing | None = None,
) -> Shards:
    """Open a directory of shards made by :func:`write_shards` or :func:`convert_to_shards`.

    Takes milliseconds for any amount of data: it checks that all files exist and have the right
    size, but does not read them.

    Parameters
    ----------
    directory : path
    client : distributed.Client, optional
        Dask cluster that works on the shards; its workers must see the directory under the same
        path.
    verify : {"first-read", True, False}
        When to compare checksums: when each file is first read, on a cluster by the worker that
        reads it; also for all files now (see :meth:`Shards.verify`); or never. In all cases,
        damaged files cannot make a method read beyond its arrays.
    missing : str or Missing, optional
        How to treat missing values (NaN); see :meth:`Shards.with_missing`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ranksieve import make_ranking
    >>> from ranksieve.io.shards import open_shards, write_shards
    >>> directory = pathlib.Path(tempfile.mkdtemp()) / "train"
    >>> write_shards(make_ranking(50)[0], directory, shard_bytes=20_000)
    >>> with open_shards(directory, verify=True) as shards:
    ...     block = shards.block(0)
    ...     block.X.shape == (block.query_ptr[-1], shards.n_features), block.X.flags.writeable
    (True, False)
    """
    path = Path(os.path.abspath(directory))
    if verify not in (True, False, "first-read"):
        raise ValueError(f"verify must be True, False or 'first-read', not {verify!r}")
    shards = Shards(path, _read_manifest(path), client, Checks(bool(verify)))
    try:
        check_sizes(path, shards._open_manifest)
        if verify is True:
            shards.verify()
        if missing is not None:
            shards = shards.with_missing(missing)
    except BaseException:
        shards.close()
        raise
    return shards


def _read_manifest(path: Path) -> Manifest:
    if not path.exists():
        raise DataError(f"{path}: no such directory")
    if not path.is_dir():
        raise DataError(f"{path}: is a file, not a directory of shards")
    if not (path / MANIFEST).exists():
        if path.name.endswith(".partial") or any(map(is_file_name, os.listdir(path))):
            raise DataError(
                f"{path}: half-written: there is no {MANIFEST}, which is written last; "
                "write the shards again"
            )
        raise DataError(f"{path}: not a directory of shards: there is no {MANIFEST}")
    with locate_errors(path / MANIFEST):
        return Manifest.from_json(read_file(path / MANIFEST))
