"""What the ranker adapter asks of an estimator, whatever package it comes from.

:class:`Library` serves any estimator: with query ids, or as a regressor. :class:`TreeLibrary` is
the base of those for LightGBM, XGBoost and CatBoost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ranksieve.data import Block, DataError, RankingData
from ranksieve.engine import Source, engine_of
from ranksieve.rankers.libraries.per_feature import Cut
from ranksieve.rankers.libraries.rounding import Rounding
from ranksieve.registry.foreign import (
    fit_foreign,
    rows_for,
    tags_of,
    takes_missing,
    why_no_positions,
    why_no_row_weights,
)

_ACCEPTED = (
    "a ranker of ranksieve, an object of lightgbm.LGBMRanker, xgboost.XGBRanker or "
    "catboost.CatBoostRanker, a regressor of scikit-learn, or an estimator with "
    "fit(X, y, qid=...) and predict(X)"
)


Vocabularies = Sequence[Sequence[str] | None]
"""Names of the categories of each column, None for numbers; empty if all columns are numbers."""


class Library:
    """A regressor, which ranks by the label that it predicts; or a ranker of an unknown package."""

    threads: str = ""  # parameter for the number of threads
    log: Mapping[str, Any] = MappingProxyType({})  # parameters that turn off the log
    log_names: Collection[str] = ()  # other parameters of the log
    per_feature: ClassVar[Mapping[str, Cut]] = {}  # parameters with a value per feature
    synonyms: ClassVar[Mapping[str, str]] = {}  # native names -> parameters of the class
    has_model_files: ClassVar[bool] = False
    takes_categories: ClassVar[bool] = False
    of_categories: ClassVar[Sequence[str]] = ()  # parameters for features that are categories
    rounding: Rounding | None = None  # of the values of features; None if it keeps all digits

    def __init__(self, name: str, maker: Library | None = None) -> None:
        self.name = name  # of the estimator's class
        if maker is not None:  # the library that it comes from, which does these things alike
            self.threads, self.log, self.log_names = maker.threads, maker.log, maker.log_names
            self.rounding = maker.rounding

    def silence(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters that turn off the log, unless the given ones set it."""
        if any(name in parameters for name in self.log_names):
            return {}
        return {name: value for name, value in self.log.items() if name not in parameters}

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

    def is_fitted(self, estimator: Any) -> bool:
        """Whether an estimator can predict and has a number of features."""
        try:
            check_is_fitted(estimator)
        except (NotFittedError, AttributeError, TypeError):
            return False
        return hasattr(estimator, "n_features_in_")

    def n_features(self, estimator: Any) -> int:
        """Number of features of a fitted estimator."""
        return int(estimator.n_features_in_)

    def feature_names(self, estimator: Any) -> Any:
        """Feature names of a fitted estimator; None if it has none."""
        return getattr(estimator, "feature_names_in_", None)

    def takes_missing(self, estimator: Any) -> bool:
        """Whether an estimator accepts missing values."""
        return takes_missing(estimator)

    def no_row_weights(self, estimator: Any) -> str:
        """Why an estimator takes no weights of rows; empty if it does."""
        return why_no_row_weights(estimator)

    def no_positions(self, estimator: Any) -> str:
        """Why an estimator takes no positions; empty if it does."""
        return why_no_positions(estimator)

    def check_labels(self, parameters: dict[str, Any], data: RankingData) -> None:
        """Raise a DataError for labels that an estimator of these parameters cannot use."""

    def fit(self, estimator: Any, data: RankingData, vali: RankingData | None = None) -> None:
        """Fit an estimator in place; queries of both data sets count by their weights."""
        fit_foreign(estimator, data, vali)

    def trains_on_datasets(self, estimator: Any) -> bool:
        """Whether it trains on Datasets of LightGBM, whose values are in bins already."""
        return False

    def scores(self, estimator: Any, X: Any, categories: Vocabularies = ()) -> Any:
        """Scores of rows by a fitted estimator; those of ``categories`` are codes."""
        scores = np.asarray(estimator.predict(rows_for(estimator, X)), dtype=np.float64)
        if scores.size != X.shape[0]:
            raise DataError(
                f"predict of {self.name} returned an array of shape {scores.shape} for "
                f"{X.shape[0]} rows; a ranker must return one score for each row"
            )
        return scores.ravel()

    def weights(self, estimator: Any, n_features: int) -> np.ndarray | None:
        """Weights of a linear estimator, also at the end of a pipeline; None if it is not."""
        return _value_per_feature(estimator, "coef_", n_features)

    def importances(self, estimator: Any, n_features: int) -> Any:
        """Importances, or absolute weights; an AttributeError if there are none."""
        for name in ("feature_importances_", "coef_"):
            found = _value_per_feature(estimator, name, n_features)
            if found is not None:
                return np.abs(found)
        raise AttributeError(f"{self.name} has no importances of features")

    def contributions(self, estimator: Any, X: Any, categories: Vocabularies = ()) -> Any:
        """SHAP value of each feature in each row; the last column is the common offset."""
        raise ValueError(f"{self.name} has no SHAP values")

    def model_text(self, estimator: Any) -> str:
        """Model of a fitted estimator as text, in the format of the library."""
        raise ValueError(
            f"{self.name} cannot be written to a model file, which holds numbers and trees but no "
            "code: keep estimator_, the fitted object, with a tool such as skops or joblib"
        )

    def text_of_file(self, content: bytes) -> str:
        """Text for :meth:`restore` from a file of the library; line ends may be of any system."""
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")

    def restore(self, estimator: Any, text: str) -> None:
        """Restore an unfitted estimator from :meth:`model_text`."""
        raise ValueError(f"{self.name} has no model files")


