"""Boosted trees on subsets of the features, judged on held-out queries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state

from ranksieve.base import Choices
from ranksieve.choosing import first_of_best
from ranksieve.data import Block
from ranksieve.engine import Source
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.lightgbm_data import to_library_format
from ranksieve.selectors._search.held_out import (
    SUBSETS_OF_ONE_SIZE,
    FreeFeatures,
    SubsetSelector,
    free_features,
    hold_out,
)
from ranksieve.selectors.trees.bt_influence import TreeSelector, shares
from ranksieve.sums.densities import Part
from ranksieve.sums.grades import varying_features
from ranksieve.sums.held_out import Measured

Features = tuple[int, ...]
TrialFunction = Callable[[Features], "TreeTrial"]


class TreeTrial(NamedTuple):
    """Features of trees, their gain relative to the largest, and the value on held-out queries.

    The value is the measure, or 1 minus the measure if smaller is better.
    """

    features: Features
    influence: tuple[float, ...]
    value: float


class MeasuredTrees(Measured):
    """Statistic: how well trees rank some queries."""

    def __init__(self, block: Block, *how: Any) -> None:
        super().__init__(block, *how)
        self.block.check_finite()

    def sums(self, text: str, features: np.ndarray) -> tuple[float, float]:
        """Weight of the queries, and the sum over them of the measure; larger is better.

        ``text`` is a model of LightGBM on some ``features``.
        """
        import lightgbm

        if self.is_empty:
            return 0.0, 0.0
        booster = lightgbm.Booster(model_str=text)
        scores = booster.predict(to_library_format(self.block.X[:, features]), num_threads=1)
        return self.total(np.asarray(scores, dtype=np.float64))


@dataclass(eq=False, repr=False)
class SubsetTrees(TreeSelector, SubsetSelector):
    """Base of selectors that take the best of several subsets of one size.

    The search covers the features that are neither included nor constant; all trees are trained on
    a subset of these and on the included features.
    """

    given = "All subsets contain them."

    no_groups = SUBSETS_OF_ONE_SIZE

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

    def _choose(self, source: Source, choices: Choices, **held_out: Any) -> np.ndarray:
        rng = check_random_state(self.random_state)
        train, validation = hold_out(source, held_out["eval_set"], self.validation_fraction, rng)
        free = free_features(choices, varying_features(source))
        subsets = self._first_subsets(free, rng)
        ranker = self._ranker(choices, rng.randint(2**31))
        with self._trials(ranker, train, validation, free) as trial:
            self.trials_ = self._search(trial, subsets, free, rng)
        self.best_trial_ = first_of_best(np.array([trial.value for trial in self.trials_]))
        best = self.trials_[self.best_trial_]
        self.scores_ = np.zeros(source.n_features)
        self.scores_[list(best.features)] = best.influence
        chosen = sort_by_gain(best, free.candidates).tolist()
        return np.array([*choices.include, *chosen, *free.constant], dtype=np.intp)

    @contextmanager
    def _trials(
        self, untrained: LambdaMART, train: Part, validation: Part, free: FreeFeatures
    ) -> Iterator[TrialFunction]:
        """Context manager that yields a function from chosen candidates to their trial."""
        source = _weighted_source(train)
        with self._measuring_workers(MeasuredTrees, validation) as workers:

            @cache
            def trial(chosen: Features) -> TreeTrial:
                features = tuple(sorted((*free.start, *chosen)))
                if not features:
                    return TreeTrial((), (), 0.0)
                ranker = untrained._for_features(features, source.n_features)
                ranker = ranker.fit(source.take_features(list(features)))
                influence = tuple(shares(ranker.feature_importances_).tolist())
                if len(chosen) > free.k:
                    return TreeTrial(features, influence, float("nan"))
                text = ranker.booster_.model_to_string()
                n_queries, value = workers.sum("sums", text, np.array(features))
                return TreeTrial(features, influence, value / n_queries)

            yield trial


def _weighted_source(part: Part) -> Source:
    """Source of a part, with weight 0 for all queries that are not in the part."""
    if part.queries is None:
        return part.source
    weights = part.source.query_weights
    return part.source.with_weights(part.queries * (1.0 if weights is None else weights))


def sort_by_gain(trial: TreeTrial, among: np.ndarray) -> np.ndarray:
    """Features of a trial that are in ``among``, by descending gain; ties by index."""
    order = np.argsort(-np.array(trial.influence), kind="stable")
    features = np.array(trial.features, dtype=np.intp)[order]
    return features[np.isin(features, among)]


def random_subset(candidates: np.ndarray, size: int, rng: RandomState) -> Features:
    """Random candidates in ascending order."""
    return tuple(np.sort(rng.permutation(candidates)[:size]).tolist())
