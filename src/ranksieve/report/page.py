"""A report as one self-contained HTML file, and its main result as a card for notebooks."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from ranksieve.io.records import PathLike, write_text
from ranksieve.report.formats.html import notes_of, table_of
from ranksieve.report.section import Part, Report
from ranksieve.report.sheets.sheet import LONG, SHOWN, Entry, Sheet, first_rows, long_list
from ranksieve.text import printable

_MOST_ROWS = 200  # of a table
_MOST_CHARACTERS = 300  # of a text in a table


class Table(NamedTuple):
    """What the page shows of a table."""

    title: str
    markup: Markup
    notes: Markup
    is_open: bool


def write_page(report: Report, path: PathLike) -> None:
    """Write the page of a report to a file, which replaces an older one."""
    write_text(render(report), path)


def render(report: Report) -> str:
    """HTML of a report, including style and script, so that nothing else is loaded."""
    style, script = _template("charts.css") + _template("style.css"), _template("script.js")
    page = _environment().get_template("page.html")
    return page.render(
        report=report,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        tables_of=lambda part: list(_tables_of(part)),
    )


def render_card(report: Report) -> str:
    """HTML of the verdict of a report and of its main tables, for the output of a notebook.

    The style is that of the page, nested so that it changes nothing else in the notebook.
    """
    style = (_template("charts.css") + _template("style.css")).replace(":root {", "& {")
    verdict, *others = report.sections
    parts = [part for section in others for part in section.parts if part.brief is not None]
    parts.sort(key=lambda part: bool(part.is_folded))  # what a page unfolds comes first
    card = _environment().get_template("card.html")
    return card.render(
        report=report,
        verdict=verdict,
        tables=list(map(_short_table, parts)),
        style=Markup(_template("card.css").replace("/* style of the page */", style)),
    )


def _short_table(part: Part) -> Table:
    """The first rows of the table of a part."""
    sheet = _shorten_texts(long_list(part.sheet, "to_frame() has them all"))
    return Table(sheet.title, table_of(sheet, sheet.title, part.bars), notes_of(sheet), True)


def _tables_of(part: Part) -> Iterator[Table]:
    """The table of a part; of a long list, its first rows, and then others to unfold."""
    sheet = first_rows(part.sheet, _MOST_ROWS)
    if not part.is_open:
        sheet = _shorten_texts(sheet)
    n_rows = len(list(sheet.rows))
    n_open = SHOWN if part.is_open and n_rows > LONG else n_rows
    pieces = [sheet]
    if n_open < n_rows:
        further = f"Further rows: {sheet.title}"
        rest = replace(sheet.slice(n_open, n_rows), title=further, notes=())
        pieces = [sheet.slice(0, n_open), rest]
    for piece in pieces:
        markup = table_of(piece, piece.title, part.bars)
        yield Table(piece.title, markup, notes_of(piece), part.is_open and piece is pieces[0])


def _shorten_texts(sheet: Sheet) -> Sheet:
    """Sheet with long texts, such as lists of all features, shortened."""

    def cut(entry: Entry) -> Entry:
        whole = entry.text
        is_long = isinstance(entry.value, str) and len(whole) > _MOST_CHARACTERS
        return replace(entry, value=f"{whole[:_MOST_CHARACTERS]} ...") if is_long else entry

    return replace(sheet, groups=[[list(map(cut, row)) for row in group] for group in sheet.groups])


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("ranksieve.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_make_printable,
    )


def _make_printable(value: Any) -> Any:
    """Escape characters that cannot be printed; autoescape does the rest."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else printable(value)


@cache
def _template(name: str) -> str:
    return (files("ranksieve.report") / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Content security policy that allows only the page's own style and script."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
