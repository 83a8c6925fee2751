"""Tables and figures in all formats, in a folder, and what shows them on its page."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes

from ranksieve.io.files import make_directory
from ranksieve.io.records import write_text
from ranksieve.report.figures import write_figure
from ranksieve.report.formats.csv_text import to_csv
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.markdown import to_markdown
from ranksieve.report.sheets.sheet import Sheet
from ranksieve.text import file_stem

_FORMS = {".md": to_markdown, ".tex": to_latex, ".csv": to_csv}
_FIGURE_SUFFIXES = (".svg", ".png")


def write_table(sheet: Sheet, directory: Path) -> str:
    """Write a table in all forms to ``tables/``, and return that of the page."""
    tables = make_directory(directory / "tables")
    for suffix, form in _FORMS.items():
        write_text(form(sheet), tables / f"{file_stem(sheet.name)}{suffix}")
    return to_markdown(sheet)


def write_drawing(ax: Axes, name: str, directory: Path) -> str:
    """Write a figure in all formats to ``figures/``, and return what shows it on the page."""
    figures = make_directory(directory / "figures")
    for suffix in _FIGURE_SUFFIXES:
        write_figure(ax, figures / f"{file_stem(name)}{suffix}")
    return embed(file_stem(name))


def embed(name: str) -> str:
    """What shows a figure on the page."""
    return f"![{name}](figures/{name}.svg)"
