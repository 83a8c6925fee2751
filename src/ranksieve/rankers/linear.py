"""Base of rankers with one weight per feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.io.records import get_numbers
from ranksieve.rankers.base import Ranker
from ranksieve.solvers.linear import linear_scores


class LinearRanker(Ranker):
    """A ranker whose score is a weighted sum of features; ``_train`` sets ``coef_``.

    Attributes
    ----------
    coef_ : array of shape (features,)
    """

    coef_: np.ndarray

    @property
    def feature_importances_(self) -> np.ndarray:
        """Absolute weights, which are comparable only if features have similar scales."""
        check_is_fitted(self)
        return np.abs(self.coef_)

    def _scores(self, X: Any) -> np.ndarray:
        return linear_scores(X, self.coef_)

    def _learned(self) -> dict[str, Any]:
        return {"coef": self.coef_.tolist()}

    def _relearn(self, learned: dict[str, Any]) -> None:
        self.coef_ = get_numbers(learned, "coef", self.n_features_in_)
