"""Read a trained ranker for export: its model, feature names and missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.data import DataError
from ranksieve.data.inputs import numbers
from ranksieve.data.missing import Missing
from ranksieve.export.forms import LinearModel, Model
from ranksieve.export.trained_trees import (
    read_catboost,
    read_lightgbm,
    read_rankboost,
    read_xgboost,
)
from ranksieve.rankers.adapter import RankerAdapter
from ranksieve.rankers.base import Ranker
from ranksieve.rankers.lambdamart import LambdaMART
from ranksieve.rankers.rankboost import RankBoost


@dataclass(frozen=True)
class Trained:
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


def read_trained(ranker: Ranker) -> Trained:
    """Read a trained ranker; raises DataError with the reason if it cannot be exported."""
    check_is_fitted(ranker)
    library, model, saw_missing = _read(ranker)
    missing = getattr(ranker, "missing_", None)
    if missing is not None and not missing.keeps:
        saw_missing = False  # missing values were filled in
    if isinstance(model, LinearModel) and not np.isfinite(model.weights).all():
        raise DataError("a weight of the model is not finite")
    return Trained(ranker, library, model, _names(ranker), saw_missing)


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
