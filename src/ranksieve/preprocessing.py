"""Transformations of features within queries, as scikit-learn transformers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from ranksieve._kernels.scaling import scale_dense, scale_sparse
from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import check_features
from ranksieve.data.inputs import as_query_ids
from ranksieve.data.missing import Missing, count_missing
from ranksieve.threads import over_queries

SCALES = ("none", "min-max", "standard")
"""Names of the methods of :func:`scaled_within_queries`."""


class RankingDataMixin:
    """Let a transformer of arrays also take a RankingData, and return one.

    It is not a TransformerMixin, so that ``set_output`` wraps the arrays that the next class
    returns, but not a RankingData.
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def fit(self, X: Any, y: Any = None, qid: Any = None) -> Any:
        """Record the number and names of the features, and learn from the rows if necessary.

        X is an array, CSR matrix, frame or RankingData; ``y`` and ``qid`` are not used.
        """
        if not isinstance(X, RankingData):
            return super().fit(X, y, qid=qid)  # type: ignore[misc]
        _refuse_qid(qid)
        X.check_finite(allow_missing=True)
        self.n_features_in_ = X.n_features
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if X.has_feature_names:
            self.feature_names_in_ = X.feature_names
        self._learn(X.X)  # type: ignore[attr-defined]
        return self

    def transform(self, X: Any, qid: Any = None) -> Any:
        """Transform each feature within each query.

        X is an array, CSR matrix or frame, and ``qid`` the query of each row; rows of one query
        need not be adjacent, and stay in the order of the input. A RankingData has its query ids,
        and gives a RankingData.
        """
        if not isinstance(X, RankingData):
            return super().transform(X, qid=qid)  # type: ignore[misc]
        _refuse_qid(qid)
        check_features(self, X)
        X.check_finite(allow_missing=True)
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
        X = self._transform_queries(data.X, data.query_ptr)
        if data.categories:  # whose codes are no numbers
            columns = np.flatnonzero(data.categorical)
            X[:, columns] = data.X[:, columns]
        return data._replace(X=X)

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


def _group_rows(X: Any, qid: np.ndarray) -> RankingData:
    data = RankingData(X, np.zeros(X.shape[0]), qid)
    data.check_finite(allow_missing=True)
    return data


def _refuse_qid(qid: Any) -> None:
    if qid is not None:
        raise DataError("a RankingData has its own query ids: leave qid out")


