"""Estimators of other packages or of users as rankers: with query ids, or as regressors."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ranksieve.data import DataError, RankingData
from ranksieve.rankers.library import Library
from ranksieve.registry.foreign import fit_foreign, rows_for, tags_of, takes_missing

_ACCEPTED = (
    "a ranker of ranksieve, an object of lightgbm.LGBMRanker, xgboost.XGBRanker or "
    "catboost.CatBoostRanker, a regressor of scikit-learn, or an estimator with "
    "fit(X, y, qid=...) and predict(X)"
)


class OtherEstimator(Library):
    """A regressor, which ranks by the label that it predicts; or a ranker of an unknown package.

    Parameters
    ----------
    estimator : estimator
        The estimator; a TypeError is raised if it cannot rank.
    maker : Library, optional
        The library that it comes from, whose log can be turned off.
    """

    has_model_files = False

    def __init__(self, estimator: Any, maker: Library | None = None) -> None:
        kind = type(estimator)
        self.name = kind.__name__
        self._maker = maker
        self.threads = "" if maker is None else maker.threads
        if isinstance(estimator, type):
            raise TypeError(
                f"expected {_ACCEPTED}; got the class {estimator.__name__}: pass an instance"
            )
        if not all(callable(getattr(estimator, name, None)) for name in ("fit", "predict")):
            raise TypeError(f"expected {_ACCEPTED}; got {self.name}")
        what = getattr(tags_of(estimator), "estimator_type", None)
        if what not in (None, "regressor"):
            raise TypeError(f"expected {_ACCEPTED}; got the {what} {self.name}, which cannot rank")

    def silence(self, given: dict[str, Any]) -> dict[str, Any]:
        """Parameters that turn off the log of the library."""
        return {} if self._maker is None else self._maker.silence(given)

    def is_fitted(self, estimator: Any) -> bool:
        """Whether the estimator can predict and has a number of features."""
        try:
            check_is_fitted(estimator)
        except (NotFittedError, AttributeError, TypeError):
            return False
        return hasattr(estimator, "n_features_in_")

    def takes_missing(self, estimator: Any) -> bool:
        """Whether missing values are passed on."""
        return takes_missing(estimator)

    def feature_names(self, estimator: Any) -> Any:
        """Names of the features that the estimator was fitted with."""
        return getattr(estimator, "feature_names_in_", None)

    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        """Accept any labels."""

    def fit(self, estimator: Any, data: RankingData, validation: RankingData | None = None) -> None:
        """Fit with those of query ids, weights and validation data that ``fit`` takes."""
        fit_foreign(estimator, data, validation)

    def scores(self, estimator: Any, X: Any) -> Any:
        """Predictions, one for each row."""
        scores = np.asarray(estimator.predict(rows_for(estimator, X)), dtype=np.float64)
        if scores.size != X.shape[0]:
            raise DataError(
                f"predict of {self.name} returned an array of shape {scores.shape} for "
                f"{X.shape[0]} rows; a ranker must return one score for each row"
            )
        return scores.ravel()

    def weights(self, estimator: Any, n_features: int) -> np.ndarray | None:
        """Weights of a linear estimator, also at the end of a pipeline."""
        return _value_per_feature(_last_step(estimator), "coef_", n_features)

    def importances(self, estimator: Any, n_features: int) -> Any:
        """Importances, or absolute weights; an AttributeError if there are none."""
        for name in ("feature_importances_", "coef_"):
            found = _value_per_feature(_last_step(estimator), name, n_features)
            if found is not None:
                return np.abs(found)
        raise AttributeError(f"{self.name} has no importances of features")

    def contributions(self, estimator: Any, X: Any) -> NoReturn:
        """Raise a ValueError: there are no SHAP values."""
        raise ValueError(f"{self.name} has no SHAP values")

    def model_text(self, estimator: Any) -> NoReturn:
        """Raise a ValueError that says why there are no model files."""
        raise ValueError(
            f"{self.name} cannot be written to a model file, which holds numbers and trees but no "
            "code: keep estimator_, the fitted object, with a tool such as skops or joblib"
        )

    def restore(self, estimator: Any, text: str) -> NoReturn:
        """Raise a ValueError: there are no model files."""
        raise ValueError(f"{self.name} has no model files")


def _last_step(estimator: Any) -> Any:
    """The last step of a pipeline, or the estimator itself."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if isinstance(steps, list) and steps else estimator


def _value_per_feature(estimator: Any, name: str, n_features: int) -> np.ndarray | None:
    """Attribute with a number for each feature; None if the estimator has no such attribute."""
    try:
        found = np.asarray(getattr(estimator, name, None), dtype=np.float64).ravel()
    except (AttributeError, TypeError, ValueError):  # a sparse coef_, or an SVM with a kernel
        return None
    return found if found.shape == (n_features,) and np.isfinite(found).all() else None
