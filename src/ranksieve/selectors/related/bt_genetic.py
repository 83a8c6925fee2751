"""Boosted trees on subsets of the features, judged on held-out queries; a genetic algorithm."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state

from ranksieve.base import Choices
from ranksieve.choosing import first_of_best
from ranksieve.data import Block
from ranksieve.engine import Source
from ranksieve.metrics import parse_measure
from ranksieve.parameters import Count, Weight
from ranksieve.progress import track
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.libraries.library import native_rows
from ranksieve.registry import Method
from ranksieve.selectors._search.held_out import hold_out
from ranksieve.selectors.related.subsets import (
    SUBSETS_OF_ONE_SIZE,
    FreeFeatures,
    SubsetSelector,
    free_features,
)
from ranksieve.selectors.trees.bt_influence import TREE_GRID, TreeSelector, shares
from ranksieve.sums.densities import Part
from ranksieve.sums.held_out import Measured, check_any_value, orient
from ranksieve.sums.varying import varying_features

Features = tuple[int, ...]
TrialFunction = Callable[[Features], "TreeTrial"]

_HELD_OUT = """
    Held-out queries of the training data have weight 0 in training: their rows affect the bins, but
    their labels have no effect. They are copied into memory for evaluation; an ``eval_set`` is not.
    Features constant within every query are taken only if there are no others.
"""


class TreeTrial(NamedTuple):
    """Trees on a subset of the features."""

    features: Features
    influence: tuple[float, ...]  # gain of each, relative to the largest
    value: float  # mean of the measure over held-out queries


class MeasuredTrees(Measured):
    """Statistic: how well trees rank some queries."""

    def __init__(self, block: Block, *how: Any) -> None:
        super().__init__(block, *how)
        self.block.check_finite()

    def sums(self, text: str, features: np.ndarray) -> tuple[float, float]:
        """Totals of a model of LightGBM on some features; see :meth:`total`."""
        import lightgbm

        if self.is_empty:
            return 0.0, 0.0
        booster = lightgbm.Booster(model_str=text)
        scores = booster.predict(native_rows(self.block.X[:, features]), num_threads=1)
        return self.total(np.asarray(scores, dtype=np.float64))


@dataclass(eq=False, repr=False)
class SubsetTrees(TreeSelector, SubsetSelector):
    """Base of selectors that take the best of several subsets of one size.

    The search covers the features that are neither included nor constant; all trees are trained on
    a subset of these and on the included features.

    Attributes
    ----------
    selected_ : int array
        Features of the best trial in descending order of their gain in its trees.
    scores_ : array of shape (features,)
        That gain relative to the largest; 0 for other features.
    trials_ : list of TreeTrial
        The trials in order: ``features``, their relative gain (``influence``), and the ``value`` of
        the measure.
    best_trial_ : int
        The trial whose features are selected; the first of equals.
    """

    with_include = "All subsets contain them."
    no_groups = SUBSETS_OF_ONE_SIZE

    _shared_docs: ClassVar[dict[str, str]] = {"held_out": _HELD_OUT}

    @abstractmethod
    def _first_subsets(self, free: FreeFeatures, rng: RandomState) -> list[Features]:
        """First subsets of the search, each of k or more candidates in ascending order."""

    @abstractmethod
    def _search(
        self, trial: TrialFunction, subsets: list[Features], free: FreeFeatures, rng: RandomState
    ) -> list[TreeTrial]:
        """Return trials of subsets of k candidates; ``trial`` trains no subset twice.

        The trial of a larger subset has no value.
        """

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> np.ndarray:
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, vali, self.validation_fraction, rng)
        free = free_features(choices, varying_features(source))
        subsets = self._first_subsets(free, rng)
        ranker = self._ranker(choices, rng.randint(2**31))
        with self._trials(ranker, train, validation, free) as trial:
            self.trials_ = self._search(trial, subsets, free, rng)
        self.best_trial_ = self._best(self.trials_)
        best = self.trials_[self.best_trial_]
        self.scores_ = np.zeros(source.n_features)
        self.scores_[list(best.features)] = best.influence
        chosen = sort_by_gain(best, free.candidates).tolist()
        return np.array([*choices.include, *chosen, *free.constant], dtype=np.intp)

    def _best(self, trials: list[TreeTrial]) -> int:
        """Position of the best trial; the first of equals."""
        values = np.array([trial.value for trial in trials])
        return first_of_best(orient(values, parse_measure(self.measure)))

    @contextmanager
    def _trials(
        self, untrained: LambdaMART, train: Part, validation: Part, free: FreeFeatures
    ) -> Iterator[TrialFunction]:
        """Context manager that yields a function from chosen candidates to their trial."""
        source = train.source
        if train.queries is not None:  # the others get weight 0
            weights = source.query_weights
            source = source.with_weights(train.queries * (1.0 if weights is None else weights))
        with self._measuring_workers(MeasuredTrees, validation) as workers:

            @cache
            def trial(chosen: Features) -> TreeTrial:
                features = tuple(sorted((*free.start, *chosen)))
                if not features:
                    return TreeTrial((), (), float("nan"))
                ranker = untrained._for_features(features, source.n_features)
                ranker = ranker.fit(source.take_features(list(features)))
                influence = tuple(shares(ranker.feature_importances_).tolist())
                if len(chosen) > free.k:
                    return TreeTrial(features, influence, float("nan"))
                text = ranker.booster_.model_to_string()
                n_queries, value = workers.sum(MeasuredTrees.sums, text, np.array(features))
                check_any_value(n_queries)
                mean = orient(value / n_queries, parse_measure(self.measure))
                return TreeTrial(features, influence, mean)

            yield trial


def sort_by_gain(trial: TreeTrial, among: np.ndarray) -> np.ndarray:
    """Features of a trial that are in ``among``, by descending gain; ties by index."""
    order = np.argsort(-np.array(trial.influence), kind="stable")
    features = np.array(trial.features, dtype=np.intp)[order]
    return features[np.isin(features, among)]


def random_subset(candidates: np.ndarray, size: int, rng: RandomState) -> Features:
    """Random candidates in ascending order."""
    return tuple(np.sort(rng.permutation(candidates)[:size]).tolist())


@dataclass(eq=False, repr=False)
class GeneticBoostedTrees(SubsetTrees):
    r"""The best subset found by a genetic algorithm in which only the best individual survives.

    An individual is a subset of the wanted number of features. Its fitness is how well boosted
    trees on these features rank held-out queries. The first generation is random. Every individual
    of a later generation is a child of the best one so far: each feature is replaced by a random
    other feature with probability ``exchange``, and at least one feature is.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    population_size : int
        Number of individuals in a generation.
    n_generations : int
        Number of generations, including the first.
    exchange : float
        Mean fraction of its features that a child does not inherit.
    measure, validation_fraction, convention, ties
        As in :class:`SubsetSelector`.
    n_estimators, learning_rate, num_leaves, min_child_samples, params, random_state
        As in :class:`TreeSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, scores_, trials_, best_trial_
        As in :class:`SubsetTrees`.

    Notes
    -----
    Takes at most ``population_size`` times ``n_generations`` trainings, a trial for each
    individual; no subset is trained twice.

    This is a reconstruction from the abstract, which only says that it is a best-only genetic
    algorithm on boosted trees. Subsets of one size, the way children are made (replacing random
    features by random ones both mutates the best individual and crosses it with a random one),
    held-out queries, and all defaults are ours.
    {held_out}

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
            best = trials[self._best(trials)].features
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
