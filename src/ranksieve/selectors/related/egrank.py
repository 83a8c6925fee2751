"""EGRank: RankSVM with an L1 constraint, by exponentiated gradient steps."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.parameters import Count, FeatureCount, Positive
from ranksieve.registry import Method
from ranksieve.selectors._search.embedded import EmbeddedSelector, relative_sizes
from ranksieve.solvers.ranksvm.mean_loss import mean_loss

_GROW = 1.5  # factor of the rate after a step that was short enough
_GONE = 1e-6  # weights below this fraction of the radius count as 0; shares never reach 0


@dataclass(eq=False, repr=False)
class EGRank(EmbeddedSelector):
    r"""RankSVM with an L1 constraint on the weights, by exponentiated gradient steps (EGRank).

    .. math:: \min_w \frac1P \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2
              \quad\text{subject to}\quad \|w\|_1 \le r

    over the P pairs of documents of the same query with different labels. With :math:`w = r (u -
    v)`, the shares u and v of all features are positive and add up to 1; a step multiplies each by
    :math:`e^{-\eta r g_f}` or :math:`e^{\eta r g_f}`, where g is the gradient, and divides
    by their sum.

    Parameters
    ----------
    n_features_to_select
        As in :class:`EmbeddedSelector`.
    radius, tol, max_iter
        As in :class:`FenchelRank`.
    standardize
        As in :class:`EmbeddedSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, coef_, scores_
        As in :class:`EmbeddedSelector`.
    objective_, gap_, n_iter_
        As in :class:`FenchelRank`.

    Notes
    -----
    A step takes O(m f + m log n) time for m rows of f features in queries of n documents; pairs are
    never listed. The gap falls like 1 / T with the number of steps T.

    The paper gives the problem, multiplicative steps, and the stop by the duality gap. The scale of
    the weights is ours, and so are the rate :math:`\eta`, which grows as long as the loss stays
    below its bound by the relative entropy of a step, and that weights below a millionth of the
    radius count as 0. For features of the same scale, the minimum is that of :class:`FenchelRank`,
    whose weights are exactly 0.

    Use it to compare with the paper.

    References
    ----------
    L. Du, Y. Pan, J. Ding, H. Lai, C. Huang. EGRank: an exponentiated gradient algorithm for sparse
    learning-to-rank. Information Sciences 467, 2018.

    {example}
    """

    methods = (
        Method(
            "egrank",
            "RankSVM with an L1 constraint, by exponentiated gradient",
            grid={"radius": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)},
            trial={"max_iter": 100, "tol": 0.1},
        ),
    )

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    radius: Positive = 1.0
    standardize: bool = True
    tol: Positive = 1e-3
    max_iter: Count = 10_000

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        with mean_loss(source) as loss:
            scales = loss.deviations if self.standardize else np.ones(loss.n_features)
            loss_and_gradient = loss.make_loss_and_gradient(scales)
            shares = np.full((2, loss.n_features), 0.5 / loss.n_features)  # u and v
            coef = np.zeros(loss.n_features)
            objective, slopes = loss_and_gradient(coef)
            rate = 1.0
            for n_iter in range(self.max_iter + 1):
                gap = float(slopes @ coef + self.radius * np.abs(slopes).max())
                if gap <= self.tol or n_iter == self.max_iter:
                    break
                while True:
                    new = _multiply(shares, self.radius * slopes, rate)
                    new_coef = self.radius * (new[0] - new[1])
                    value, new_slopes = loss_and_gradient(new_coef)
                    bound = objective + slopes @ (new_coef - coef) + _entropy(new, shares) / rate
                    if value <= bound + 1e-12 * objective:
                        break
                    rate /= 2
                shares, coef, objective, slopes = new, new_coef, value, new_slopes
                rate *= _GROW
            if gap > self.tol:
                warnings.warn(
                    f"EGRank stopped after {n_iter} steps (max_iter={self.max_iter}) with a "
                    f"duality gap of {gap:.1e} (tol={self.tol})",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            self.objective_, self.gap_, self.n_iter_ = objective, gap, n_iter
            kept = np.where(np.abs(coef) > _GONE * self.radius, coef, 0.0)
            nearness = relative_sizes(slopes)
            return self._select_by_weights(kept, nearness, loss.varies, choices, scales)


def _multiply(shares: np.ndarray, slopes: np.ndarray, rate: float) -> np.ndarray:
    """Shares after a step, computed in logarithms so that none becomes 0."""
    logs = np.log(shares) + rate * np.stack([-slopes, slopes])
    powers = np.exp(np.maximum(logs - logs.max(), -600.0))
    return np.asarray(powers / powers.sum())


def _entropy(new: np.ndarray, old: np.ndarray) -> float:
    """Entropy of some shares relative to others."""
    return float((new * np.log(new / old)).sum())
