"""The directory of an export: what may be replaced in it, and the record of what was written."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ranksieve.data import DataError
from ranksieve.io import records
from ranksieve.io.files import make_directory, replace_on_success

MANIFEST = "ranksieve-export.json"
_FORMAT, _VERSION = "ranksieve-export", 1


class _Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    files: dict[str, str]  # by name: its checksum


def check_may_write(directory: Path, names: Iterable[str], *, overwrite: bool) -> None:
    """Raise a DataError if files of these names would replace others than those of an export.

    The directory must be new, empty, or have an earlier export, whose files may be replaced unless
    they were changed. With ``overwrite``, any files of these names may be replaced. Symbolic links
    are never followed or replaced.
    """
    names = list(names)
    for name in (*names, MANIFEST):
        _check_is_plain(directory, name)
    if overwrite or not directory.is_dir() or not any(directory.iterdir()):
        return
    if not (directory / MANIFEST).is_file():
        raise DataError(
            f"{directory}: is neither empty nor an earlier export (there is no {MANIFEST}): choose "
            f"another directory, or use --overwrite to replace {', '.join(names)}"
        )
    written = _read_manifest(directory)
    for path in filter(Path.is_file, (directory / name for name in names)):
        known = written.get(path.relative_to(directory).as_posix())
        if known != records.checksum_of_bytes(path.read_bytes()):
            what = "was changed after its export" if known else "was not written by an export"
            raise DataError(
                f"{path}: {what}, and would be replaced: choose another directory, or use "
                "--overwrite"
            )


def write_files(directory: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files by name, which may begin with a subdirectory, and return their paths."""
    paths = []
    for name, content in files.items():
        path = directory / name
        make_directory(path.parent)
        with replace_on_success(path) as temporary:
            temporary.write_bytes(content)
        paths.append(path)
    return paths


def write_manifest(directory: Path, files: Mapping[str, bytes]) -> None:
    """Record the files that were written, so that a later export may replace them."""
    earlier: dict[str, str] = {}
    with suppress(DataError):  # none, or damaged
        earlier = _read_manifest(directory)
    written = earlier | {
        name: records.checksum_of_bytes(content) for name, content in files.items()
    }
    record = records.sign_record(_Manifest(written), _FORMAT, _VERSION)
    records.write_text(json.dumps(record, indent=1) + "\n", directory / MANIFEST)


def _read_manifest(directory: Path) -> dict[str, str]:
    path = directory / MANIFEST
    with records.locate_errors(path, "; use --overwrite"):
        record = records.read_record(path)
        what = "the list of files of an export"
        return records.convert_signed(record, _Manifest, _FORMAT, _VERSION, what).files


def _check_is_plain(directory: Path, name: str) -> None:
    """Raise a DataError if a file, or a directory on the way to it, is a link or something else."""
    parts = Path(name).parts
    for depth in range(1, len(parts) + 1):
        path = directory.joinpath(*parts[:depth])
        try:
            mode = path.lstat().st_mode
        except OSError:  # there is nothing yet
            continue
        if not (stat.S_ISREG(mode) if depth == len(parts) else stat.S_ISDIR(mode)):
            what = "a symbolic link" if stat.S_ISLNK(mode) else "something else than a file"
            raise DataError(
                f"{path}: is {what}, and an export writes to files of its own: choose another "
                "directory"
            )
