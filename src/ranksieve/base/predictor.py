"""Base of everything that scores documents."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base.estimator import RankEstimator
from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import as_in_training, checked_rows, checked_scores
from ranksieve.engine import in_memory
from ranksieve.io.shards import Shards
from ranksieve.metrics import evaluate


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
            X = as_in_training(self, X)
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
