"""Base of the filters that cluster features and keep one of each cluster."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError
from ranksieve.selectors._search.filter import SimilarityFilter
from ranksieve.selectors._search.greedy import Step
from ranksieve.sums.importance import Quality

_DECIMALS = 10  # of similarities; their last bits depend on the order in which queries are added
_MOST_CLUSTERS = 30
_LONGEST_REASON = 40


class Clustering(NamedTuple):
    """Clusters of features, and the order of their features; one entry per feature each."""

    labels: np.ndarray  # cluster of each feature
    merit: np.ndarray  # the feature with the largest merit represents its cluster
    rank: np.ndarray  # representatives are listed by rank, the largest first


class ClusterFilter(SimilarityFilter):
    """A filter that clusters features by similarity and selects one of each cluster.

    A subclass implements :meth:`_cluster`. Features constant within every query belong to no
    cluster. After ``fit``, ``clusters_`` has the cluster of each feature, -1 for constant ones;
    clusters are numbered as their representatives are listed in ``selected_``.
    """

    max_clusters: int | None = None

    def _weigh(self, quality: Quality, similarity: np.ndarray, k: int) -> list[Step]:
        varying = np.flatnonzero(quality.varies)
        if len(varying) == 0:
            raise DataError("there is nothing to cluster: all features are constant within queries")
        automatic = isinstance(self.n_features_to_select, str)
        # The steps of a clustering depend on the order of what is clustered.
        alike = similarity[np.ix_(varying, varying)]
        order = canonical_order(quality.values[varying], alike)
        features, alike = varying[order], alike[np.ix_(order, order)].round(_DECIMALS)
        number = None if automatic else min(k, len(features))
        found = self._cluster(features, quality.values[features], alike, number)
        chosen = representatives(found)
        self.n_clusters_ = len(chosen)
        self.clusters_ = np.full(len(similarity), -1)
        self.clusters_[features] = np.argsort(found.labels[chosen])[found.labels]
        steps = [Step(int(features[i]), float(found.merit[i])) for i in chosen]
        n_constant = 0 if automatic else k - len(steps)
        constant = np.flatnonzero(~quality.varies)[:n_constant]
        return steps + [Step(int(feature), 0.0) for feature in constant]

    @abstractmethod
    def _cluster(
        self, features: np.ndarray, importance: np.ndarray, similarity: np.ndarray, k: int | None
    ) -> Clustering:
        """Make ``k`` clusters of the given features, or as many as the clusters suggest.

        Features come by decreasing importance. Labels are 0, 1, ..., none of them left out.
        """

    def _numbers(self, n: int) -> range:
        """Numbers of clusters to choose from, for ``n`` features."""
        return numbers_of_clusters(n, self.max_clusters)

    def _in_place(self, features: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Rows of ``values`` in the places of their features, with zeros for all others."""
        placed = np.zeros((self.n_features_in_, *values.shape[1:]), dtype=values.dtype)
        placed[features] = values
        return placed

    def reasons(self) -> list[str]:
        """For each selected feature, which others are in its cluster."""
        check_is_fitted(self)
        return [self._reason(int(feature)) for feature in self.selected_]

    def _reason(self, feature: int) -> str:
        if self.clusters_[feature] < 0:
            return "constant in every query"
        members = np.flatnonzero(self.clusters_ == self.clusters_[feature])
        others = [self._name_of(int(member)) for member in members if member != feature]
        if not others:
            return "alone in its cluster"
        start = f"cluster of {len(members)}"
        for shown in range(len(others), 0, -1):
            dots = [] if shown == len(others) else ["..."]
            text = f"{start}, with {', '.join(others[:shown] + dots)}"
            if len(text) <= _LONGEST_REASON:
                return text
        return start


def levels(values: np.ndarray) -> np.ndarray:
    """Order numbers of values, smallest 0; values that are equal up to rounding share one.

    Comparing these instead of the values keeps choices from depending on the last bit.
    """
    order = np.argsort(values, kind="stable")
    same = ROUNDING * np.abs(values).max(initial=0.0)
    result = np.zeros(len(values), dtype=np.intp)
    result[order[1:]] = np.cumsum(np.diff(values[order]) > same)
    return result


def canonical_order(importance: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    """Features by decreasing importance, then by decreasing sum of similarities, then by index."""
    return np.lexsort((-levels(similarity.sum(axis=1)), -levels(importance)))


def representatives(found: Clustering) -> np.ndarray:
    """The feature with the largest merit of each cluster, by decreasing rank; ties to the first."""
    merit = levels(found.merit)
    clusters = [np.flatnonzero(found.labels == label) for label in range(found.labels.max() + 1)]
    best = np.sort([members[np.argmax(merit[members])] for members in clusters])
    return best[np.argsort(-levels(found.rank[best]), kind="stable")]


def numbers_of_clusters(n: int, most: int | None = None) -> range:
    """Numbers of clusters to try, for ``n`` features.

    From 2 to at most n - 1, because one cluster or n clusters show no structure. By default up to
    half the features, so that clusters have two members on average (the silhouette of a cluster of
    one is 0), and at most 30, because time grows with the square. Two features are two clusters.
    """
    if n <= 2:
        return range(n, n + 1)
    cap = min(n // 2, _MOST_CLUSTERS) if most is None else most
    return range(2, max(2, min(cap, n - 1)) + 1)


def best_by_silhouette(
    numbers: Iterable[int], cluster: Callable[[int], tuple[np.ndarray, np.ndarray]]
) -> int:
    """The number of clusters with the largest mean silhouette; ties go to the fewest.

    ``cluster(k)`` returns the distances between points and their labels.
    """
    from sklearn.metrics import silhouette_score  # takes longer to import than all else here

    tried = list(numbers)
    if len(tried) == 1:
        return tried[0]
    values = np.array([silhouette_score(*cluster(k), metric="precomputed") for k in tried])
    return tried[int(np.argmax(levels(values)))]
