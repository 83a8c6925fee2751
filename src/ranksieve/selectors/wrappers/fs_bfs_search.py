"""Best-first search for disjoint subsets of features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ranksieve.choosing import ROUNDING, EarlyStopping
from ranksieve.selectors.wrappers.fs_bfs_ascent import Ascent, Node
from ranksieve.sums.gram import GramSums

_SAME = 1e-9  # how near to 1 a correlation is if one feature is a multiple of the other


class Promise:
    """Chooses which features to try first with a subset, by correlations alone.

    The promise of a feature is the absolute partial correlation of feature and label given the
    subset's new feature, all centered within each query: high for features that correlate with the
    label, low for those that add little to the subset.

    Parameters
    ----------
    gram : GramSums
    varies : bool array of shape (features,)
        False for features that are constant within every query.
    alone : array of shape (features,)
        Measure of each feature in its better direction.
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
        promise = self._promise(node)[features].round(9)
        return np.sort(features[np.argsort(-promise, kind="stable")[:most]]).tolist()

    def different(self, features: np.ndarray) -> np.ndarray:
        """Features, ascending, without those that are multiples of an earlier one."""
        same = self._same[np.ix_(features, features)]
        return features[~np.tril(same, -1).any(axis=1)]

    def _promise(self, node: Node) -> np.ndarray:
        members = list(node.members)
        weights = np.array(node.weights) * self._spread[members]
        deviation = np.sqrt(max(weights @ self._alike[np.ix_(members, members)] @ weights, 1e-300))
        with_new = weights @ self._alike[members] / deviation
        label_with_new = weights @ self._label[members] / deviation
        left = np.maximum((1 - with_new**2) * (1 - label_with_new**2), _SAME)
        return np.abs(self._label - with_new * label_with_new) / np.sqrt(left)


class BestFirstSearch:
    """Finds disjoint subsets, one after the other; no subset is measured or trained twice.

    Parameters
    ----------
    ascent : Ascent
    singles : iterable of Node
        The features that vary, alone.
    promise : Promise
    patience : int
        A search ends after this many nodes in a row that are not better than the best.
    max_size : int or None
        Largest number of features in a subset.
    max_candidates : int or None
        Largest number of features to try with a node.

    Attributes
    ----------
    measured : dict of frozenset to Node or None
        Every subset that was measured; None if its last feature is not a gain.
    trained : set of frozenset
        Subsets that were visited and therefore trained.
    """

    def __init__(
        self,
        ascent: Ascent,
        singles: Iterable[Node],
        promise: Promise,
        *,
        patience: int,
        max_size: int | None,
        max_candidates: int | None,
    ) -> None:
        self._ascent, self._promise = ascent, promise
        self._patience, self._max_size = patience, max_size
        self._max_candidates = max_candidates
        self.measured: dict[frozenset[int], Node | None] = {
            frozenset(node.members): node for node in singles
        }
        self.trained = set(self.measured)  # the weight of a single feature is 1 or -1

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
        singles = [frozenset([f]) for f in self._promise.different(remaining).tolist()]
        return {single: node for single in singles if (node := self.measured[single])}

    def _start_node(self, start: Sequence[int]) -> dict[frozenset[int], Node]:
        """The subset of some features, each with its best weight given those before it."""
        node = self.measured[frozenset(start[:1])]
        assert node is not None  # true of all features that vary
        for feature in start[1:]:
            node = self._ascent.join(node, feature)
        members = frozenset(start)
        self.measured[members] = node
        self.trained.add(members)
        return {members: node}

    def _best(self, front: dict[frozenset[int], Node], remaining: np.ndarray) -> Node:
        """The best subset of the remaining features, found from the subsets in ``front``."""
        seen = set(front)
        best: Node | None = None
        stopping, is_over = EarlyStopping(self._patience), False
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
            self.measured[members] = self._ascent.train(node)
        return self.measured[members]

    def _neighbors(
        self, members: frozenset[int], node: Node, remaining: np.ndarray
    ) -> dict[frozenset[int], Node]:
        """Subsets with one more feature that are a gain."""
        if self._max_size is not None and len(members) >= self._max_size:
            return {}
        candidates = self._promise.candidates(node, remaining, self._max_candidates)
        new = [f for f in candidates if members | {f} not in self.measured]
        if new:
            for feature, extended in zip(new, self._ascent.extend(node, new), strict=True):
                self.measured[members | {feature}] = extended
        subsets = [members | {f} for f in candidates]
        return {subset: found for subset in subsets if (found := self.measured[subset])}


def _most_promising(front: dict[frozenset[int], Node]) -> frozenset[int]:
    """The best subset; among equals the smallest, then the one with the first features."""
    most = max(node.value for node in front.values()) - ROUNDING
    equals = (members for members, node in front.items() if node.value >= most)
    return min(equals, key=lambda members: (len(members), sorted(members)))
