"""Draw cells in rows and columns: similarities, selections by fold, differences of methods."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from markupsafe import Markup

from ranksieve.report.charts import svg
from ranksieve.report.charts.colors import GAIN, LOSS, PLAIN
from ranksieve.report.charts.svg import Scale
from ranksieve.report.formats.html import element
from ranksieve.report.similarity import branches_of, leaves_of, tree_of
from ranksieve.text import on_one_line

_LEVELS = 10  # of shades
# Pixels: names at the left may take LEFT, and at most 2/5 of the width; cells fill the width, but
# are neither smaller than SMALLEST nor larger than LARGEST.
_MAP_LEFT, _MAP_TREE, _MAP_SMALLEST, _MAP_LARGEST = 180.0, 110.0, 11.0, 20.0
_TAKEN_LEFT, _TAKEN_ROW, _TAKEN_SMALLEST, _TAKEN_LARGEST = 180.0, 17.0, 5.0, 14.0
_TAKEN_GAP = 1  # columns between selectors
_MATRIX_LEFT, _MATRIX_ROW, _MATRIX_SMALLEST, _MATRIX_LARGEST = 150.0, 30.0, 34.0, 76.0
_MATRIX_WITH_TEXT = 52.0  # minimum width of cells that contain numbers


@dataclass(frozen=True)
class Taken:
    """Features that a selector selects."""

    shares: np.ndarray  # (features, folds): share of the seeds that select the feature
    css: str  # CSS class of its color
    is_marked: bool = False  # whether its name is bold


@dataclass(frozen=True)
class Difference:
    """A cell of the matrix."""

    value: float  # row minus column
    is_significant: bool
    tip: str  # text shown under the pointer


@dataclass(frozen=True)
class Grid:
    """Position and values of a grid's cells, and their text under the pointer."""

    x: float  # upper left corner
    y: float
    width: float  # of a cell
    height: float
    rows: Sequence[str]
    columns: Sequence[str]
    values: np.ndarray  # (rows, columns), from 0 to 1
    says: str  # meaning of the values
    gap: float = 0.0  # share of a cell; without it, neighbors of equal shade become one box

    @property
    def data(self) -> str:
        """JSON with which the page's script shows the value of a cell."""
        whole = {
            "x": round(self.x, 1),
            "y": round(self.y, 1),
            "width": round(self.width, 2),
            "height": round(self.height, 2),
            "rows": list(map(on_one_line, self.rows)),
            "columns": list(map(on_one_line, self.columns)),
            "values": np.round(self.values, 2).tolist(),
            "says": self.says,
        }
        return json.dumps(whole, allow_nan=False, separators=(",", ":"))

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


def draw_heat_map(similarity: np.ndarray, names: Sequence[str], title: str, width: float) -> Markup:
    """Draw the similarity of all pairs (0 to 1), similar features side by side, and their tree."""
    tree = tree_of(similarity)
    order = leaves_of(tree)
    ordered = [names[feature] for feature in order]
    left = min(_MAP_LEFT, 0.4 * width, 12 + max(map(svg.width_of, ordered)))
    cell = min(_MAP_LARGEST, max(_MAP_SMALLEST, (width - left - _MAP_TREE) / len(names)))
    size = cell * len(names)
    values = similarity[np.ix_(order, order)]
    grid = Grid(left, 4.0, cell, cell, ordered, ordered, values, "similarity")
    labels = [
        svg.short_text(left - 8, 4 + (row + 0.5) * cell + 4, name, left - 12, "end")
        for row, name in enumerate(ordered)
    ]
    branches = _draw_tree(tree, cell, left + size + 8)
    parts = [*labels, grid.shades({f"fill {PLAIN}": slice(None)}), *branches]
    whole = left + size + _MAP_TREE
    return svg.drawing(whole, size + 10, *parts, title=title, data_grid=grid.data)


def _draw_tree(tree: np.ndarray, cell: float, left: float) -> list[Markup]:
    """Draw the tree: branches meet at a distance from the matrix that shows how they differ."""
    largest = tree[:, 2].max(initial=1e-9)
    across = Scale(0.0, float(largest), left, left + _MAP_TREE - 16)
    return [
        svg.path([(across(height), 4 + (row + 0.5) * cell) for row, height in branch], "thin")
        for branch in branches_of(tree)
    ]


