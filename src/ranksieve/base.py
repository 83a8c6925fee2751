"""The scikit-learn contract, with query ids."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from ranksieve.data import DataError, RankingData
from ranksieve.engine import Source
from ranksieve.io.shards import Shards
from ranksieve.progress import progress_bar
from ranksieve.statistics import check_labels_differ


class RankSelector(SelectorMixin, BaseEstimator):
    """Base of all selectors: scikit-learn transformers whose ``fit`` needs query ids.

    A subclass declares its parameters and implements :meth:`_choose`.

    Attributes
    ----------
    selected_ : int array
        0-based indices of the selected features, in the order in which they were chosen.
    support_ : bool array of shape (features,)
        Whether each feature is selected.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the features have names.
    """

    # Routes qid to fit once metadata routing is enabled; without it, pass it by name.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_features_to_select": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "verbose": ["boolean"],
    }

    n_features_to_select: float
    verbose: bool
    _uses_labels: ClassVar[bool] = True

    @abstractmethod
    def _choose(self, source: Source, k: int, **held_out: Any) -> Any:
        """Return ``k`` features in the order of choice; may set further attributes."""

    def reasons(self) -> list[str]:
        """Say in a few words why each of ``selected_`` was chosen; empty where nothing is known."""
        check_is_fitted(self)
        return [""] * len(self.selected_)

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> Any:
        """Select features.

        Parameters
        ----------
        X : array, frame, sparse matrix, RankingData or opened shards
            A RankingData or shards bring labels and query ids along; leave out ``y`` and ``qid``.
        y : array of shape (rows,)
            Labels; larger is more relevant.
        qid : array of shape (rows,)
            Query of each row.
        """
        return self._fit(X, y, qid)

    def _fit(self, X: Any, y: Any, qid: Any, **held_out: Any) -> Any:
        """Select features; what a method needs beside the data goes to :meth:`_choose`."""
        self._validate_params()
        source = self._source(X, y, qid)
        k = self._number_to_select(source.n_features)
        with progress_bar(bool(self.verbose)):
            if self._uses_labels:
                check_labels_differ(source)
            chosen = np.asarray(self._choose(source, k, **held_out), dtype=np.intp)
        self.selected_ = chosen
        self.support_ = np.isin(np.arange(source.n_features), chosen)
        return self

    def _source(self, X: Any, y: Any, qid: Any) -> Source:
        if isinstance(X, (RankingData, Shards)):
            if y is not None or qid is not None:
                raise DataError("the data brings its own labels and query ids: leave out y and qid")
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
        """Name of a feature for people: its own, or its 1-based number."""
        names = getattr(self, "feature_names_in_", None)
        return str(feature + 1) if names is None else str(names[feature])

    def _number_to_select(self, n_features: int) -> int:
        wanted = self.n_features_to_select
        if isinstance(wanted, Integral):
            k = int(wanted)
        else:
            k = max(1, round(float(wanted) * n_features))
        if k > n_features:
            raise DataError(
                f"n_features_to_select={wanted}, but there are only {n_features} features"
            )
        return k

    def transform(self, X: Any) -> Any:
        """Keep the selected features, in their order in the data."""
        if isinstance(X, RankingData):
            check_is_fitted(self)
            return X.take_features(self.support_)
        return super().transform(X)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
