"""The scikit-learn contract, with query ids."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection._base import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ranksieve.data import DataError, RankingData
from ranksieve.engine import Source, in_memory
from ranksieve.fitted import check_features, check_names, checked_rows, checked_scores
from ranksieve.inputs import check_query_weights
from ranksieve.io.shards import Shards
from ranksieve.metrics import evaluate
from ranksieve.parameters import Constraints, FeatureCount
from ranksieve.progress import progress_bar
from ranksieve.sums.labels import check_labels_differ
from ranksieve.sums.magnitudes import sound_numbers

# Entries of docstrings, in which {verbose} and {n_features_to_select} stand for them.
_VERBOSE = """
    verbose : bool
        Whether to show progress on a terminal.
"""
_NUMBER = """
    n_features_to_select : int or float
        Number of features, or the share of them if below 1.
"""


class RankEstimator(BaseEstimator):
    """Base of selectors and rankers: accepts data with query ids in any form.

    A subclass is a dataclass whose fields are its parameters; see :mod:`ranksieve.parameters`.
    """

    _parameter_constraints: ClassVar[Any] = Constraints()
    _shared_docs: ClassVar[dict[str, str]] = {"verbose": _VERBOSE}

    # Routes these to fit once metadata routing is enabled; without it, pass them by name.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}

    _allows_missing: ClassVar[bool] = False  # NaN in X
    _no_weights: ClassVar[str] = ""  # why it takes no weights of queries, in a sentence

    verbose: bool

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for kind in cls.__mro__:
            for name, text in vars(kind).get("_shared_docs", {}).items():
                cls.__doc__ = cls.__doc__ and cls.__doc__.replace(f"{{{name}}}", text.strip())

    def _source(self, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> Source:
        """Data to learn from, with the weights of its queries."""
        source = self._open(X, y, qid)
        if sample_weight is not None:
            if source.query_weights is not None:
                raise DataError(
                    "the data has its own weights: leave out sample_weight, or pass the data with "
                    "data.with_weights(None)"
                )
            source = source.with_weights(sample_weight)
        check_query_weights(source.query_weights)
        if self._no_weights and source.query_weights is not None:
            raise DataError(f"{self._no_weights}; pass the data with data.with_weights(None)")
        return source

    def _open(self, X: Any, y: Any, qid: Any) -> Source:
        if isinstance(X, (RankingData, Shards)):
            if y is not None or qid is not None:
                raise DataError("the data has its own labels and query ids: leave out y and qid")
            self._remember_features(X)
            return X
        if y is None:
            name = type(self).__name__
            raise DataError(f"{name} requires y to be passed, but the target y is None")
        names = getattr(X, "columns", None)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # our own check says where
            y_numeric=True,
            ensure_min_samples=2,  # one document cannot be ranked
        )
        return RankingData(X, y, qid, feature_names=names)

    def _remember_features(self, source: Source) -> None:
        self.n_features_in_ = source.n_features
        if source.has_feature_names:
            self.feature_names_in_ = source.feature_names
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_

    def _name_of(self, feature: int) -> str:
        """Name of a feature to show: its own, or its 1-based number."""
        names = getattr(self, "feature_names_in_", None)
        return str(feature + 1) if names is None else str(names[feature])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # A wrapper of a ranker has a property instead: that depends on the ranker, once trained.
        tags.input_tags.allow_nan = type(self)._allows_missing is True
        tags.target_tags.required = True
        return tags


class _WholeDataMixin:
    """Let a transformer of arrays also take a RankingData or shards, and return the same type.

    It is not a TransformerMixin itself, so that ``set_output`` wraps the arrays that its neighbor
    returns but not these.
    """

    def transform(self, X: Any) -> Any:
        """Keep the selected features, in their order in the data.

        A RankingData gives a RankingData, and opened shards give shards of these features.
        """
        if not isinstance(X, (RankingData, Shards)):
            return super().transform(X)  # type: ignore[misc]
        check_is_fitted(self)
        check_features(self, X)
        return self._kept_of_data(X)  # type: ignore[attr-defined]

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then transform the same rows."""
        if not isinstance(X, (RankingData, Shards)):
            return super().fit_transform(X, y, **fit_params)  # type: ignore[misc]
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]


class _ArraySelector(SelectorMixin):
    """Transform arrays and frames, by a method that subclasses can override."""

    def transform(self, X: Any) -> Any:
        return self._kept(X)

    def _kept(self, X: Any) -> Any:
        return super().transform(X)


