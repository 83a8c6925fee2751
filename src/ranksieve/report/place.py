"""Check the directory of a report, so that no file of somebody else is replaced in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
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
    if any((directory / mark).exists() for mark in marks):
        return
    for name in (*_PAGES, *_FOLDERS, *others):
        path = directory / name
        is_empty = path.is_dir() and not any(path.iterdir())
        if path.exists() and not is_empty:
            raise DataError(
                f"{path}: would be replaced, but there is no {marks[0]} of an earlier run beside "
                "it: name another directory"
            )


def check_no_links(directory: Path) -> None:
    """Raise a DataError if a report would be written through a symbolic link.

    Results may come from somebody else, whose links lead to files that are not theirs.
    """
    folders = [directory / name for name in _FOLDERS]
    inside = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    for path in (*(directory / name for name in _PAGES), *folders, *inside):
        if path.is_symlink():
            raise DataError(
                f"{path}: is a symbolic link, to {os.readlink(path)}, which report does not "
                "follow: remove it"
            )
