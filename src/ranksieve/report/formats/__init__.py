"""Write sheets as text for a terminal, Markdown, LaTeX, HTML, CSV and JSON."""

from typing import Literal

FormatName = Literal["terminal", "markdown", "latex", "html", "csv", "json"]

CheckFormatName = Literal["terminal", "markdown", "latex", "html", "csv", "json", "openmetrics"]
"""Formats of the result of a check, which monitoring reads, too."""
