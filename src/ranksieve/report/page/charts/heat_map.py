"""Draw the similarity of features as a heat map, with the tree that orders them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ranksieve.report.page.charts.grid import Grid
from ranksieve.report.page.svg import Scale, drawing, path, short_text, width_of

_LEFT, _TREE, _WIDTH = 180.0, 110.0, 900.0
_SMALLEST, _LARGEST = 11.0, 20.0


def tree_of(similarity: np.ndarray) -> np.ndarray | None:
    """Cluster features by average linkage, with ordered leaves; None for fewer than two."""
    if len(similarity) < 2:
        return None
    apart = 1 - np.clip((similarity + similarity.T) / 2, 0, 1)
    np.fill_diagonal(apart, 0.0)
    return linkage(squareform(apart, checks=False), "average", optimal_ordering=True)


def order_of(tree: np.ndarray | None, n_features: int) -> np.ndarray:
    """Return the features in the order of the tree's leaves."""
    return np.arange(n_features) if tree is None else leaves_list(tree)


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
    order = order_of(tree, len(names))
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
    branches = _branches(tree, cell, left + size + 8)
    parts = [*labels, grid.shades({"heat": slice(None)}), *branches]
    svg = drawing(left + size + _TREE, size + 10, *parts, title=title, data_grid="similarity")
    return svg, grid.data()


def _branches(tree: np.ndarray | None, cell: float, left: float) -> list[Markup]:
    """Draw the tree: branches meet at a distance from the matrix that shows how they differ."""
    if tree is None:
        return []
    n = len(tree) + 1
    across = Scale(0.0, max(float(tree[:, 2].max()), 1e-9), left, left + _TREE - 16)
    row_of = {int(feature): row for row, feature in enumerate(leaves_list(tree))}
    places = {feature: (left, 4 + (row + 0.5) * cell) for feature, row in row_of.items()}
    parts = []
    for number, (first, second, distance, _) in enumerate(tree.tolist()):
        (x1, y1), (x2, y2) = places[int(first)], places[int(second)]
        x = across(distance)
        parts.append(path([(x1, y1), (x, y1), (x, y2), (x2, y2)], "thin"))
        places[n + number] = (x, (y1 + y2) / 2)
    return parts
