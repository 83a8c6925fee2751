"""SparseRank: RankSVM with an L1 penalty, by proximal gradient steps."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.registry import Method
from ranksieve.selectors._search.embedded import ProximalSelector
from ranksieve.solvers.ranksvm.mean_loss import mean_loss


@dataclass(eq=False, repr=False)
class SparseRank(ProximalSelector):
    r"""RankSVM with an L1 penalty on the weights, by proximal gradient steps (SparseRank).

    .. math:: \min_w \frac1P \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2 + \lambda \|w\|_1

    over the P pairs of documents of the same query with different labels, by accelerated proximal
    gradient steps.

    Parameters
    ----------
    {sparse_number}
    {penalty}
    {standardize}
    {stopping}
    {choices}
    {verbose}

    Attributes
    ----------
    {weights}
    {found}

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

    Examples
    --------
    {example}
    """

    methods = (
        Method(
            "sparserank",
            "RankSVM with an L1 penalty, by proximal gradient steps",
            grid={"lam": (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)},
        ),
    )

    _: KW_ONLY
    standardize: bool = True

    def _choose(self, source: Source, choices: Choices, **held_out: Any) -> list[int]:
        with mean_loss(source) as loss:
            scales = loss.deviations if self.standardize else np.ones(loss.n_features)
            found = self._minimize(loss.make_loss_and_gradient(scales), choices)
            return self._select_by_weights(*found, loss.varies, choices, scales)
