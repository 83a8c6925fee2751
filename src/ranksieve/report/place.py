"""Check the directory of a report, so that no file of somebody else is replaced in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ranksieve.data import DataError

RECORD = "report-files.json"  # of the tables and figures that a report has written
_PAGES = ("report.html", "report.md", RECORD)
_FOLDERS = ("tables", "figures")


def check_place(directory: Path, marks: Sequence[str], others: Sequence[str] = ()) -> None:
    """Raise a DataError if a command would replace files of others in its directory.

    If one of the files ``marks`` is there, the command has written to the directory before, and its
    files may be replaced. ``others`` are files that it writes besides tables, figures and pages.
    """
    check_no_links(directory, (*marks, *others))
    if any((directory / mark).exists() for mark in marks):
        return
    for name in (*_PAGES, *_FOLDERS, *others):
        if (directory / name).exists():
            raise DataError(
                f"{directory / name}: would be replaced, but there is no {marks[0]} of an earlier "
                "run beside it: name another directory"
            )


def check_no_links(directory: Path, others: Sequence[str] = ()) -> None:
    """Raise a DataError if a file to be written is a symbolic link, which may lead anywhere.

    A directory that comes from somebody else may have such links.
    """
    for path in _written(directory, others):
        if path.is_symlink():
            raise DataError(
                f"{path}: is a symbolic link, to {os.readlink(path)}, which a report does not "
                "follow: remove it"
            )


def _written(directory: Path, others: Sequence[str]) -> Iterator[Path]:
    """Paths that a command may write in its directory."""
    yield from (directory / name for name in (*_PAGES, *_FOLDERS, *others))
    for folder in (directory / name for name in _FOLDERS):
        if folder.is_dir():
            yield from folder.iterdir()
