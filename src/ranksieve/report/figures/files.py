"""Figures as files."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes

from ranksieve.io.files import replace_on_success
from ranksieve.report.figures.names import tolerate_missing_glyphs

FIGURE_FORMATS = (".pdf", ".png", ".svg")


def write_figure(ax: Axes, path: str | Path) -> None:
    """Write the figure of some Axes to a file in the format of its suffix (pdf, png or svg).

    Text stays text in vector formats, and the same figure gives the same bytes.
    """
    path = Path(path)
    check_format(path)
    figure = ax.get_figure(root=True)
    assert figure is not None
    kind = path.suffix[1:].lower()
    no_date = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with (
        mpl.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "ranksieve"}),
        replace_on_success(path) as temporary,
        tolerate_missing_glyphs(),
    ):
        figure.savefig(temporary, format=kind, dpi=300, metadata=no_date)


def check_format(path: Path) -> None:
    """Raise a ValueError unless the suffix is that of a format for figures."""
    if path.suffix.lower() not in FIGURE_FORMATS:
        raise ValueError(f"{path}: the name of a figure must end in {', '.join(FIGURE_FORMATS)}")
