"""FSMSVM: RankSVM on the features that FSMRank selects."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ranksieve.parameters import Positive
from ranksieve.registry import Method
from ranksieve.selectors.embedded.fsmrank import PENALTY_GRID, FSMRank
from ranksieve.solvers.ranksvm.penalties import Weighted
from ranksieve.solvers.ranksvm.sparse_newton import SparseNewton


@dataclass(eq=False, repr=False)
class FSMSVM(FSMRank):
    r"""RankSVM on the features to which :class:`FSMRank` gives the largest weights.

    .. math:: \min_w \tfrac12 \|w\|^2
              + \frac{C}{2 P} \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2

    over the P pairs of documents of the same query with different labels, where w is 0 for all
    other features: the objective of :class:`ranksieve.rankers.RankSVM`.

    Parameters
    ----------
    C : float
        Weight of the loss relative to the norm of w.
    n_features_to_select, lambda1, lambda2, importance, cost, similarity, tol, max_iter
        As in :class:`FSMRank`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features by decreasing absolute weight in FSMRank.
    coef_ : array of shape (features,)
        Weights of RankSVM; 0 for features that are not selected.
    scores_ : array of shape (features,)
        Absolute weights of FSMRank.
    importance_, similarity_, objective_, violation_, n_iter_
        Those of FSMRank.

    Notes
    -----
    A baseline in the paper below: features by their weights in FSMRank, then RankSVM in the primal.
    Takes the time of one solution each. Tune the number of features on validation data. Use it if
    FSMRank's penalties shrink the weights of the selected features too much.

    References
    ----------
    J.-Y. Yeh, C.-J. Tsai. A graph-based feature selection method for learning to rank using
    spectral clustering for redundancy minimization and biased PageRank for relevance analysis.
    Computer Science and Information Systems 19, 2022.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import RankSVM
    >>> from ranksieve.selectors import FSMSVM
    >>> data, _ = make_ranking(200)
    >>> selector = FSMSVM(n_features_to_select=3, C=10.0).fit(data)
    >>> ranker = RankSVM(C=10.0).fit(selector.transform(data))
    >>> bool(abs(selector.coef_[selector.support_] - ranker.coef_).max() < 1e-2)
    True
    """

    methods = (
        # C changes the weights, but not the selection
        Method(
            "fsmsvm", "RankSVM on the features with large weights in FSMRank", grid=PENALTY_GRID
        ),
    )

    _: KW_ONLY
    C: Positive = 1.0

    def _finish(self, solver: SparseNewton, chosen: np.ndarray) -> None:
        n = len(chosen)
        shrink = Weighted(np.zeros(n), 2.0 / self.C * np.eye(n))
        self.coef_ = np.zeros(len(self.coef_))
        self.coef_[chosen] = solver.solve_on(chosen, shrink, self.tol, self.max_iter)
