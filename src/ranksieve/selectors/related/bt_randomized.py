"""Selection by boosted trees on many random subsets of the features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Annotated

import numpy as np
from numpy.random import RandomState
from sklearn.utils._param_validation import Interval

from ranksieve.parameters import Count, Share
from ranksieve.progress import track
from ranksieve.registry import Method
from ranksieve.selectors.related.bt_genetic import (
    Features,
    SubsetTrees,
    TreeTrial,
    TrialFunction,
    random_subset,
    sort_by_gain,
)
from ranksieve.selectors.related.subsets import FreeFeatures
from ranksieve.selectors.trees.bt_influence import TREE_GRID


@dataclass(eq=False, repr=False)
class RandomizedBoostedTrees(SubsetTrees):
    r"""The best of several random subsets, each reduced by gain in boosted trees.

    Each run draws a random subset of the features, trains trees on it, drops the features with the
    smallest gain, and repeats until the wanted number is left. Trees on these features are then
    evaluated on held-out queries. The features of the best of ``n_subsets`` runs are selected.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    n_subsets : int
        Number of random subsets to start with.
    subset_size : float
        Fraction of the features in each subset, but never fewer than the number to select.
    elimination : float
        Fraction of a subset's features to drop before trees are trained again: at least one
        feature, but never more than necessary.
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
    Takes ``n_subsets`` times about log(f / k) / -log(1 - ``elimination``) + 1 trainings, for
    subsets of f features of which k are selected; the end of each run is a trial. Random subsets,
    backward elimination by importance, and choice by validation are from the paper. The sizes,
    dropping several features at a time, and the choices in :class:`BoostedTrees` are ours.
    {held_out}

    References
    ----------
    {reference}

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import RandomizedBoostedTrees
    >>> data, truth = make_ranking(200, n_informative=2, n_redundant=0, n_noise=4, noise=0.1)
    >>> selector = RandomizedBoostedTrees(n_features_to_select=2, subset_size=0.8).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    methods = (
        Method(
            "bt-randomized",
            "random subsets, reduced by gain in boosted trees",
            grid=TREE_GRID | {"subset_size": (0.3, 0.5, 0.8)},
            trial={"n_estimators": 2, "n_subsets": 2},
        ),
    )

    _: KW_ONLY
    n_subsets: Count = 10
    subset_size: Annotated[float, Interval(Real, 0, 1, closed="right")] = 0.5
    elimination: Share = 0.5

    def _first_subsets(self, free: FreeFeatures, rng: RandomState) -> list[Features]:
        size = max(free.k, round(self.subset_size * len(free.candidates)))
        return [random_subset(free.candidates, size, rng) for _ in range(self.n_subsets)]

    def _search(
        self, trial: TrialFunction, subsets: list[Features], free: FreeFeatures, rng: RandomState
    ) -> list[TreeTrial]:
        """Reduce each subset to k features."""
        advance = track("Random subsets", len(subsets))
        ends = []
        for features in subsets:
            while len(features) > free.k:
                n_dropped = max(1, int(self.elimination * len(features)))
                n_kept = max(free.k, len(features) - n_dropped)
                kept = sort_by_gain(trial(features), free.candidates)[:n_kept]
                features = tuple(np.sort(kept).tolist())
            ends.append(trial(features))
            advance(1)
        return ends