class QueryImputer(RankingDataMixin, ArrayTransformer):
    """Fill in missing values (NaN) within each query, and mark where they were.

    Parameters
    ----------
    missing : str or Missing
        ``"query-min"``, ``"query-median"``, ``"zero"`` or ``"keep"``, each also with
        ``"+indicators"``; see :class:`ranksieve.Missing`.

    Attributes
    ----------
    missing_ : Missing
        The treatment, with indicators of the features that had missing values in training.

    See Also
    --------
    ranksieve.Missing : The same for a RankingData, shards and studies, which needs no pipeline.

    Notes
    -----
    Each query is filled by itself, in training and prediction, so ``transform`` also needs ``qid``.
    A query without any value of a feature gets 0. float32 stays float32, and CSR matrices stay CSR:
    entries that are not stored are zeros, not missing. Takes O(m f log n) time for m rows in
    queries of n documents and f features.

    Examples
    --------
    >>> from ranksieve.preprocessing import QueryImputer
    >>> nan = float("nan")
    >>> X = [[1.0, 7.0], [nan, 0.0], [3.0, nan], [5.0, 2.0]]
    >>> QueryImputer("query-min+indicators").fit_transform(X, qid=["a", "b", "a", "b"])
    array([[1., 7., 0., 0.],
           [5., 0., 1., 0.],
           [3., 7., 0., 1.],
           [5., 2., 0., 0.]])
    """

    def __init__(self, missing: str | Missing = "query-min") -> None:
        self.missing = missing

    def _learn(self, X: Any) -> None:
        how = self.missing if isinstance(self.missing, Missing) else Missing(self.missing)
        self.missing_ = how.learned(lambda: count_missing(X))

    def _transform_data(self, data: RankingData) -> RankingData:
        check_is_fitted(self, "missing_")
        return data.with_missing(self.missing_)

    def _transform_queries(self, X: Any, query_ptr: np.ndarray) -> Any:
        check_is_fitted(self, "missing_")
        changed = self.missing_.applied_to(X, query_ptr)
        return changed.copy() if changed is X else changed

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of all features: those of the input, and those of the indicators."""
        check_is_fitted(self, "missing_")
        return self.missing_.names(_check_feature_names_in(self, input_features))


class _Scaler(OneToOneFeatureMixin, ArrayTransformer):
    """Scale arrays and CSR matrices query by query."""

    _standardize: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _transform_queries(self, X: Any, query_ptr: np.ndarray) -> Any:
        if sparse.issparse(X):
            return _scale_csr(X, query_ptr, self._standardize)
        scaled = np.array(X, order="C")
        over_queries(scale_dense, query_ptr, scaled, query_ptr, self._standardize)
        return scaled


class QueryMinMaxScaler(RankingDataMixin, _Scaler):
    r"""Scale each feature to [0, 1] within each query.

    .. math:: x_{if} \leftarrow \frac{x_{if} - \min_{j \in Q} x_{jf}}
                                    {\max_{j \in Q} x_{jf} - \min_{j \in Q} x_{jf}}

    for every document i of query Q and every feature f. A feature that is constant in a query
    becomes 0 there; missing values (NaN) stay, and the others are scaled without them. This is the
    QueryLevelNorm of the LETOR collections.

    See Also
    --------
    QueryStandardScaler : Zero mean and unit variance within each query.

    Notes
    -----
    Nothing is learned from the rows: each query is scaled by itself, in training and in use,
    so ``transform`` needs ``qid`` as well. float32 stays float32. CSR matrices stay CSR; a
    feature with negative values in a query makes that query's implicit zeros non-zero. Takes
    O(entries) time, and O(features) memory in addition to the result.

    References
    ----------
    T. Qin, T.-Y. Liu, J. Xu, H. Li. LETOR: A benchmark collection for research on learning to
    rank for information retrieval. Information Retrieval 13, 2010.

    Examples
    --------
    >>> from ranksieve.preprocessing import QueryMinMaxScaler
    >>> X = [[1.0, 7.0], [10.0, 0.0], [3.0, 7.0], [30.0, 5.0], [2.0, 7.0]]
    >>> QueryMinMaxScaler().fit_transform(X, qid=["a", "b", "a", "b", "a"])
    array([[0. , 0. ],
           [0. , 0. ],
           [1. , 0. ],
           [1. , 1. ],
           [0.5, 0. ]])
    """

    _standardize = False


class QueryStandardScaler(RankingDataMixin, _Scaler):
    r"""Scale each feature to zero mean and unit variance within each query.

    .. math:: x_{if} \leftarrow \frac{x_{if} - \mu_{Qf}}{\sigma_{Qf}}, \quad
        \mu_{Qf} = \frac{1}{|Q|} \sum_{j \in Q} x_{jf}, \quad
        \sigma_{Qf}^2 = \frac{1}{|Q|} \sum_{j \in Q} (x_{jf} - \mu_{Qf})^2

    for every document i of query Q and every feature f. A feature that is constant in a query
    becomes 0 there; missing values (NaN) stay, and the others are scaled without them.

    See Also
    --------
    QueryMinMaxScaler : The range [0, 1] within each query.

    Notes
    -----
    As in :class:`QueryMinMaxScaler`, nothing is learned from the rows. Means and variances are
    computed in two passes over values that are first scaled to [0, 1], which avoids overflow and
    cancellation; sums are float64. In CSR matrices few implicit zeros stay zero, so the result may
    be larger than a dense array.

    Examples
    --------
    >>> from ranksieve.preprocessing import QueryStandardScaler
    >>> QueryStandardScaler().fit_transform([[1.0], [3.0], [5.0], [5.0]], qid=[1, 1, 2, 2])
    array([[-1.],
           [ 1.],
           [ 0.],
           [ 0.]])
    """

    _standardize = True


def scaled_within_queries(data: RankingData, scale: str) -> RankingData:
    """Scale by :class:`QueryMinMaxScaler`, by :class:`QueryStandardScaler`, or not at all."""
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    if scale == "none":
        return data
    scaler = QueryMinMaxScaler() if scale == "min-max" else QueryStandardScaler()
    return scaler.fit_transform(data)


def _scale_csr(X: Any, query_ptr: np.ndarray, standardize: bool) -> Any:
    if not X.has_canonical_format:
        X = X.copy()  # sum_duplicates changes its matrix
        X.sum_duplicates()
    n_rows, n_features = X.shape
    matrix = (X.indptr, X.indices, X.data), n_features, query_ptr, standardize

    ptr = np.zeros(n_rows + 1, dtype=np.int64)
    over_queries(scale_sparse, query_ptr, *matrix, False, (ptr, X.indices[:0], X.data[:0]))
    np.cumsum(ptr, out=ptr)
    indices, values = np.empty(ptr[-1], X.indices.dtype), np.empty(ptr[-1], X.dtype)
    over_queries(scale_sparse, query_ptr, *matrix, True, (ptr, indices, values))
    return sparse.csr_matrix((values, indices, ptr), shape=X.shape)
