"""Query-wise scaling of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin

from ranksieve._kernels.scaling import scale_dense, scale_sparse
from ranksieve.data import RankingData
from ranksieve.preprocessing.transformer import ArrayTransformer, RankingDataMixin
from ranksieve.threads import over_queries


class _Scaler(OneToOneFeatureMixin, ArrayTransformer):
    """Scale arrays and CSR matrices query by query."""

    _standardize: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _transform_queries(self, X: Any, query_ptr: np.ndarray) -> Any:
        scale = _scale_csr if sparse.issparse(X) else _scale_array
        return scale(X, query_ptr, self._standardize)


class QueryMinMaxScaler(RankingDataMixin, _Scaler):
    r"""Scale each feature to [0, 1] within each query.

    .. math:: x_{if} \leftarrow \frac{x_{if} - \min_{j \in Q} x_{jf}}
                                    {\max_{j \in Q} x_{jf} - \min_{j \in Q} x_{jf}}

    for every document i of query Q and every feature f. A feature that is constant in a query
    becomes 0 there; missing values (NaN) stay, and the others are scaled without them. This is the
    QueryLevelNorm of the LETOR collections.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the features have names.

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

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the features have names.

    See Also
    --------
    QueryMinMaxScaler : The range [0, 1] within each query.

    Notes
    -----
    Nothing is learned from the rows: each query is scaled by itself, in training and in use,
    so ``transform`` needs ``qid`` as well. Means and variances are computed in two passes over
    values that are first scaled to [0, 1], which avoids overflow and cancellation. Sums are
    float64; float32 data stays float32. CSR matrices stay CSR, but few implicit zeros stay
    zero, so the result may be larger than a dense array. Takes O(entries) time, and
    O(features) memory in addition to the result.

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


SCALES = ("none", "min-max", "standard")
"""Names of the methods of :func:`scaled_within_queries`."""


def scaled_within_queries(data: RankingData, scale: str) -> RankingData:
    """Scale features within each query by a named method.

    Parameters
    ----------
    data : RankingData
    scale : {"none", "min-max", "standard"}
        No scaling, :class:`QueryMinMaxScaler` or :class:`QueryStandardScaler`.
    """
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    if scale == "none":
        return data
    scaler = QueryMinMaxScaler() if scale == "min-max" else QueryStandardScaler()
    return scaler.fit_transform(data)


def _scale_array(X: np.ndarray, query_ptr: np.ndarray, standardize: bool) -> np.ndarray:
    scaled = np.array(X, order="C")
    over_queries(scale_dense, query_ptr, scaled, query_ptr, standardize)
    return scaled


def _scale_csr(X: Any, query_ptr: np.ndarray, standardize: bool) -> Any:
    if not X.has_canonical_format:
        X = X.copy()  # sum_duplicates changes its matrix
        X.sum_duplicates()
    n_rows, n_features = X.shape
    given = (X.indptr, X.indices, X.data), n_features, query_ptr, standardize

    ptr = np.zeros(n_rows + 1, dtype=np.int64)
    over_queries(scale_sparse, query_ptr, *given, False, (ptr, X.indices[:0], X.data[:0]))
    np.cumsum(ptr, out=ptr)
    indices, values = np.empty(ptr[-1], X.indices.dtype), np.empty(ptr[-1], X.dtype)
    over_queries(scale_sparse, query_ptr, *given, True, (ptr, indices, values))
    return sparse.csr_matrix((values, indices, ptr), shape=X.shape)
