"""Check models of LightGBM (text) and XGBoost (JSON) before these libraries load them.

Both trust a model: a child, feature, category or class that does not exist, a word where LightGBM
expects a number, or a number too few, makes them read or write invalid memory, and a node below
itself makes them loop forever. A trial would not always show it (:mod:`~.trial`), so this is
checked here. Nothing else is: any number that a library writes will do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.io.records import parse_record
from ranksieve.rankers.libraries.trial import try_model
from ranksieve.text import quantity

if TYPE_CHECKING:
    from lightgbm import Booster

_SEVERAL = "the model has several scores for each row, but a ranker needs one"

# Of LightGBM's text.
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|inf|nan)", re.ASCII)
_INTEGER = re.compile(r"-?\d{1,15}", re.ASCII)
_NAME = re.compile(r"\w+", re.ASCII)
_ALONE = frozenset({"tree", "average_output"})  # header lines without a value
_PARAMETER = re.compile(r"\[\w+: .*\]|", re.ASCII)
_OF_SPLITS = ("split_gain", "internal_value", "internal_weight", "internal_count")
_OF_LEAVES = ("leaf_weight", "leaf_count", "leaf_const")
_CATEGORICAL, _DECISIONS = 1, 16  # bit of a decision type, and the number of types

# Of XGBoost's JSON.
_CHILDREN = ("left_children", "right_children")
_KINDS = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}
_NUMBERS = ("split_conditions", "base_weights", "loss_changes", "sum_hessian")


def load_booster(text: str) -> Booster:
    """Load a booster of LightGBM from its text; raise a DataError if it cannot be used."""
    check_text(text)
    try_model("lightgbm", text.encode())
    from lightgbm import Booster

    booster = Booster(model_str=text)
    n_trees = text.count("\nTree=")
    if booster.num_trees() != n_trees:  # a tree has more lines than LightGBM reads
        raise DataError(f"LightGBM reads {booster.num_trees()} of {quantity(n_trees, 'tree')}")
    return booster


def check_text(text: str) -> None:
    """Raise a DataError unless the trees of LightGBM's text are valid and use known features."""
    body, end, rest = text.partition("\nend of trees\n")
    # LightGBM would also end the text at a zero, and a line at a carriage return.
    if not end or not text.startswith("tree\n") or "\0" in text or "\r" in text:
        raise DataError(
            "not a complete text model of LightGBM: it should reach from 'tree' to 'end of trees'"
        )
    head, *trees = body.split("\nTree=")
    n_features = _check_head(head, [len(f"Tree={tree}\n".encode()) for tree in trees])
    for number, tree in enumerate(trees):
        name, _, lines = tree.partition("\n")
        try:
            if name != str(number):
                raise DataError(f"it is numbered {name!r:.20}")
            _check_lightgbm_tree(_parse_settings(lines.rstrip("\n")), n_features)
        except DataError as error:
            raise DataError(f"tree {number}: {error}") from None
    parameters = rest.partition("\nparameters:\n")[2].partition("\nend of parameters")[0]
    if not all(map(_PARAMETER.fullmatch, parameters.split("\n"))):
        raise DataError("the lines of 'parameters:' should be like [name: value]")


def _check_head(head: str, sizes: list[int]) -> int:
    """Check the header of a model with trees of these sizes; return the number of features."""
    facts = _parse_settings(head.strip("\n"), _ALONE)
    single = "num_class", "num_tree_per_iteration"
    objective = facts.get("objective", "custom").split()
    if not objective:  # LightGBM crashes
        raise DataError("'objective' is empty; remove the line if there is none")
    if {int(_parse_integers(facts, name, 1)[0]) for name in single} != {1}:
        raise DataError(_SEVERAL)
    if objective[0].startswith("multiclass"):  # LightGBM writes a score for each class
        raise DataError(f"{_SEVERAL}: its objective is {objective[0]!r:.20}")
    n_features = int(_parse_integers(facts, "max_feature_idx", 1)[0]) + 1
    if n_features < 1 or len(facts.get("feature_names", "").split(" ")) != n_features:
        raise DataError(f"there should be {n_features} feature names")
    # LightGBM splits the text by these sizes without checking them.
    if "tree_sizes" in facts and _parse_integers(facts, "tree_sizes", len(sizes)).tolist() != sizes:
        raise DataError(
            "'tree_sizes' does not match the trees; if you changed these, remove that line"
        )
    return n_features


