"""Check the JSON of XGBoost models before XGBoost loads them.

XGBoost trusts the children, features and groups of trees: one that does not exist makes it read
invalid memory, and a node below itself makes it loop forever.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.io.records import get, get_numbers, parse_record

_CHILDREN = ("left_children", "right_children")
_NUMBERS = ("split_conditions", "base_weights", "loss_changes", "sum_hessian")


def check_json(text: str) -> None:
    """Raise a DataError unless the trees of a model are valid and use existing features."""
    try:
        record = parse_record(text.encode())
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON in line {error.lineno}: {error.msg}") from None
    except ValueError as error:
        raise DataError(f"not JSON: {error}") from None
    learner = get(record, "learner", dict)
    facts = get(learner, "learner_model_param", dict)
    n_features = _count(facts, "num_feature")
    if _count(facts, "num_class", 0) > 1 or _count(facts, "num_target", 1) > 1:
        raise DataError("the model has several scores for each row, not one")
    booster = get(learner, "gradient_booster", dict)
    if get(booster, "name", str) == "dart":
        booster = get(booster, "gbtree", dict)
    model = get(booster, "model", dict)
    if "trees" not in model:  # a linear model
        get_numbers(model, "weights", n_features + 1)
        return
    trees = get(model, "trees", list)
    _check_order(model, trees)
    for number, tree in enumerate(trees):
        try:
            _check_tree(tree, n_features)
        except DataError as error:
            raise DataError(f"tree {number}: {error}") from None


def _check_order(model: dict[str, Any], trees: list[Any]) -> None:
    """Check the fields that list the trees and group them."""
    n_trees = len(trees)
    if sorted(get(tree, "id", int) for tree in trees) != list(range(n_trees)):
        raise DataError("the 'id' of each tree should be a different number, from 0 on")
    if _count(get(model, "gbtree_model_param", dict), "num_trees") != n_trees:
        raise DataError(f"'num_trees' is not the number of trees, {n_trees}")
    _integers(model, "tree_info", n_trees, 0, 1)
    if "iteration_indptr" in model:
        bounds = _integers(model, "iteration_indptr", None, 0, n_trees + 1)
        if not len(bounds) or bounds[0] or bounds[-1] != n_trees or (np.diff(bounds) < 0).any():
            raise DataError("'iteration_indptr' should ascend from 0 to the number of trees")


def _check_tree(tree: Any, n_features: int) -> None:
    n_nodes = len(get(tree, "left_children", list))
    facts = get(tree, "tree_param", dict)
    if n_nodes < 1 or _count(facts, "num_nodes") != n_nodes:
        raise DataError(f"'num_nodes' is not the number of nodes, {n_nodes}")
    if _count(facts, "num_feature") != n_features or _count(facts, "size_leaf_vector", 1) > 1:
        raise DataError(f"it should have {n_features} features and one value for each leaf")
    features = _integers(tree, "split_indices", n_nodes, 0, 2**31)
    left, right = (_integers(tree, name, n_nodes, -1, n_nodes) for name in _CHILDREN)
    reached = _find_nodes(left, right)
    parents = _integers(tree, "parents", n_nodes, 0, 2**31)
    inner = np.flatnonzero(reached & (left >= 0))
    if (parents[left[inner]] != inner).any() or (parents[right[inner]] != inner).any():
        raise DataError("'parents' do not match the children")
    if (features[reached] >= n_features).any():  # deleted nodes may have other values
        raise DataError(f"'split_indices' should be in 0..{n_features - 1}")
    _integers(tree, "default_left", n_nodes, 0, 2)
    for name in _NUMBERS:
        get_numbers(tree, name, n_nodes)
    _check_categories(tree, n_nodes)


def _find_nodes(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Find the nodes below the root; raise a DataError if one is reached twice."""
    reached = np.zeros(len(left), dtype=bool)
    level = np.array([0])
    while len(level):
        halves = (left[level] < 0) != (right[level] < 0)
        if halves.any() or reached[level].any() or len(np.unique(level)) < len(level):
            raise DataError("'left_children' and 'right_children' do not form a tree")
        reached[level] = True
        inner = level[left[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
    return reached


def _check_categories(tree: dict[str, Any], n_nodes: int) -> None:
    """Check categorical splits, whose sets of categories are concatenated in ``categories``."""
    if "split_type" not in tree:
        return
    kinds = _integers(tree, "split_type", n_nodes, 0, 2)
    n_values = len(get(tree, "categories", list))
    _integers(tree, "categories", n_values, 0, 2**24)
    nodes = _integers(tree, "categories_nodes", None, 0, n_nodes)
    starts = _integers(tree, "categories_segments", len(nodes), 0, n_values + 1)
    sizes = _integers(tree, "categories_sizes", len(nodes), 0, n_values + 1)
    if (starts + sizes > n_values).any() or nodes.tolist() != np.flatnonzero(kinds).tolist():
        raise DataError("'categories' do not match the categorical splits")


def _count(facts: dict[str, Any], name: str, default: int | None = None) -> int:
    """Return an integer that XGBoost writes as text."""
    if default is not None and name not in facts:
        return default
    text = get(facts, name, str)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise DataError(f"{name!r} should be a whole number, not {text!r:.40}")
    return int(text)


def _integers(record: Any, name: str, count: int | None, start: int, end: int) -> np.ndarray:
    values = get(record, name, list)
    if not all(type(value) is int and start <= value < end for value in values):
        raise DataError(f"{name!r} should be whole numbers in {start}..{end - 1}")
    if count is not None and len(values) != count:
        raise DataError(f"{name!r} should have {count} numbers, not {len(values)}")
    return np.array(values, dtype=np.int64)
