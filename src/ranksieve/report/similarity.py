"""Similar features: their order, and the tree that joins them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Branch = list[tuple[float, float]]
"""Points of a line (position, height) that joins two parts of a tree."""


def tree_of(similarity: np.ndarray) -> np.ndarray:
    """Cluster features by average linkage, with similar leaves adjacent.

    Returns the merges as :func:`scipy.cluster.hierarchy.linkage` does; none for one feature.
    """
    from scipy.cluster.hierarchy import linkage  # slow to import
    from scipy.spatial.distance import squareform

    if len(similarity) < 2:
        return np.empty((0, 4))
    distances = similarity.max() - (similarity + similarity.T) / 2
    np.fill_diagonal(distances, 0.0)
    return linkage(squareform(distances, checks=False), "average", optimal_ordering=True)


def leaves_of(tree: np.ndarray) -> np.ndarray:
    """Features in the order of the leaves of a tree."""
    from scipy.cluster.hierarchy import leaves_list

    return leaves_list(tree) if len(tree) else np.arange(1)


def branches_of(tree: np.ndarray) -> list[Branch]:
    """Lines that draw a tree: its leaves are at the positions 0, 1, ... and have the height 0."""
    nodes = [(float(position), 0.0) for position in np.argsort(leaves_of(tree))]
    branches = []
    for left, right, height, _ in tree.tolist():
        (start, start_height), (end, end_height) = nodes[int(left)], nodes[int(right)]
        branches.append([(start, start_height), (start, height), (end, height), (end, end_height)])
        nodes.append(((start + end) / 2, height))
    return branches


def order_by_similarity(
    features: Sequence[int], compared: Sequence[int], similarity: np.ndarray
) -> list[int]:
    """Features with similar ones adjacent; those that were not compared come last.

    ``compared`` are the features of the rows and columns of ``similarity``.
    """
    row_of = {feature: row for row, feature in enumerate(compared)}
    known = [feature for feature in features if feature in row_of]
    rows = [row_of[feature] for feature in known]
    leaves = leaves_of(tree_of(similarity[np.ix_(rows, rows)]))[: len(known)]
    return [known[leaf] for leaf in leaves] + [f for f in features if f not in row_of]
