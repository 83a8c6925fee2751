"""Trained models in a form that does not depend on the library: trees or weights.

A split sends a row to the left if ``x <= threshold`` in float64, and a missing value (NaN)
according to ``missing_left``. Other rules of libraries (strict comparisons, float32, zeros that
count as missing) are converted to thresholds and splits when trees are read, so that there is only
one rule for writing and evaluating trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ranksieve.data import DataError

SINGLE = 2.0**-24  # relative error of one rounding to float32
DOUBLE = 2.0**-53
_DEEPEST = 200
_CHUNK = 2**20  # rows x trees to evaluate at a time


@dataclass(frozen=True)
class TreeEnsemble:
    """A sum of regression trees; all their nodes are in the same arrays, children first."""

    feature: np.ndarray  # (nodes,): feature of each split; -1 for leaves
    threshold: np.ndarray  # (nodes,): ``x <= threshold`` goes left
    missing_left: np.ndarray  # (nodes,): whether NaN goes left
    left: np.ndarray  # (nodes,): children; a leaf is its own child
    right: np.ndarray  # (nodes,)
    value: np.ndarray  # (nodes,): values of leaves
    roots: np.ndarray  # (trees,): first nodes, in the order in which the trees are added
    n_features: int
    sums_in_single: bool = False  # whether the model adds its trees in float32, as XGBoost does
    cuts_at_values: bool = False  # whether thresholds are training values, not between them

    @property
    def splits(self) -> np.ndarray:
        """Nodes that are not leaves."""
        return np.flatnonzero(self.feature >= 0)

    @property
    def used(self) -> np.ndarray:
        """Features that splits use, in ascending order."""
        return np.unique(self.feature[self.splits])

    @cached_property
    def depth(self) -> int:
        """Number of splits on the longest path from a root to a leaf."""
        depths = [0] * len(self.feature)
        left, right = self.left.tolist(), self.right.tolist()
        for node in self.splits.tolist():  # children come first
            depths[node] = 1 + max(depths[left[node]], depths[right[node]])
        return max(depths[root] for root in self.roots.tolist())

    @property
    def zero_left(self) -> np.ndarray:
        """Whether 0 goes left at each node."""
        return self.threshold >= 0

    @property
    def tells_missing_from_zero(self) -> bool:
        """Whether any split sends a missing value and 0 to different sides."""
        splits = self.splits
        return bool((self.missing_left[splits] != self.zero_left[splits]).any())

    def with_missing_as_zero(self) -> TreeEnsemble:
        """Return the same trees, but with NaN taking the branch of 0."""
        return replace(self, missing_left=self.zero_left)

    def take_features(self, features: np.ndarray) -> TreeEnsemble:
        """Return the same trees on some of the features, which must include all used ones."""
        columns = np.full(self.n_features + 1, -1)  # the last entry is for leaves, -1
        columns[features] = np.arange(len(features))
        return replace(self, feature=columns[self.feature], n_features=len(features))

    def nested(self, leaf: Callable[[int], Any], split: Callable[..., Any]) -> list[Any]:
        """Return nested values, made by ``leaf(node)`` and ``split(node, left, right)``."""
        if self.depth > _DEEPEST:
            raise DataError(
                f"a tree has {self.depth} levels of splits, but engines read at most {_DEEPEST}: "
                "train with a smaller max_depth"
            )
        built: list[Any] = [None] * len(self.feature)
        for node in range(len(built)):  # children come first
            if self.feature[node] < 0:
                built[node] = leaf(node)
            else:
                built[node] = split(node, built[self.left[node]], built[self.right[node]])
        return [built[root] for root in self.roots.tolist()]

    def leaf_values(self, X: np.ndarray, *, strict: bool = False) -> np.ndarray:
        """Return the leaf value of each row in each tree, an array of shape (rows, trees).

        Values and thresholds are compared in the wider of their types; ``strict`` uses
        ``x < threshold``.
        """
        nodes = np.tile(self.roots, (len(X), 1))
        column = np.maximum(self.feature, 0)
        rows = np.arange(len(X))[:, None]
        for _ in range(self.depth):
            x = X[rows, column[nodes]]
            threshold = self.threshold[nodes]
            goes_left = x < threshold if strict else x <= threshold
            goes_left |= np.isnan(x) & self.missing_left[nodes]
            nodes = np.where(goes_left, self.left[nodes], self.right[nodes])
        return self.value[nodes]

    def sums(self, X: np.ndarray, dtype: Any, *, strict: bool = False) -> np.ndarray:
        """Sum the trees for each row in ``dtype``; for ``strict`` see :meth:`leaf_values`."""
        return self._by_rows(X, lambda rows: add_up(self.leaf_values(rows, strict=strict), dtype))

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Compute scores in the arithmetic of the model."""
        return self.sums(X, np.float32 if self.sums_in_single else np.float64)

    def rounding(self, X: np.ndarray, unit: float) -> np.ndarray:
        """Bound the rounding error in the sum of each row, given the unit roundoff."""

        def bound(rows: np.ndarray) -> np.ndarray:
            values = self.leaf_values(rows)
            return unit * (np.abs(np.cumsum(values, axis=1)) + np.abs(values)).sum(axis=1)

        return self._by_rows(X, bound)

    def _by_rows(self, X: np.ndarray, compute: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Compute a number for each row, some rows at a time to limit memory."""
        step = max(1, _CHUNK // len(self.roots))
        parts = [compute(X[start : start + step]) for start in range(0, len(X), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def unit(self) -> float:
        """Unit roundoff of the arithmetic of the model."""
        return SINGLE if self.sums_in_single else DOUBLE


@dataclass(frozen=True)
class LinearModel:
    """A weighted sum of features, added in order, starting with the intercept."""

    weights: np.ndarray  # (features,)
    intercept: float = 0.0
    unit: float = field(default=DOUBLE, init=False)

    @property
    def used(self) -> np.ndarray:
        """Features whose weight is not 0."""
        return np.flatnonzero(self.weights)

    def take_features(self, features: np.ndarray) -> LinearModel:
        """Return the same model on some of the features, which must include all used ones."""
        return LinearModel(self.weights[features], self.intercept)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Compute scores in float64."""
        scores = np.full(len(X), self.intercept)
        for feature in self.used.tolist():
            scores += X[:, feature].astype(np.float64) * self.weights[feature]
        return scores

    def rounding(self, X: np.ndarray, unit: float) -> np.ndarray:
        """Bound the rounding error in the sum of each row, given the unit roundoff."""
        parts = X[:, self.used] * self.weights[self.used]
        sums = np.abs(np.cumsum(parts, axis=1))
        return unit * (sums + 3 * np.abs(parts)).sum(axis=1)


Model = TreeEnsemble | LinearModel
Number = float | np.floating[Any]


def zero_for_missing(X: np.ndarray) -> np.ndarray:
    """Replace NaN with 0."""
    return np.where(np.isnan(X), X.dtype.type(0), X)


def add_up(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Sum each row from left to right, rounding each step to ``dtype``; returns float64."""
    total = np.zeros(len(values), dtype=dtype)
    for column in values.T:
        total += column.astype(dtype)
    return total.astype(np.float64)


class TreeBuilder:
    """Collects the nodes of trees, children before their parents."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, float, bool, int, int, float]] = []
        self._roots: list[int] = []

    def add_leaf(self, value: Number) -> int:
        """Add a leaf and return its number; raises a DataError unless its value is finite."""
        if not np.isfinite(value):
            raise DataError(f"a leaf of the model has the value {value}, which no target takes")
        node = len(self._nodes)
        self._nodes.append((-1, np.inf, False, node, node, float(value)))
        return node

    def add_split(
        self, feature: int, threshold: Number, missing_left: bool, left: int, right: int
    ) -> int:
        """Add a split above two nodes and return its number."""
        if np.isnan(threshold):
            raise DataError("a threshold of the model is not a number, which no target takes")
        self._nodes.append((feature, float(threshold), missing_left, left, right, 0.0))
        return len(self._nodes) - 1

    def copy(self, top: int) -> int:
        """Copy a node with all nodes below it and return the number of the copy."""
        feature, threshold, missing_left, left, right, value = self._nodes[top]
        if feature < 0:
            return self.add_leaf(value)
        return self.add_split(feature, threshold, missing_left, self.copy(left), self.copy(right))

    def add_tree(self, root: Any, read: Callable[[Any], Any]) -> None:
        """Add a tree in any form, however deep.

        ``read`` takes a node and returns the value of a leaf, or a tuple: the feature, the
        threshold and the side of missing values of a split, and its left and right node.
        """
        built: list[int] = []
        waiting: list[tuple[Any, Any]] = [(root, None)]
        while waiting:
            node, decision = waiting.pop()
            if decision is not None:  # the nodes below it have been added
                feature, threshold, missing_left = decision
                right, left = built.pop(), built.pop()
                built.append(self.add_split(feature, threshold, missing_left, left, right))
            elif isinstance(found := read(node), tuple):
                waiting += [(node, found[:3]), (found[4], None), (found[3], None)]
            else:
                built.append(self.add_leaf(found))
        self.end_tree(built.pop())

    def end_tree(self, root: int) -> None:
        """Make a node the root of the next tree."""
        self._roots.append(root)

    def __len__(self) -> int:
        return len(self._nodes)

    def build(self, n_features: int, **facts: bool) -> TreeEnsemble:
        """Build the ensemble; ``facts`` are further attributes of :class:`TreeEnsemble`."""
        if not self._roots:
            self.end_tree(self.add_leaf(0.0))  # a model without trees scores all rows equally
        columns = zip(*self._nodes, strict=True)
        kinds = (np.int64, np.float64, np.bool_, np.int64, np.int64, np.float64)
        arrays: list[Any] = [
            np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)
        ]
        arrays += [np.array(self._roots), n_features]
        return replace(TreeEnsemble(*arrays), **facts)  # type: ignore[arg-type]

    def build_in_single(self, n_features: int) -> TreeEnsemble:
        """Build the ensemble with thresholds that are compared in float32."""
        trees = self.build(n_features)
        return replace(trees, threshold=trees.threshold.astype(np.float32))
