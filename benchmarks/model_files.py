"""Model files of random LightGBM, XGBoost and CatBoost models: what is read, and with which bits.

Models have every kind of objective, booster and tree that the libraries offer, trained with missing
values, categories, weights, huge and tiny values, single leaves, early stopping and names of
features. Each is written by its library and read by ranksieve, written by ranksieve and read again,
and exported. Both must score rows with the same bits as the library. A model with several scores
for each row, or with features that are not numbers, cannot rank, and is refused.
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ranksieve import RankingData
from ranksieve.data import DataError
from ranksieve.rankers.libraries import is_error_of_library

PARAMETERS = {"models": 300, "seed": 0}
TINY = {"models": 3}

_QUERIES, _DOCUMENTS = 12, 20
_REASONS = {
    "several scores": "several scores for each row",
    "categories or texts": "categories that are not numbers",
    "transforms its scores": "transformed scores",
    "split on categories": "categories",
    "random forests": "random forests",
    "linear_tree": "linear trees",
    "booster 'dart'": "dart",
    "booster 'gblinear'": "linear booster",
    " is nan": "scores that are not numbers",
    "would order": "values that float32 cannot tell apart",
}


@dataclass(frozen=True)
class LibraryModel:
    """A model that a library has trained and written.

    ``scores`` are those of the library for the rows; None if no ranker can have them, because there
    are several for each row or because the rows have categories that are not numbers.
    """

    library: str
    parameters: dict[str, Any]
    path: Path
    rows: np.ndarray
    scores: np.ndarray | None


def run(models: int, seed: int) -> Table:
    """Write, read and export random models; return a table with one row for each library."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in LIBRARIES}
    reasons: dict[str, Counter[str]] = {name: Counter() for name in LIBRARIES}
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, about parameters and names of features
        for number in range(seed, seed + models):
            model = random_model(number, Path(directory))
            outcome, reason = try_model(model, Path(directory))
            counts[model.library][outcome] += 1
            if reason:
                reasons[model.library][f"{outcome}: {reason}"] += 1
    table = Table(title=f"{models} random models, written by their libraries")
    outcomes = ("exported", "not exported", "no scores", "not read")
    for heading in ("library", "models", "same bits", *outcomes, "why not"):
        table.add_column(heading, justify="right" if heading in outcomes else "left")
    for library, found in counts.items():
        why = "\n".join(f"{count} {reason}" for reason, count in reasons[library].most_common())
        same = found["exported"] + found["not exported"]
        shown = [str(found[outcome]) for outcome in outcomes]
        table.add_row(library, str(found.total()), str(same), *shown, why, end_section=True)
    return table


def random_model(number: int, directory: Path) -> LibraryModel:
    """Train a random model and write it to a file of its library."""
    rng = np.random.default_rng(number)
    train = LIBRARIES[list(LIBRARIES)[number % len(LIBRARIES)]]
    while True:
        try:
            return train(rng, directory)
        except Exception as error:  # parameters and data that the library cannot combine
            if not is_error_of_library(error):
                raise


