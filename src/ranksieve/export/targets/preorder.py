"""Trees as tables in preorder, for targets that store them as tables.

The left child of a split is the next node; the right child is ``skip`` nodes after the split.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranksieve.export.forms import TreeBuilder, TreeEnsemble


class Preorder(NamedTuple):
    """Nodes of all trees in preorder.

    ``feature`` is -1 for leaves. ``number`` is the value of a leaf or the threshold of a split.
    """

    feature: list[int]
    number: list[float]
    missing_left: list[bool]
    skip: list[int]
    roots: list[int]


def to_preorder(trees: TreeEnsemble) -> Preorder:
    """Convert trees to a table in which each split comes right before its left child."""
    table = Preorder([], [], [], [], [])
    feature, left, right = trees.feature.tolist(), trees.left.tolist(), trees.right.tolist()
    number = np.where(trees.feature < 0, trees.value, trees.threshold).tolist()
    missing_left = trees.missing_left.tolist()
    for root in trees.roots.tolist():
        table.roots.append(len(table.feature))
        waiting = [(root, -1)]
        while waiting:
            node, parent = waiting.pop()
            row = len(table.feature)
            if parent >= 0:
                table.skip[parent] = row - parent
            table.feature.append(feature[node])
            table.number.append(number[node])
            table.missing_left.append(missing_left[node])
            table.skip.append(0)
            if feature[node] >= 0:
                waiting += [(right[node], row), (left[node], -1)]
    return table


def from_preorder(table: Preorder, n_features: int, *, sums_in_single: bool) -> TreeEnsemble:
    """Convert a table of :func:`to_preorder` back to trees."""
    builder = TreeBuilder()
    built = [0] * len(table.feature)
    for node in reversed(range(len(built))):
        if table.feature[node] < 0:
            built[node] = builder.add_leaf(table.number[node])
            continue
        built[node] = builder.add_split(
            table.feature[node],
            table.number[node],
            bool(table.missing_left[node]),
            built[node + 1],
            built[node + table.skip[node]],
        )
    for root in table.roots:
        builder.end_tree(built[root])
    return builder.build(n_features, sums_in_single=sums_in_single)
