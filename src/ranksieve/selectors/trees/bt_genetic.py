"""Selection by a genetic algorithm on boosted trees in which only the best survives."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.random import RandomState

from ranksieve.choosing import first_of_best
from ranksieve.parameters import Count, Weight
from ranksieve.progress import track
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import FreeFeatures
from ranksieve.selectors.trees.bt_influence import TREE_GRID
from ranksieve.selectors.trees.subset_trials import (
    Features,
    SubsetTrees,
    TreeTrial,
    TrialFunction,
    random_subset,
)


@dataclass(eq=False, repr=False)
class GeneticBoostedTrees(SubsetTrees):
    r"""The best subset found by a genetic algorithm in which only the best individual survives.

    An individual is a subset of the wanted number of features. Its fitness is how well boosted
    trees on these features rank held-out queries. The first generation is random. Every individual
    of a later generation is a child of the best one so far: each feature is replaced by a random
    other feature with probability ``exchange``, and at least one feature is.

    Parameters
    ----------
    {n_features_to_select}
    population_size : int
        Number of individuals in a generation.
    n_generations : int
        Number of generations, including the first.
    exchange : float
        Mean fraction of its features that a child does not inherit.
    {validation}
    {parameters}

    Attributes
    ----------
    selected_ : int array
        Features of the best individual in descending order of their gain in its trees.
    scores_ : array of shape (features,)
        That gain relative to the largest; 0 for other features.
    trials_ : list of TreeTrial
        All individuals in order of creation: features, their relative gain, and the measure.
    best_trial_ : int
        The individual whose features are selected; the first of equals.

    Notes
    -----
    Takes at most ``population_size`` times ``n_generations`` trainings; no subset is trained twice.

    This is a reconstruction from the abstract, which only says that it is a best-only genetic
    algorithm on boosted trees. Subsets of one size, the way children are made (replacing random
    features by random ones both mutates the best individual and crosses it with a random one),
    held-out queries, and all defaults are ours. Held-out queries of the training data have weight 0
    in training: their rows affect the bins, but their labels have no effect. They are copied
    into memory for evaluation; an ``eval_set`` is not. Features constant within every query are
    taken only if there are no others.

    Use it to compare with the paper, in which :class:`RandomizedBoostedTrees` was better. It
    ignores the gain of features, and therefore needs many trainings.

    References
    ----------
    F. Pan, T. Converse, D. Ahn, F. Salvetti, G. Donato. Greedy and randomized feature selection for
    web search ranking. CIT 2011.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import GeneticBoostedTrees
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, n_noise=4, noise=0.1)
    >>> selector = GeneticBoostedTrees(n_features_to_select=2).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    methods = (
        Method(
            "bt-genetic",
            "best-only genetic algorithm, by held-out trees",
            grid=TREE_GRID,
            trial={"n_estimators": 2, "population_size": 1, "n_generations": 2},
        ),
    )

    _: KW_ONLY
    population_size: Count = 5
    n_generations: Count = 6
    exchange: Weight = 0.3

    def _first_subsets(self, free: FreeFeatures, rng: RandomState) -> list[Features]:
        return [random_subset(free.candidates, free.k, rng) for _ in range(self.population_size)]

    def _search(
        self, trial: TrialFunction, subsets: list[Features], free: FreeFeatures, rng: RandomState
    ) -> list[TreeTrial]:
        advance = track("Generations", self.n_generations)
        trials: list[TreeTrial] = []
        for _ in range(self.n_generations):
            trials += [trial(features) for features in subsets]
            best = trials[first_of_best(np.array([found.value for found in trials]))].features
            chosen = tuple(feature for feature in best if feature in free.candidates)
            subsets = [self._child(chosen, free.candidates, rng) for _ in subsets]
            advance(1)
        return trials

    def _child(self, features: Features, candidates: np.ndarray, rng: RandomState) -> Features:
        """Replace some features by random others."""
        others = np.setdiff1d(candidates, features)
        n_exchanged = max(1, rng.binomial(len(features), self.exchange)) if features else 0
        n_exchanged = min(n_exchanged, len(others))
        kept = rng.permutation(np.array(features, dtype=np.intp))[n_exchanged:]
        return tuple(np.sort([*kept, *rng.permutation(others)[:n_exchanged]]).tolist())
