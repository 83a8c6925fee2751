"""Read a trained ranker for export: its names, missing values, and model as trees or weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.data import DataError
from ranksieve.data.inputs import numbers
from ranksieve.data.missing import Missing
from ranksieve.export.forms import LinearModel, Model, TreeBuilder, TreeEnsemble
from ranksieve.export.single_precision import largest_rounding_to
from ranksieve.rankers.adapter import RankerAdapter
from ranksieve.rankers.base import Ranker
from ranksieve.rankers.lambdamart import LambdaMART
from ranksieve.rankers.rankboost import RankBoost
from ranksieve.text import list_names

_ZERO = float(np.float32(1e-35))  # LightGBM treats values up to this one as 0
_BEFORE_ZERO = float(np.nextafter(-_ZERO, -np.inf))
_MOST_NODES = 1_000_000
_NO_CATEGORIES = (
    "a split on categories cannot be exported: train with the categories as numbers, or as one "
    "0/1 feature each"
)
_NONE, _ZERO_MISSING, _NAN = range(3)  # LightGBM's missing types
_LIGHTGBM_RAW = frozenset(
    {
        *("lambdarank", "rank_xendcg", "regression", "regression_l1", "huber", "fair", "quantile"),
        *("mape", "custom", "none", ""),
    }
)
_XGBOOST_RAW = frozenset(
    {
        *("rank:ndcg", "rank:map", "rank:pairwise", "reg:squarederror", "reg:squaredlogerror"),
        *("reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "binary:logitraw"),
    }
)
_CATBOOST_TRANSFORMED = frozenset({"Poisson", "Tweedie", "RMSEWithUncertainty"})


@dataclass(frozen=True)
class TrainedRanker:
    """A trained ranker, ready for export."""

    ranker: Ranker
    library: str  # of the trees: lightgbm, xgboost or catboost; empty for models of ranksieve
    model: Model
    names: list[str]  # of the features, or 1-based numbers in the data that they were selected from
    saw_missing: bool | None  # whether the training data had missing values; None if unknown

    @property
    def missing(self) -> Missing | None:
        """Declared treatment of missing values in the training data."""
        return getattr(self.ranker, "missing_", None)

    @property
    def fills_by_query(self) -> bool:
        """Whether missing values were filled with other values of the query."""
        return self.missing is not None and self.missing.policy.startswith("query-")

    @property
    def is_linear(self) -> bool:
        """Whether the model is linear."""
        return isinstance(self.model, LinearModel)


def read_trained(ranker: Ranker) -> TrainedRanker:
    """Read a trained ranker; raises DataError with the reason if it cannot be exported."""
    check_is_fitted(ranker)
    categories = list(getattr(ranker, "categories_", ()))
    if categories:
        raise DataError(
            f"the model was trained on categories ({list_names(categories)}), which no target "
            "holds: leave these features out (--ignore), or train with 0/1 features in their "
            "place; predict scores with the model as it is"
        )
    library, model, saw_missing = _read(ranker)
    missing = getattr(ranker, "missing_", None)
    if missing is not None and not missing.keeps:
        saw_missing = False  # missing values were filled in
    if isinstance(model, LinearModel) and not np.isfinite(model.weights).all():
        raise DataError("a weight of the model is not finite")
    return TrainedRanker(ranker, library, model, _names(ranker), saw_missing)


def _read(ranker: Any) -> tuple[str, Model, bool | None]:
    if isinstance(ranker, LambdaMART):
        return ("lightgbm", *read_lightgbm(lightgbm_text(ranker)))
    if isinstance(ranker, RankBoost):
        return "", read_rankboost(ranker), False
    if isinstance(ranker, RankerAdapter):
        return _read_foreign(ranker)
    if hasattr(ranker, "coef_"):
        return "", LinearModel(np.asarray(ranker.coef_, dtype=np.float64)), False
    raise DataError(
        f"{type(ranker).__name__} cannot be exported: its model is neither linear nor made of trees"
    )


def _read_foreign(ranker: RankerAdapter) -> tuple[str, Model, bool | None]:
    estimator = ranker.estimator_
    modules = {kind.__module__.partition(".")[0] for kind in type(estimator).__mro__}
    if "lightgbm" in modules:
        return ("lightgbm", *read_lightgbm(lightgbm_text(ranker)))
    if "xgboost" in modules:
        if not np.isnan(estimator.missing):
            raise DataError(
                f"the model treats {estimator.missing} as missing, which no target supports: "
                "train with NaN for missing values"
            )
        return "xgboost", read_xgboost(bytes(xgboost_booster(estimator).save_raw("json"))), None
    if "catboost" in modules:
        return ("catboost", *read_catboost(estimator))
    if hasattr(ranker, "coef_"):
        intercept = float(np.ravel(getattr(estimator, "intercept_", 0.0))[0])
        return "", LinearModel(np.asarray(ranker.coef_, dtype=np.float64), intercept), False
    raise DataError(
        f"{type(estimator).__name__} cannot be exported: its model is neither linear nor made of "
        "trees of LightGBM, XGBoost or CatBoost"
    )


def lightgbm_text(ranker: Any) -> str:
    """Return LightGBM's text of a ranker, with the trees that predictions use."""
    if isinstance(ranker, LambdaMART):
        return str(ranker.booster_.model_to_string(num_iteration=ranker.best_iteration_))
    return str(ranker.estimator_.booster_.model_to_string())


