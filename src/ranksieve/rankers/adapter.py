"""Use estimators of other libraries, or your own, wherever this library takes a ranker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ranksieve.base.adapter import Adapter
from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import trained_names
from ranksieve.engine import Source, in_memory
from ranksieve.io.records import convert_record
from ranksieve.rankers.base import Ranker, Refits
from ranksieve.rankers.libraries import find_library_class, is_error_of_library, library_of
from ranksieve.rankers.libraries.library import (
    Library,
    Vocabularies,
    native_rows,
    refuse_two_declarations,
)
from ranksieve.rankers.libraries.lightgbm_refits import share_bins
from ranksieve.rankers.libraries.per_feature import reduce_parameters
from ranksieve.rankers.libraries.rounding import check_distinct_values
from ranksieve.rankers.registry import make_ranker
from ranksieve.registry import Method
from ranksieve.registry.foreign import changed_parameters, copy_unfitted, parameters_of
from ranksieve.sums.checks import check_magnitudes
from ranksieve.threads import openmp_thread_count


def as_ranker(estimator: Any) -> Ranker:
    """Make a ranker from an estimator of LightGBM, XGBoost, CatBoost, scikit-learn or your own.

    Parameters
    ----------
    estimator : estimator
        A ranker of this library, an LGBMRanker, XGBRanker or CatBoostRanker; a regressor with the
        interface of scikit-learn, which ranks by the label that it predicts; or any other object
        with ``fit(X, y, qid=...)`` and ``predict(X)``. Fitted or not; it is never changed. Anything
        else raises a TypeError.

    Returns
    -------
    Ranker
        A ranker of this library is returned as it is; others are wrapped in a
        :class:`RankerAdapter`, which can predict at once if the estimator is fitted.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> from sklearn.linear_model import Ridge
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import as_ranker
    >>> data, _ = make_ranking(100, noise=0.1)
    >>> as_ranker(LGBMRanker(n_estimators=20)).fit(data).score(data) > 0.6
    True
    >>> as_ranker(Ridge()).fit(data).score(data) > 0.6
    True
    """
    if isinstance(estimator, Ranker):
        return estimator
    library = library_of(estimator)
    ranker = RankerAdapter(estimator)
    if library.is_fitted(estimator):
        ranker.estimator_ = estimator
        ranker.n_features_in_ = library.n_features(estimator)
        names = library.feature_names(estimator)
        if names is not None:
            ranker.feature_names_in_ = np.asarray(names, dtype=object)
    return ranker


def untrained_ranker(ranker: Any) -> Ranker:
    """Untrained copy of a ranker, given by its name or as an estimator of any library."""
    return make_ranker(ranker) if isinstance(ranker, str) else clone(as_ranker(ranker))


@dataclass(eq=False, repr=False)
class RankerAdapter(Adapter, Ranker):
    """An estimator of another library, or your own, with the interface of this library.

    Query ids may be of any type and rows in any order: they are grouped by query and converted to
    the form that the estimator needs. Its own parameters determine everything else.

    Parameters
    ----------
    estimator : estimator
        See :func:`as_ranker`. Copies of it are fitted; it is not changed.
    verbose : bool
        Whether the estimator writes its log, unless its own parameters set that. CatBoost also
        logs to files.

    Attributes
    ----------
    estimator_ : estimator
        The fitted copy.
    coef_ : array of shape (features,)
        Weights; linear regressors only.
    feature_importances_ : array of shape (features,)
        Total gain of the splits on each feature (LightGBM, XGBoost), or the change of the scores
        with it, in percent of all features (CatBoost's PredictionValuesChange). For other
        estimators, their attribute of this name, or the absolute weights.

    Notes
    -----
    The estimator's parameters determine how an ``eval_set`` is used. LightGBM and XGBoost stop
    early only if ``early_stopping_rounds`` is among them; in that case they report an error if
    there is no ``eval_set``. CatBoost stops early by its ``early_stopping_rounds`` or ``od_type``,
    and keeps the best number of trees unless ``use_best_model=False``.

    Other estimators are fitted by ``fit(X, y)``, with rows grouped by query. Their ``fit`` also
    gets those of the following that it has parameters for: ``qid`` (the query of each row),
    ``group`` (the number of rows of each query), ``sample_weight`` (one for each row) and
    ``eval_set``: a tuple (X, y, qid) if it takes query ids, else a list of one pair (X, y).

    LightGBM, XGBoost and CatBoost get features that are categories of the data as such; estimators
    of other packages get numbers for them.

    Missing values (NaN) are accepted; each library treats them in its own way. Estimators of
    scikit-learn get them only if their tags allow it. XGBoost also treats entries that a sparse
    matrix does not store as missing; LightGBM and CatBoost treat them as 0. Shards are read into
    memory. The seed is that of the estimator, and so is the number of threads if it is set. Each
    library uses the weights of queries in its own way; where trees count documents, as for the
    smallest number in a leaf, weights have no effect.

    ``estimator_`` of a loaded ranker can predict, but has no information about its training. Only
    rankers of LightGBM, XGBoost and CatBoost can be saved: nothing is ever unpickled.

    Examples
    --------
    >>> from lightgbm import LGBMRanker
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import RankerAdapter
    >>> data, _ = make_ranking(100, noise=0.1)
    >>> RankerAdapter(LGBMRanker(n_estimators=20)).fit(data).score(data) > 0.6
    True
    """

    methods = tuple(
        Method(
            name.lower(),
            f"{name}'s {kind}, with its own defaults",
            estimator=f"{name.lower()}:{kind}",
            trial=quick,
        )
        for name, kind, quick in (
            ("LightGBM", "LGBMRanker", {"n_estimators": 5, "n_jobs": 1}),
            ("XGBoost", "XGBRanker", {"n_estimators": 5, "n_jobs": 1}),
            ("CatBoost", "CatBoostRanker", {"iterations": 5, "thread_count": 1}),
        )
    )

    estimator: Any
    _: KW_ONLY
    verbose: bool = False

    progress = False  # the library has its own log
    adapt = staticmethod(as_ranker)

    @property
    def _library(self) -> Any:
        """Library of the estimator; only that of LightGBM has methods for its Datasets."""
        return library_of(self.estimator)

    @property
    def _more_settings(self) -> Collection[str]:  # type: ignore[override]
        return self._library.more_parameters

    def _accepts(self, parameter: str) -> bool:
        return self._library.accepts(parameter) or super()._accepts(parameter)

    def _translate(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return self._library.translate(parameters)

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes missing values."""
        return bool(self._library.takes_missing(self.estimator))

    @property
    def takes_categories(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes categories, as LightGBM, XGBoost and CatBoost do."""
        return bool(self._library.takes_categories)

    @property
    def _vocabularies(self) -> Vocabularies:
        """Names of the categories of each feature of the training data."""
        if not hasattr(self, "categories_"):
            return ()
        return [self.categories_.get(name) for name in trained_names(self)]

    @property
    def no_row_weights(self) -> str:  # type: ignore[override]
        """Why the estimator takes no weights of rows; empty if it does."""
        return str(self._library.no_row_weights(self.estimator))

    @property
    def no_positions(self) -> str:  # type: ignore[override]
        """Why the estimator takes no positions; empty if it does."""
        return str(self._library.no_positions(self.estimator))

    @property
    def _name_in_errors(self) -> str:
        return str(self._library.name)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of a linear regressor."""
        library = library_of(self.estimator_)
        weights = library.weights(self.estimator_, self.n_features_in_)
        if weights is None:
            raise AttributeError(f"{library.name} has no weights of features")
        return weights

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature."""
        importances = library_of(self.estimator_).importances(self.estimator_, self.n_features_in_)
        return np.asarray(importances, dtype=np.float64)

    def _train(self, source: Source, vali: Source | None) -> None:
        parts = [in_memory(part) for part in (source, vali) if part is not None]
        for part in parts:
            self._check_training(part)
        library, unfitted = self._library, self._make_unfitted()
        try:
            library.fit(unfitted, *parts)
        except Exception as error:
            if not is_error_of_library(error):
                raise
            reason = _shorten(error)
            check_magnitudes(source, f"{library.name} failed ({reason})")
            raise DataError(f"{library.name}: {reason}") from error
        self.estimator_ = unfitted

    def _check_training(self, data: RankingData) -> None:
        """Raise a DataError for labels or values of features that the library cannot use."""
        library = self._library
        library.check_labels(self._own_parameters(), data)
        refuse_two_declarations(data, self._own_parameters(), library.of_categories)
        if not self.takes_missing:
            data.check_finite()
        if library.rounding is not None:
            check_distinct_values(library.name, data, library.rounding)

    def _own_parameters(self) -> dict[str, Any]:
        """Parameters of the estimator that are not None."""
        parameters = parameters_of(copy_unfitted(self.estimator))
        return {name: value for name, value in parameters.items() if value is not None}

    def _make_unfitted(self) -> Any:
        """Unfitted copy of the estimator, with the number of threads and the log set."""
        library, own = self._library, self._own_parameters()
        unfitted = copy_unfitted(self.estimator)
        settings = {} if self.verbose else library.silence(own)
        if library.threads and library.threads not in own:
            settings[library.threads] = openmp_thread_count()
        if settings:
            unfitted.set_params(**settings)
        return unfitted

    def _refits(self, data: RankingData) -> Refits:
        if self._library.trains_on_datasets(self.estimator):
            return share_bins(self, data)
        return super()._refits(data)

    def _dataset_parameters(self) -> dict[str, Any]:
        return self._library.dataset_parameters(self._make_unfitted())

    def _train_on(self, dataset: Callable[[dict[str, Any]], Any]) -> None:
        """Train on the LightGBM Dataset that ``dataset`` makes for the training parameters."""
        self.estimator_ = self._make_unfitted()
        self._library.fit_dataset(self.estimator_, dataset)

    def _for_features(self, features: Sequence[int], n_features: int) -> RankerAdapter:
        copied = super()._for_features(features, n_features)
        library, parameters = self._library, parameters_of(self.estimator)
        own = {name: parameters[name] for name in parameters.keys() & library.per_feature}
        if own:
            cut = reduce_parameters(features, n_features, own, library.per_feature, library.name)
            copied.estimator.set_params(**cut)
        return copied

    def _scores(self, X: Any) -> np.ndarray:
        with _library_errors(library_of(self.estimator_)) as library:
            return np.asarray(
                library.scores(self.estimator_, X, self._vocabularies), dtype=np.float64
            )

    def _contributions(self, X: Any) -> np.ndarray:
        rows = X.toarray() if sparse.issparse(X) else native_rows(X)
        with _library_errors(library_of(self.estimator_)) as library:
            parts = library.contributions(self.estimator_, rows, self._vocabularies)
        return np.asarray(parts, dtype=np.float64)[:, :-1]  # the last column is the common offset

    def _saved_parameters(self) -> dict[str, Any]:
        changed = changed_parameters(self.estimator)
        recorded = {"class": self._library.name, "parameters": changed}
        return {"estimator": recorded, "verbose": self.verbose}

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any]) -> RankerAdapter:
        recorded = parameters.get("estimator")
        if not isinstance(recorded, dict) or not isinstance(recorded.get("parameters"), dict):
            raise ValueError("'estimator' should have a class and parameters")
        estimator = find_library_class(recorded.get("class"))(**recorded["parameters"])
        return cls(**parameters | {"estimator": estimator})

    def check_savable(self) -> None:
        """Raise a ValueError unless the estimator's library has model files for its parameters."""
        if not self._library.has_model_files:
            self._library.model_text(self.estimator)  # raises an error with the reason
        super().check_savable()

    def _learned(self) -> dict[str, Any]:
        return {"model": library_of(self.estimator_).model_text(self.estimator_)}

    def _relearn(self, learned: dict[str, Any]) -> None:
        library, text = self._library, convert_record(learned, dict[str, str]).get("model", "")
        self.estimator_ = copy_unfitted(self.estimator)
        try:
            library.restore(self.estimator_, text)
        except Exception as error:  # each library has its own error classes
            raise DataError(f"{library.name} cannot read its trees: {error}") from None
        n_features = library.n_features(self.estimator_)
        if n_features != self.n_features_in_:
            raise DataError(f"the trees have {n_features} features, not {self.n_features_in_}")


@contextmanager
def _library_errors(library: Library) -> Iterator[Library]:
    """Context manager that turns errors of LightGBM, XGBoost and CatBoost into a DataError."""
    try:
        yield library
    except Exception as error:
        if not is_error_of_library(error):
            raise
        raise DataError(f"{library.name}: {_shorten(error)}") from error


def _shorten(error: Exception) -> str:
    return str(error).partition("\nStack trace")[0]
