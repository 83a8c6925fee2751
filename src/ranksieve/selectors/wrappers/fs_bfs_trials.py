"""Statistic: the measure of a combination of features, and of changes of its weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranksieve.rankers.coordinate_ascent import Trials

Combination = tuple[Sequence[int], Sequence[float]]
"""Features, ascending, and their weights."""


class CombinationTrials(Trials):
    """Statistic: measures combinations of few features, and changes of one weight.

    No scores are kept between calls: computing them takes far less time than trying changes, and a
    search may return to any combination.
    """

    title = "Best-first search"

    def sums(
        self, combination: Combination, features: Sequence[int], deltas: np.ndarray, n_steps: int
    ) -> tuple[float, np.ndarray]:
        """Sums over queries of the measure; larger is better.

        Returns the sum for the combination, and the sums (features, ``2 * n_steps``) for the
        combination with one weight changed: ``deltas`` has, for each of the features, ``n_steps``
        changes upward and as many downward, each run moving away from 0.
        """
        self.scores[:] = 0.0
        for feature, weight in zip(*combination, strict=True):
            self.scores += weight * self.columns[feature]
        value = self._rank()
        trials = np.empty((len(features), 2 * n_steps))
        for place, feature in enumerate(features):
            trials[place] = self.trials(feature, deltas[place], n_steps)
        return value, trials
