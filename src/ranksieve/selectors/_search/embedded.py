"""Base of the selectors that choose features by the weights of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, Predictor, RankSelector
from ranksieve.sums.held_out import linear_scores

_DIGITS = 9  # decimals of weights to compare; equal features differ only by rounding

# How sparse models treat included features.
NOT_PENALIZED = (
    "Their weights are not penalized. The others follow by their weights in the same model."
)


class EmbeddedSelector(Predictor, RankSelector):
    """A selector that is also a linear ranker: features are chosen by their weights.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number of features, or a fraction of them if below 1: those with the largest absolute
        weights. None selects all features with a nonzero weight.
    standardize : bool
        Whether weights are those of features divided by their standard deviation within queries,
        so that their units do not matter. Otherwise scale the features first.

    Attributes
    ----------
    selected_ : int array
        Features by decreasing absolute weight. If too few have weights, the others follow by the
        absolute gradient of the loss.
    coef_ : array of shape (features,)
        Weights; 0 for features that are not selected.
    scores_ : array of shape (features,)
        Absolute weights by which features were chosen: of standardized features, if the method
        standardizes them.
    """

    with_include = "The others follow by their weights in a model of all features."
    with_groups = "A group takes the position of its first feature."
    _is_nested = True
    steps_in_python = True

    coef_: np.ndarray
    scores_: np.ndarray

    def _scores(self, X: Any) -> np.ndarray:
        return linear_scores(X, self.coef_)

    def reasons(self) -> list[str]:
        """Weight of each selected feature."""
        check_is_fitted(self)
        weights = self.coef_[self.selected_]
        return [f"weight {weight:+.3g}" if weight else "no weight" for weight in weights]

    def _select_by_weights(
        self,
        coef: np.ndarray,
        nearness: np.ndarray,
        varies: np.ndarray,
        choices: Choices,
        scales: np.ndarray | float = 1.0,
    ) -> list[int]:
        """Select features by absolute weight: all nonzero ones, or the wanted number of features.

        Features of weight 0 follow by decreasing ``nearness`` to a nonzero weight; those that are
        constant within every query come last. Sets ``coef_`` and ``scores_``. The weights are those
        of features divided by ``scales``.
        """
        self.scores_ = np.abs(coef)
        chosen = self._order(self.scores_, nearness, varies, choices)
        self.coef_ = np.where(np.isin(np.arange(len(coef)), chosen), coef, 0.0) / scales
        return chosen

    def _order(
        self, sizes: np.ndarray, nearness: np.ndarray, varies: np.ndarray, choices: Choices
    ) -> list[int]:
        """Order features by the sizes of their weights, as :meth:`_select_by_weights` does."""
        largest = sizes.max() or 1.0
        keys = -nearness.round(_DIGITS), -(sizes / largest).round(_DIGITS), sizes == 0, ~varies
        wanted = sizes > 0 if self.n_features_to_select is None else None
        return choices.in_order(np.lexsort(keys).tolist(), wanted)


def relative_sizes(slopes: np.ndarray) -> np.ndarray:
    """Absolute slopes, divided by the largest one."""
    sizes = np.abs(slopes)
    return np.asarray(sizes / (sizes.max() or 1.0))
