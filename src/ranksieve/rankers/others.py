"""Estimators of any other package or of users, as rankers: regressors, and what takes query ids."""

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
    """A regressor, which ranks by the label that it predicts; or a ranker that nobody knows.

    Parameters
    ----------
    estimator : estimator
        A TypeError is raised if it cannot rank.
    maker : Library, optional
        The library that it comes from, whose log can be silenced.
    """

    has_model_files = False

    def __init__(self, estimator: Any, maker: Library | None = None) -> None:
        kind = type(estimator)
        self.name = kind.__name__
        self._maker = maker
        self.threads = "" if maker is None else maker.threads
        if isinstance(estimator, type):
            raise TypeError(
                f"expected {_ACCEPTED}; got the class {estimator.__name__}: make an object of it"
            )
        if not all(callable(getattr(estimator, name, None)) for name in ("fit", "predict")):
            raise TypeError(f"expected {_ACCEPTED}; got {self.name}")
        what = getattr(tags_of(estimator), "estimator_type", None)
        if what not in (None, "regressor"):
            raise TypeError(
                f"expected {_ACCEPTED}; got the {what} {self.name}, which ranks nothing"
            )

    def silence(self, given: dict[str, Any]) -> dict[str, Any]:
        """Parameters that turn off the log of its library."""
        return {} if self._maker is None else self._maker.silence(given)

    def is_fitted(self, estimator: Any) -> bool:
        """Whether it can predict, and says of how many features."""
        try:
            check_is_fitted(estimator)
        except (NotFittedError, AttributeError, TypeError):
            return False
        return hasattr(estimator, "n_features_in_")

    def takes_missing(self, estimator: Any) -> bool:
        """Whether missing values are passed on."""
        return takes_missing(estimator)

    def feature_names(self, estimator: Any) -> Any:
        """Names of features that it was fitted with."""
        return getattr(estimator, "feature_names_in_", None)

    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        """Take any labels."""

    def fit(self, estimator: Any, data: RankingData, validation: RankingData | None = None) -> None:
        """Fit with as much as ``fit`` takes."""
        fit_foreign(estimator, data, validation)

    def scores(self, estimator: Any, X: Any) -> Any:
        """Predictions, one for each row."""
        scores = np.asarray(estimator.predict(rows_for(estimator, X)), dtype=np.float64)
        if scores.size != X.shape[0]:
            raise DataError(
                f"predict of {self.name} returned an array of shape {scores.shape} for "
                f"{X.shape[0]} rows; a ranker returns a score for each"
            )
        return scores.ravel()

    def weights(self, estimator: Any, n_features: int) -> np.ndarray | None:
        """Weights of a linear estimator, also at the end of a pipeline."""
        return _one_each(_last(estimator), "coef_", n_features)

    def importances(self, estimator: Any, n_features: int) -> Any:
        """Importances, or absolute weights; an AttributeError if there are none."""
        for name in ("feature_importances_", "coef_"):
            found = _one_each(_last(estimator), name, n_features)
            if found is not None:
                return np.abs(found)
        raise AttributeError(f"{self.name} has no importances of features")

    def contributions(self, estimator: Any, X: Any) -> NoReturn:
        """Raise a ValueError: there are no SHAP values."""
        raise ValueError(f"{self.name} has no SHAP values")

    def text_of(self, estimator: Any) -> NoReturn:
        """Raise a ValueError that says why there are no model files."""
        raise ValueError(
            f"{self.name} cannot be written to a model file, which holds numbers and trees but no "
            "code: keep estimator_, the fitted object, with a tool such as skops or joblib"
        )

    def restore(self, estimator: Any, text: str) -> NoReturn:
        """Raise a ValueError: there are no model files."""
        raise ValueError(f"{self.name} has no model files")


def _last(estimator: Any) -> Any:
    """The last step of a pipeline, or the estimator itself."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if isinstance(steps, list) and steps else estimator


def _one_each(estimator: Any, name: str, n_features: int) -> np.ndarray | None:
    """Attribute of an estimator that has a number for each feature; None if it has none."""
    try:
        found = np.asarray(getattr(estimator, name, None), dtype=np.float64).ravel()
    except (AttributeError, TypeError, ValueError):  # sparse, or of another kernel
        return None
    return found if found.shape == (n_features,) and np.isfinite(found).all() else None
