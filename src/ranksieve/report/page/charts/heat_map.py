"""Draw the similarity of features as a heat map, with the tree that orders them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from ranksieve.report.page.charts.grid import Grid
from ranksieve.report.page.svg import Scale, drawing, path, short_text, width_of
from ranksieve.report.trees import branches_of, leaves_of, tree_of

_LEFT, _TREE, _WIDTH = 180.0, 110.0, 900.0
_SMALLEST, _LARGEST = 11.0, 20.0


def draw_heat_map(
    similarity: np.ndarray, names: Sequence[str], title: str
) -> tuple[Markup, dict[str, Any]]:
    """Draw the similarity of all pairs, similar features side by side, and the tree at the right.

    Returns the chart and the page's data for the key ``"similarity"``.

    Parameters
    ----------
    similarity : array of shape (features, features)
        From 0 to 1.
    names : sequence of str
    title : str
    """
    tree = tree_of(similarity)
    order = leaves_of(tree)
    ordered = [names[feature] for feature in order]
    left = min(_LEFT, 12 + max(map(width_of, ordered)))
    cell = min(_LARGEST, max(_SMALLEST, (_WIDTH - left - _TREE) / len(names)))
    size = cell * len(names)
    values = similarity[np.ix_(order, order)]
    grid = Grid(left, 4.0, cell, cell, ordered, ordered, values, "similarity")
    labels = [
        short_text(left - 8, 4 + (row + 0.5) * cell + 4, name, left - 12, "end")
        for row, name in enumerate(ordered)
    ]
    branches = _draw_tree(tree, cell, left + size + 8)
    parts = [*labels, grid.shades({"heat": slice(None)}), *branches]
    svg = drawing(left + size + _TREE, size + 10, *parts, title=title, data_grid="similarity")
    return svg, grid.data()


def _draw_tree(tree: np.ndarray, cell: float, left: float) -> list[Markup]:
    """Draw the tree: branches meet at a distance from the matrix that shows how they differ."""
    largest = tree[:, 2].max(initial=1e-9)
    across = Scale(0.0, float(largest), left, left + _TREE - 16)
    return [
        path([(across(height), 4 + (row + 0.5) * cell) for row, height in branch], "thin")
        for branch in branches_of(tree)
    ]
