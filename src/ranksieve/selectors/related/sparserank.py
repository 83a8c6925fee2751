"""SparseRank: RankSVM with an L1 penalty, by proximal gradient steps, and the base of its kind."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.parameters import Count, FeatureCount, Positive, Share
from ranksieve.registry import Method
from ranksieve.selectors._search.embedded import NOT_PENALIZED, EmbeddedSelector
from ranksieve.selectors.related import proximal
from ranksieve.solvers.ranksvm.mean_loss import mean_loss

LAM_GRID = {"lam": (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)}


@dataclass(eq=False, repr=False)
class ProximalSelector(EmbeddedSelector):
    r"""A linear ranker with a smooth loss and an L1 penalty on the weights.

    Parameters
    ----------
    lam : float
        :math:`\lambda`, as a fraction of the smallest one for which all weights are 0.
    tol : float
        Stop when no optimality condition is violated by more than this fraction of the smallest
        :math:`\lambda` for which all weights are 0.
    max_iter : int
        Largest number of steps.

    Attributes
    ----------
    objective_, violation_ : float
        Value of the objective before features are dropped, and its violation of optimality.
    n_iter_ : int
        Number of steps.
    """

    with_include = NOT_PENALIZED

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    lam: Share = 0.01
    tol: Positive = 1e-7
    max_iter: Count = 10_000

    def _minimize(
        self, loss_and_gradient: proximal.LossAndGradient, choices: Choices
    ) -> tuple[np.ndarray, np.ndarray]:
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
        return found.weights, np.abs(found.gradient) / (slopes.max() or 1.0)

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


@dataclass(eq=False, repr=False)
class SparseRank(ProximalSelector):
    r"""RankSVM with an L1 penalty on the weights, by proximal gradient steps (SparseRank).

    .. math:: \min_w \frac1P \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2 + \lambda \|w\|_1

    over the P pairs of documents of the same query with different labels, by accelerated proximal
    gradient steps.

    Parameters
    ----------
    n_features_to_select
        As in :class:`EmbeddedSelector`.
    lam
        As in :class:`ProximalSelector`.
    standardize
        As in :class:`EmbeddedSelector`.
    tol, max_iter
        As in :class:`ProximalSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, coef_, scores_
        As in :class:`EmbeddedSelector`.
    objective_, violation_, n_iter_
        As in :class:`ProximalSelector`.

    Notes
    -----
    A step takes O(m f + m log n) time for m rows of f features in queries of n documents; pairs are
    never listed.

    This is a reconstruction. The abstract of the paper gives a pairwise loss with a penalty on
    absolute weights, minimized by gradient steps. The squared hinge as the loss, the scale of the
    weights and the acceleration are ours. :class:`SparseRankSVM` (``penalty="l1"``) has the same
    minima, for many :math:`\lambda` in one fit.

    Use it to compare with the paper.

    References
    ----------
    H. Lai, Y. Pan, Y. Tang, N. Liu. Efficient gradient descent algorithm for sparse models with
    application in learning-to-rank. Knowledge-Based Systems 49, 2013.

    {example}
    """

    methods = (
        Method(
            "sparserank", "RankSVM with an L1 penalty, by proximal gradient steps", grid=LAM_GRID
        ),
    )

    _: KW_ONLY
    standardize: bool = True

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        with mean_loss(source) as loss:
            scales = loss.deviations if self.standardize else np.ones(loss.n_features)
            found = self._minimize(loss.make_loss_and_gradient(scales), choices)
            return self._select_by_weights(*found, loss.varies, choices, scales)
