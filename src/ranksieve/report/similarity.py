"""Similar features: their order, the tree that joins them, and the table of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ranksieve.report.sheets.sheet import Column, Entry, Fields, Sheet, name_column
from ranksieve.text import quantity

_MOST_PAIRS = 60

Branch = list[tuple[float, float]]
"""Points of a line (position, height) that joins two parts of a tree."""


def tree_of(similarity: np.ndarray) -> np.ndarray:
    """Cluster features by average linkage, with similar leaves adjacent.

    Returns the merges as :func:`scipy.cluster.hierarchy.linkage` does; none for one feature.
    """
    if len(similarity) < 2:
        return np.empty((0, 4))
    distances = similarity.max() - (similarity + similarity.T) / 2
    np.fill_diagonal(distances, 0.0)
    return linkage(squareform(distances, checks=False), "average", optimal_ordering=True)


def leaves_of(tree: np.ndarray) -> np.ndarray:
    """Features in the order of the leaves of a tree."""
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


def similar_sheet(
    names: Sequence[str],
    similarity: np.ndarray,
    title: str = "Pairs of similar features",
    setting: str = "",
) -> Sheet:
    """Pairs of features, the most similar first."""
    pairs = sorted(
        combinations(range(len(names)), 2), key=lambda pair: (-abs(similarity[pair]), pair)
    )
    fields: Fields[tuple[int, int]] = {
        name_column("feature"): lambda pair: Entry(names[pair[0]]),
        name_column("other"): lambda pair: Entry(names[pair[1]]),
        Column("similarity"): lambda pair: Entry(float(similarity[pair]), ".3f"),
    }
    left_out = len(pairs) - _MOST_PAIRS
    notes = [f"{quantity(left_out, 'pair')} of smaller similarity left out."]
    return Sheet.of_items(
        "similar", title, setting, fields, [pairs[:_MOST_PAIRS]], notes if left_out > 0 else []
    )
