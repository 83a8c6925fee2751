"""Draw shares as shades in the cells of a grid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.text import on_one_line

_LEVELS = 10


@dataclass(frozen=True)
class Grid:
    """Position and values of a grid's cells, and their text under the pointer.

    Attributes
    ----------
    x, y : float
        Upper left corner.
    width, height : float
        Size of a cell.
    rows, columns : sequence of str
    values : array of shape (rows, columns)
        From 0 to 1.
    says : str
        Meaning of the values.
    gap : float
        Gap between cells, as a share of their size; without it, neighbors of equal shade become one
        box.
    """

    x: float
    y: float
    width: float
    height: float
    rows: Sequence[str]
    columns: Sequence[str]
    values: np.ndarray
    says: str
    gap: float = 0.0

    def data(self) -> dict[str, Any]:
        """Data with which the page's script shows a cell's value."""
        return {
            "x": round(self.x, 1),
            "y": round(self.y, 1),
            "width": round(self.width, 2),
            "height": round(self.height, 2),
            "rows": list(map(on_one_line, self.rows)),
            "columns": list(map(on_one_line, self.columns)),
            "values": np.round(self.values, 2).tolist(),
            "says": self.says,
        }

    def shades(self, classes: Mapping[str, slice]) -> Markup:
        """Draw the cells, with one path for each of ten shades of each class's columns.

        Coordinates of paths are in cells, which keeps them short.
        """
        paths = (part for css, columns in classes.items() for part in self._paths(css, columns))
        return element(
            "g",
            *paths,
            transform=f"translate({self.x:.1f} {self.y:.1f}) "
            f"scale({self.width:.3f} {self.height:.3f})",
        )

    def _paths(self, css: str, columns: slice) -> Iterator[Markup]:
        by_level = self._runs(columns)
        for level in sorted(by_level):
            opacity = None if level == _LEVELS else f".{level}"
            yield element("path", d="".join(by_level[level]), class_=css, fill_opacity=opacity)

    def _runs(self, columns: slice) -> dict[int, list[str]]:
        """Map each level to the steps of the path around all runs of neighbors with that level."""
        levels = np.ceil(np.clip(self.values[:, columns], 0, 1) * _LEVELS - 1e-9).astype(int)
        start = columns.indices(self.values.shape[1])[0]
        found: dict[int, list[str]] = defaultdict(list)
        for row, own in enumerate(levels.tolist()):
            column = start
            for level, run in groupby(own):
                n = len(list(run))
                if level:
                    found[level] += self._boxes(column, row, n)
                column += n
        return found

    def _boxes(self, column: int, row: int, n: int) -> list[str]:
        if not self.gap:
            return [f"M{column} {row}h{n}v1h-{n}z"]
        side = f"{1 - self.gap:.2g}".removeprefix("0")
        return [f"M{x} {row}h{side}v{side}h-{side}z" for x in range(column, column + n)]
