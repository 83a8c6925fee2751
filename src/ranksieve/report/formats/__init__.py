"""Write sheets as text for a terminal, Markdown, LaTeX, HTML, CSV and JSON."""

from typing import Literal

FormatName = Literal["terminal", "markdown", "latex", "html", "csv", "json"]