def xgboost_booster(estimator: Any) -> Any:
    """Return the booster of an estimator, reduced to the trees that predictions use."""
    booster = estimator.get_booster()
    try:
        best = estimator.best_iteration
    except AttributeError:  # training did not stop early
        return booster
    return booster[: best + 1]


def _names(ranker: Any) -> list[str]:
    names = getattr(ranker, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    selection = getattr(ranker, "selection_", None)
    if selection is not None:
        by_index = {feature.index: feature.name for feature in selection.features}
        return [by_index[index] for index in sorted(by_index)]
    return numbers(range(ranker.n_features_in_)).tolist()


# The trees of LightGBM, XGBoost, CatBoost and RankBoost


def _check_objective(name: str, is_raw: bool, library: str) -> None:
    """Raise DataError unless scores are the plain sum of the trees."""
    if not is_raw:
        raise DataError(
            f"{library} transforms its scores for the objective {name!r:.40}, which no target "
            "does; train with a ranking objective"
        )


def read_lightgbm(text: str) -> tuple[TreeEnsemble, bool]:
    """Read LightGBM's text format; also return whether the training data had missing values."""
    head, *tree_texts = text.partition("\nend of trees")[0].split("\nTree=")
    facts = dict(_settings(head))
    if "average_output" in facts:
        raise DataError("LightGBM's random forests (boosting=rf) cannot be exported: use gbdt")
    if int(facts.get("num_tree_per_iteration", "1")) != 1:
        raise DataError("the LightGBM model has several scores for each row, not one")
    objective = facts.get("objective", "")
    kind, *options = objective.split(" ")
    _check_objective(objective, kind in _LIGHTGBM_RAW and "sqrt" not in options, "LightGBM")
    builder = TreeBuilder()
    saw_missing = False
    for tree_text in tree_texts:
        tree = dict(_settings(tree_text))
        if int(tree.get("is_linear", "0")):
            raise DataError("LightGBM's trees with linear_tree=true cannot be exported")
        saw_missing |= _add_lightgbm_tree(builder, tree)
    return builder.build(int(facts["max_feature_idx"]) + 1), saw_missing


def _settings(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        name, _, value = line.partition("=")
        yield name.strip(), value.strip()


def _add_lightgbm_tree(builder: TreeBuilder, tree: dict[str, str]) -> bool:
    """Add a tree from LightGBM's arrays; return whether any split has learned a side for NaN."""

    def numbers(name: str, kind: Any) -> list[Any]:
        return [kind(word) for word in tree.get(name, "").split()]

    leaves = [builder.add_leaf(value) for value in numbers("leaf_value", float)]
    if int(tree["num_leaves"]) == 1:
        builder.end_tree(leaves[0])
        return False
    features, thresholds = numbers("split_feature", int), numbers("threshold", float)
    decisions = numbers("decision_type", int)
    lefts, rights = numbers("left_child", int), numbers("right_child", int)
    splits = [0] * len(features)
    saw_missing = False
    for node in reversed(range(len(features))):  # children have larger numbers
        kind = decisions[node]
        if kind & 1:
            raise DataError(f"LightGBM: {_NO_CATEGORIES}")
        missing_type, default_left = (kind >> 2) & 3, bool(kind & 2)
        saw_missing |= missing_type == _NAN
        children = lefts[node], rights[node]
        left, right = (splits[child] if child >= 0 else leaves[~child] for child in children)
        threshold = _outside_zero(thresholds[node])
        if missing_type == _NONE:
            default_left = threshold >= 0
        decision = features[node], threshold, default_left
        if missing_type == _ZERO_MISSING:
            splits[node] = _add_zero_split(builder, *decision, left, right)
        else:
            splits[node] = builder.add_split(*decision, left, right)
    builder.end_tree(splits[0])
    return saw_missing


def _outside_zero(threshold: float) -> float:
    """Move a threshold so that tiny values are treated like 0, as LightGBM does."""
    if not abs(threshold) <= _ZERO:  # also NaN
        return threshold
    return _ZERO if threshold >= 0 else _BEFORE_ZERO


def _add_zero_split(
    builder: TreeBuilder, feature: int, threshold: float, default_left: bool, left: int, right: int
) -> int:
    """Add a split of LightGBM that sends zeros, like NaN, to its default side."""

    def split(cut: float, a: int, b: int) -> int:
        return builder.add_split(feature, cut, default_left, a, b)

    if (threshold >= 0) == default_left:
        return split(threshold, left, right)
    if len(builder) > _MOST_NODES:  # the number may double at each such split
        raise DataError(
            f"the trees have more than {_MOST_NODES:,} nodes once zeros that count as missing "
            "(zero_as_missing) are written out: train with fewer leaves"
        )
    if default_left:  # zeros are above the threshold, but go left
        above = split(_ZERO, builder.copy(left), builder.copy(right))
        return split(_BEFORE_ZERO, split(threshold, left, right), above)
    rest = split(threshold, builder.copy(left), builder.copy(right))
    return split(_BEFORE_ZERO, left, split(_ZERO, right, rest))


def read_xgboost(document: bytes) -> TreeEnsemble:
    """Read XGBoost's JSON format.

    Splits send ``float32(x) < threshold`` left, and trees are added to the base score in float32.
    """
    learner = json.loads(document)["learner"]
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise DataError(f"XGBoost's booster {booster['name']!r:.20} cannot be exported: use gbtree")
    objective = learner["objective"]["name"]
    _check_objective(objective, objective in _XGBOOST_RAW, "XGBoost")
    parameters = learner["learner_model_param"]
    base = [float(word) for word in parameters["base_score"].strip("[]").split(",")]
    if len(base) != 1 or int(parameters.get("num_target", "1")) > 1:
        raise DataError("the XGBoost model has several scores for each row, not one")
    builder = TreeBuilder()
    builder.end_tree(builder.add_leaf(np.float32(base[0])))
    for tree in booster["model"]["trees"]:
        if any(tree.get("split_type", ())):
            raise DataError(f"XGBoost: {_NO_CATEGORIES}")
        _add_xgboost_tree(builder, tree)
    return builder.build(int(parameters["num_feature"]), sums_in_single=True)


def _add_xgboost_tree(builder: TreeBuilder, tree: dict[str, Any]) -> None:
    lefts, rights = tree["left_children"], tree["right_children"]
    cuts = np.array(tree["split_conditions"], dtype=np.float32)
    thresholds = largest_rounding_to(np.nextafter(cuts, np.float32(-np.inf)))
    order = [0]
    for node in order:  # the list grows in the loop: parents before their children
        if lefts[node] >= 0:
            order += (lefts[node], rights[node])
    built: dict[int, int] = {}
    for node in reversed(order):
        if lefts[node] < 0:
            built[node] = builder.add_leaf(cuts[node])
            continue
        built[node] = builder.add_split(
            tree["split_indices"][node],
            thresholds[node],
            bool(tree["default_left"][node]),
            built[lefts[node]],
            built[rights[node]],
        )
    builder.end_tree(built[0])


def read_catboost(estimator: Any) -> tuple[TreeEnsemble, bool]:
    """Read a CatBoost estimator; also return whether the training data had missing values.

    Splits send ``float32(x) > border`` right. Oblivious trees are expanded.
    """
    with TemporaryDirectory() as directory:
        path = Path(directory) / "model.json"
        estimator.save_model(str(path), format="json")
        record = json.loads(path.read_bytes())
    objective = record["model_info"]["params"]["loss_function"]["type"]
    _check_objective(objective, objective not in _CATBOOST_TRANSFORMED, "CatBoost")
    scale, bias = estimator.get_scale_and_bias()
    if scale != 1 or np.ndim(bias):
        raise DataError("sums and multiples of CatBoost models cannot be exported")
    # The JSON may lack some digits of leaf values, so take them from the estimator. It numbers the
    # leaves of trees that are not oblivious in its own way, which a row to each of them shows.
    ends = np.cumsum(estimator.get_tree_leaf_counts())[:-1]
    leaves = [part.tolist() for part in np.split(estimator.get_leaf_values(), ends)]
    trees = _CatBoostTrees(record["features_info"])
    if "oblivious_trees" in record:
        for tree, values in zip(record["oblivious_trees"], leaves, strict=True):
            trees.add_oblivious(tree["splits"], values)
    else:
        for number, (tree, values) in enumerate(zip(record["trees"], leaves, strict=True)):
            rows = trees.rows_to_leaves(tree, len(estimator.feature_names_))
            order = estimator.calc_leaf_indexes(rows, number, number + 1, thread_count=1)
            trees.add_other(tree, [values[leaf] for leaf in order[:, 0].tolist()])
    if bias:
        trees.builder.end_tree(trees.builder.add_leaf(bias))
    return trees.builder.build(len(estimator.feature_names_)), trees.saw_missing


_Bounds = dict[int, tuple[np.float32, np.float32]]  # column -> above the first, up to the second


class _CatBoostTrees:
    """Converts trees from CatBoost's JSON, which numbers features separately for each kind."""

    def __init__(self, info: dict[str, Any]) -> None:
        if info.get("categorical_features"):
            raise DataError(f"CatBoost: {_NO_CATEGORIES}")
        features = info.get("float_features", [])
        self.builder = TreeBuilder()
        self.saw_missing = any(feature.get("has_nans") for feature in features)
        self._columns = {f["feature_index"]: f["flat_feature_index"] for f in features}
        self._nan_left = {
            f["feature_index"]: f.get("nan_value_treatment") != "AsTrue" for f in features
        }

    def add_oblivious(self, splits: list[dict[str, Any]], values: list[float]) -> None:
        """Add a tree with the same split in all nodes of a level."""
        level = [self.builder.add_leaf(value) for value in values]
        for split in splits:  # the first split determines the lowest bit of the leaf number
            decision = self._decision(split)
            pairs = zip(level[::2], level[1::2], strict=True)
            level = [self.builder.add_split(*decision, *pair) for pair in pairs]
        self.builder.end_tree(level[0])

    def add_other(self, tree: dict[str, Any], values: list[float]) -> None:
        """Add a tree of nested nodes, with the values of its leaves from left to right."""
        remaining = iter(values)

        def read(node: dict[str, Any]) -> Any:
            if "split" not in node:
                return next(remaining)
            return *self._decision(node["split"]), node["left"], node["right"]

        self.builder.add_tree(tree, read)

    def rows_to_leaves(self, tree: dict[str, Any], n_features: int) -> np.ndarray:
        """Return a row that ends in each leaf, from left to right; any row if none can."""
        rows = np.zeros((sum(1 for _ in self._leaf_bounds(tree, {})), n_features), np.float32)
        for row, bounds in zip(rows, self._leaf_bounds(tree, {}), strict=True):
            for column, (above, up_to) in bounds.items():
                row[column] = up_to if up_to < np.inf else np.nextafter(above, np.float32(np.inf))
        return rows

    def _leaf_bounds(self, node: dict[str, Any], bounds: _Bounds) -> Iterator[_Bounds]:
        """Yield the bounds of values by column for each leaf below a node, from left to right."""
        if "split" not in node:
            yield bounds
            return
        column, _, _ = self._decision(node["split"])
        border = np.float32(node["split"]["border"])
        above, up_to = bounds.get(column, (np.float32(-np.inf), np.float32(np.inf)))
        yield from self._leaf_bounds(node["left"], bounds | {column: (above, min(up_to, border))})
        yield from self._leaf_bounds(node["right"], bounds | {column: (max(above, border), up_to)})

    def _decision(self, split: dict[str, Any]) -> tuple[int, float, bool]:
        if split["split_type"] != "FloatFeature":
            raise DataError(f"CatBoost: {_NO_CATEGORIES}")
        feature = split["float_feature_index"]
        threshold = float(largest_rounding_to(split["border"]))
        return self._columns[feature], threshold, self._nan_left[feature]


def read_rankboost(ranker: Any) -> TreeEnsemble:
    """Convert the rounds of RankBoost to one tree for each feature."""
    steps = ranker.rounds_[: ranker.best_round_]
    builder = TreeBuilder()
    for feature in sorted({step.feature for step in steps}):
        cuts = sorted((step.threshold, step.alpha) for step in steps if step.feature == feature)
        thresholds, alphas = np.array(cuts).T
        levels = np.concatenate([[0.0], np.cumsum(alphas)])
        read = partial(_read_steps, feature, thresholds, levels)
        builder.add_tree((0, len(thresholds)), read)
    return builder.build(ranker.n_features_in_, cuts_at_values=True)


def _read_steps(
    feature: int, thresholds: np.ndarray, levels: np.ndarray, between: tuple[int, int]
) -> Any:
    """Node of a balanced tree for a step function: its part between two of the thresholds."""
    start, end = between
    if start == end:
        return levels[start]
    middle = (start + end) // 2
    cut = float(thresholds[middle])
    return feature, cut, cut >= 0, (start, middle), (middle + 1, end)
