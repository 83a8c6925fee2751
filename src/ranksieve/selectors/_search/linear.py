"""Base of the selectors that keep the features to which a linear ranker gives weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Predictor, RankSelector
from ranksieve.solvers.linear import linear_scores

_DIGITS = 9  # to which weights are compared: equal features get equal ones but for rounding


class EmbeddedSelector(Predictor, RankSelector):
    """A selector that is also a linear ranker: features are chosen by their weights.

    Attributes
    ----------
    selected_ : int array
        By decreasing absolute weight.
    coef_ : array of shape (features,)
        Weights; 0 for features that are not selected.
    scores_ : array of shape (features,)
        Absolute weights by which features were chosen.
    """

    coef_: np.ndarray
    scores_: np.ndarray

    def _scores(self, X: Any) -> np.ndarray:
        return linear_scores(X, self.coef_)

    def reasons(self) -> list[str]:
        """Weight of each selected feature."""
        check_is_fitted(self)
        weights = self.coef_[self.selected_]
        return [f"weight {weight:+.3g}" if weight else "no weight" for weight in weights]

    def _settle(
        self, coef: np.ndarray, nearness: np.ndarray, varies: np.ndarray, k: int
    ) -> np.ndarray:
        """Take the features with weights, or the first ``k`` of all, and their weights.

        Features without weights come after those with weights, by how near they are to one;
        those that are constant within every query come last.
        """
        self.scores_ = np.abs(coef)
        chosen = self._order(self.scores_, nearness, varies, k)
        self.coef_ = np.where(np.isin(np.arange(len(coef)), chosen), coef, 0.0)
        return chosen

    def _order(
        self, sizes: np.ndarray, nearness: np.ndarray, varies: np.ndarray, k: int
    ) -> np.ndarray:
        """The same, by the sizes of what features have as weights."""
        largest = sizes.max() or 1.0
        keys = -nearness.round(_DIGITS), -(sizes / largest).round(_DIGITS), sizes == 0, ~varies
        n_weights = int(np.count_nonzero(sizes))
        return np.lexsort(keys)[: n_weights if self.n_features_to_select is None else k]
