"""Base classes of transformations of features within queries."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import check_features
from ranksieve.data.inputs import as_query_ids


class RankingDataMixin:
    """Let a transformer of arrays also take a RankingData, and return one.

    It is not a TransformerMixin, so that ``set_output`` wraps the arrays that the next class
    returns, but not a RankingData.
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> Any:
        """Record the number and names of the features, and learn from the rows if necessary.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (rows, features), or RankingData
        y : ignored
        qid : array of shape (rows,), optional
            Query of each row; not used here.

        Returns
        -------
        self
        """
        if not isinstance(X, RankingData):
            return super().fit(X, y, qid=qid)  # type: ignore[misc]
        _refuse_qid(qid)
        check_no_infinity(X)
        self.n_features_in_ = X.n_features
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if X.has_feature_names:
            self.feature_names_in_ = X.feature_names
        self._learn(X.X)  # type: ignore[attr-defined]
        return self

    def transform(self, X: Any, qid: Any = None) -> Any:
        """Transform each feature within each query.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (rows, features), or RankingData
        qid : array of shape (rows,)
            Query of each row; rows of one query need not be adjacent. Leave it out for a
            RankingData, which has query ids.

        Returns
        -------
        Array or CSR matrix with rows in the order of the input, or RankingData.
        """
        if not isinstance(X, RankingData):
            return super().transform(X, qid=qid)  # type: ignore[misc]
        _refuse_qid(qid)
        check_features(self, X)
        check_no_infinity(X)
        return self._transform_data(X)  # type: ignore[attr-defined]

    def fit_transform(self, X: Any, y: Any = None, qid: Any = None) -> Any:
        """Fit, then transform the same rows."""
        return self.fit(X, y, qid=qid).transform(X, qid=qid)


class ArrayTransformer(TransformerMixin, BaseEstimator):
    """Transforms arrays and CSR matrices query by query; missing values (NaN) are allowed."""

    # All need the queries, so pipelines pass qid on by default.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012
    __metadata_request__transform = {"qid": True}  # noqa: RUF012

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> Any:
        """Learn from arrays and frames."""
        X = self._validate_rows(X, reset=True)
        if qid is not None:
            as_query_ids(qid, X.shape[0])
        _group_rows(X, np.zeros(X.shape[0], dtype=int))
        self._learn(X)
        return self

    def transform(self, X: Any, qid: Any = None) -> Any:
        """Transform arrays and frames."""
        X = self._validate_rows(X, reset=False)
        data = _group_rows(X, as_query_ids(qid, X.shape[0]))
        transformed = self._transform_queries(data.X, data.query_ptr)
        if np.any(np.diff(data.row_order) < 0):
            transformed = transformed[np.argsort(data.row_order)]
        return type(X)(transformed) if sparse.issparse(X) else transformed

    def _transform_data(self, data: RankingData) -> RankingData:
        return data._replace(X=self._transform_queries(data.X, data.query_ptr))

    def _learn(self, X: Any) -> None:
        """Learn from rows; by default nothing."""

    @abstractmethod
    def _transform_queries(self, X: Any, query_ptr: np.ndarray) -> Any:
        """Transform rows that are grouped by query; X is not changed."""

    def _validate_rows(self, X: Any, reset: bool) -> Any:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # our own check names the row and feature
        )


def check_no_infinity(data: RankingData) -> None:
    """Raise a NonFiniteError with the place of the first infinity, if there is one."""
    data._replace(keeps_missing=True).check_finite()


def _group_rows(X: Any, qid: np.ndarray) -> RankingData:
    data = RankingData(X, np.zeros(X.shape[0]), qid)
    check_no_infinity(data)
    return data


def _refuse_qid(qid: Any) -> None:
    if qid is not None:
        raise DataError("a RankingData has its own query ids: leave qid out")
