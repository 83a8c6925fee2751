"""ListMLE with documents weighted by NDCG, and an L1 penalty."""

from __future__ import annotations

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.registry import Method
from ranksieve.selectors.related.sparserank import LAM_GRID, ProximalSelector
from ranksieve.selectors.related.standardized_loss import standardized_loss


class SparseListMLE(ProximalSelector):
    r"""Linear ListMLE with documents weighted by their share of the ideal DCG, and an L1 penalty.

    .. math:: \min_w \; - \frac{1}{\#Q} \sum_Q \sum_{i \in Q: y_i > \min y} c_i
              \log \frac{e^{w^T x_i}}{\sum_{j \in Q: y_j \le y_i} e^{w^T x_j}} + \lambda \|w\|_1

    over standardized features, by proximal gradient steps. The cost :math:`c_i` of a document is
    its share in the ideal DCG of its query: its gain, times the mean discount of the ranks of its
    label, over the ideal DCG.

    Parameters
    ----------
    n_features_to_select
        As in :class:`EmbeddedSelector`.
    lam
        As in :class:`ProximalSelector`.
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
    A step takes O(m f) time for m rows of f features. Labels must not be negative.

    This is a reconstruction. The literature gives ListMLE with costs, L1, and proximal gradient
    steps that adapt to the curvature of the loss. The costs, the rule for equal labels (that of
    :class:`ListMLE`), the acceleration and the standardized features are ours.

    Use it to compare with the papers. Though the costs are those of NDCG, on LETOR's MQ2008 the
    mean NDCG@10 on its features is lower than on those of :class:`GreedyRankRLS`.

    References
    ----------
    - M. Lu, M. Xie, Y. Wang, J. Liu, Y. Huang. Cost-sensitive listwise ranking approach. PAKDD
      2010. (Costs in ListMLE.)
    - A. Beck, M. Teboulle. A fast iterative shrinkage-thresholding algorithm for linear inverse
      problems. SIAM Journal on Imaging Sciences 2, 2009.

    {example}
    """

    methods = (Method("listmle-l1", "ListMLE weighted by NDCG, with an L1 penalty", grid=LAM_GRID),)

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        with standardized_loss(source, "listmle-cost") as loss:
            found = self._minimize(loss.linear_loss_and_gradient, choices)
            return self._select_by_weights(*found, loss.varies, choices, loss.standard.scale)
