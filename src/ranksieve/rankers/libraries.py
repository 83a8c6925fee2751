"""Differences between the rankers of LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ranksieve.data import RankingData
from ranksieve.rankers.lightgbm_data import as_known, check_whole_labels
from ranksieve.rankers.per_feature import CATBOOST, LIGHTGBM, XGBOOST, Cut
from ranksieve.threads import openmp_thread_count


class Library(ABC):
    """Interface to one of the libraries."""

    name: ClassVar[str]  # of the class
    threads: ClassVar[str] = "n_jobs"  # parameter with their number
    log: ClassVar[dict[str, Any]] = {}  # parameters that silence it
    log_names: ClassVar[frozenset[str]] = frozenset()  # others that are about its log
    per_feature: ClassVar[Mapping[str, Cut]] = {}  # those that speak of single features

    def unfitted(self, estimator: Any) -> Any:
        """Unfitted copy."""
        return clone(estimator)

    def silence(self, given: dict[str, Any]) -> dict[str, Any]:
        """Parameters that turn off the log, unless the given ones set it."""
        if given.keys() & self.log_names:
            return {}
        return {name: value for name, value in self.log.items() if name not in given}

    def is_fitted(self, estimator: Any) -> bool:
        """Whether it can predict."""
        return bool(estimator.__sklearn_is_fitted__())

    def n_features(self, estimator: Any) -> int:
        """Features of a fitted estimator."""
        return int(estimator.n_features_in_)

    @abstractmethod
    def feature_names(self, estimator: Any) -> Any:
        """Names that a fitted estimator has for its features; None if it has none."""

    @abstractmethod
    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        """Raise a DataError for labels that is clearer than that of the library."""

    @abstractmethod
    def fit(
        self,
        estimator: Any,
        data: RankingData,
        validation: RankingData | None = None,
    ) -> None:
        """Fit an estimator in place; queries of both count as often as their weights say."""

    @abstractmethod
    def scores(self, estimator: Any, X: Any) -> Any:
        """Scores of rows by a fitted estimator."""

    @abstractmethod
    def importances(self, estimator: Any, n_features: int) -> Any:
        """Importance of each feature in a fitted estimator."""

    @abstractmethod
    def contributions(self, estimator: Any, X: Any) -> Any:
        """SHAP values of each feature in each row, and last the common offset."""

    @abstractmethod
    def text_of(self, estimator: Any) -> str:
        """The trees of a fitted estimator, in the format of the library."""

    @abstractmethod
    def restore(self, estimator: Any, text: str) -> None:
        """Give an unfitted estimator its trees."""


class _LightGBM(Library):
    name = "lightgbm.LGBMRanker"
    log: ClassVar[dict[str, Any]] = {"verbosity": -1}
    log_names: ClassVar[frozenset[str]] = frozenset({"verbose"})
    per_feature = LIGHTGBM

    def feature_names(self, estimator: Any) -> Any:
        names = estimator.booster_.feature_name()
        return None if names == [f"Column_{n}" for n in range(len(names))] else names

    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        if given.get("objective") in (None, "lambdarank", "rank_xendcg"):
            gains = given.get("label_gain")
            if isinstance(gains, str):
                gains = gains.split(",")
            check_whole_labels("LGBMRanker", data, *([] if gains is None else [len(gains) - 1]))

    def fit(
        self,
        estimator: Any,
        data: RankingData,
        validation: RankingData | None = None,
    ) -> None:
        held_out: dict[str, Any] = {}
        if validation is not None:
            X, y = as_known(validation.X), validation.y
            held_out["eval_group"] = [validation.group_counts]
            if validation.query_weights is not None:
                held_out["eval_sample_weight"] = [_row_weights(validation)]
            if "eval_X" in signature(estimator.fit).parameters:  # eval_set is on its way out
                held_out.update(eval_X=(X,), eval_y=(y,))
            else:
                held_out["eval_set"] = [(X, y)]
        weights, counts = _row_weights(data), data.group_counts
        estimator.fit(as_known(data.X), data.y, group=counts, sample_weight=weights, **held_out)

    def scores(self, estimator: Any, X: Any) -> Any:
        return estimator.booster_.predict(as_known(X), num_threads=openmp_thread_count())

    def importances(self, estimator: Any, n_features: int) -> Any:
        return estimator.booster_.feature_importance("gain", iteration=estimator.best_iteration_)

    def contributions(self, estimator: Any, X: Any) -> Any:
        threads = openmp_thread_count()
        return estimator.booster_.predict(X, pred_contrib=True, num_threads=threads)

    def text_of(self, estimator: Any) -> str:
        return estimator.booster_.model_to_string()  # up to the best iteration

    def restore(self, estimator: Any, text: str) -> None:
        from lightgbm import Booster

        # LightGBM has no public way to do this.
        estimator._Booster = Booster(model_str=text)
        estimator._n_features = estimator._n_features_in = estimator._Booster.num_feature()
        estimator.fitted_ = True


class _XGBoost(Library):
    name = "xgboost.XGBRanker"
    per_feature = XGBOOST

    def feature_names(self, estimator: Any) -> Any:
        return estimator.get_booster().feature_names

    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        if given.get("objective") == "rank:map":
            check_whole_labels("XGBRanker with rank:map", data, 1)
        elif given.get("objective") == "rank:ndcg" and given.get("ndcg_exp_gain", True):
            check_whole_labels("XGBRanker", data, 31)

    def fit(
        self,
        estimator: Any,
        data: RankingData,
        validation: RankingData | None = None,
    ) -> None:
        held_out: dict[str, Any] = {}
        if validation is not None:
            validation = _telling(validation)
            held_out["eval_set"] = [(as_known(validation.X), validation.y)]
            held_out["eval_qid"] = [validation.query_codes]
            if validation.query_weights is not None:
                held_out["sample_weight_eval_set"] = [validation.query_weights]
        held_out |= {"qid": data.query_codes, "sample_weight": data.query_weights}
        with _xgboost_threads():
            estimator.fit(as_known(data.X), data.y, **held_out)

    def scores(self, estimator: Any, X: Any) -> Any:
        # The number of features is known to be right.
        with _xgboost_threads():
            return estimator.predict(as_known(X), validate_features=False)

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

    def text_of(self, estimator: Any) -> str:
        return estimator.get_booster().save_raw("json").decode()

    def restore(self, estimator: Any, text: str) -> None:
        estimator.load_model(bytearray(text, "utf-8"))


def _telling(data: RankingData) -> RankingData:
    """Held-out queries that are worth more in one order than in another, if queries have weights.

    XGBoost gives a query without relevant documents the value 1, and forgets its weight: the sum
    may then be too large for a mean, which it refuses. The best number of trees is the same.
    """
    if data.query_weights is None:
        return data
    starts = data.query_ptr[:-1]
    differ = np.minimum.reduceat(data.y, starts) < np.maximum.reduceat(data.y, starts)
    kept = differ & (data.query_weights > 0)
    return data.take_queries(kept) if kept.any() else data.with_weights(None)


def _xgboost_threads() -> AbstractContextManager[Any]:
    """Limit XGBoost to one thread if necessary: some of its steps ignore ``n_jobs``."""
    from xgboost import config_context, get_config

    if openmp_thread_count() == 1 and "nthread" in get_config():  # since XGBoost 3
        return config_context(nthread=1)
    return nullcontext()


class _CatBoost(Library):
    name = "catboost.CatBoostRanker"
    threads = "thread_count"
    log: ClassVar[dict[str, Any]] = {"verbose": False, "allow_writing_files": False}
    log_names: ClassVar[frozenset[str]] = frozenset({"logging_level", "silent", "metric_period"})
    per_feature = CATBOOST

    def unfitted(self, estimator: Any) -> Any:
        # scikit-learn insists on the very same objects as parameters, which CatBoost copies.
        return type(estimator)(**estimator.get_params())

    def is_fitted(self, estimator: Any) -> bool:
        return bool(estimator.is_fitted())

    def n_features(self, estimator: Any) -> int:
        return len(estimator.feature_names_)  # one that was loaded knows no other number

    def feature_names(self, estimator: Any) -> Any:
        names = estimator.feature_names_
        return None if names == [str(n) for n in range(len(names))] else names

    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        pass  # most losses take any numbers, and the others say what they want

    def fit(
        self,
        estimator: Any,
        data: RankingData,
        validation: RankingData | None = None,
    ) -> None:
        held_out = None if validation is None else self._pool(validation)
        estimator.fit(self._pool(data), eval_set=held_out)

    def _pool(self, data: RankingData) -> Any:
        from catboost import Pool

        weights = _row_weights(data)
        return Pool(_narrow(data.X), data.y, group_id=data.query_codes, group_weight=weights)

    def scores(self, estimator: Any, X: Any) -> Any:
        return estimator.predict(_narrow(X))

    def importances(self, estimator: Any, n_features: int) -> Any:
        return estimator.get_feature_importance(type="PredictionValuesChange")

    def contributions(self, estimator: Any, X: Any) -> Any:
        from catboost import Pool

        return estimator.get_feature_importance(Pool(X), type="ShapValues")

    def text_of(self, estimator: Any) -> str:
        # Its JSON drops digits of the leaves; this is its binary format, and goes through a file.
        with TemporaryDirectory() as directory:
            path = Path(directory) / "model.cbm"
            estimator.save_model(str(path))
            return b64encode(path.read_bytes()).decode()

    def restore(self, estimator: Any, text: str) -> None:
        estimator.load_model(blob=b64decode(text, validate=True))


def _narrow(X: Any) -> Any:
    """Rows in the form that CatBoost needs: indices of sparse rows have 32 bits.

    CatBoost makes arrays read-only; a view protects those of the caller.
    """
    X = as_known(X)
    if not sparse.issparse(X):
        return X.view()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def _row_weights(data: RankingData) -> np.ndarray | None:
    weights = data.query_weights
    return None if weights is None else np.repeat(weights, data.group_counts)


_LIBRARIES = {library.name: library for library in (_LightGBM(), _XGBoost(), _CatBoost())}


def class_named(name: Any) -> Any:
    """Return a class of one of the libraries, and of no other module."""
    if name not in _LIBRARIES:
        raise ValueError(f"unknown class {name!r:.40}; known are {', '.join(_LIBRARIES)}")
    home, kind = str(name).split(".")
    try:
        return getattr(import_module(home), kind)
    except ImportError:
        raise ValueError(f"{home} is not installed: pip install {home}") from None


def library_of(estimator: Any) -> Library:
    """Return the library of an estimator by its class name, without importing any library."""
    mro = type(estimator).__mro__
    kinds = [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in mro]
    found = [_LIBRARIES[kind] for kind in kinds if kind in _LIBRARIES]
    if found and "lightgbm.DaskLGBMRanker" not in kinds:
        return found[0]
    raise TypeError(
        f"expected a ranker of ranksieve or an object of {', '.join(_LIBRARIES)}; got "
        f"{type(estimator).__name__}" + ("; LambdaMART trains on a Dask cluster" if found else "")
    )