def _parse_settings(text: str, alone: Collection[str] = ()) -> dict[str, str]:
    """Parse lines ``name=value`` to values by name."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        name, sign, value = line.partition("=")
        if not (_NAME.fullmatch(name) and (sign or name in alone)) or name in found:
            raise DataError(f"expected name=value, each name once, found {line!r:.40}")
        found[name] = value
    return found


def _check_lightgbm_tree(tree: Mapping[str, str], n_features: int) -> None:
    n_leaves = int(_parse_integers(tree, "num_leaves", 1)[0])
    if n_leaves < 1 or n_leaves > len(tree.get("leaf_value", "")):
        raise DataError(f"'num_leaves' is {n_leaves}, but there are fewer leaf values")
    _parse_numbers(tree, "leaf_value", n_leaves)
    n_splits = n_leaves - 1
    for names, count in ((_OF_SPLITS, n_splits), (_OF_LEAVES, n_leaves), (("shrinkage",), 1)):
        for name in names:
            if tree.get(name, "").strip():  # empty for trees with one leaf
                _parse_numbers(tree, name, count)
    if n_splits:
        features = _parse_integers(tree, "split_feature", n_splits)
        _check_range(features, "split_feature", n_features)
        decisions = _parse_integers(tree, "decision_type", n_splits)
        _check_range(decisions, "decision_type", _DECISIONS)
        thresholds = _parse_numbers(tree, "threshold", n_splits)
        _check_children(tree, n_splits)
        _check_lightgbm_categories(tree, thresholds[decisions & _CATEGORICAL > 0])
    if _parse_integers(tree, "is_linear", 1)[0] if "is_linear" in tree else 0:
        counts = _parse_integers(tree, "num_features", n_leaves)
        _check_range(counts, "num_features", n_features + 1)
        _parse_numbers(tree, "leaf_coeff", int(counts.sum()))
        of_leaves = _parse_integers(tree, "leaf_features", int(counts.sum()))
        _check_range(of_leaves, "leaf_features", n_features)


def _check_children(tree: Mapping[str, str], n_splits: int) -> None:
    """Check that every node except the root is the child of one earlier node; leaf i is -1 - i."""
    sides = [_parse_integers(tree, f"{side}_child", n_splits) for side in ("left", "right")]
    children = np.concatenate(sides)
    parents = np.tile(np.arange(n_splits), 2)
    wanted = [*range(-n_splits - 1, 0), *range(1, n_splits)]
    is_inner = children > 0
    if np.sort(children).tolist() != wanted or (children <= parents)[is_inner].any():
        raise DataError("'left_child' and 'right_child' do not form a tree")


def _check_lightgbm_categories(tree: Mapping[str, str], thresholds: np.ndarray) -> None:
    """Check categorical splits, whose thresholds are indices of sets of categories."""
    n_sets = int(_parse_integers(tree, "num_cat", 1)[0])
    if not n_sets and not len(thresholds):
        return
    _check_range(np.array([n_sets]), "num_cat", len(tree.get("cat_boundaries", "")) + 1)
    bounds = _parse_integers(tree, "cat_boundaries", n_sets + 1)
    words = _parse_integers(tree, "cat_threshold", int(bounds[-1]))
    _check_range(words, "cat_threshold", 2**32)
    if bounds[0] != 0 or (np.diff(bounds) < 0).any():
        raise DataError("'cat_boundaries' should ascend from 0")
    if not (thresholds == np.floor(thresholds)).all():  # also NaN
        raise DataError("the threshold of a categorical split should be the index of a set")
    _check_range(thresholds, "threshold", n_sets)


def _check_range(values: np.ndarray, name: str, end: int) -> None:
    wrong = values[(values < 0) | (values >= end)]
    if len(wrong):
        raise DataError(f"{name!r} has {wrong[0]:.15g}, but should be in 0..{end - 1}")


def _parse_integers(tree: Mapping[str, str], name: str, count: int) -> np.ndarray:
    words = _parse_words(tree, name, count, _INTEGER, "whole number")
    return np.array([int(word) for word in words], dtype=np.int64)


def _parse_numbers(tree: Mapping[str, str], name: str, count: int) -> np.ndarray:
    words = _parse_words(tree, name, count, _NUMBER, "number")
    return np.array([float(word) for word in words])


def _parse_words(
    tree: Mapping[str, str], name: str, count: int, form: re.Pattern[str], what: str
) -> list[str]:
    text = tree.get(name, "")
    words = [word for word in text.split(" ") if word]
    if len(words) != count or not all(map(form.fullmatch, words)):
        raise DataError(f"{name!r} should be {quantity(count, what)}, not {text!r:.40}")
    return words


def check_json(text: str) -> None:
    """Raise a DataError unless the trees of XGBoost's JSON are valid and use known features."""
    try:
        record = parse_record(text.encode(), finite=False)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON in line {error.lineno}: {error.msg}") from None
    except ValueError as error:
        raise DataError(f"not JSON: {error}") from None
    learner = _get(record, "learner", dict)
    facts = _get(learner, "learner_model_param", dict)
    n_features = _get_count(facts, "num_feature")
    objective = _get(_get(learner, "objective", dict), "name", str)
    several = _get_count(facts, "num_class", 0) > 1 or _get_count(facts, "num_target", 1) > 1
    if several or objective.startswith("multi:"):
        raise DataError(_SEVERAL)
    booster = _get(learner, "gradient_booster", dict)
    weights = []
    if _get(booster, "name", str) == "dart":
        weights, booster = _get(booster, "weight_drop", list), _get(booster, "gbtree", dict)
    model = _get(booster, "model", dict)
    if "trees" not in model:  # a linear model
        _check_numbers(model, "weights", n_features + 1)
        return
    trees = _get(model, "trees", list)
    if weights:
        _check_numbers({"weight_drop": weights}, "weight_drop", len(trees))
    _check_order(model, trees)
    for number, tree in enumerate(trees):
        try:
            _check_xgboost_tree(tree, n_features)
        except DataError as error:
            raise DataError(f"tree {number}: {error}") from None


