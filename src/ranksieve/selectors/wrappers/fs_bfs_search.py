"""The search of FS-BFS: coordinate ascent of subsets, and best-first search for disjoint ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING, EarlyStopping, first_of_best
from ranksieve.engine import Workers
from ranksieve.rankers.coordinate_ascent import Trials
from ranksieve.sums.gram import GramSums

_SAME = 1e-9  # how near to 1 a correlation is if one feature is a multiple of the other

Combination = tuple[Sequence[int], Sequence[float]]
"""Features, ascending, and their weights."""


class Node(NamedTuple):
    """A subset of features with nonzero learned weights."""

    members: tuple[int, ...]  # in the order in which they were added
    weights: tuple[float, ...]
    values: tuple[float, ...]  # measure of the first alone, then with the second, and so on

    @property
    def value(self) -> float:
        """Measure of the subset."""
        return self.values[-1]

    @property
    def combination(self) -> Combination:
        """Members, ascending, and their weights."""
        pairs = sorted(zip(self.members, self.weights, strict=True))
        return [member for member, _ in pairs], [weight for _, weight in pairs]


class CombinationTrials(Trials):
    """Statistic: measures combinations of few features, and changes of one weight.

    Scores are not kept between calls: computing them takes far less time than trying changes, and a
    search may return to any combination.
    """

    title = "Best-first search"

    def sums(
        self, combination: Combination, features: Sequence[int], deltas: np.ndarray, n_steps: int
    ) -> tuple[float, np.ndarray]:
        """Sums over queries of the measure, larger is better, of a combination; and if changed.

        The latter (features, ``2 * n_steps``) are those with one weight changed: ``deltas`` has,
        for each feature, ``n_steps`` changes upward and as many downward, moving away from 0.
        """
        self.scores[:] = 0.0
        for feature, weight in zip(*combination, strict=True):
            self.scores += weight * self.columns[feature]
        value = self._rank()
        trials = np.empty((len(features), 2 * n_steps))
        for position, feature in enumerate(features):
            trials[position] = self.trials(feature, deltas[position], n_steps)
        return value, trials


@dataclass
class Ascent:
    """Learns weights of subsets, by passes over the data.

    Weights are powers of two and sums of them, in units of each feature: a power of two near its
    spread. So the steps do not depend on the scale of a feature or on the rounding of a sum.
    """

    workers: Workers[CombinationTrials]
    n_queries: float  # number of queries, or their total weight
    units: np.ndarray  # (features,)
    n_steps: int  # number of weights to try in each direction
    tol: float  # smallest gain of a change
    max_changes: int  # largest number of changes in an ascent
    n_rounds: int = 0  # number of passes over the data so far

    def is_gain(self, value: float, before: float) -> bool:
        """Whether a value is better by at least the tolerance, or at all if that is 0."""
        return value - before > max(ROUNDING, self.tol - ROUNDING)

    def extend(self, node: Node, features: Sequence[int]) -> list[Node]:
        """Add each of some features to a subset with its best weight, in one pass."""
        _, weights, values = self._search(node, features)
        return [
            Node((*node.members, feature), (*node.weights, weight), (*node.values, value))
            for feature, weight, value in zip(features, weights, values, strict=True)
        ]

    def train(self, node: Node) -> Node | None:
        """Change the weights of a subset as long as that is a gain, with a pass for each change.

        Each change is the best one of any weight. Weights without a gain are not tried again. The
        result of a line search is accepted only if scores computed from the weights confirm it, so
        that the value can be reproduced from the weights. Returns None if the last feature of the
        subset is not confirmed.
        """
        reached: Node | None = None
        before, still_gaining = node.values[-2], list(node.members)
        for changes_left in range(self.max_changes, -1, -1):
            tried = still_gaining if changes_left else []
            value, weights, values = self._search(node, tried)
            if not self.is_gain(value, before):
                break
            reached = node._replace(values=(*node.values[:-1], value))
            gains = [n for n, changed in enumerate(values) if self.is_gain(changed, value)]
            if not gains:
                break
            best = gains[first_of_best(np.array([values[n] for n in gains]))]
            at = node.members.index(tried[best])
            changed = (*node.weights[:at], weights[best], *node.weights[at + 1 :])
            node, before = reached._replace(weights=changed), value
            still_gaining = [tried[n] for n in gains if n != best]
        return reached

    def _search(
        self, node: Node, features: Sequence[int]
    ) -> tuple[float, list[float], list[float]]:
        """Value of a subset; the best weight of each of some features, and the value with it."""
        present = dict(zip(node.members, node.weights, strict=True))
        steps = self._steps(present)
        deltas = np.array([steps / self.units[feature] for feature in features])
        self.n_rounds += 1
        value, trials = self.workers.sum(
            CombinationTrials.sums, node.combination, features, deltas, self.n_steps
        )
        weights, values = [], []
        for feature, of_deltas, sums in zip(features, deltas, trials, strict=True):
            tried = present.get(feature, 0.0) + of_deltas
            best = first_of_best(np.where(tried == 0, -np.inf, sums))  # members have weights
            weights.append(float(tried[best]))
            values.append(float(sums[best]) / self.n_queries)
        return value / self.n_queries, weights, values

    def _steps(self, weights: dict[int, float]) -> np.ndarray:
        """Changes to try, in units of a feature: up to the sum of all weights, halved each time."""
        total = sum(abs(weight) * self.units[feature] for feature, weight in weights.items())
        largest = math.frexp(total)[1] - 1
        up = 2.0 ** np.arange(largest - self.n_steps + 1, largest + 1)
        return np.concatenate([up, -up])


class PartialCorrelations:
    """Correlations within queries, which choose the features to try first with a subset.

    Tried first are features with a large absolute partial correlation with the label given the
    subset's new feature, all centered within each query: high for features that correlate with the
    label, low for those that add little to the subset.

    ``varies`` (features,) is False for features that are constant within every query, and ``alone``
    (features,) has the measure of each feature in its better direction.
    """

    def __init__(self, gram: GramSums, varies: np.ndarray, alone: np.ndarray) -> None:
        self._spread = np.sqrt(np.where(varies, np.diag(gram.xx), 1.0))
        self._alike = gram.xx / np.outer(self._spread, self._spread)
        self._label = gram.xy / (self._spread * np.sqrt(gram.yy))
        # A large value that two features share makes them correlate even if all other values
        # differ, but then they rank differently.
        rank_alike = np.abs(alone[:, None] - alone) <= ROUNDING
        self._same = rank_alike & (np.abs(self._alike) > 1 - _SAME)

    def candidates(self, node: Node, remaining: np.ndarray, most: int | None) -> list[int]:
        """At most ``most`` features to try with a subset, ascending.

        Multiples of a member, or of an earlier candidate, are left out.
        """
        features = self.different(remaining[~self._same[remaining][:, node.members].any(axis=1)])
        if most is None or len(features) <= most:
            return features.tolist()
        size = self._with_label(node)[features].round(9)
        return np.sort(features[np.argsort(-size, kind="stable")[:most]]).tolist()

    def different(self, features: np.ndarray) -> np.ndarray:
        """Features, ascending, without those that are multiples of an earlier one."""
        same = self._same[np.ix_(features, features)]
        return features[~np.tril(same, -1).any(axis=1)]

    def _with_label(self, node: Node) -> np.ndarray:
        members = list(node.members)
        weights = np.array(node.weights) * self._spread[members]
        deviation = np.sqrt(max(weights @ self._alike[np.ix_(members, members)] @ weights, 1e-300))
        with_new = weights @ self._alike[members] / deviation
        label_with_new = weights @ self._label[members] / deviation
        left = np.maximum((1 - with_new**2) * (1 - label_with_new**2), _SAME)
        return np.abs(self._label - with_new * label_with_new) / np.sqrt(left)


class BestFirstSearch:
    """Finds disjoint subsets, one after the other; no subset is measured or trained twice.

    ``singles`` are the features that vary, alone. ``limits`` has the parameters ``patience``,
    ``max_size`` and ``max_candidates`` of :class:`FSBFS`.
    """

    def __init__(
        self,
        ascent: Ascent,
        singles: Iterable[Node],
        correlations: PartialCorrelations,
        limits: Any,
    ) -> None:
        self.ascent, self.correlations, self.limits = ascent, correlations, limits
        # Every subset that was measured; None if its last feature is not a gain.
        self.measured: dict[frozenset[int], Node | None]
        self.measured = {frozenset(node.members): node for node in singles}
        self.trained = set(self.measured)  # visited; the weight of a single feature is 1 or -1

    def subsets(self, start: Sequence[int] = ()) -> Iterator[Node]:
        """Yield the best subset, then the best one of the remaining features, and so on.

        The first subset contains the features of ``start``, all of which vary.
        """
        remaining = np.array(sorted(f for single in self.trained for f in single), dtype=int)
        front = self._start_node(start) if start else self._singles(remaining)
        while len(remaining):
            best = self._best(front, remaining)
            yield best
            remaining = np.setdiff1d(remaining, best.members)
            front = self._singles(remaining)

    def _singles(self, remaining: np.ndarray) -> dict[frozenset[int], Node]:
        singles = [frozenset([f]) for f in self.correlations.different(remaining).tolist()]
        return {single: node for single in singles if (node := self.measured[single])}

    def _start_node(self, start: Sequence[int]) -> dict[frozenset[int], Node]:
        """The subset of some features, each with its best weight given those before it."""
        node = self.measured[frozenset(start[:1])]
        assert node is not None  # true of all features that vary
        for feature in start[1:]:
            [node] = self.ascent.extend(node, [feature])
        members = frozenset(start)
        self.measured[members] = node
        self.trained.add(members)
        return {members: node}

    def _best(self, front: dict[frozenset[int], Node], remaining: np.ndarray) -> Node:
        """The best subset of the remaining features, found from the subsets in ``front``."""
        seen = set(front)
        best: Node | None = None
        stopping, is_over = EarlyStopping(self.limits.patience), False
        while front and not is_over:
            members = _most_promising(front)
            node = self._train(members, front.pop(members))
            if node is None:
                continue
            is_over = stopping.add(node.value)
            if stopping.best == len(stopping.values):
                best = node
            if not is_over:  # otherwise its neighbors are not needed
                neighbors = self._neighbors(members, node, remaining)
                front.update((new, neighbors[new]) for new in neighbors.keys() - seen)
                seen |= neighbors.keys()
        assert best is not None  # the front starts with single features
        return best

    def _train(self, members: frozenset[int], node: Node) -> Node | None:
        if members not in self.trained:
            self.trained.add(members)
            self.measured[members] = self.ascent.train(node)
        return self.measured[members]

    def _neighbors(
        self, members: frozenset[int], node: Node, remaining: np.ndarray
    ) -> dict[frozenset[int], Node]:
        """Subsets with one more feature that are a gain."""
        if self.limits.max_size is not None and len(members) >= self.limits.max_size:
            return {}
        candidates = self.correlations.candidates(node, remaining, self.limits.max_candidates)
        new = [f for f in candidates if members | {f} not in self.measured]
        if new:
            for feature, extended in zip(new, self.ascent.extend(node, new), strict=True):
                is_gain = self.ascent.is_gain(extended.value, node.value)
                self.measured[members | {feature}] = extended if is_gain else None
        subsets = [members | {f} for f in candidates]
        return {subset: found for subset in subsets if (found := self.measured[subset])}


def _most_promising(front: dict[frozenset[int], Node]) -> frozenset[int]:
    """The best subset; among equals the smallest, then the one with the first features."""
    most = max(node.value for node in front.values()) - ROUNDING
    equals = (members for members, node in front.items() if node.value >= most)
    return min(equals, key=lambda members: (len(members), sorted(members)))
