"""Interfaces to the rankers of LightGBM, XGBoost and CatBoost, and the library of an estimator."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from importlib import import_module
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ranksieve.data import RankingData
from ranksieve.rankers.cbm import check_cbm
from ranksieve.rankers.library import Library, check_can_rank
from ranksieve.rankers.lightgbm_data import check_whole_labels, to_library_format
from ranksieve.rankers.model_checks import check_json, load_booster
from ranksieve.rankers.per_feature import CATBOOST, LIGHTGBM, XGBOOST
from ranksieve.rankers.rounding import FLOAT32_ROUNDING, LIGHTGBM_ROUNDING
from ranksieve.rankers.trial import trust_model, try_model
from ranksieve.registry.foreign import parameters_of, row_weights
from ranksieve.sums.chunks import vary_within_queries
from ranksieve.threads import openmp_thread_count


class _TreeLibrary(Library):
    threads = "n_jobs"
    has_model_files = True

    def weights(self, estimator: Any, n_features: int) -> None:
        """None: trees have no weights."""


class _LightGBM(_TreeLibrary):
    log = MappingProxyType({"verbosity": -1})
    log_names = ("verbose",)
    per_feature = LIGHTGBM
    rounding = LIGHTGBM_ROUNDING

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """Each alias of a parameter -> its name in the class, or else its first alias."""
        from lightgbm import LGBMRanker, basic

        basic._ConfigAliases.get("num_leaves")  # LightGBM has no public list of aliases
        own = LGBMRanker().get_params().keys()
        found: dict[str, str] = {}
        for first, names in basic._ConfigAliases.aliases.items():
            best = next((name for name in names if name in own), first)
            found |= dict.fromkeys(names, best)
        return found

    def accepts(self, parameter: str) -> bool:
        return parameter in self._aliases

    def translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {self._aliases.get(name, name): value for name, value in parameters.items()}

    def feature_names(self, estimator: Any) -> Any:
        names = estimator.booster_.feature_name()
        return None if names == [f"Column_{n}" for n in range(len(names))] else names

    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        if given.get("objective") in (None, "lambdarank", "rank_xendcg"):
            gains = given.get("label_gain")
            if isinstance(gains, str):
                gains = gains.split(",")
            check_whole_labels("LGBMRanker", data, *([] if gains is None else [len(gains) - 1]))

    def fit(self, estimator: Any, data: RankingData, validation: RankingData | None = None) -> None:
        more: dict[str, Any] = {"group": data.group_counts, "sample_weight": row_weights(data)}
        if validation is not None:
            X, y = to_library_format(validation.X), validation.y
            more["eval_group"] = [validation.group_counts]
            if validation.query_weights is not None:
                more["eval_sample_weight"] = [row_weights(validation)]
            if "eval_X" in signature(estimator.fit).parameters:  # eval_set is deprecated
                more.update(eval_X=(X,), eval_y=(y,))
            else:
                more["eval_set"] = [(X, y)]
        estimator.fit(to_library_format(data.X), data.y, **more)

    def trains_on_datasets(self, estimator: Any) -> bool:
        from lightgbm import LGBMRanker

        given = self.translate(parameters_of(estimator))
        own = callable(given["objective"]) or given["class_weight"] is not None
        return type(estimator) is LGBMRanker and not own

    def dataset_parameters(self, estimator: Any) -> dict[str, Any]:
        estimator._eval_at = (1, 2, 3, 4, 5)  # the default of fit
        return estimator._process_params(stage="fit")

    def fit_dataset(self, estimator: Any, dataset: Callable[[dict[str, Any]], Any]) -> None:
        from lightgbm import train

        given = self.dataset_parameters(estimator)
        self._set_booster(estimator, train(given, dataset(given), estimator.n_estimators))

    def scores(self, estimator: Any, X: Any) -> Any:
        return estimator.booster_.predict(to_library_format(X), num_threads=openmp_thread_count())

    def importances(self, estimator: Any, n_features: int) -> Any:
        return estimator.booster_.feature_importance("gain", iteration=estimator.best_iteration_)

    def contributions(self, estimator: Any, X: Any) -> Any:
        threads = openmp_thread_count()
        return estimator.booster_.predict(X, pred_contrib=True, num_threads=threads)

    def model_text(self, estimator: Any) -> str:
        text = estimator.booster_.model_to_string()  # up to the best iteration
        trust_model("lightgbm", text.encode())
        return text

    def restore(self, estimator: Any, text: str) -> None:
        self._set_booster(estimator, load_booster(text))

    def _set_booster(self, estimator: Any, booster: Any) -> None:
        estimator._Booster = booster  # LightGBM has no public way to do this
        estimator._n_features = estimator._n_features_in = booster.num_feature()
        estimator._best_iteration = booster.best_iteration
        estimator.fitted_ = True


class _XGBoost(_TreeLibrary):
    per_feature = XGBOOST
    rounding = FLOAT32_ROUNDING
    synonyms: ClassVar[Mapping[str, str]] = {
        "eta": "learning_rate",
        "lambda": "reg_lambda",
        "alpha": "reg_alpha",
        "min_split_loss": "gamma",
        "num_boost_round": "n_estimators",
        "num_round": "n_estimators",
        "nthread": "n_jobs",
        "seed": "random_state",
    }
    more_parameters = (
        *("lambdarank_pair_method", "lambdarank_num_pair_per_sample", "lambdarank_unbiased"),
        *("lambdarank_normalization", "lambdarank_score_normalization", "lambdarank_bias_norm"),
        *("ndcg_exp_gain", "updater", "refresh_leaf", "process_type", "max_cached_hist_node"),
        *("sample_type", "normalize_type", "rate_drop", "one_drop", "skip_drop"),  # dart
        *("feature_selector", "top_k", "disable_default_eval_metric", "seed_per_iteration"),
    )

    def feature_names(self, estimator: Any) -> Any:
        return estimator.get_booster().feature_names

    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        if given.get("objective") == "rank:map":
            check_whole_labels("XGBRanker with rank:map", data, 1)
        elif given.get("objective") == "rank:ndcg" and given.get("ndcg_exp_gain", True):
            check_whole_labels("XGBRanker", data, 31)

    def fit(self, estimator: Any, data: RankingData, validation: RankingData | None = None) -> None:
        more: dict[str, Any] = {"qid": data.query_codes, "sample_weight": data.query_weights}
        if validation is not None:
            validation = _informative_queries(validation)
            more["eval_set"] = [(to_library_format(validation.X), validation.y)]
            more["eval_qid"] = [validation.query_codes]
            if validation.query_weights is not None:
                more["sample_weight_eval_set"] = [validation.query_weights]
        with _xgboost_threads():
            estimator.fit(to_library_format(data.X), data.y, **more)

    def scores(self, estimator: Any, X: Any) -> Any:
        # The number of features was checked before.
        with _xgboost_threads():
            return estimator.predict(to_library_format(X), validate_features=False)

    def importances(self, estimator: Any, n_features: int) -> Any:
        booster = estimator.get_booster()
        if estimator.early_stopping_rounds is not None:
            booster = booster[: estimator.best_iteration + 1]
        gains = booster.get_score(importance_type="total_gain")  # features in no tree are left out
        names = booster.feature_names or [f"f{n}" for n in range(n_features)]
        return [gains.get(name, 0.0) for name in names]

    def contributions(self, estimator: Any, X: Any) -> Any:
        from xgboost import DMatrix

        stopped = estimator.early_stopping_rounds is not None
        trees = (0, estimator.best_iteration + 1 if stopped else 0)
        with _xgboost_threads():
            rows = DMatrix(X, feature_names=estimator.get_booster().feature_names)
            return estimator.get_booster().predict(rows, pred_contribs=True, iteration_range=trees)

    def model_text(self, estimator: Any) -> str:
        content = estimator.get_booster().save_raw("json")
        trust_model("xgboost", bytes(content))
        return content.decode()

    def restore(self, estimator: Any, text: str) -> None:
        check_json(text)
        try_model("xgboost", text.encode())
        own = estimator.objective
        estimator.load_model(bytearray(text, "utf-8"))
        if not estimator.objective.startswith("rank:"):
            estimator.objective = own  # an XGBRanker cannot be made with that of the model


def _informative_queries(data: RankingData) -> RankingData:
    """Held-out queries whose value depends on their order; all of them without weights.

    XGBoost gives a query without relevant documents the value 1 and ignores its weight. The mean
    may then exceed 1, which XGBoost refuses. The best number of trees stays the same.
    """
    if data.query_weights is None:
        return data
    kept = vary_within_queries(data.y, data.query_ptr) & (data.query_weights > 0)
    return data.take_queries(kept) if kept.any() else data.with_weights(None)


def _xgboost_threads() -> AbstractContextManager[Any]:
    """Limit XGBoost to one thread if necessary: some of its steps ignore ``n_jobs``."""
    from xgboost import config_context, get_config

    if openmp_thread_count() == 1 and "nthread" in get_config():  # since XGBoost 3
        return config_context(nthread=1)
    return nullcontext()


class _CatBoost(_TreeLibrary):
    threads = "thread_count"
    log = MappingProxyType({"verbose": False, "allow_writing_files": False})
    log_names = ("logging_level", "silent", "metric_period")
    per_feature = CATBOOST
    rounding = FLOAT32_ROUNDING

    @cached_property
    def more_parameters(self) -> list[str]:
        from catboost import CatBoostRanker

        return list(signature(CatBoostRanker).parameters)

    def is_fitted(self, estimator: Any) -> bool:
        return bool(estimator.is_fitted())

    def n_features(self, estimator: Any) -> int:
        return len(estimator.feature_names_)  # a loaded estimator has no other number

    def feature_names(self, estimator: Any) -> Any:
        names = estimator.feature_names_
        return None if names == [str(n) for n in range(len(names))] else names

    def fit(self, estimator: Any, data: RankingData, validation: RankingData | None = None) -> None:
        held_out = None if validation is None else self._pool(validation)
        estimator.fit(self._pool(data), eval_set=held_out)

    def _pool(self, data: RankingData) -> Any:
        from catboost import Pool

        weights = row_weights(data)
        return Pool(_narrow(data.X), data.y, group_id=data.query_codes, group_weight=weights)

    def scores(self, estimator: Any, X: Any) -> Any:
        return estimator.predict(_narrow(X))

    def importances(self, estimator: Any, n_features: int) -> Any:
        return estimator.get_feature_importance(type="PredictionValuesChange")

    def contributions(self, estimator: Any, X: Any) -> Any:
        from catboost import Pool

        threads = openmp_thread_count()
        return estimator.get_feature_importance(
            Pool(_narrow(X)), type="ShapValues", thread_count=threads
        )

    def model_text(self, estimator: Any) -> str:
        # CatBoost's JSON drops digits of the leaves, so use its binary format, which needs a file.
        with TemporaryDirectory() as directory:
            path = Path(directory) / "model.cbm"
            estimator.save_model(str(path))
            content = path.read_bytes()
        trust_model("catboost", content)
        return b64encode(content).decode()

    def text_of_file(self, content: bytes) -> str:
        return b64encode(content).decode()

    def restore(self, estimator: Any, text: str) -> None:
        content = b64decode(text, validate=True)
        check_cbm(content)
        try_model("catboost", content)
        estimator.load_model(blob=content)


def _narrow(X: Any) -> Any:
    """Rows in the form that CatBoost needs: indices of sparse rows have 32 bits.

    CatBoost makes arrays read-only; a view protects those of the caller.
    """
    X = to_library_format(X)
    if not sparse.issparse(X):
        return X.view()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


_KINDS = {
    "lightgbm.LGBMRanker": _LightGBM,
    "xgboost.XGBRanker": _XGBoost,
    "catboost.CatBoostRanker": _CatBoost,
}
_LIBRARIES: dict[str, Library] = {name: kind(name) for name, kind in _KINDS.items()}


def find_library_class(name: Any) -> Any:
    """Return the class of this name in LightGBM, XGBoost or CatBoost; no other is imported."""
    if name not in _LIBRARIES:
        raise ValueError(f"unknown class {name!r:.40}; choose from {', '.join(_LIBRARIES)}")
    home, kind = str(name).split(".")
    try:
        return getattr(import_module(home), kind)
    except ImportError:
        raise ValueError(f"{home} is not installed: pip install {home}") from None


def library_of(estimator: Any) -> Library:
    """Return the library of an estimator by its class name, without importing any library.

    Raises a TypeError if the estimator cannot rank.
    """
    kinds = _kinds(estimator)
    if "lightgbm.DaskLGBMRanker" in kinds:
        raise TypeError("DaskLGBMRanker needs Dask collections: use LambdaMART on a Dask cluster")
    for kind in kinds:
        if kind in _LIBRARIES:
            return _LIBRARIES[kind]
    check_can_rank(estimator)
    homes = {kind.partition(".")[0] for kind in kinds}
    makers = (own for name, own in _LIBRARIES.items() if name.partition(".")[0] in homes)
    return Library(type(estimator).__name__, next(makers, None))


def is_of_library(estimator: Any) -> bool:
    """Whether an estimator is a ranker of LightGBM, XGBoost or CatBoost."""
    return any(kind in _LIBRARIES for kind in _kinds(estimator))


def is_error_of_library(error: Exception) -> bool:
    """Whether the class of an error is defined by LightGBM, XGBoost or CatBoost."""
    home = type(error).__module__.strip("_").partition(".")[0]
    return any(name.startswith(f"{home}.") for name in _LIBRARIES)


def _kinds(estimator: Any) -> list[str]:
    mro = type(estimator).__mro__
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in mro]
