"""RankRLS with back-fitting: forward selection that fits one weight for each candidate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from sklearn.utils import check_random_state

from ranksieve.base import Choices
from ranksieve.engine import Source, engine_of
from ranksieve.parameters import Count, FeatureCount, Positive, Seed
from ranksieve.rankers.rankrls import LAMS
from ranksieve.registry import Method
from ranksieve.selectors._search.leave_query_out import LinearPathSelector
from ranksieve.selectors._search.searches import Bounds, check_two_queries, forward
from ranksieve.solvers.rankrls.backfitting import BackfittedModel, Backfitting


@dataclass(eq=False, repr=False)
class BackfittingRankRLS(LinearPathSelector):
    r"""RankRLS with back-fitting: add the feature that best explains what the model leaves over.

    The model is that of :class:`GreedyRankRLS`, least squares on pairs of documents of a query,

    .. math:: \min_w \sum_Q \frac{1}{2 |Q|} \sum_{i, j \in Q}
              (y_i - y_j - w^T x_i + w^T x_j)^2 + \lambda \|w\|^2 .

    But only the weight of a candidate is fitted, to the residuals of the model, and all weights are
    fitted again once it is chosen. Each step adds the candidate after which the sum over queries of
    the same loss, each with weights fitted without that query, is smallest. Sparse data never
    becomes dense.

    Parameters
    ----------
    n_features_to_select : int, float, "best" or "one-se"
        Number of features, or a fraction of them if below 1; or the number with the smallest
        leave-query-out error; or the smallest number within one standard error of that.
    lam : float
        Regularization :math:`\lambda > 0`.
    kappa : int, optional
        Try this number of random features in each step instead of all. With 59, one of the best 5 %
        is among them with a probability of 95 %.
    max_features : int, optional
        Largest size on the path if the error chooses the number of features; by default all.
    random_state : int, RandomState or None
        Random seed of the candidates.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in the order of selection.
    coef_ : array of shape (features,)
        Weights; 0 for features that are not selected.
    fits_ : list of Fit
        Models of 1, 2, ... features: ``features``, ``coef``, the leave-query-out ``error`` and its
        standard error ``deviation``. :meth:`at` gives any smaller selection.
    path_ : list of (feature, score)
        Each selected feature, and the leave-query-out error of the model of that size.

    Notes
    -----
    Takes O(k^2 z + k^4 q) time for z nonzero values, q queries and k steps. Features constant
    within every query come last. Leave-query-out needs two queries of two documents. A query of
    weight w counts w times in the model and in the error, and is left out as a whole.

    Back-fitting is from matching pursuit, where fitting all weights for each candidate is called
    pre-fitting. The greedy RankRLS paper names it for sparse data; exact leave-query-out errors of
    its candidates are ours.

    References
    ----------
    P. Vincent, Y. Bengio. Kernel matching pursuit. Machine Learning 48, 2002.

    T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
    learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import BackfittingRankRLS
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=0, noise=0.1)
    >>> selector = BackfittingRankRLS(n_features_to_select=3).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    no_groups = "it fits the weight of one feature at a time to the residuals."

    methods = (
        Method(
            "backfitting-rankrls",
            "leave-query-out error of one feature fitted to residuals",
            grid={"lam": LAMS},
            draws=False,
        ),
    )

    n_features_to_select: FeatureCount | Literal["best", "one-se"] = 10
    _: KW_ONLY
    lam: Positive = 1.0
    kappa: Count | None = None
    max_features: Count | None = None
    random_state: Seed = 0

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        random = None if self.kappa is None else check_random_state(self.random_state)
        with engine_of(source).start(Backfitting) as workers:
            model = BackfittedModel(workers, self.lam, keeps_all=self.kappa is None)
            check_two_queries(model.n_queries)
            varies = model.n_varying > 0
            bounds = Bounds(model.weight, varies, choices, kappa=self.kappa, random=random)
            self.fits_ = forward(model, bounds)
        return self._use_model(self._position_on(self.fits_, choices), source.n_features)
