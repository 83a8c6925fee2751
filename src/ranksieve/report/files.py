"""Tables and figures of a report in its directory, without those of an earlier report there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ranksieve.data import DataError
from ranksieve.io.files import make_directory
from ranksieve.io.records import checksum_of_bytes, get, read_record, write_text
from ranksieve.report.figures.style import Drawing, write_drawing
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import to_csv, to_json, to_markdown
from ranksieve.report.place import RECORD
from ranksieve.report.sheets.sheet import Sheet
from ranksieve.text import file_stem

_TABLES: dict[str, Callable[[Sheet], str]] = {
    ".md": to_markdown,
    ".tex": to_latex,
    ".csv": to_csv,
    ".json": to_json,
}
# A record may come from somebody else: it must not name files elsewhere.
_OWN = re.compile(r"(tables|figures)/[a-z0-9][a-z0-9.-]*[.](md|tex|csv|json|svg|png|txt)")


class ReportFiles:
    """Files that a part of a report writes to ``tables/`` and ``figures/`` of its directory.

    As a context manager, it removes in the end what the same part wrote there earlier and did not
    write again. A file that was changed since is not ours anymore, and stays.
    """

    def __init__(self, directory: Path, part: str = "report") -> None:
        self.directory, self.part = directory, part
        self._written: list[str] = []

    def write_table(self, sheet: Sheet) -> str:
        """Write a table in four formats, and return it as Markdown."""
        make_directory(self.directory / "tables")
        for suffix, write in _TABLES.items():
            name = f"tables/{file_stem(sheet.name)}{suffix}"
            write_text(write(sheet), self.directory / name)
            self._written.append(name)
        return to_markdown(sheet)

    def write_drawing(self, drawing: Drawing) -> str:
        """Write a figure as SVG and PNG, and its caption; return Markdown that shows it."""
        shown = write_drawing(drawing, self.directory)
        stem = f"figures/{file_stem(drawing.name)}"
        self._written += [f"{stem}{suffix}" for suffix in (".svg", ".png", ".txt")]
        return shown

    def __enter__(self) -> ReportFiles:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            return
        parts = _read_parts(self.directory)
        earlier = parts.pop(self.part, {})
        others = {name for files in parts.values() for name in files}
        for name in earlier.keys() - others - set(self._written):
            if earlier[name] and _checksum(self.directory / name) == earlier[name]:
                (self.directory / name).unlink(missing_ok=True)
        parts[self.part] = {name: _checksum(self.directory / name) for name in self._written}
        write_text(json.dumps({"parts": parts}, indent=1) + "\n", self.directory / RECORD)


def names_written(directory: Path, part: str) -> set[str]:
    """Paths of the files that a part of a report wrote, relative to the directory."""
    return set(_read_parts(directory).get(part, {}))


def _read_parts(directory: Path) -> dict[str, dict[str, str]]:
    """Part of a report -> its files, with their checksums; nothing if that is not known."""
    found: dict[str, dict[str, str]] = {}
    with suppress(DataError, FileNotFoundError):
        parts = get(read_record(directory / RECORD), "parts", dict)
        for part in parts:
            files = get(parts, part, dict)
            found[part] = {
                name: str(value) for name, value in files.items() if _OWN.fullmatch(name)
            }
    return found


def _checksum(path: Path) -> str:
    """Checksum of a file; empty if it cannot be read."""
    try:
        return checksum_of_bytes(path.read_bytes())
    except OSError:
        return ""