def try_model(model: LibraryModel, directory: Path) -> tuple[str, str]:
    """Read, write and export a model; return how far it came, and why not further.

    Raises an AssertionError if scores differ, or if a model is refused without need.
    """
    from ranksieve import load_model
    from ranksieve.export import export_model

    try:
        loaded = load_model(model.path)
    except DataError as error:
        if model.scores is not None:
            raise AssertionError(f"{error}: {model.parameters}") from error
        return "not read", _reason(error)
    assert model.scores is not None, (model.library, model.parameters)
    own = directory / "own.json"
    loaded.save_model(own)
    again = load_model(own)
    if np.isnan(model.scores).any():
        try:
            again.predict(model.rows)
        except DataError as error:
            return "no scores", _reason(error)
    for ranker in (loaded, again):
        np.testing.assert_array_equal(ranker.predict(model.rows), model.scores, str(model))
    n_rows = len(model.rows)
    data = RankingData(model.rows, np.arange(n_rows) % 3, np.repeat(np.arange(n_rows // 20), 20))
    try:
        export_model(again, "python", directory / "out", missing="nan", verify=data)
    except DataError as error:
        return "not exported", _reason(error)
    return "exported", ""


def _reason(error: DataError) -> str:
    message = str(error)
    return next((text for part, text in _REASONS.items() if part in message), message[-60:])


def _data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Random rows, labels, and the columns that may be categories."""
    n_rows, n_features = _QUERIES * _DOCUMENTS, int(rng.integers(2, 7))
    X = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.integers(-6, 7, n_features)
    labels = np.clip(np.round(X[:, 0] / X[:, 0].std() + rng.normal(size=n_rows) / 2 + 1), 0, 4)
    categories = [n_features - 1] if rng.random() < 0.2 else []
    for column in categories:
        X[:, column] = rng.integers(0, rng.choice([3, 40]), n_rows)
    if rng.random() < 0.6:  # values are missing at random, or where labels are small
        X[rng.random(X.shape) < 0.2] = np.nan
        gaps = [column for column in range(n_features) if column not in categories]
        X[labels < 1, rng.choice(gaps)] = np.nan
        X[labels >= 1, gaps[0]] = np.nan_to_num(X[labels >= 1, gaps[0]])
    if rng.random() < 0.2:
        X[:, 0] = np.where(np.isnan(X[:, 0]), np.nan, 7.0)  # only the gaps tell anything
    if rng.random() < 0.2:
        X[rng.random(n_rows) < 0.3, 0] = 0.0
    return X, labels, categories


def _names(rng: np.random.Generator, n_features: int) -> list[str] | None:
    known = ["bm25_title", "caf\u00e9", "clicks/day", "age", "\u5c0f", "price=cost"]
    return known[:n_features] if rng.random() < 0.5 else None


def _pick(rng: np.random.Generator, choices: dict[str, list[Any]]) -> dict[str, Any]:
    """Values for about half of these parameters."""
    chosen = [name for name in choices if rng.random() < 0.5]
    return {name: choices[name][rng.integers(len(choices[name]))] for name in chosen}


_LIGHTGBM_OBJECTIVES = (
    *("lambdarank", "lambdarank", "lambdarank", "lambdarank", "rank_xendcg", "rank_xendcg"),
    *("regression", "regression_l1", "huber", "fair"),
    *("quantile", "mape", "poisson", "gamma", "tweedie", "binary", "cross_entropy"),
    *("cross_entropy_lambda", "multiclass", "multiclassova", "own"),
)


def _train_lightgbm(rng: np.random.Generator, directory: Path) -> LibraryModel:
    import lightgbm

    X, labels, categories = _data(rng)
    X[np.where(rng.random(len(X)) < 0.1)[0], 0] *= rng.choice([1.0, 1.0, 1.0, 1e200])
    objective = str(rng.choice(_LIGHTGBM_OBJECTIVES))
    if objective in ("binary", "cross_entropy", "cross_entropy_lambda"):
        labels = (labels > 1).astype(float)
    elif objective.startswith("multiclass"):
        labels = labels % 3
    elif objective == "gamma":
        labels = labels + 1
    parameters: dict[str, Any] = {
        "objective": objective,
        "verbosity": -1,
        "num_threads": 1,
        "min_data_in_leaf": int(rng.choice([1, 5, 10_000])),
        "num_leaves": int(rng.integers(2, 32)),
    }
    parameters |= _pick(
        rng,
        {
            "max_bin": [2, 15, 255],
            "max_depth": [1, 3],
            "learning_rate": [1e-3, 0.3, 1.0],
            "zero_as_missing": [True],
            "use_missing": [False, True, True],
            "extra_trees": [True],
            "path_smooth": [1.0],
            "feature_fraction": [0.5],
            "lambda_l1": [1.0],
            "lambda_l2": [10.0],
            "max_delta_step": [0.1],
            "boost_from_average": [False],
            "reg_sqrt": [True],
            "max_cat_to_onehot": [1, 50],
            "min_data_per_group": [1],
            "cat_smooth": [0.0],
            "use_quantized_grad": [True],
            "boosting": ["gbdt", "gbdt", "dart", "rf"],
            "linear_tree": [True],
            "data_sample_strategy": ["goss"],
            "saved_feature_importance_type": [1],
        },
    )
    if parameters.get("boosting") == "rf" or parameters.get("linear_tree"):
        parameters |= {"bagging_freq": 1, "bagging_fraction": 0.6, "use_quantized_grad": False}
        parameters |= {"data_sample_strategy": "bagging", "max_delta_step": 0.0}
    if objective == "regression_l1" or parameters.get("zero_as_missing"):
        parameters["linear_tree"] = False
    if objective.startswith("multiclass"):
        parameters["num_class"] = 3
    if objective == "own":
        parameters["objective"] = lambda scores, data: (scores - data.get_label(), np.ones(len(X)))
        parameters["boost_from_average"] = False
    if parameters.get("boosting") == "rf" and objective in ("own", "lambdarank", "rank_xendcg"):
        parameters["boosting"] = "gbdt"
    weights = rng.uniform(0.5, 2, len(X)) if rng.random() < 0.3 else None
    rows = lightgbm.Dataset(
        X,
        labels,
        group=[_DOCUMENTS] * _QUERIES,
        weight=weights,
        feature_name=_names(rng, X.shape[1]) or "auto",
        categorical_feature=categories,
        params=parameters,
        free_raw_data=False,
    )
    stops = rng.random() < 0.2 and objective != "own" and parameters.get("boosting") != "dart"
    booster = lightgbm.train(
        parameters,
        rows,
        int(rng.integers(1, 20)),
        valid_sets=[rows] if stops else None,
        callbacks=[lightgbm.early_stopping(1, verbose=False)] if stops else None,
    )
    path = directory / "model.txt"
    booster.save_model(path)
    scores = booster.predict(X, num_threads=1)
    single = scores if scores.ndim == 1 else None
    return LibraryModel("lightgbm", parameters, path, X, single)


_XGBOOST_OBJECTIVES = (
    *("rank:ndcg", "rank:ndcg", "rank:ndcg", "rank:pairwise", "rank:pairwise", "rank:map"),
    *("reg:squarederror",),
    *("reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"),
    *("reg:logistic", "reg:gamma", "reg:tweedie", "count:poisson", "binary:logistic"),
    *("binary:logitraw", "binary:hinge", "survival:cox", "multi:softmax", "multi:softprob"),
)
_XGBOOST_UNBOUNDED = (*_XGBOOST_OBJECTIVES[:11], "binary:logitraw")  # any number is a score


def _train_xgboost(rng: np.random.Generator, directory: Path) -> LibraryModel:
    import xgboost

    X, labels, categories = _data(rng)
    objective = str(rng.choice(_XGBOOST_OBJECTIVES))
    if objective.startswith("binary") or objective in ("reg:logistic", "rank:map"):
        labels = (labels > 1).astype(float)
    elif objective.startswith("multi"):
        labels = labels % 3
    elif objective in ("reg:gamma", "survival:cox"):
        labels = labels + 1
    parameters: dict[str, Any] = {"objective": objective, "nthread": 1, "verbosity": 0}
    parameters |= _pick(
        rng,
        {
            "max_depth": [1, 3, 10],
            "eta": [1e-3, 0.3, 1.0],
            "gamma": [0.1, 1e9],
            "subsample": [0.5],
            "colsample_bynode": [0.5],
            "lambda": [0.0, 10.0],
            "base_score": [-2.5, 0.1, 0.3],
            "max_delta_step": [1.0],
            "num_parallel_tree": [3],
            "max_bin": [2, 300],
            "grow_policy": ["lossguide"],
            "max_leaves": [4],
            "max_cat_to_onehot": [1, 50],
            "tree_method": ["hist", "approx", "exact"],
            "booster": ["gbtree", "dart", "gblinear"],
            "rate_drop": [0.3],
        },
    )
    if objective.startswith("multi"):
        parameters["num_class"] = 3
    if objective == "reg:quantileerror":
        parameters["quantile_alpha"] = [0.2, 0.7] if rng.random() < 0.3 else 0.3
    if objective not in _XGBOOST_UNBOUNDED:
        parameters["base_score"] = 0.4
    booster_kind = parameters.get("booster", "gbtree")
    if parameters.get("tree_method") == "exact" or booster_kind == "gblinear":
        categories = []
        parameters.pop("grow_policy", None)
    if booster_kind == "gblinear":
        parameters = {
            name: parameters[name]
            for name in parameters
            if name in ("objective", "nthread", "verbosity", "booster", "base_score", "lambda")
            or name in ("num_class", "quantile_alpha", "eta")
        }
    kinds = ["c" if n in categories else "float" for n in range(X.shape[1])]
    names = _names(rng, X.shape[1])
    how = {"feature_types": kinds, "enable_categorical": True} if categories else {}
    rows = xgboost.DMatrix(X, labels, feature_names=names, **how)
    if objective.startswith("rank"):
        rows.set_info(group=[_DOCUMENTS] * _QUERIES)
        if rng.random() < 0.3:
            rows.set_info(weight=rng.uniform(0.5, 2, _QUERIES))
    elif rng.random() < 0.3:
        rows.set_info(weight=rng.uniform(0.5, 2, len(X)))
    stops = rng.random() < 0.2 and booster_kind == "gbtree"
    booster = xgboost.train(
        parameters,
        rows,
        int(rng.integers(1, 15)),
        evals=[(rows, "train")] if stops else None,
        early_stopping_rounds=1 if stops else None,
        verbose_eval=False,
    )
    path = directory / "model.json"
    booster.save_model(path)
    used = (0, booster.best_iteration + 1) if stops else (0, 0)
    if booster_kind == "gblinear":
        scores = booster.predict(rows)
    else:  # as an XGBRanker does it; other bits for dart
        scores = booster.inplace_predict(X, iteration_range=used, validate_features=False)
    several = scores.ndim > 1 or objective.startswith("multi")
    single = None if several else scores
    return LibraryModel("xgboost", parameters, path, X, single)


_CATBOOST_LOSSES = (
    *("YetiRank", "YetiRankPairwise", "PairLogit", "QueryRMSE", "QuerySoftMax"),
    *("StochasticRank:metric=NDCG", "QueryCrossEntropy"),
    *("RMSE", "MAE", "Quantile:alpha=0.3", "LogCosh", "Expectile:alpha=0.3", "Huber:delta=1"),
    *("Logloss", "CrossEntropy", "Poisson", "Tweedie:variance_power=1.5", "MultiClass"),
    *("RMSEWithUncertainty", "MultiQuantile:alpha=0.2,0.6"),
)


def _train_catboost(rng: np.random.Generator, directory: Path) -> LibraryModel:
    from catboost import CatBoost, Pool

    X, labels, categories = _data(rng)
    loss = str(rng.choice(_CATBOOST_LOSSES))
    if loss in ("Logloss", "CrossEntropy", "QueryCrossEntropy"):
        labels = (labels > 1).astype(float)
    elif loss == "QuerySoftMax":
        labels = labels + 1
    parameters: dict[str, Any] = {
        "loss_function": loss,
        "iterations": int(rng.integers(1, 12)),
        "thread_count": 1,
        "verbose": False,
        "allow_writing_files": False,
    }
    parameters |= _pick(
        rng,
        {
            "depth": [1, 4],
            "grow_policy": ["Depthwise", "Lossguide", "SymmetricTree"],
            "nan_mode": ["Min", "Max"],
            "border_count": [1, 32, 254],
            "learning_rate": [1e-3, 0.3],
            "l2_leaf_reg": [0.1, 30.0],
            "random_strength": [0.0],
            "min_data_in_leaf": [1, 50],
            "one_hot_max_size": [2, 60],
            "boosting_type": ["Ordered", "Plain"],
        },
    )
    if parameters.get("grow_policy", "SymmetricTree") != "SymmetricTree":
        parameters["boosting_type"] = "Plain"
        if loss in ("YetiRankPairwise", "PairLogit"):
            parameters["grow_policy"] = "SymmetricTree"
    if loss.startswith(("YetiRankPairwise", "StochasticRank", "Multi", "RMSEW")):
        parameters.pop("boosting_type", None)
        parameters["boosting_type"] = "Plain"
    else:
        parameters.setdefault("boosting_type", "Plain")
    rows: Any = X
    if categories:
        rows = X.astype(object)
        rows[:, categories] = np.nan_to_num(X[:, categories], nan=-1.0).astype(int)
    pool = Pool(
        rows,
        labels,
        group_id=np.repeat(np.arange(_QUERIES), _DOCUMENTS),
        cat_features=categories,
        feature_names=_names(rng, X.shape[1]),
        group_weight=np.repeat(rng.uniform(0.5, 2, _QUERIES), _DOCUMENTS)
        if rng.random() < 0.3
        else None,
    )
    model = CatBoost(parameters).fit(pool)
    path = directory / "model.cbm"
    model.save_model(str(path))
    scores = model.predict(pool)
    single = scores if scores.ndim == 1 and not categories else None
    return LibraryModel("catboost", parameters, path, X, single)


LIBRARIES: dict[str, Callable[[np.random.Generator, Path], LibraryModel]] = {
    "lightgbm": _train_lightgbm,
    "xgboost": _train_xgboost,
    "catboost": _train_catboost,
}
