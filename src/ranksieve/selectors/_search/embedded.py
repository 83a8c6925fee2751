"""Bases of the selectors that choose features by weights, and a loss of standardized features."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, Predictor, RankSelector
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.parameters import Count, FeatureCount, Positive, Share
from ranksieve.solvers import proximal
from ranksieve.solvers.gradient.networks import Standard, TrainingLoss, Weights
from ranksieve.sums.held_out import linear_scores

_DIGITS = 9  # decimals of weights to compare; equal features differ only by rounding

# Entries that replace {sparse_number} and so on in docstrings.
_SPARSE_NUMBER = """
    n_features_to_select : int, float or None
        Number of features, or a fraction of them if below 1: those with the largest absolute
        weights. None selects all features with a nonzero weight.
"""
_STANDARDIZE = """
    standardize : bool
        Whether weights are those of features divided by their standard deviation within queries,
        so that their units do not matter. Otherwise scale the features first.
"""
_COEF = """
    coef_ : array of shape (features,)
        Weights; 0 for features that are not selected.
"""
_PENALTY = r"""
    lam : float
        :math:`\lambda`, as a fraction of the smallest one for which all weights are 0.
"""
_STOPPING = """
    tol : float
        Stop when no optimality condition is violated by more than this fraction of the smallest
        :math:`\\lambda` for which all weights are 0.
    max_iter : int
        Largest number of steps.
"""
_FOUND = """
    objective_, violation_ : float
        Value of the objective before features are dropped, and its violation of optimality.
    n_iter_ : int
        Number of steps.
"""


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

    _shared_docs: ClassVar[dict[str, str]] = {
        "sparse_number": _SPARSE_NUMBER,
        "standardize": _STANDARDIZE,
        "coef": _COEF,
    }

    given = "The others follow by their weights in a model of all features."
    grouped = "A group takes the position of its first feature."
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
        self, coef: np.ndarray, nearness: np.ndarray, varies: np.ndarray, choices: Choices
    ) -> list[int]:
        """Select features by absolute weight: all nonzero ones, or the wanted number of features.

        Features of weight 0 follow by decreasing ``nearness`` to a nonzero weight; those that are
        constant within every query come last. Sets ``coef_`` and ``scores_``.
        """
        self.scores_ = np.abs(coef)
        chosen = self._order(self.scores_, nearness, varies, choices)
        self.coef_ = np.where(np.isin(np.arange(len(coef)), chosen), coef, 0.0)
        return chosen

    def _select_by_slopes(
        self, coef: np.ndarray, slopes: np.ndarray, varies: np.ndarray, choices: Choices
    ) -> list[int]:
        """Select by weights; features of weight 0 follow by the absolute slopes of the loss."""
        sizes = np.abs(slopes)
        return self._select_by_weights(coef, sizes / (sizes.max() or 1.0), varies, choices)

    def _order(
        self, sizes: np.ndarray, nearness: np.ndarray, varies: np.ndarray, choices: Choices
    ) -> list[int]:
        """Select features by the sizes of their weights; see :meth:`_select_by_weights`."""
        largest = sizes.max() or 1.0
        keys = -nearness.round(_DIGITS), -(sizes / largest).round(_DIGITS), sizes == 0, ~varies
        worthy = sizes > 0 if self.n_features_to_select is None else None
        return choices.in_order(np.lexsort(keys).tolist(), worthy)


@dataclass(eq=False, repr=False)
class ProximalSelector(EmbeddedSelector):
    """A linear ranker with a smooth loss and an L1 penalty on the weights.

    The weights of included features are not penalized.
    """

    _shared_docs: ClassVar[dict[str, str]] = {
        "penalty": _PENALTY,
        "stopping": _STOPPING,
        "found": _FOUND,
    }

    given = "Their weights are not penalized. The others follow by their weights in the same model."

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    lam: Share = 0.01
    tol: Positive = 1e-5
    max_iter: Count = 10_000
    verbose: bool = False

    def _minimize(
        self, loss_and_gradient: proximal.LossAndGradient, choices: Choices
    ) -> tuple[proximal.ProximalResult, np.ndarray]:
        """Weights of all features, and how near each feature of weight 0 is to a nonzero weight.

        The penalty is a fraction of the smallest one for which only included features have nonzero
        weights.
        """
        n, include = choices.n_features, choices.include
        start = np.zeros(n)
        slopes = np.abs(loss_and_gradient(start)[1])
        first = float(slopes.max())
        tol = self.tol * first
        if include:
            start = self._start(loss_and_gradient, choices, tol)
            slopes = np.abs(loss_and_gradient(start)[1])
            slopes[include] = 0.0
        costs = np.full(n, self.lam * float(slopes.max()))
        costs[include] = 0.0
        found = proximal.minimize(
            loss_and_gradient, start, proximal.RowPenalty(costs), tol, self.max_iter
        )
        self.objective_, self.violation_ = found.objective, found.violation / (first or 1.0)
        self.n_iter_ = found.n_iter
        return found, np.abs(found.gradient) / (slopes.max() or 1.0)

    def _start(
        self, loss_and_gradient: proximal.LossAndGradient, choices: Choices, tol: float
    ) -> np.ndarray:
        """Weights of the included features if all others have weight 0."""
        weights, include = np.zeros(choices.n_features), choices.include

        def loss_of_included(own: np.ndarray) -> tuple[float, np.ndarray]:
            weights[include] = own
            value, slopes = loss_and_gradient(weights)
            return value, slopes[include]

        nothing = np.zeros(len(include))
        free = proximal.RowPenalty(nothing)
        found = proximal.minimize(loss_of_included, nothing, free, tol, self.max_iter)
        weights[include] = found.weights
        return weights


@dataclass
class StandardizedLoss:
    """Mean loss, and its gradient by the weights of a model of standardized features."""

    workers: Workers  # of TrainingLoss
    standard: Standard
    terms: float  # number of pairs or queries over which the loss is averaged
    varies: np.ndarray  # (features,): False if constant within every query of positive weight

    def loss_and_gradient(
        self, weights: Weights, queries: np.ndarray | None = None
    ) -> tuple[float, Weights]:
        """Loss and gradient of all or of the given queries, always divided by all terms."""
        loss, *gradient = self.workers.sum(
            "loss_and_gradient", self.standard.to_original(weights), queries
        )
        parts = [part / self.terms for part in self.standard.to_standardized(gradient)]
        parts[0][~self.varies] = 0.0  # any other value is due to rounding
        return loss / self.terms, parts


@contextmanager
def standardized_loss(
    source: Source, loss: str, activation: str = "tanh"
) -> Iterator[StandardizedLoss]:
    """Context manager that yields the loss and frees its memory at the end of the block."""
    with engine_of(source).start(TrainingLoss, loss, activation) as workers:
        rows, total, terms = workers.sum("totals")
        varies = workers.sum("count_varying") > 0
        yield StandardizedLoss(workers, Standard.of(rows, total, workers), terms, varies)
