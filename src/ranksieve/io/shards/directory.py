"""Open a directory of shards, and replace one only when the new one is complete."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ranksieve.data import DataError
from ranksieve.data.missing import Missing
from ranksieve.io.files import PathLike, hold_directory, read_file
from ranksieve.io.records import locate_errors
from ranksieve.io.shards.format import MANIFEST, Manifest, is_file_name
from ranksieve.io.shards.reading import Checks, check_sizes
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
    with locate_errors(path / MANIFEST, "; write the shards again"):
        return Manifest.from_json(read_file(path / MANIFEST))


@contextmanager
def replace_directory_on_success(directory: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary directory to fill, which replaces ``directory`` on success.

    An error or interruption leaves the old directory unchanged. Leftovers of killed runs are
    removed.
    """
    target = Path(os.path.realpath(directory))
    _clear_leftovers(target)
    _check_target(target, overwrite)
    if not target.parent.is_dir():
        raise DataError(f"{directory}: there is no directory {target.parent}")
    token = uuid.uuid4().hex[:12]
    new, temporary, old = (
        target.with_name(f".{target.name}.{token}.{kind}") for kind in ("new", "partial", "old")
    )
    try:
        new.mkdir()
    except OSError as error:
        raise DataError(f"{directory}: cannot be written: {error.strerror}") from error
    try:
        with hold_directory(new):
            os.rename(new, temporary)  # locked before another run could see it as a leftover
            yield temporary
            _check_target(target, overwrite)  # again, because filling may have taken long
            _swap(temporary, target, old)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(temporary, ignore_errors=True)


def _clear_leftovers(target: Path) -> None:
    """Remove incomplete shards that no process has locked; restore old ones set aside."""
    mark = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{12}\.(partial|old)")
    names = os.listdir(target.parent) if target.parent.is_dir() else []
    for name in filter(mark.fullmatch, names):
        leftover = target.with_name(name)
        if leftover.is_symlink() or not all(map(_is_shard_file, os.listdir(leftover))):
            continue  # not ours
        if name.endswith(".old") and not target.exists():
            os.rename(leftover, target)
            continue
        with hold_directory(leftover) as free:
            if free:
                shutil.rmtree(leftover, ignore_errors=True)


def _is_shard_file(name: str) -> bool:
    return name == MANIFEST or is_file_name(name)


def _check_target(target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise DataError(f"{target}: is a file; shards need a directory")
    names = sorted(os.listdir(target))
    if names and not overwrite:
        raise DataError(
            f"{target}: is not empty; replace the shards in it with overwrite=True (--overwrite)"
        )
    for name in names:
        # A wrong path must not delete other files.
        if not _is_shard_file(name):
            raise DataError(
                f"{target}: contains {name!r}, which is not a file of shards, so it is not replaced"
            )


def _swap(new: Path, target: Path, old: Path) -> None:
    """Rename ``new`` to ``target``, and delete the old target only after that."""
    if not target.exists():
        os.rename(new, target)
        return
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)
