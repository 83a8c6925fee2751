"""Base of all selectors."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_selection._base import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ranksieve.base.estimator import RankEstimator
from ranksieve.data import DataError, RankingData
from ranksieve.engine import Source
from ranksieve.fitted import check_features
from ranksieve.io.shards import Shards
from ranksieve.parameters import FeatureCount
from ranksieve.progress import progress_bar
from ranksieve.sums.labels import check_labels_differ
from ranksieve.sums.magnitudes import sound_numbers

# Entry of docstrings, in which {n_features_to_select} stands for it.
_NUMBER = """
    n_features_to_select : int or float
        Number of features, or the share of them if below 1.
"""


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

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> Any:
        """Select features.

        Parameters
        ----------
        X : array, frame, sparse matrix, RankingData or opened shards
            A RankingData or shards include labels and query ids; leave out ``y`` and ``qid``.
        y : array of shape (rows,)
            Labels; larger is more relevant.
        qid : array of shape (rows,)
            Query of each row.
        """
        return self._fit(X, y, qid)

    def _fit(self, X: Any, y: Any, qid: Any, **held_out: Any) -> Any:
        """Select features; further arguments of a method are passed on to :meth:`_choose`."""
        self._validate_params()
        source = self._source(X, y, qid)
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
