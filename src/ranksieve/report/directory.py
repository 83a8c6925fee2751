"""A report in a directory: its page, tables and figures, without those of an earlier report."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ranksieve.data import DataError
from ranksieve.io.files import make_directory
from ranksieve.io.records import checksum_of_bytes, read_record, write_text
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import to_csv
from ranksieve.report.page import write_page
from ranksieve.report.section import Report
from ranksieve.report.sheets.sheet import Sheet
from ranksieve.text import file_stem

PAGE = "report.html"
RECORD = "report-files.json"  # of the tables and figures that a report has written
_FOLDERS = ("tables", "figures")
_TABLES: dict[str, Callable[[Sheet], str]] = {".csv": to_csv, ".tex": to_latex}
_FIGURES = (".svg", ".pdf")
# A record may come from somebody else: it must not name files elsewhere.
_OWN = re.compile(r"(tables|figures)/[a-z0-9][a-z0-9.-]*[.](tex|csv|svg|pdf)")


def write_files(report: Report, directory: Path, *, figures: bool = True) -> None:
    """Write the page of a report, its tables (CSV, LaTeX) and its figures (SVG, PDF).

    What an earlier report wrote to the directory and this one does not is removed. A file that was
    changed since is not ours anymore, and stays.
    """
    write_page(report, make_directory(directory) / PAGE)
    written = []
    for part in report.parts:
        make_directory(directory / "tables")
        for suffix, to_text in _TABLES.items():
            written.append(f"tables/{file_stem(part.sheet.name)}{suffix}")
            write_text(to_text(part.sheet), directory / written[-1])
        if part.chart is not None and figures:
            make_directory(directory / "figures")
            for suffix in _FIGURES:
                written.append(f"figures/{file_stem(part.chart.name)}{suffix}")
                part.chart.write(directory / written[-1])
    for name, checksum in _read_record(directory).items():
        if name not in written and checksum and _checksum(directory / name) == checksum:
            (directory / name).unlink(missing_ok=True)
    record = {name: _checksum(directory / name) for name in written}
    write_text(json.dumps({"files": record}, indent=1) + "\n", directory / RECORD)


def _read_record(directory: Path) -> dict[str, str]:
    """Files that the last report wrote, with their checksums; nothing if that is not known."""
    with suppress(DataError, FileNotFoundError):
        files = read_record(directory / RECORD, dict[str, dict[str, str]]).get("files", {})
        return {name: checksum for name, checksum in files.items() if _OWN.fullmatch(name)}
    return {}


def _checksum(path: Path) -> str:
    """Checksum of a file; empty if it cannot be read."""
    try:
        return checksum_of_bytes(path.read_bytes())
    except OSError:
        return ""


def check_place(directory: Path, marks: Sequence[str], others: Sequence[str] = ()) -> None:
    """Raise a DataError if a command would replace files of others in its directory.

    If one of the files ``marks`` is there, the command has written to the directory before, and its
    files may be replaced. ``others`` are files that it writes besides tables, figures and pages.
    """
    if any((directory / mark).exists() for mark in marks):
        return
    for name in (PAGE, RECORD, *_FOLDERS, *others):
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
    for path in (directory / PAGE, directory / RECORD, *folders, *inside):
        if path.is_symlink():
            raise DataError(
                f"{path}: is a symbolic link, to {os.readlink(path)}, which report does not "
                "follow: remove it"
            )
