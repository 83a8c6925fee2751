"""MOFSRank and RiskPareto: subsets of features that trade several objectives, by NSGA-II."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ranksieve.base import Choices
from ranksieve.choosing import first_of_best
from ranksieve.data import DataError
from ranksieve.engine import Source, Workers
from ranksieve.parameters import AtLeastTwo, Count, NotNegative
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import counted_queries, hold_out
from ranksieve.selectors.related.nsga2 import Members, ModelLosses, ParetoSelector
from ranksieve.selectors.related.subsets import training_products
from ranksieve.sums.densities import Part
from ranksieve.sums.gram import GramSums


class RedundancyPoint(NamedTuple):
    """A subset of features that no other subset dominates in value and redundancy."""

    features: tuple[int, ...]  # ascending
    value: float  # measure on held-out queries
    redundancy: float  # sum of the absolute correlations of all pairs of features


class RiskPoint(NamedTuple):
    """A subset of features that no other subset dominates in size, value and risk."""

    features: tuple[int, ...]  # ascending
    value: float  # measure on held-out queries
    risk: float  # mean loss of these queries against all features; a gain counts as 0


@dataclass(eq=False, repr=False)
class MOFSRank(ParetoSelector):
    r"""Features that are most frequent in subsets that rank well and have little redundancy.

    .. math:: \min_S \left( -\frac{1}{n} \sum_q v_q(S),\; \sum_{i < j \in S} |r_{ij}| \right),
              \qquad w_f = \frac{|\{S : f \in S\}|}{|\{S\}|}

    v_q is a measure of held-out query q, ranked by RankRLS trained on the features of S, and r is
    the correlation of two features within queries. The method has three steps. It draws samples of
    the training queries, and keeps those whose models of all features rank the held-out queries
    best. On each of them, NSGA-II searches for the subsets that no other subset dominates in both
    objectives. Finally, all of these subsets vote, and the features with the most votes w are
    selected.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    n_draws : int
        Number of samples of the training queries to draw.
    n_samples : int
        Number of these samples to keep.
    sample_size : float
        Fraction of the training queries in each sample.
    lam, population_size, n_generations, measure, validation_fraction, convention, ties,
    random_state
        As in :class:`ParetoSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in descending order of their votes.
    scores_ : array of shape (features,)
        Fraction of the subsets that contain each feature.
    front_ : list of RedundancyPoint
        The subsets that vote: those of the first sample, then those of the second, and so on.

    Notes
    -----
    Takes O(m n^2) time for the products of n features over the m rows of each drawn sample, then as
    :class:`RiskPareto` for each new subset.

    This is a reconstruction from the abstract, which gives the three steps: a selection of
    informative instances; a multi-objective evolutionary search, with an adaptive mutation, for
    high accuracy and low redundancy; and an ensemble of the subsets found. Queries as instances and
    the way they are chosen, RankRLS, correlation as redundancy, NSGA-II, votes, and all defaults
    are ours. Mutation adapts to a subset: on average, it removes as many features as it adds. Ties
    of votes are sorted by weight times spread in RankRLS on all features. Features that are
    constant within every training query come last.

    References
    ----------
    F. Cheng, W. Guo, X. Zhang. MOFSRank: a multiobjective evolutionary algorithm for feature
    selection in learning to rank. Complexity, 2018. For NSGA-II, see :class:`RiskPareto`.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import MOFSRank
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, noise=0.1)
    >>> selector = MOFSRank(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    methods = (
        Method(
            "mofsrank",
            "votes of good subsets of low redundancy, by NSGA-II",
            grid={"lam": (0.01, 0.1, 1.0, 10.0, 100.0)},
            trial={"n_draws": 2, "n_samples": 1, "population_size": 10, "n_generations": 4},
        ),
    )

    _is_nested = True

    _: KW_ONLY
    n_draws: Count = 10
    n_samples: Count = 3
    sample_size: Annotated[float, Interval(Real, 0, 1, closed="right")] = 0.5
    population_size: AtLeastTwo = 40
    n_generations: Count = 25

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        if self.n_samples > self.n_draws:
            raise DataError(
                f"n_samples={self.n_samples} must not be larger than n_draws={self.n_draws}: only "
                "drawn samples can be kept"
            )
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, vali, self.validation_fraction, rng)
        products = training_products(train)
        with self._measuring_workers(ModelLosses, validation) as workers:
            samples = self._best_samples(train, workers, rng)
            fronts = [self._search(sample, workers, rng, choices) for sample in samples]
        front = Members(*map(np.concatenate, zip(*fronts, strict=True)))
        shortfalls, redundancy = front.objectives.T
        self.front_ = self._points(RedundancyPoint, front.masks, -shortfalls, redundancy)
        return choices.in_order(self._order(front.masks, products).tolist())

    def _best_samples(
        self, train: Part, workers: Workers[ModelLosses], rng: RandomState
    ) -> list[GramSums]:
        """Products of the samples of training queries that rank held-out queries best."""
        queries = counted_queries(train.source)
        if train.queries is not None:
            queries = queries[train.queries[queries]]
        size = max(1, round(self.sample_size * len(queries)))
        drawn = []
        for _ in range(self.n_draws):
            wanted = np.isin(np.arange(train.source.n_queries), rng.permutation(queries)[:size])
            drawn.append(training_products(Part(train.source, wanted)))
        every = np.ones((1, train.source.n_features), dtype=bool)
        coefs = np.concatenate([self._weights(sample, every) for sample in drawn], axis=1)
        best_first = np.argsort(-self._means(workers, coefs)[0], kind="stable")
        return [drawn[position] for position in best_first[: self.n_samples]]

    def _search(
        self, sample: GramSums, workers: Workers[ModelLosses], rng: RandomState, choices: Choices
    ) -> Members:
        spread = np.sqrt(np.diag(sample.xx))
        spread[spread == 0] = 1.0
        shared = np.triu(np.abs(sample.xx) / np.outer(spread, spread), 1)

        def objectives(masks: np.ndarray, coefs: np.ndarray) -> np.ndarray:
            redundancy = ((masks @ shared) * masks).sum(axis=1)
            return np.stack([-self._means(workers, coefs)[0], redundancy], axis=1)

        return self._front(sample, objectives, rng, choices)


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
    lam, population_size, n_generations, measure, validation_fraction, convention, ties,
    random_state
        As in :class:`ParetoSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

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

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, vali, self.validation_fraction, rng)
        products = training_products(train)
        with self._measuring_workers(ModelLosses, validation) as workers:
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
        self,
        products: GramSums,
        workers: Workers[ModelLosses],
        rng: RandomState,
        choices: Choices,
    ) -> Members:
        every = np.ones((1, len(products.xy)), dtype=bool)
        all_features = self._weights(products, every)

        def objectives(masks: np.ndarray, coefs: np.ndarray) -> np.ndarray:
            models = np.concatenate([all_features, coefs], axis=1)
            values, risks = self._means(workers, models)
            return np.stack([masks.sum(axis=1), -values[1:], risks[1:]], axis=1)

        return self._front(products, objectives, rng, choices)
