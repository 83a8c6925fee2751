"""Files of a directory that belong together: all of them are replaced, or none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from ranksieve.data import DataError
from ranksieve.io.files import check_replaceable, hold_directory, read_file
from ranksieve.io.records import checksum_of_bytes

_NEXT = ".next"  # directory with new files, from the moment they count until each is in its place
_BEGUN = ".next-"  # prefix of directories with new files that do not count yet
_GONE = ".gone"  # suffix of an empty file: there is no such file any more


def file_of(directory: Path, name: str) -> Path:
    """Return where a file is found that :func:`replace_together` may be about to put in its place.

    There is no such file if it was not among the files that were written last.
    """
    following = directory / _NEXT
    is_waiting = (following / name).exists() or (following / f"{name}{_GONE}").exists()
    return (following if is_waiting else directory) / name


def checksum_of_file(path: Path) -> str:
    """Checksum of the bytes of a file."""
    return checksum_of_bytes(read_file(path))


@contextmanager
def replace_together(directory: Path, names: Sequence[str]) -> Iterator[Path]:
    """Context manager that yields an empty directory, whose files replace those of ``directory``.

    Files of these names that are not written there are removed. The files change at one moment,
    that of renaming a directory: after an error, or if the process is killed, :func:`file_of`
    finds either all old files or all new ones.
    """
    _finish(directory)
    for name in names:
        check_replaceable(directory / name)
    begun = directory / f"{_BEGUN}{token_hex(8)}"
    try:
        _remove_leftovers(directory)
        begun.mkdir()
        with hold_directory(begun):
            yield begun
            for name in names:
                if not (begun / name).exists():
                    (begun / f"{name}{_GONE}").touch()
            _finish(directory)  # what another process may have begun to replace
            os.rename(begun, directory / _NEXT)
        _finish(directory)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise DataError(f"{directory}: cannot be written: {reason}") from error
    finally:
        shutil.rmtree(begun, ignore_errors=True)


def _finish(directory: Path) -> None:
    """Put the new files, if there are any, in their places; this may be done again."""
    following = directory / _NEXT
    if not following.is_dir():
        return
    for path in following.iterdir():
        with suppress(FileNotFoundError):  # another process has done it
            if path.suffix == _GONE:
                (directory / path.stem).unlink(missing_ok=True)
                path.unlink()
            else:
                os.replace(path, directory / path.name)
    with suppress(FileNotFoundError):
        following.rmdir()


def _remove_leftovers(directory: Path) -> None:
    """Remove what killed processes have left; a directory that is in use is locked."""
    for path in directory.glob(f"{_BEGUN}*"):
        with suppress(OSError), hold_directory(path) as is_free:
            if is_free:
                shutil.rmtree(path, ignore_errors=True)
