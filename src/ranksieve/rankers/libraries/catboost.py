"""CatBoost: what the ranker adapter asks of its estimators."""

# ruff: noqa: D102 (the base class documents what a library is asked)

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import cached_property
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve.data import RankingData
from ranksieve.rankers.libraries.cbm import check_cbm, check_numbers
from ranksieve.rankers.libraries.library import TreeLibrary, Vocabularies, native_rows
from ranksieve.rankers.libraries.per_feature import (
    cut_table,
    indices,
    reduce_values,
    refuse_reduction,
)
from ranksieve.rankers.libraries.rounding import FLOAT32_ROUNDING
from ranksieve.rankers.libraries.trial import trust_model, try_model
from ranksieve.registry.foreign import parameters_of, row_weights
from ranksieve.threads import openmp_thread_count

_DEFAULT_LOSS = "YetiRank"
_LOSSES_OF_ROWS = ("QueryRMSE", "QuerySoftMax")  # the other ranking losses are of pairs or lists


class CatBoost(TreeLibrary):
    """Rankers such as CatBoostRanker."""

    threads = "thread_count"
    log = MappingProxyType({"verbose": False, "allow_writing_files": False})
    log_names = ("logging_level", "silent", "metric_period")
    per_feature = cut_table(
        {
            reduce_values: """monotone_constraints feature_weights first_feature_use_penalties
            per_object_feature_penalties""",
            indices: "cat_features text_features embedding_features ignored_features",
            refuse_reduction: "per_float_feature_quantization",
        }
    )
    of_categories = ("cat_features",)
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

    def no_row_weights(self, estimator: Any) -> str:
        loss = parameters_of(estimator).get("loss_function") or _DEFAULT_LOSS
        if str(loss).partition(":")[0] in _LOSSES_OF_ROWS:
            return ""
        return f"CatBoost's {loss} weighs queries; QueryRMSE and QuerySoftMax weigh rows."

    def no_positions(self, estimator: Any) -> str:
        return "CatBoost takes none; LightGBM (lambdamart, lightgbm) does."

    def fit_arguments(self, data: RankingData) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self._pool(data),), {}

    def vali_arguments(self, estimator: Any, vali: RankingData) -> dict[str, Any]:
        return {"eval_set": self._pool(vali)}

    def _pool(self, data: RankingData) -> Any:
        from catboost import Pool

        kind = "group_weight" if data.row_weights is None else "weight"
        weights = {kind: row_weights(data)}
        vocabularies = [data.categories.get(name) for name in data.feature_names]
        rows = _with_names(data.X, vocabularies if data.categories else ())
        columns = np.flatnonzero(data.categorical).tolist() or None
        queries = data.query_codes
        return Pool(rows, data.y, group_id=queries, cat_features=columns, **weights)

    def scores(self, estimator: Any, X: Any, categories: Vocabularies = ()) -> Any:
        return estimator.predict(_with_names(X, categories))

    def importances(self, estimator: Any, n_features: int) -> Any:
        return estimator.get_feature_importance(type="PredictionValuesChange")

    def contributions(self, estimator: Any, X: Any, categories: Vocabularies = ()) -> Any:
        from catboost import Pool

        threads = openmp_thread_count()
        return estimator.get_feature_importance(
            Pool(
                _with_names(X, categories),
                cat_features=[n for n, names in enumerate(categories) if names is not None] or None,
            ),
            type="ShapValues",
            thread_count=threads,
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
        check_numbers(content)
        return b64encode(content).decode()

    def restore(self, estimator: Any, text: str) -> None:
        content = b64decode(text, validate=True)
        check_cbm(content)
        try_model("catboost", content)
        estimator.load_model(blob=content)


def _with_names(X: Any, categories: Vocabularies) -> Any:
    """Rows with the names of categories, which CatBoost remembers; empty if they are missing."""
    if not categories:
        return _narrow(X)
    rows = np.asarray(X).astype(object)
    for column, names in enumerate(categories):
        if names is not None:
            table = np.array([*names, ""], dtype=object)
            codes = np.asarray(X[:, column], dtype=np.float64)
            rows[:, column] = table[np.where(np.isnan(codes), len(names), codes).astype(np.intp)]
    return rows


def _narrow(X: Any) -> Any:
    """Rows in the form that CatBoost needs: indices of sparse rows have 32 bits.

    CatBoost makes arrays read-only; a view protects those of the caller.
    """
    X = native_rows(X)
    if not sparse.issparse(X):
        return X.view()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
