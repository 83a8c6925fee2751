"""Sheets as text: for a terminal, Markdown, LaTeX, CSV and JSON."""

from typing import Literal

FormatName = Literal["terminal", "markdown", "latex", "csv", "json"]
