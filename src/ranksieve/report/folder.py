"""Write tables and figures in all formats to a folder, and Markdown that shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes

from ranksieve.io.files import make_directory
from ranksieve.io.records import write_text
from ranksieve.report.figures import write_figure
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.plain_text import escape, to_csv, to_json, to_markdown
from ranksieve.report.sheets.sheet import Sheet
from ranksieve.text import file_stem, on_one_line

_FORMS: dict[str, Callable[[Sheet], str]] = {
    ".md": to_markdown,
    ".tex": to_latex,
    ".csv": to_csv,
    ".json": to_json,
}
_FIGURE_SUFFIXES = (".svg", ".png")


def write_table(sheet: Sheet, directory: Path) -> str:
    """Write a table in all formats to ``tables/``, and return it as Markdown."""
    tables = make_directory(directory / "tables")
    for suffix, form in _FORMS.items():
        write_text(form(sheet), tables / f"{file_stem(sheet.name)}{suffix}")
    return to_markdown(sheet)


class Drawing(NamedTuple):
    """A figure, the stem of its files, and what is said below it."""

    ax: Axes
    name: str
    caption: str


def write_drawing(drawing: Drawing, directory: Path) -> str:
    """Write a figure in all formats, and its caption, to ``figures/``; return what shows it."""
    figures, name = make_directory(directory / "figures"), file_stem(drawing.name)
    figure = drawing.ax.get_figure(root=True)
    assert figure is not None
    for suffix in _FIGURE_SUFFIXES:
        write_figure(drawing.ax, figures / f"{name}{suffix}")
        figure.set_layout_engine(None)  # the layout of the first format serves all: it takes long
    write_text(f"{on_one_line(drawing.caption)}\n", figures / f"{name}.txt")
    return embed(name, directory)


def embed(name: str, directory: Path) -> str:
    """Markdown that shows a written figure with its caption."""
    caption = (directory / "figures" / f"{name}.txt").read_text(encoding="utf-8")
    return f"![{name}](figures/{name}.svg)\n\n{escape(caption)}"


def link_table(sheet: Sheet, directory: Path) -> str:
    """Write a table in all formats to ``tables/``, and return a list entry that links to it."""
    write_table(sheet, directory)
    return f"- [{escape(sheet.title)}](tables/{sheet.name}.md)"
