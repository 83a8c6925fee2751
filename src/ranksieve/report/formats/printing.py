"""Print sheets on standard output in any format."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rich.text import Text

from ranksieve.report.formats import FormatName
from ranksieve.report.formats.csv_text import to_csv
from ranksieve.report.formats.html import to_html
from ranksieve.report.formats.json_text import to_json
from ranksieve.report.formats.latex import to_latex
from ranksieve.report.formats.markdown import to_markdown
from ranksieve.report.formats.terminal import show, to_terminal
from ranksieve.report.sheets.sheet import Sheet

TEXT_FORMATS: dict[str, Callable[[Sheet], str]] = {
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
    "csv": to_csv,
    "json": to_json,
}
"""Functions that turn a sheet into text; the terminal's format depends on its width."""


def show_sheets(sheets: Sequence[Sheet], form: FormatName = "terminal") -> None:
    """Print sheets on standard output.

    Parameters
    ----------
    sheets : sequence of Sheet
    form : {"terminal", "markdown", "latex", "html", "csv", "json"}
        Several sheets are separated by empty lines; in JSON they are an array.
    """
    if form == "terminal":
        for number, sheet in enumerate(sheets):
            if number:
                show(Text())
            show(to_terminal(sheet))
    elif form == "json":
        sys.stdout.write(to_json(*sheets))
    else:
        sys.stdout.write("\n".join(TEXT_FORMATS[form](sheet) for sheet in sheets))