def _check_order(model: dict[str, Any], trees: list[Any]) -> None:
    """Check the fields that list the trees and group them."""
    n_trees = len(trees)
    if sorted(_get(tree, "id", int) for tree in trees) != list(range(n_trees)):
        raise DataError("the 'id' of each tree should be a different number, from 0 on")
    if _get_count(_get(model, "gbtree_model_param", dict), "num_trees") != n_trees:
        raise DataError(f"'num_trees' is not the number of trees, {n_trees}")
    _get_integers(model, "tree_info", n_trees, 0, 1)
    if "iteration_indptr" in model:
        bounds = _get_integers(model, "iteration_indptr", None, 0, n_trees + 1)
        if not len(bounds) or bounds[0] or bounds[-1] != n_trees or (np.diff(bounds) < 0).any():
            raise DataError("'iteration_indptr' should ascend from 0 to the number of trees")


def _check_xgboost_tree(tree: Any, n_features: int) -> None:
    n_nodes = len(_get(tree, "left_children", list))
    facts = _get(tree, "tree_param", dict)
    if n_nodes < 1 or _get_count(facts, "num_nodes") != n_nodes:
        raise DataError(f"'num_nodes' is not the number of nodes, {n_nodes}")
    n_values = _get_count(facts, "size_leaf_vector", 1)
    if _get_count(facts, "num_feature") != n_features or n_values > 1:
        raise DataError(f"it should have {n_features} features and one value for each leaf")
    features = _get_integers(tree, "split_indices", n_nodes, 0, 2**31)
    left, right = (_get_integers(tree, name, n_nodes, -1, n_nodes) for name in _CHILDREN)
    reached = _find_nodes(left, right)
    parents = _get_integers(tree, "parents", n_nodes, 0, 2**31)
    inner = np.flatnonzero(reached & (left >= 0))
    if (parents[left[inner]] != inner).any() or (parents[right[inner]] != inner).any():
        raise DataError("'parents' do not match the children")
    if (features[reached] >= n_features).any():  # deleted nodes may have other values
        raise DataError(f"'split_indices' should be in 0..{n_features - 1}")
    _get_integers(tree, "default_left", n_nodes, 0, 2)
    for name in _NUMBERS:
        _check_numbers(tree, name, n_nodes)
    _check_xgboost_categories(tree, n_nodes)


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


def _check_xgboost_categories(tree: dict[str, Any], n_nodes: int) -> None:
    """Check categorical splits, whose sets of categories are concatenated in ``categories``."""
    if "split_type" not in tree:
        return
    kinds = _get_integers(tree, "split_type", n_nodes, 0, 2)
    n_values = len(_get(tree, "categories", list))
    _get_integers(tree, "categories", n_values, 0, 2**24)
    nodes = _get_integers(tree, "categories_nodes", None, 0, n_nodes)
    starts = _get_integers(tree, "categories_segments", len(nodes), 0, n_values + 1)
    sizes = _get_integers(tree, "categories_sizes", len(nodes), 0, n_values + 1)
    if (starts + sizes > n_values).any() or nodes.tolist() != np.flatnonzero(kinds).tolist():
        raise DataError("'categories' do not match the categorical splits")


def _get(record: Any, name: str, kind: type) -> Any:
    """Return a value of a record; raise a DataError unless it has the type."""
    if not isinstance(record, dict) or name not in record:
        raise DataError(f"{name!r} is missing")
    if type(record[name]) is not kind:  # isinstance would accept true as an int
        raise DataError(f"{name!r} should be {_KINDS[kind]}, not {record[name]!r:.40}")
    return record[name]


def _get_count(facts: dict[str, Any], name: str, default: int | None = None) -> int:
    """Return an integer that XGBoost writes as text."""
    if default is not None and name not in facts:
        return default
    text = _get(facts, name, str)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise DataError(f"{name!r} should be a whole number, not {text!r:.40}")
    return int(text)


def _check_numbers(record: Any, name: str, count: int) -> None:
    values = _get(record, name, list)
    if len(values) != count or not all(type(value) in (int, float) for value in values):
        raise DataError(f"{name!r} should be {count} numbers")


def _get_integers(record: Any, name: str, count: int | None, start: int, end: int) -> np.ndarray:
    values = _get(record, name, list)
    if not all(type(value) is int and start <= value < end for value in values):
        raise DataError(f"{name!r} should be whole numbers in {start}..{end - 1}")
    if count is not None and len(values) != count:
        raise DataError(f"{name!r} should have {count} numbers, not {len(values)}")
    return np.array(values, dtype=np.int64)
