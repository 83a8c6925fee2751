"""Check the text of LightGBM models before LightGBM loads them.

LightGBM trusts the text of a model: a child or feature that does not exist makes it read invalid
memory, and a node below itself makes it loop forever.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ranksieve.data import DataError

if TYPE_CHECKING:
    from lightgbm import Booster

_SIGNS = re.compile(r"[-+.\deE ]*", re.ASCII)  # characters of finite numbers
_NAME = re.compile(r"\w+", re.ASCII)
_PARAMETER = re.compile(r"\[\w+: .*\]|", re.ASCII)
_ALONE = frozenset({"tree", "average_output"})  # header lines without a value
_OF_SPLITS = ("split_gain", "internal_value", "internal_weight", "internal_count")
_OF_LEAVES = ("leaf_weight", "leaf_count", "leaf_const")
_CATEGORICAL, _DECISIONS = 1, 16  # bit of a decision type, and the number of types


def load_booster(text: str) -> Booster:
    """Load a booster from the text of a model; raise a DataError if the text is damaged."""
    from lightgbm import Booster
    from lightgbm.basic import LightGBMError

    check_text(text)
    try:
        return Booster(model_str=text)
    except (LightGBMError, ValueError, TypeError, RecursionError) as error:
        raise DataError(f"LightGBM cannot read this model: {error}") from None


def check_text(text: str) -> None:
    """Raise a DataError unless the trees of a model are valid and use existing features."""
    body, end, rest = text.partition("\nend of trees\n")
    if not end or not text.startswith("tree\n") or "\0" in text:
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
            _check_tree(_settings(lines.rstrip("\n")), n_features)
        except DataError as error:
            raise DataError(f"tree {number}: {error}") from None
    parameters = rest.partition("\nparameters:\n")[2]
    if not all(
        map(_PARAMETER.fullmatch, parameters.partition("\nend of parameters")[0].split("\n"))
    ):
        raise DataError("the lines of 'parameters:' should be like [name: value]")


def _check_head(head: str, sizes: list[int]) -> int:
    """Check the header of a model with trees of these sizes; return the number of features."""
    facts = _settings(head.strip("\n"), _ALONE)
    if [_integers(facts, name, 1)[0] for name in ("num_class", "num_tree_per_iteration")] != [1, 1]:
        raise DataError("the model has several scores for each row, not one")
    n_features = int(_integers(facts, "max_feature_idx", 1)[0]) + 1
    if n_features < 1 or len(facts.get("feature_names", "").split(" ")) != n_features:
        raise DataError(f"there should be {n_features} feature names")
    # LightGBM splits the text by these sizes without checking them.
    if "tree_sizes" in facts and _integers(facts, "tree_sizes", len(sizes)).tolist() != sizes:
        raise DataError(
            "'tree_sizes' does not match the trees; if you changed these, remove that line"
        )
    return n_features


def _settings(text: str, alone: Collection[str] = ()) -> dict[str, str]:
    """Parse lines ``name=value`` to values by name."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        name, sign, value = line.partition("=")
        if not (_NAME.fullmatch(name) and (sign or name in alone)) or name in found:
            raise DataError(f"expected name=value, each name once, found {line!r:.40}")
        found[name] = value
    return found


def _check_tree(tree: Mapping[str, str], n_features: int) -> None:
    n_leaves = int(_integers(tree, "num_leaves", 1)[0])
    if n_leaves < 1 or n_leaves > len(tree.get("leaf_value", "")):
        raise DataError(f"'num_leaves' is {n_leaves}, but there are fewer leaf values")
    _numbers(tree, "leaf_value", n_leaves)
    n_splits = n_leaves - 1
    for names, count in ((_OF_SPLITS, n_splits), (_OF_LEAVES, n_leaves)):
        for name in names:
            if tree.get(name, "").strip():  # empty for trees with one leaf
                _words(tree, name, count)
    if n_splits:
        features = _integers(tree, "split_feature", n_splits)
        _check_range(features, "split_feature", n_features)
        decisions = _integers(tree, "decision_type", n_splits)
        _check_range(decisions, "decision_type", _DECISIONS)
        thresholds = _numbers(tree, "threshold", n_splits)
        _check_children(tree, n_splits)
        _check_categories(tree, thresholds[decisions & _CATEGORICAL > 0])
    if _integers(tree, "is_linear", 1)[0] if "is_linear" in tree else 0:
        counts = _integers(tree, "num_features", n_leaves)
        _check_range(counts, "num_features", n_features + 1)
        _numbers(tree, "leaf_coeff", int(counts.sum()))
        of_leaves = _integers(tree, "leaf_features", int(counts.sum()))
        _check_range(of_leaves, "leaf_features", n_features)


def _check_children(tree: Mapping[str, str], n_splits: int) -> None:
    """Check that every node except the root is the child of one earlier node; leaf i is -1 - i."""
    sides = [_integers(tree, f"{side}_child", n_splits) for side in ("left", "right")]
    children = np.concatenate(sides)
    parents = np.tile(np.arange(n_splits), 2)
    wanted = [*range(-n_splits - 1, 0), *range(1, n_splits)]
    if (
        np.sort(children).tolist() != wanted
        or (children[children > 0] <= parents[children > 0]).any()
    ):
        raise DataError("'left_child' and 'right_child' do not form a tree")


def _check_categories(tree: Mapping[str, str], thresholds: np.ndarray) -> None:
    """Check categorical splits, whose thresholds are indices of sets of categories."""
    n_sets = int(_integers(tree, "num_cat", 1)[0])
    if not n_sets and not len(thresholds):
        return
    _check_range(np.array([n_sets]), "num_cat", len(tree.get("cat_boundaries", "")) + 1)
    bounds = _integers(tree, "cat_boundaries", n_sets + 1)
    words = _integers(tree, "cat_threshold", int(bounds[-1]))
    _check_range(words, "cat_threshold", 2**32)
    if bounds[0] != 0 or (np.diff(bounds) < 0).any():
        raise DataError("'cat_boundaries' should ascend from 0")
    if (thresholds != np.floor(thresholds)).any():
        raise DataError("the threshold of a categorical split should be the index of a set")
    _check_range(thresholds, "threshold", n_sets)


def _check_range(values: np.ndarray, name: str, end: int) -> None:
    wrong = values[(values < 0) | (values >= end)]
    if len(wrong):
        raise DataError(f"{name!r} has {wrong[0]:.15g}, but should be in 0..{end - 1}")


def _integers(tree: Mapping[str, str], name: str, count: int) -> np.ndarray:
    numbers = _numbers(tree, name, count)
    if (numbers != np.floor(numbers)).any() or (np.abs(numbers) > 2**53).any():
        raise DataError(f"{name!r} should be whole numbers")
    return numbers.astype(np.int64)


def _numbers(tree: Mapping[str, str], name: str, count: int) -> np.ndarray:
    words = _words(tree, name, count)
    try:
        numbers = np.array([float(word) for word in words])
    except ValueError:
        raise DataError(f"{name!r} should be numbers, not {tree[name]!r:.40}") from None
    if not np.isfinite(numbers).all():
        raise DataError(f"{name!r} has a number that is too large")
    return numbers


def _words(tree: Mapping[str, str], name: str, count: int) -> list[str]:
    text = tree.get(name, "")
    words = text.split()
    if not _SIGNS.fullmatch(text) or len(words) != count:
        raise DataError(f"{name!r} should be {count} finite numbers, not {text!r:.40}")
    return words