class TreeLibrary(Library):
    """A library of boosted trees, whose rankers take the queries of rows in a form of their own."""

    threads = "n_jobs"
    has_model_files = True
    takes_categories = True

    @abstractmethod
    def fit_arguments(self, data: RankingData) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of ``fit``, by position and by name: rows, labels, queries and weights."""

    @abstractmethod
    def vali_arguments(self, estimator: Any, vali: RankingData) -> dict[str, Any]:
        """Arguments of ``fit`` for held-out queries."""

    def limits(self) -> AbstractContextManager[Any]:
        """Context manager for what the parameter for threads does not limit."""
        return nullcontext()

    def fit(self, estimator: Any, data: RankingData, vali: RankingData | None = None) -> None:
        """Fit an estimator in place; queries of both data sets count by their weights."""
        rows, named = self.fit_arguments(data)
        if vali is not None:
            named |= self.vali_arguments(estimator, vali)
        with self.limits():
            estimator.fit(*rows, **named)

    def weights(self, estimator: Any, n_features: int) -> None:
        """None: trees have no weights."""


def refuse_two_declarations(data: Any, parameters: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise a DataError if the data has categories, and a parameter says which features have."""
    found = [name for name in names if parameters.get(name) not in (None, "", "auto")]
    if found and getattr(data, "categories", None):
        raise DataError(
            f"leave out {found[0]}: the data says which features are categories "
            f"({', '.join(map(repr, data.categories))})"
        )


def native_rows(X: Any) -> Any:
    """Convert rows to the format of tree libraries: SciPy's sparse matrices, not sparse arrays."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else np.ascontiguousarray(X)


def first_wrong_label(block: Block, largest: int) -> tuple[int, float] | None:
    """Row and value of the first label that is not a whole number in the range, if there is one."""
    y = block.y
    wrong = (y != np.floor(y)) | (y < 0) | (y > largest)
    if not np.any(wrong):
        return None
    row = int(np.argmax(wrong))
    return block.first_row + row, float(y[row])


def check_whole_labels(name: str, source: Source, largest: int) -> None:
    """Raise a DataError unless all labels are whole numbers from 0 to ``largest``."""
    found = engine_of(source).collect(first_wrong_label, largest)
    wrong = [one for one in found if one is not None]
    if wrong:
        row, label = wrong[0]
        if isinstance(source, RankingData):
            row = int(source.row_order[row])
        raise DataError(
            f"{name} needs whole labels from 0 to {largest}, but row {row} has {label:g}: divide "
            "labels into grades, or use a ranker of any labels, such as rankrls"
        )


def check_can_rank(estimator: Any) -> None:
    """Raise a TypeError unless an estimator of an unknown package is a ranker or a regressor."""
    if isinstance(estimator, type):
        raise TypeError(
            f"expected {_ACCEPTED}; got the class {estimator.__name__}: pass an instance"
        )
    name = type(estimator).__name__
    if not all(callable(getattr(estimator, method, None)) for method in ("fit", "predict")):
        raise TypeError(f"expected {_ACCEPTED}; got {name}")
    what = getattr(tags_of(estimator), "estimator_type", None)
    if what not in (None, "regressor"):
        raise TypeError(f"expected {_ACCEPTED}; got the {what} {name}, which cannot rank")


def _value_per_feature(estimator: Any, name: str, n_features: int) -> np.ndarray | None:
    """Attribute with a number for each feature, also of the last step of a pipeline; or None."""
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if isinstance(steps, list) and steps else estimator
    try:
        found = np.asarray(getattr(last, name, None), dtype=np.float64).ravel()
    except (AttributeError, TypeError, ValueError):  # a sparse coef_, or an SVM with a kernel
        return None
    return found if found.shape == (n_features,) and np.isfinite(found).all() else None
