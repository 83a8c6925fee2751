"""The tables and figures of a recommendation, in its directory and on the terminal."""

from __future__ import annotations

from pathlib import Path

from ranksieve.io.records import write_text
from ranksieve.recommendation.answer import Recommendation
from ranksieve.report.figures import describe_front, plot_front
from ranksieve.report.figures.style import Drawing
from ranksieve.report.files import ReportFiles
from ranksieve.report.formats.plain_text import escape
from ranksieve.report.formats.terminal import show, to_terminal
from ranksieve.report.page.page import write_page
from ranksieve.report.page.recommendation import recommendation_page
from ranksieve.report.sheets.recommendation import (
    evidence_sheets,
    recommendation_sheets,
    shown_sheets,
)


def write_recommendation(answer: Recommendation, directory: Path, *, figures: bool = True) -> None:
    """Write all tables and figures, and pages with them: ``report.html`` and ``report.md``.

    Tables and figures of an earlier report in the directory are removed.
    """
    write_page(recommendation_page(answer), directory / "report.html")
    page = [f"# {escape(answer.title)}", escape(answer.sentence), *map(escape, answer.notes)]
    page.append(escape(answer.protocol))
    with ReportFiles(directory) as files:
        if figures and answer.selectors:
            drawing = Drawing(plot_front(answer), "front", describe_front(answer))
            page.append(files.write_drawing(drawing))
        page += map(files.write_table, recommendation_sheets(answer))
        for sheet in evidence_sheets(answer):
            files.write_table(sheet)
    write_text("\n\n".join(page) + "\n", directory / "report.md")


def show_recommendation(answer: Recommendation, directory: Path) -> None:
    """Print the answer: features to keep and to drop, the claim, and cost against quality."""
    for text in (answer.sentence, *answer.notes, ""):
        show(text)
    for sheet in shown_sheets(answer, directory):
        show(to_terminal(sheet, directory))
        show("")
    show(answer.protocol)
    show(f"All of this is in {directory}; open {directory / 'report.html'} first")
