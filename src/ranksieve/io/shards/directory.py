"""Replace a directory of shards only when the new one is complete."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ranksieve.data import DataError
from ranksieve.io.files import hold_directory
from ranksieve.io.shards.format import MANIFEST, is_file_name


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
        raise DataError(f"{target}: is not empty; pass overwrite=True to replace the shards in it")
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
