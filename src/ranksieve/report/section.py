"""What a report consists of: sections with sentences, figures and tables, listed once for all.

The terminal, the page, notebooks and files show the same list, see :mod:`ranksieve.report`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from markupsafe import Markup

from ranksieve.io.records import write_text
from ranksieve.report.charts.svg import COLUMN, PAGE
from ranksieve.report.formats.html import CellBars, element, to_html
from ranksieve.report.sheets.sheet import Entry, Sheet, name_column, text_column
from ranksieve.report.slider import Slider
from ranksieve.text import file_stem, on_one_line, quantity


@dataclass(frozen=True, repr=False)
class Chart:
    """A figure: on a page, and as a file for one column of a paper, or two if it needs them."""

    name: str  # stem of its files
    caption: str  # sentences that explain the figure
    draw: Callable[[float], Markup]  # makes an ``svg`` element of about so many pixels

    def __repr__(self) -> str:
        first = self.caption.partition(". ")[0].rstrip(".")
        return f"<Chart {self.name!r}: {on_one_line(first):.200}>"

    @property
    def svg(self) -> Markup:
        """The figure of a page, whose style sheet has its colors."""
        return self.draw(PAGE)

    def write(self, path: str | Path) -> None:
        """Write the figure as SVG or PDF, according to the suffix; text stays text."""
        from ranksieve.report.charts.paper import to_svg, write_pdf

        path = Path(path)
        if path.suffix.lower() == ".svg":
            write_text(to_svg(self.draw(COLUMN)), path)
        elif path.suffix.lower() == ".pdf":
            write_pdf(self.draw(COLUMN), path)
        else:
            raise ValueError(f"{path}: the name of a figure must end in .svg or .pdf")

    def _repr_svg_(self) -> str:
        """Show the figure in a notebook."""
        from ranksieve.report.charts.paper import to_svg

        return to_svg(self.draw(PAGE))


@dataclass(frozen=True)
class Part:
    """A table, or a figure with the table of its numbers."""

    sheet: Sheet
    chart: Chart | None = None
    title: str = ""  # above a figure, if its section has several
    # Columns whose values the page shows as bars, too.
    bars: Mapping[str, CellBars] = field(default_factory=dict)
    is_folded: bool | None = None  # whether a page folds the table; by default, below a figure
    brief: Sheet | None = None  # what a terminal shows of the table, if anything
    slider: Slider | None = None  # along the points of the figure, on a page

    @property
    def is_open(self) -> bool:
        """Whether a page shows the table immediately."""
        return self.chart is None if self.is_folded is None else not self.is_folded


@dataclass(frozen=True, repr=False)
class Section:
    """A part of a report that answers one question."""

    heading: str
    sentence: str  # the question, or for the verdict its answer
    parts: Sequence[Part] = ()
    notes: Sequence[str] = ()  # further sentences
    is_shown: bool | None = (
        None  # of a verdict: whether something is shown; None for other sections
    )
    word: str = ""  # of a verdict: one or two words before the sentence, such as "Shown"

    @property
    def anchor(self) -> str:
        """Anchor for the table of contents."""
        return file_stem(self.heading.lower().replace(" ", "-")) or "part"

    def __repr__(self) -> str:
        return f"<Section {self.heading!r}: {quantity(len(self.parts), 'part')}>"

    def _repr_html_(self) -> str:
        """Show the section in a notebook."""
        texts = [element("p", text) for text in (self.sentence, *self.notes) if text]
        blocks = [Markup(block) for part in self.parts for block in _blocks(part)]
        return element("section", element("h2", self.heading), *texts, *blocks)


def _blocks(part: Part) -> Iterator[str]:
    if part.chart is not None:
        yield part.chart._repr_svg_()
        yield element("p", part.chart.caption)
    yield to_html(part.sheet)


def verdict(
    sentence: str,
    facts: Sequence[tuple[str, ...]] = (),
    notes: Sequence[str] = (),
    *,
    is_shown: bool = True,
    word: str = "",
) -> Section:
    """Make the main result of a report, which comes first.

    ``facts`` are its most important numbers: name, value, and optionally a value to compare with.
    """
    columns = [name_column("what"), text_column("value"), text_column("beside")]
    rows = [[Entry(text) for text in (*fact, "", "")[:3]] for fact in facts]
    sheet = Sheet("verdict", "The most important numbers", "", columns, [rows])
    return Section("Verdict", sentence, [Part(sheet)], notes, is_shown, word)


def provenance(facts: Sequence[tuple[str, str]]) -> Section:
    """Make the last section: protocol, versions, seeds and command, by name."""
    rows = [[Entry(name), Entry(text)] for name, text in facts]
    columns = [name_column("what"), text_column("value")]
    sheet = Sheet("reproduce", "How to get the same numbers", "", columns, [rows])
    return Section("Reproduce", "", [Part(sheet)])


@dataclass(frozen=True, repr=False)
class Report:
    """All sections about a result, with the main result first."""

    title: str
    sections: Sequence[Section]
    kind: Literal["Study", "Recommendation", "Check", "Inspection", "Reproduction"]

    @property
    def parts(self) -> list[Part]:
        """Tables and figures of all sections."""
        return [part for section in self.sections for part in section.parts]

    @property
    def main_sheets(self) -> list[Sheet]:
        """Whole tables of which a terminal shows something."""
        return [part.sheet for part in self.parts if part.brief is not None]

    def __repr__(self) -> str:
        return f"<Report {self.title!r:.100}: {quantity(len(self.sections), 'section')}>"

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        sections = (Markup(section._repr_html_()) for section in self.sections)
        return element("article", element("h1", self.title), *sections)
