"""Coordinate ascent for subsets of features, and line searches for one more feature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING, first_of_best
from ranksieve.engine import Workers
from ranksieve.rankers.coordinate_ascent import Trials

Combination = tuple[Sequence[int], Sequence[float]]
"""Features, ascending, and their weights."""


class CombinationTrials(Trials):
    """Statistic: measures combinations of few features, and changes of one weight.

    Scores are not kept between calls: computing them takes far less time than trying changes, and a
    search may return to any combination.
    """

    title = "Best-first search"

    def sums(
        self, combination: Combination, features: Sequence[int], deltas: np.ndarray, n_steps: int
    ) -> tuple[float, np.ndarray]:
        """Sums over queries of the measure; larger is better.

        Returns that of the combination, and those (features, ``2 * n_steps``) of the combination
        with one weight changed: ``deltas`` has, for each of the features, ``n_steps`` changes
        upward and as many downward, each run moving away from 0.
        """
        self.scores[:] = 0.0
        for feature, weight in zip(*combination, strict=True):
            self.scores += weight * self.columns[feature]
        value = self._rank()
        trials = np.empty((len(features), 2 * n_steps))
        for position, feature in enumerate(features):
            trials[position] = self.trials(feature, deltas[position], n_steps)
        return value, trials


class WeightChange(NamedTuple):
    """A feature, the best weight that was tried for it, and the measure with that weight."""

    feature: int
    weight: float
    value: float


class Node(NamedTuple):
    """A subset of features with nonzero learned weights.

    ``values`` has the measure of the first feature alone, then with the second, and so on; larger
    is better.
    """

    members: tuple[int, ...]  # in the order in which they were added
    weights: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """Measure of the subset."""
        return self.values[-1]

    @property
    def combination(self) -> Combination:
        """Members, ascending, and their weights."""
        order = sorted(range(len(self.members)), key=self.members.__getitem__)
        return [self.members[at] for at in order], [self.weights[at] for at in order]

    def extended(self, change: WeightChange) -> Node:
        """Subset with one more feature."""
        return Node(
            (*self.members, change.feature),
            (*self.weights, change.weight),
            (*self.values, change.value),
        )


class Ascent:
    """Learns weights of subsets, by passes over the data.

    Weights are powers of two and sums of them, in units of each feature: a power of two near its
    spread. So the steps do not depend on the scale of a feature or on the rounding of a sum.

    Parameters
    ----------
    workers : Workers
        Workers of :class:`CombinationTrials`.
    n_queries : float
        Number of queries, or their total weight.
    units : array of shape (features,)
    n_steps : int
        Number of weights to try in each direction.
    tol : float
        Smallest gain of a change.
    max_changes : int
        Largest number of changes in an ascent.

    Attributes
    ----------
    n_rounds : int
        Number of passes over the data so far.
    """

    def __init__(
        self,
        workers: Workers,
        n_queries: float,
        units: np.ndarray,
        n_steps: int,
        tol: float,
        max_changes: int,
    ) -> None:
        self._workers, self._n_queries, self._units = workers, n_queries, units
        self._n_steps, self._tol, self._max_changes = n_steps, tol, max_changes
        self.n_rounds = 0

    def is_gain(self, value: float, before: float) -> bool:
        """Whether a value is better by at least the tolerance, or at all if that is 0."""
        return value - before > max(ROUNDING, self._tol - ROUNDING)

    def extend(self, node: Node, features: Sequence[int]) -> list[Node | None]:
        """Add each of some features to a subset with its best weight, in one pass.

        None stands for a feature without a gain.
        """
        _, changes = self._search(node, features)
        return [
            node.extended(change) if self.is_gain(change.value, node.value) else None
            for change in changes
        ]

    def join(self, node: Node, feature: int) -> Node:
        """Add a feature to a subset with its best weight, even without a gain."""
        _, [change] = self._search(node, [feature])
        return node.extended(change)

    def train(self, node: Node) -> Node | None:
        """Change the weights of a subset as long as that is a gain, with a pass for each change.

        Each change is the best one of any weight. Weights without a gain are not tried again. The
        result of a line search is accepted only if scores computed from the weights confirm it, so
        that the value can be reproduced from the weights. Returns None if the last feature of the
        subset is not confirmed.
        """
        reached: Node | None = None
        before, hopeful = node.values[-2], list(node.members)
        for changes_left in range(self._max_changes, -1, -1):
            value, changes = self._search(node, hopeful if changes_left else [])
            if not self.is_gain(value, before):
                break
            reached = node._replace(values=(*node.values[:-1], value))
            gains = [change for change in changes if self.is_gain(change.value, value)]
            if not gains:
                break
            best = gains[first_of_best(np.array([change.value for change in gains]))]
            at = node.members.index(best.feature)
            weights = (*node.weights[:at], best.weight, *node.weights[at + 1 :])
            node, before = reached._replace(weights=weights), value
            hopeful = [change.feature for change in gains if change is not best]
        return reached

    def _search(self, node: Node, features: Sequence[int]) -> tuple[float, list[WeightChange]]:
        """Measure a subset, and search for the best weight of each of some further features."""
        present = dict(zip(node.members, node.weights, strict=True))
        steps = self._steps(present)
        deltas = np.array([steps / self._units[feature] for feature in features])
        self.n_rounds += 1
        value, trials = self._workers.sum("sums", node.combination, features, deltas, self._n_steps)
        changes = []
        for feature, of_deltas, values in zip(features, deltas, trials, strict=True):
            weights = present.get(feature, 0.0) + of_deltas
            best = first_of_best(
                np.where(weights == 0, -np.inf, values)
            )  # members have nonzero weights
            found = float(weights[best]), float(values[best]) / self._n_queries
            changes.append(WeightChange(feature, *found))
        return value / self._n_queries, changes

    def _steps(self, weights: dict[int, float]) -> np.ndarray:
        """Changes to try, in units of a feature: up to the sum of all weights, halved each time."""
        total = sum(abs(weight) * self._units[feature] for feature, weight in weights.items())
        largest = math.frexp(total)[1] - 1
        up = 2.0 ** np.arange(largest - self._n_steps + 1, largest + 1)
        return np.concatenate([up, -up])
