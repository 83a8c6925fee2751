"""Interface of the ranker adapter to the library of an estimator.

:class:`OtherEstimator` is the interface to estimators of any other package or of users: with query
ids, or as regressors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ranksieve.data import DataError, RankingData
from ranksieve.rankers.per_feature import Cut
from ranksieve.registry.foreign import copy_unfitted, fit_foreign, rows_for, tags_of, takes_missing

_ACCEPTED = (
    "a ranker of ranksieve, an object of lightgbm.LGBMRanker, xgboost.XGBRanker or "
    "catboost.CatBoostRanker, a regressor of scikit-learn, or an estimator with "
    "fit(X, y, qid=...) and predict(X)"
)


class Library(ABC):
    """Interface to estimators of other packages."""

    name: str  # name of the estimator's class
    threads: str = "n_jobs"  # parameter for the number of threads
    log: ClassVar[dict[str, Any]] = {}  # parameters that turn off the log
    log_names: ClassVar[frozenset[str]] = frozenset()  # other parameters of the log
    per_feature: ClassVar[Mapping[str, Cut]] = {}  # parameters with a value per feature
    synonyms: ClassVar[Mapping[str, str]] = {}  # native names -> parameters of the class
    has_model_files: ClassVar[bool] = True

    def copy_unfitted(self, estimator: Any) -> Any:
        """Unfitted copy of an estimator."""
        return copy_unfitted(estimator)

    def silence(self, given: dict[str, Any]) -> dict[str, Any]:
        """Parameters that turn off the log, unless the given ones set it."""
        if given.keys() & self.log_names:
            return {}
        return {name: value for name, value in self.log.items() if name not in given}

    def is_fitted(self, estimator: Any) -> bool:
        """Whether an estimator can predict."""
        return bool(estimator.__sklearn_is_fitted__())

    def n_features(self, estimator: Any) -> int:
        """Number of features of a fitted estimator."""
        return int(estimator.n_features_in_)

    def takes_missing(self, estimator: Any) -> bool:
        """Whether an estimator accepts missing values."""
        return True

    @property
    def more_parameters(self) -> Collection[str]:
        """Parameters that exist even if ``get_params`` does not list them."""
        return ()

    def accepts(self, parameter: str) -> bool:
        """Whether there is such a parameter, even if ``get_params`` does not list it."""
        return parameter in self.synonyms or parameter in self.more_parameters

    def translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Rename parameters from the library's native names to those of the class."""
        return {self.synonyms.get(name, name): value for name, value in parameters.items()}

    @abstractmethod
    def feature_names(self, estimator: Any) -> Any:
        """Feature names of a fitted estimator; None if it has none."""

    @abstractmethod
    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        """Raise a DataError for labels that the library cannot use."""

    @abstractmethod
    def fit(self, estimator: Any, data: RankingData, validation: RankingData | None = None) -> None:
        """Fit an estimator in place; queries of both data sets count by their weights."""

    @abstractmethod
    def scores(self, estimator: Any, X: Any) -> Any:
        """Scores of rows by a fitted estimator."""

    def weights(self, estimator: Any, n_features: int) -> np.ndarray | None:
        """Weight of each feature in a fitted linear estimator; None if it is not linear."""
        return None

    @abstractmethod
    def importances(self, estimator: Any, n_features: int) -> Any:
        """Importance of each feature in a fitted estimator."""

    @abstractmethod
    def contributions(self, estimator: Any, X: Any) -> Any:
        """SHAP value of each feature in each row; the last column is the common offset."""

    @abstractmethod
    def model_text(self, estimator: Any) -> str:
        """Model of a fitted estimator as text, in the format of the library."""

    @abstractmethod
    def restore(self, estimator: Any, text: str) -> None:
        """Restore an unfitted estimator from :meth:`model_text`."""


class DatasetLibrary(Library):
    """A library that can train on data that is already binned."""

    @abstractmethod
    def trains_on_datasets(self, estimator: Any) -> bool:
        """Whether :meth:`fit_dataset` can replace :meth:`fit` for this estimator."""

    @abstractmethod
    def dataset_parameters(self, estimator: Any) -> dict[str, Any]:
        """Parameters that ``fit`` would pass to LightGBM's ``train``."""

    @abstractmethod
    def fit_dataset(self, estimator: Any, dataset: Callable[[dict[str, Any]], Any]) -> None:
        """Fit an estimator in place to the Dataset that ``dataset`` makes for its parameters."""


class OtherEstimator(Library):
    """A regressor, which ranks by the label that it predicts; or a ranker of an unknown package.

    A TypeError is raised if the estimator cannot rank. ``maker`` is the library that it comes from,
    if known, whose log can be turned off.
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