def draw_selections(
    taken: Mapping[str, Taken],
    features: Sequence[str],
    folds: Sequence[str],
    title: str,
    says: str,
    width: float,
) -> Markup:
    """Draw a row for each feature, with a cell for each selector and fold.

    ``says`` is what the shares mean.
    """
    left = min(_TAKEN_LEFT, 0.4 * width, 16 + max(map(svg.width_of, features)))
    top = 24 + 0.71 * min(_TAKEN_LEFT, max(map(svg.width_of, taken)))
    step = len(folds) + _TAKEN_GAP  # columns of a selector, with the gap
    last = 0.71 * min(_TAKEN_LEFT, svg.width_of(list(taken)[-1]))  # of a turned name
    cell = (width - left - last) / (len(taken) * step)
    cell = min(_TAKEN_LARGEST, max(_TAKEN_SMALLEST, cell))
    values = np.zeros((len(features), len(taken) * step))
    columns: list[str] = []
    parts, classes = [], {}
    for number, (selector, own) in enumerate(taken.items()):
        start = number * step
        values[:, start : start + len(folds)] = own.shares
        columns += [f"{selector}, {fold}" if fold else selector for fold in folds]
        columns += [""] * _TAKEN_GAP
        x, wide = left + start * cell, len(folds) * cell
        turned = f"translate({x + wide / 2:.1f} {top - 8:.1f}) rotate(-45)"
        label, css = svg.shorten(selector, _TAKEN_LEFT), "strong" if own.is_marked else None
        parts.append(svg.text(0, 0, label, transform=turned, class_=css))
        height = len(features) * _TAKEN_ROW - 1
        parts.append(element("rect", x=x, y=top, width=wide, height=height, class_="cell"))
        classes[f"fill {own.css} n{number}"] = slice(start, start + len(folds))
    grid = Grid(left, top, cell, _TAKEN_ROW, features, columns, values, says, gap=0.1)
    for row, name in enumerate(features):
        y = top + (row + 0.5) * _TAKEN_ROW + 4
        parts.append(svg.short_text(left - 10, y, name, left - 12, "end"))
    right, bottom = left + len(columns) * cell + last, top + len(features) * _TAKEN_ROW + 4
    parts.append(grid.shades(classes))
    return svg.drawing(right, bottom, *parts, title=title, data_grid=grid.data)


def draw_matrix(
    names: Sequence[str],
    differences: Mapping[tuple[str, str], Difference],
    title: str,
    width: float,
) -> Markup:
    """Draw the difference between each row's and each column's method.

    Colors deepen with the difference; differences that are not significant have no color.
    """
    left = min(_MATRIX_LEFT, 0.4 * width, 16 + max(map(svg.width_of, names)))
    last = 0.71 * min(_MATRIX_LEFT, svg.width_of(names[-1]))  # of a turned name
    cell = (width - left - last) / len(names)
    cell = min(_MATRIX_LARGEST, max(_MATRIX_SMALLEST, cell))
    top = 16 + 0.71 * min(_MATRIX_LEFT, max(map(svg.width_of, names)))
    largest = max((abs(one.value) for one in differences.values()), default=0.0) or 1.0
    indices = range(len(names))
    corners = [(left + c * cell + 1, top + r * _MATRIX_ROW + 1) for r in indices for c in indices]
    parts = [svg.boxes([(*corner, cell - 2, _MATRIX_ROW - 2) for corner in corners], "cell")]
    for row, name in enumerate(names):
        y = top + row * _MATRIX_ROW
        parts.append(svg.short_text(left - 10, y + _MATRIX_ROW / 2 + 4, name, left - 10, "end"))
        turned = f"translate({left + (row + 0.5) * cell:.1f} {top - 8:.1f}) rotate(-45)"
        parts.append(svg.short_text(0, 0, name, left - 10, transform=turned))
        for column, other in enumerate(names):
            found = differences.get((name, other))
            if found is not None:
                strength = 0.08 + 0.32 * abs(found.value) / largest
                parts.append(_draw_difference(left + column * cell, y, cell, found, strength))
    right = left + len(names) * cell + last
    return svg.drawing(right, top + len(names) * _MATRIX_ROW + 4, *parts, title=title)


def _draw_difference(x: float, y: float, cell: float, found: Difference, strength: float) -> Markup:
    """Draw a box, colored if the difference is significant, with the number if there is room."""
    box = element(
        "rect",
        x=x + 1,
        y=y + 1,
        width=cell - 2,
        height=_MATRIX_ROW - 2,
        class_=f"fill {GAIN if found.value > 0 else LOSS}",
        fill_opacity=f"{strength:.2g}" if found.is_significant else "0",
        data_tip=found.tip,
    )
    has_room = cell >= _MATRIX_WITH_TEXT
    if not found.is_significant and not has_room:
        return box
    sign = "\u25b2" if found.value > 0 else "\u25bc"
    shown = f"{found.value:+z.4f}" if has_room else sign
    css = "strong label" if found.is_significant else "soft label"
    return box + svg.text(x + cell / 2, y + _MATRIX_ROW / 2 + 4, shown, "middle", class_=css)
