"""The tables and figures of a recommendation, in its directory and on the terminal."""

from __future__ import annotations

from pathlib import Path

from ranksieve.io.records import write_text
from ranksieve.recommendation.answer import Recommendation
from ranksieve.report.figures import describe_front, plot_front
from ranksieve.report.figures.style import Drawing, write_drawing
from ranksieve.report.formats.plain_text import escape
from ranksieve.report.formats.terminal import show, to_terminal, write_table
from ranksieve.report.page.page import write_page
from ranksieve.report.page.recommendation import recommendation_page
from ranksieve.report.sheets.recommendation import evidence_sheets, recommendation_sheets


def write_recommendation(answer: Recommendation, directory: Path, *, figures: bool = True) -> None:
    """Write all tables and figures, and pages with them: ``report.html`` and ``report.md``."""
    write_page(recommendation_page(answer), directory / "report.html")
    page = [f"# {escape(answer.title)}", escape(answer.sentence), *map(escape, answer.notes)]
    page.append(escape(answer.protocol))
    if figures and answer.selectors:
        drawing = Drawing(plot_front(answer), "front", describe_front(answer))
        page.append(write_drawing(drawing, directory))
    page += [write_table(sheet, directory) for sheet in recommendation_sheets(answer)]
    for sheet in evidence_sheets(answer):
        write_table(sheet, directory)
    write_text("\n\n".join(page) + "\n", directory / "report.md")


def show_recommendation(answer: Recommendation, directory: Path) -> None:
    """Print the answer: features to keep and to drop, the claim, and cost against quality."""
    for text in (answer.sentence, *answer.notes, ""):
        show(text)
    for sheet in recommendation_sheets(answer):
        show(to_terminal(sheet))
        show("")
    show(answer.protocol)
    show(f"All of this is in {directory}; open {directory / 'report.html'} first")