class RankSelector(_WholeDataMixin, _ArraySelector, RankEstimator):
    """Base of all selectors: scikit-learn transformers whose ``fit`` needs query ids.

    A subclass declares its parameters and implements :meth:`_choose`.

    Attributes
    ----------
    selected_ : int array
        0-based indices of the selected features, in the order of selection.
    support_ : bool array of shape (features,)
        Whether each feature is selected.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the features have names.
    """

    _shared_docs: ClassVar[dict[str, str]] = {"n_features_to_select": _NUMBER}

    n_features_to_select: FeatureCount
    works_on_shards: ClassVar[bool] = True
    _uses_labels: ClassVar[bool] = True
    _is_nested: ClassVar[bool] = False

    @property
    def is_nested(self) -> bool:
        """Whether larger selections start with the smaller ones, with the current parameters.

        If so, the first k of n selected features are what ``n_features_to_select=k`` would select,
        so one ``fit`` gives the selections of all sizes. False if this is not known to hold, or if
        there is a ``random_state`` that is not an integer.
        """
        return self._is_nested and isinstance(getattr(self, "random_state", 0), Integral)

    @abstractmethod
    def _choose(self, source: Source, k: int, **held_out: Any) -> Any:
        """Return ``k`` features in the order of selection; may set further attributes."""

    def reasons(self) -> list[str]:
        """Return a few words about why each of ``selected_`` was chosen; may be empty."""
        check_is_fitted(self)
        return [""] * len(self.selected_)

    def fit(self, X: Any, y: Any = None, qid: Any = None, *, sample_weight: Any = None) -> Any:
        """Select features.

        Parameters
        ----------
        X : array, frame, sparse matrix, RankingData or opened shards
            A RankingData or shards include labels and query ids; leave out ``y`` and ``qid``.
        y : array of shape (rows,)
            Labels; larger is more relevant.
        qid : array of shape (rows,)
            Query of each row.
        sample_weight : array of shape (queries,) or (rows,), optional
            How often each query counts, unless the data has weights: a weight for each query, in
            order of first appearance; or for each row, the same for all rows of a query.
        """
        return self._fit(X, y, qid, sample_weight)

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any, **held_out: Any) -> Any:
        """Select features; further arguments of a method are passed on to :meth:`_choose`."""
        self._validate_params()
        source = self._source(X, y, qid, sample_weight)
        k = self._number_to_select(source.n_features)
        with progress_bar(bool(self.verbose)), sound_numbers(source, self):
            if self._uses_labels:
                check_labels_differ(source)
            chosen = np.asarray(self._choose(source, k, **held_out), dtype=np.intp)
        self.selected_ = chosen
        self.support_ = np.isin(np.arange(source.n_features), chosen)
        return self

    def _number_to_select(self, n_features: int) -> int:
        """How many features are wanted; all are the most where the method chooses the number."""
        wanted = self.n_features_to_select
        if wanted is None or isinstance(wanted, str):
            return n_features
        if isinstance(wanted, Integral):
            k = int(wanted)
        else:
            k = max(1, round(float(wanted) * n_features))
        if k > n_features:
            raise DataError(
                f"n_features_to_select={wanted}, but there are only {n_features} features"
            )
        return k

    def _kept_of_data(self, data: Any) -> Any:
        """Transform a RankingData or shards."""
        return data.take_features(self.support_)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_


class Predictor(RankEstimator):
    """Base of everything that scores documents: rankers, and selectors with a model.

    A subclass implements :meth:`_scores`.
    """

    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}

    @abstractmethod
    def _scores(self, X: Any) -> np.ndarray:
        """Score rows, which are an array or a CSR matrix with all features."""

    def _rows(self, X: Any) -> Any:
        """Rows as an array or a CSR matrix, checked to have the features of the training data."""
        return checked_rows(self, X, allow_missing=self._allows_missing)

    def predict(self, X: Any) -> np.ndarray:
        """Score documents, given all features; larger is better.

        Scores of a RankingData are in its row order. Shards are read one at a time.

        Parameters
        ----------
        X : array, frame, sparse matrix, RankingData or opened shards
        """
        check_is_fitted(self)
        if isinstance(X, Shards):
            return np.concatenate([self.predict(X.read_shard(i)) for i in range(X.n_shards)])
        return checked_scores(self._scores(self._rows(X)))

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Mean NDCG@10 over queries of the ranking by :meth:`predict`.

        Parameters
        ----------
        X, y, qid
            As in ``fit``.
        sample_weight : array, optional
            A weight for each query in the mean, or for each row, as in ``fit``.
        """
        data = in_memory(X) if isinstance(X, (RankingData, Shards)) else with_queries(X, y, qid)
        if sample_weight is not None:
            data = data.with_weights(sample_weight)
        weights = data.query_weights
        found = evaluate(data.y, self.predict(data), data.qid, "ndcg@10", query_weights=weights)
        return found.mean["NDCG@10"]


def with_queries(X: Any, y: Any, qid: Any) -> RankingData:
    """Data to score in cross-validation, which passes query ids only with metadata routing."""
    if qid is None:
        raise DataError(
            "score needs qid, the query of each row; cross-validation and grid searches pass it on "
            "after sklearn.set_config(enable_metadata_routing=True), as params={'qid': qid} or "
            "fit(X, y, qid=qid)"
        )
    return RankingData(X, y, qid)


def as_source(eval_set: Any, training: Source) -> Source:
    """Held-out data as a source; a DataError unless it has the features of the training data.

    Parameters
    ----------
    eval_set : tuple (X, y, qid), RankingData or opened shards
    training : RankingData or opened shards
    """
    if isinstance(eval_set, (RankingData, Shards)):
        source: Source = eval_set
    elif isinstance(eval_set, tuple) and len(eval_set) == 3:
        source = RankingData(*eval_set)
    else:
        raise DataError(
            "eval_set must be a tuple (X, y, qid), a RankingData or opened shards; got "
            f"{type(eval_set).__name__}"
        )
    if source.n_features != training.n_features:
        raise DataError(
            f"eval_set has {source.n_features} features, but the training data has "
            f"{training.n_features}"
        )
    check_names(training.feature_names if training.has_feature_names else None, source)
    check_query_weights(source.query_weights, "the weights of eval_set")
    return source
