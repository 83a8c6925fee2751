"""Missing values in pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ranksieve.data import RankingData
from ranksieve.data.missing import Missing, count_missing
from ranksieve.preprocessing.transformer import ArrayTransformer, RankingDataMixin


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
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the features have names.

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
        self.missing_ = self._declared().learned(lambda: count_missing(X))

    def _declared(self) -> Missing:
        return self.missing if isinstance(self.missing, Missing) else Missing(self.missing)

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
