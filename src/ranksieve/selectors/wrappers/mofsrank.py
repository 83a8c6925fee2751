"""MOFSRank: a vote among subsets of features that rank well and are little redundant."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ranksieve.base import Choices
from ranksieve.data import DataError
from ranksieve.engine import Source, Workers
from ranksieve.parameters import AtLeastTwo, Count
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import counted_queries, hold_out, training_products
from ranksieve.selectors._search.pareto import Members, ParetoSelector
from ranksieve.solvers.rankrls.model import Products
from ranksieve.sums.densities import Part
from ranksieve.sums.held_out import MeasuredModels


class RedundancyPoint(NamedTuple):
    """A subset of features that no other subset dominates in value and redundancy.

    Attributes
    ----------
    features : tuple of int
        The features in ascending order.
    value : float
        Measure on held-out queries.
    redundancy : float
        Sum of the absolute correlations of all pairs of features.
    """

    features: tuple[int, ...]
    value: float
    redundancy: float


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
    {n_features_to_select}
    n_draws : int
        Number of samples of the training queries to draw.
    n_samples : int
        Number of these samples to keep.
    sample_size : float
        Fraction of the training queries in each sample.
    {parameters}

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
    Takes O(m n^2) time for the products of n features over the m rows of each drawn sample, then
    O(k^3 + h (n + log l)) for each new subset of k features and h held-out rows in queries of l
    documents.

    This is a reconstruction from the abstract, which gives the three steps: a selection of
    informative instances; a multi-objective evolutionary search, with an adaptive mutation, for
    high accuracy and low redundancy; and an ensemble of the subsets found. Queries as instances and
    the way they are chosen, RankRLS, correlation as redundancy, NSGA-II, votes, and all defaults
    are ours. Mutation adapts to a subset: on average, it removes as many features as it adds. Ties
    of votes are sorted by weight times spread in RankRLS on all features. Features that are
    constant within every training query come last. The search does not depend on the number of
    features to select, so larger selections start with the smaller ones.

    Use it as a published baseline, or if features are redundant and the selection should not depend
    on one sample of queries. :class:`GreedyRankRLS` is cheaper and no worse.

    References
    ----------
    - F. Cheng, W. Guo, X. Zhang. MOFSRank: a multiobjective evolutionary algorithm for feature
      selection in learning to rank. Complexity, 2018.
    - K. Deb, A. Pratap, S. Agarwal, T. Meyarivan. A fast and elitist multiobjective genetic
      algorithm: NSGA-II. IEEE Transactions on Evolutionary Computation 6(2), 2002.

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

    def _choose(self, source: Source, choices: Choices, **held_out: Any) -> list[int]:
        if self.n_samples > self.n_draws:
            raise DataError(
                f"n_samples={self.n_samples} must not be larger than n_draws={self.n_draws}: only "
                "drawn samples can be kept"
            )
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, held_out["eval_set"], self.validation_fraction, rng)
        products = training_products(train)
        with self._measuring_workers(MeasuredModels, validation) as workers:
            samples = self._best_samples(train, workers, rng)
            fronts = [self._search(sample, workers, rng, choices) for sample in samples]
        front = Members(*map(np.concatenate, zip(*fronts, strict=True)))
        shortfalls, redundancy = front.objectives.T
        self.front_ = self._points(RedundancyPoint, front.masks, -shortfalls, redundancy)
        return choices.in_order(self._order(front.masks, products).tolist())

    def _best_samples(
        self, train: Part, workers: Workers, rng: np.random.RandomState
    ) -> list[Products]:
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
        self, sample: Products, workers: Workers, rng: np.random.RandomState, choices: Choices
    ) -> Members:
        spread = np.sqrt(np.diag(sample.xx))
        spread[spread == 0] = 1.0
        shared = np.triu(np.abs(sample.xx) / np.outer(spread, spread), 1)

        def objectives(masks: np.ndarray, coefs: np.ndarray) -> np.ndarray:
            redundancy = ((masks @ shared) * masks).sum(axis=1)
            return np.stack([-self._means(workers, coefs)[0], redundancy], axis=1)

        return self._front(sample, objectives, rng, choices)
