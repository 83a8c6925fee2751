"""Base of rankers and of selectors that predict."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base.estimator import RankEstimator
from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import check_rows, check_scores, treat_missing_as_in_training
from ranksieve.engine import in_memory
from ranksieve.io.shards import Shards
from ranksieve.metrics import evaluate


class Predictor(RankEstimator):
    """Base of estimators that score documents: rankers, and selectors with a model.

    A subclass implements :meth:`_scores`.
    """

    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": True}

    @abstractmethod
    def _scores(self, X: Any) -> np.ndarray:
        """Score rows, which are an array or a CSR matrix with all features."""

    def _rows(self, X: Any) -> Any:
        """Rows as an array or a CSR matrix, checked to have the features of the training data."""
        return check_rows(self, X, allow_missing=self._allows_missing)

    def predict(self, X: Any) -> np.ndarray:
        """Score documents, given all features; larger is better.

        Scores of a RankingData are in its row order. Shards are read one at a time.

        Parameters
        ----------
        X : array, frame, sparse matrix, RankingData or opened shards
        """
        check_is_fitted(self)
        if isinstance(X, Shards):
            X = treat_missing_as_in_training(self, X)
            return np.concatenate([self.predict(X.read_shard(i)) for i in range(X.n_shards)])
        return check_scores(self._scores(self._rows(X)))

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Mean NDCG@10 over queries of the ranking by :meth:`predict`.

        Parameters
        ----------
        X, y, qid
            As in ``fit``.
        sample_weight : array, optional
            A weight for each query in the mean, or for each row, as in ``fit``.
        """
        data = in_memory(X) if isinstance(X, (RankingData, Shards)) else require_queries(X, y, qid)
        if sample_weight is not None:
            data = data.with_weights(sample_weight)
        weights = data.query_weights
        found = evaluate(data.y, self.predict(data), data.qid, "ndcg@10", query_weights=weights)
        return found.mean["NDCG@10"]


def require_queries(X: Any, y: Any, qid: Any) -> RankingData:
    """Data for ``score``; raises an error that explains metadata routing if qid is missing."""
    if qid is None:
        raise DataError(
            "score needs qid, the query of each row; in cross-validation and grid searches, call "
            "sklearn.set_config(enable_metadata_routing=True), and pass params={'qid': qid} or "
            "fit(X, y, qid=qid)"
        )
    return RankingData(X, y, qid)
