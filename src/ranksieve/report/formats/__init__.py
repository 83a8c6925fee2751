"""Sheets as text: for a terminal, Markdown, LaTeX and CSV."""
