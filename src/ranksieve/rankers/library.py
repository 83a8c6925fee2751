"""What the adapter of rankers needs to know about the library that an estimator comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ranksieve.data import RankingData
from ranksieve.rankers.per_feature import Cut
from ranksieve.registry.foreign import unfitted


class Library(ABC):
    """Interface to estimators of other packages."""

    name: str  # of the class
    threads: str = "n_jobs"  # parameter with their number
    log: ClassVar[dict[str, Any]] = {}  # parameters that silence it
    log_names: ClassVar[frozenset[str]] = frozenset()  # others that are about its log
    per_feature: ClassVar[Mapping[str, Cut]] = {}  # parameters with a value per feature
    synonyms: ClassVar[Mapping[str, str]] = {}  # native names -> parameters of the class
    has_model_files: ClassVar[bool] = True

    def unfitted(self, estimator: Any) -> Any:
        """Unfitted copy."""
        return unfitted(estimator)

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

    def takes_missing(self, estimator: Any) -> bool:
        """Whether it treats missing values in its own way."""
        return True

    @property
    def more_parameters(self) -> Collection[str]:
        """Parameters that ``get_params`` need not list."""
        return ()

    def accepts(self, parameter: str) -> bool:
        """Whether there is such a parameter, though ``get_params`` need not list it."""
        return parameter in self.synonyms or parameter in self.more_parameters

    def translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters under the names of the class, from those that the library uses elsewhere."""
        return {self.synonyms.get(name, name): value for name, value in parameters.items()}

    @abstractmethod
    def feature_names(self, estimator: Any) -> Any:
        """Names that a fitted estimator has for its features; None if it has none."""

    @abstractmethod
    def check_labels(self, given: dict[str, Any], data: RankingData) -> None:
        """Raise a DataError for labels that is clearer than that of the library."""

    @abstractmethod
    def fit(self, estimator: Any, data: RankingData, validation: RankingData | None = None) -> None:
        """Fit an estimator in place; queries of both count as often as their weights say."""

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
        """SHAP values of each feature in each row, and last the common offset."""

    @abstractmethod
    def text_of(self, estimator: Any) -> str:
        """The trees of a fitted estimator, in the format of the library."""

    @abstractmethod
    def restore(self, estimator: Any, text: str) -> None:
        """Give an unfitted estimator its trees."""


class DatasetLibrary(Library):
    """A library that can train on values that are in bins already."""

    @abstractmethod
    def trains_on_datasets(self, estimator: Any) -> bool:
        """Whether :meth:`fit_dataset` can take the place of :meth:`fit` for this estimator."""

    @abstractmethod
    def dataset_parameters(self, estimator: Any) -> dict[str, Any]:
        """Parameters that ``fit`` would pass to LightGBM's ``train``."""

    @abstractmethod
    def fit_dataset(self, estimator: Any, dataset: Callable[[dict[str, Any]], Any]) -> None:
        """Fit an estimator in place to a LightGBM Dataset, made for these parameters."""
