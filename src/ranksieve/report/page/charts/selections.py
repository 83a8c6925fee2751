"""Draw which features each selector selects on each fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from ranksieve.report.formats.html import element
from ranksieve.report.page.charts.grid import Grid
from ranksieve.report.page.svg import drawing, short_text, shorten, text, width_of

_LEFT, _WIDTH, _ROW, _GAP = 180.0, 860.0, 17.0, 1
_SMALLEST, _LARGEST = 5.0, 14.0


@dataclass(frozen=True)
class Taken:
    """Features that a selector selects.

    Attributes
    ----------
    shares : array of shape (features, folds)
        Share of the seeds that select the feature.
    css : str
        CSS class of its color.
    """

    shares: np.ndarray
    css: str


def draw_selections(
    taken: Mapping[str, Taken],
    features: Sequence[str],
    folds: Sequence[str],
    title: str,
    key: str,
    says: str = "share of seeds",
) -> tuple[Markup, dict[str, Any]]:
    """Draw a row for each feature, with a cell for each selector and fold.

    Parameters
    ----------
    taken : mapping of str to Taken
        Selected features by selector.
    features, folds : sequence of str
        In the order of the shares.
    title : str
    key : str
        Key of the page's data for the second value that is returned.
    says : str
        Meaning of the shares.
    """
    left = min(_LEFT, 16 + max(map(width_of, features)))
    top = 24 + 0.71 * min(_LEFT, max(map(width_of, taken)))
    step = len(folds) + _GAP  # columns of a selector, with the gap
    cell = min(_LARGEST, max(_SMALLEST, (_WIDTH - left) / (len(taken) * step)))
    values = np.zeros((len(features), len(taken) * step))
    columns: list[str] = []
    parts, classes = [], {}
    for number, (selector, own) in enumerate(taken.items()):
        start = number * step
        values[:, start : start + len(folds)] = own.shares
        columns += [f"{selector}, {fold}" if fold else selector for fold in folds] + [""] * _GAP
        x, width = left + start * cell, len(folds) * cell
        turned = f"translate({x + width / 2:.1f} {top - 8:.1f}) rotate(-45)"
        parts.append(text(0, 0, shorten(selector, _LEFT), transform=turned))
        height = len(features) * _ROW - 1
        parts.append(element("rect", x=x, y=top, width=width, height=height, class_="cell"))
        classes[f"fill {own.css} n{number}"] = slice(start, start + len(folds))
    grid = Grid(left, top, cell, _ROW, features, columns, values, says, gap=0.1)
    for row, name in enumerate(features):
        y = top + (row + 0.5) * _ROW + 4
        parts.append(short_text(left - 10, y, name, left - 12, "end"))
    right = left + len(columns) * cell + 0.71 * min(_LEFT, width_of(list(taken)[-1]))
    height = top + len(features) * _ROW + 4
    svg = drawing(right, height, *parts, grid.shades(classes), title=title, data_grid=key)
    return svg, grid.data()
