"""A neural network with a group lasso, which sets all weights of a feature to 0."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, PerFeature
from ranksieve.engine import Source
from ranksieve.parameters import Count, FeatureCount, Positive, Seed, Share
from ranksieve.registry import Method
from ranksieve.selectors._search.embedded import NOT_PENALIZED, EmbeddedSelector
from ranksieve.selectors.related import proximal
from ranksieve.selectors.related.standardized_loss import standardized_loss
from ranksieve.solvers.gradient.networks import Weights, first_weights, score_rows


@dataclass(eq=False, repr=False)
class GroupLassoNetwork(EmbeddedSelector):
    r"""Network with one hidden layer and a group lasso over the weights of each feature.

    .. math:: \min_{W, b, v} \; \ell(W, b, v) + \frac{\alpha}{2} \|v\|^2
              + \lambda \sqrt{h} \sum_f \|W_f\|_2, \qquad score(x) = v^T \tanh(W^T x + b)

    over standardized features, with the mean loss :math:`\ell` of RankNet, ListNet or ListMLE. The
    h weights :math:`W_f` of a feature become 0 together, and then the feature is dropped.

    Parameters
    ----------
    n_features_to_select
        As in :class:`EmbeddedSelector`.
    loss : {"ranknet", "listnet", "listmle"}
        The loss of the ranker of this name.
    hidden : int
        Number h of units in the hidden layer.
    lam : float
        :math:`\lambda`, as a fraction of the smallest one for which W may be 0, given the first v.
    alpha : float
        Penalty on the weights v; without it, they would grow while W shrinks.
    tol, max_iter : float and int
        Largest violation of a condition of stationarity, as a fraction of the same
        :math:`\lambda`; largest number of steps.
    random_state : int, RandomState or None
        Random seed of the initial weights.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features by decreasing norm of their weights. If too few have weights, the others follow by
        the norm of the gradient.
    weights_ : list of arrays
        W, b and v for the original features; rows of W are 0 for features not selected.
    scores_ : array of shape (features,)
        Norms of the weights of standardized features.
    objective_, violation_, n_iter_
        As in :class:`SparseRank`.

    Notes
    -----
    A step takes O(m f h) time for m rows of f features, plus the time of the loss. The objective is
    not convex, so the result is a stationary point that depends on the seed.

    This is a reconstruction. The paper groups the weights that leave an input, with the factor
    :math:`\sqrt h`, and drops inputs whose weights are 0. The losses, one hidden layer, proximal
    gradient steps, which make exact zeros, and ``alpha`` are ours.

    Use it if features help only together with others, or only within a range, and trees are not
    wanted.

    References
    ----------
    A. Rahangdale, S. Raut. Deep neural network regularization for feature selection in
    learning-to-rank. IEEE Access 7, 2019.

    {example}
    """

    with_include = NOT_PENALIZED

    methods = (
        Method(
            "net-l1",
            "small neural network with a group lasso over features",
            grid={"lam": (0.3, 0.1, 0.03, 0.01)},
            trial={"hidden": 2, "tol": 0.1, "max_iter": 100},
        ),
    )

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    loss: Literal["ranknet", "listnet", "listmle"] = "listnet"
    hidden: Count = 5
    lam: Share = 0.1
    alpha: Positive = 1e-3
    tol: Positive = 1e-2
    max_iter: Count = 2000
    random_state: Seed = 0

    def _scores(self, X: Any) -> np.ndarray:
        return score_rows(X, self.weights_, "tanh")

    def reasons(self) -> list[str]:
        """Norm of the weights of each selected feature."""
        check_is_fitted(self)
        norms = self.scores_[self.selected_]
        return [f"norm of weights {norm:.3g}" if norm else "no weight" for norm in norms]

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        n, h = source.n_features, self.hidden
        inner, bias, outer = first_weights(n, h, check_random_state(self.random_state))
        with standardized_loss(source, self.loss, "tanh") as loss:

            def loss_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
                weights = _unpack(flat, n, h)
                value, (by_inner, by_bias, by_outer) = loss.loss_and_gradient(weights)
                shrinkage = self.alpha * weights[2]
                flat_slopes = _pack([by_inner, by_bias, by_outer + shrinkage])
                return value + 0.5 * float(shrinkage @ weights[2]), flat_slopes

            nothing = proximal.RowPenalty(np.zeros(n), h)
            at_zero = loss_and_gradient(_pack([np.zeros((n, h)), bias, outer]))[1]
            largest = float(nothing.lengths(at_zero).max()) / np.sqrt(h)
            costs = np.full(n, self.lam * largest * np.sqrt(h))
            costs[choices.include] = 0.0
            penalty = proximal.RowPenalty(costs, h)
            inner[~loss.varies] = 0.0
            start, tol = _pack([inner, bias, outer]), self.tol * largest
            found = proximal.minimize(loss_and_gradient, start, penalty, tol, self.max_iter)
            self.objective_, self.violation_ = found.objective, found.violation / (largest or 1.0)
            self.n_iter_ = found.n_iter
            self.scores_ = penalty.lengths(found.weights)
            nearness = penalty.lengths(found.gradient) / (largest or 1.0)
            chosen = self._order(self.scores_, nearness, loss.varies, choices)
            weights = _unpack(found.weights.copy(), n, h)
            weights[0][np.setdiff1d(np.arange(n), chosen)] = 0.0
            self.weights_: Weights = loss.standard.to_original(weights)
            return chosen

    def _widen(self, choices: Choices, names: set[str]) -> None:
        super()._widen(choices, names)
        inner, *others = self.weights_
        self.weights_ = [PerFeature(fill=0.0).widen(inner, choices), *others]


def _pack(weights: Weights) -> np.ndarray:
    return np.concatenate([part.ravel() for part in weights])


def _unpack(flat: np.ndarray, n: int, h: int) -> Weights:
    return [flat[: n * h].reshape(n, h), flat[n * h : n * h + h], flat[n * h + h :]]
