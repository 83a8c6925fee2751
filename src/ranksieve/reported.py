"""Results that have a report: how they show themselves in Python and in notebooks."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from ranksieve.text import on_one_line, shorten

if TYPE_CHECKING:
    from ranksieve.report.section import Chart


_LONGEST = 400  # characters of a sentence; names can be of any length


class Reported:
    """Base of results: a sentence on a terminal, and a card and figures in a notebook."""

    _figure: ClassVar[str]  # name of the main figure of the report

    @property
    @abstractmethod
    def in_short(self) -> str:
        """What the result says, in one sentence."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {shorten(on_one_line(self.in_short), _LONGEST)}>"

    def _repr_html_(self) -> str:
        """Show the verdict of the report and its main tables in a notebook."""
        from ranksieve.report import show_in_notebook

        result: Any = self
        return show_in_notebook(result)

    def plot(self, figure: str | None = None) -> Chart:
        """Return a figure of the report, which shows itself in a notebook.

        Its method ``write`` writes it as SVG or PDF.

        Parameters
        ----------
        figure : str, optional
            Name of the figure, as in the directory ``figures`` of a report, or its first part; by
            default the main figure. If there is none of this name, the error lists all.
        """
        from ranksieve.report import find_chart

        result: Any = self
        return find_chart(result, self._figure if figure is None else figure)
