"""A page as a value, and its rendering as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from ranksieve.io.records import PathLike, write_text
from ranksieve.report.formats.html import notes_of, table_of
from ranksieve.report.sheets.sheet import Sheet
from ranksieve.text import file_stem, printable

MOST_FEATURES = 60
"""Maximum number of features in a chart or open table; CSV files have all of them."""


@dataclass(frozen=True)
class Table:
    """A table of a page."""

    sheet: Sheet  # its notes are shown below; its setting is shown once on the page
    bars: Collection[str] = ()  # columns whose values are also bars, from zero to the largest
    is_open: bool = True  # whether it is shown immediately; otherwise readers unfold it

    @property
    def markup(self) -> Markup:
        """The table itself."""
        return table_of(self.sheet, self.sheet.title, self.bars)

    @property
    def notes(self) -> Markup:
        """The notes, as a list."""
        return notes_of(self.sheet)


@dataclass(frozen=True)
class Chart:
    """A figure of a page, with its numbers."""

    svg: Markup  # one or several ``svg`` elements, made by charts.svg.drawing
    caption: str  # sentences that explain the figure
    table: Table  # the numbers
    title: str = ""  # above the figure, if its section has several
    is_open: bool = False  # whether its numbers are shown immediately; else readers unfold them
    data: Mapping[str, Any] = field(default_factory=dict)  # JSON by the key that the figure has


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    heading: str
    lead: str  # question that the section answers, in a sentence or two
    blocks: Sequence[Table | Chart]

    @property
    def anchor(self) -> str:
        """Anchor for the table of contents."""
        return file_stem(self.heading.lower().replace(" ", "-")) or "part"


@dataclass(frozen=True)
class MainResult:
    """The main result of a page, which comes first."""

    sentence: str
    is_shown: bool = True  # whether something is shown, or the question is open
    # The most important numbers: name, value, and optionally a value to compare with.
    facts: Sequence[tuple[str, ...]] = ()
    notes: Sequence[str] = ()  # further sentences about the evidence
    word: str = ""  # one or two words before the sentence, such as "Shown"
    svg: Markup = field(default_factory=Markup)  # a figure of the same result


@dataclass(frozen=True)
class Page:
    """Content of a page."""

    title: str
    verdict: MainResult
    sections: Sequence[Section]
    # How to reproduce the results: protocol, versions, seeds and command, by name.
    provenance: Sequence[tuple[str, str]] = ()
    kind: Literal["Study", "Recommendation", "Inspection"] = "Study"  # shown above the title

    @property
    def data(self) -> dict[str, Any]:
        """Data of all charts."""
        blocks = [block for section in self.sections for block in section.blocks]
        charts = [block for block in blocks if isinstance(block, Chart)]
        return {key: own for chart in charts for key, own in chart.data.items()}


def write_page(page: Page, path: PathLike) -> None:
    """Write a page to a file, which replaces an older one."""
    write_text(render(page), path)


def render(page: Page) -> str:
    """HTML of a page, including style, script and data, so that nothing else is loaded."""
    style, script = (_template(name) for name in ("style.css", "script.js"))
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            style=Markup(style),
            script=Markup(script),
            data=Markup(_island(page.data)),
            policy=_policy(style, script),
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("ranksieve.report.page"),
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
    return (files("ranksieve.report.page") / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Content security policy that allows only the page's own style and script."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _island(data: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element, with any names in it."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
