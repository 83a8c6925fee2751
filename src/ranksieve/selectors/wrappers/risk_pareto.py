"""RiskPareto: trade-offs between few features, a good ranking, and small losses of queries."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.base import Choices
from ranksieve.choosing import first_of_best
from ranksieve.engine import Source, Workers
from ranksieve.parameters import NotNegative
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import hold_out, training_products
from ranksieve.selectors._search.pareto import Members, ParetoSelector
from ranksieve.solvers.rankrls.model import Products
from ranksieve.sums.held_out import MeasuredModels


class RiskPoint(NamedTuple):
    """A subset of features that no other subset dominates in size, value and risk.

    Attributes
    ----------
    features : tuple of int
        The features in ascending order.
    value : float
        Measure on held-out queries.
    risk : float
        Mean loss of these queries against all features; a query that gains counts as 0.
    """

    features: tuple[int, ...]
    value: float
    risk: float


@dataclass(eq=False, repr=False)
class RiskPareto(ParetoSelector):
    r"""Best trade-offs between the number of features, quality and risk.

    .. math:: \min_S \left( |S|,\; -\frac{1}{n} \sum_q v_q(S),\;
              \frac{1}{n} \sum_q \max(0, v_q(F) - v_q(S)) \right)

    v_q is a measure of held-out query q, ranked by RankRLS trained on the features of S, and F is
    the set of all features: the last objective is the *risk* of dropping the others. NSGA-II
    searches for the front: the subsets that no other subset dominates in all three objectives. Of
    those with at most k features, the one with the largest mean difference from all features is
    selected, where losses count ``1 + alpha`` times (:func:`ranksieve.significance.u_risk`). If it
    has fewer than k features, others are added.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features k, or a fraction of them if below 1. The front does not depend on it.
    alpha : float
        Additional weight of losses when a subset is selected from the front.
    {parameters}

    Attributes
    ----------
    selected_ : int array
        Features of the selected subset by descending score, then the added features.
    scores_ : array of shape (features,)
        Fraction of the front's subsets that contain each feature.
    front_ : list of RiskPoint
        All subsets of the front, the smallest first.
    best_ : int
        Position of the selected subset in the front.

    Notes
    -----
    Takes O(m n^2) time once for the products of n features over m training rows, then
    O(k^3 + h (n + log l)) for each new subset of k features and h held-out rows in queries of l
    documents; no subset is trained twice.

    This is a reconstruction. An evolutionary algorithm that optimizes effectiveness and a measure
    of risk together, with a Pareto set as the result, is published; NSGA-II, the number of features
    as a third objective, RankRLS, losses against all features as the risk, the choice from the
    front (the smallest subset of equals), and all defaults are ours. The added features are those
    that most subsets of the front contain, then those with the largest weight times spread in
    RankRLS on all features; features that are constant within every query come last. The values are
    those of the queries that chose the subsets, and therefore optimistic.

    Use it to see what fewer features cost before you fix their number, and which queries lose: all
    a little, or a few a lot. For one number of features, :class:`GreedyRankRLS` is cheaper and no
    worse.

    References
    ----------
    - D. X. Sousa, S. Canuto, M. A. Goncalves, T. C. Rosa, W. S. Martins. Risk-sensitive learning to
      rank with evolutionary multi-objective feature selection. ACM TOIS 37(2), 2019.
    - K. Deb, A. Pratap, S. Agarwal, T. Meyarivan. A fast and elitist multiobjective genetic
      algorithm: NSGA-II. IEEE Transactions on Evolutionary Computation 6(2), 2002.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import RiskPareto
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = RiskPareto(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    >>> smallest = selector.front_[0]
    >>> len(smallest.features), smallest.risk > selector.front_[selector.best_].risk
    (1, True)
    """

    methods = (
        Method(
            "risk-pareto",
            "size, quality and risk at once, by NSGA-II",
            grid={"lam": (0.01, 0.1, 1.0, 10.0, 100.0)},
            trial={"population_size": 10, "n_generations": 4},
        ),
    )

    _: KW_ONLY
    alpha: NotNegative = 1.0

    def _choose(self, source: Source, choices: Choices, **held_out: Any) -> list[int]:
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, held_out["eval_set"], self.validation_fraction, rng)
        products = training_products(train)
        with self._measuring_workers(MeasuredModels, validation) as workers:
            front = self._search(products, workers, rng, choices)
        _, shortfalls, risks = front.objectives.T
        worth = -shortfalls - self.alpha * risks
        fits = [choices.fits(choices.groups_of(np.flatnonzero(mask))) for mask in front.masks]
        self.best_ = first_of_best(np.where(fits, worth, -np.inf))
        self.front_ = self._points(RiskPoint, front.masks, -shortfalls, risks)
        order = self._order(front.masks, products)
        chosen = front.masks[self.best_, order]
        return choices.in_order([*order[chosen].tolist(), *order[~chosen].tolist()])

    def _search(
        self, products: Products, workers: Workers, rng: np.random.RandomState, choices: Choices
    ) -> Members:
        every = np.ones((1, len(products.xy)), dtype=bool)
        all_features = self._weights(products, every)

        def objectives(masks: np.ndarray, coefs: np.ndarray) -> np.ndarray:
            models = np.concatenate([all_features, coefs], axis=1)
            values, risks = self._means(workers, models)
            return np.stack([masks.sum(axis=1), -values[1:], risks[1:]], axis=1)

        return self._front(products, objectives, rng, choices)
