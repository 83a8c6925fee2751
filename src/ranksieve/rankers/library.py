"""Interface of the ranker adapter to the library of an estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ranksieve.data import RankingData
from ranksieve.rankers.per_feature import Cut
from ranksieve.registry.foreign import copy_unfitted


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
