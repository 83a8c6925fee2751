"""Clusters of features: the base of selectors that keep one of each, k-means, and silhouettes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, PerFeature, RankSelector
from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError
from ranksieve.selectors._search.filters import GroupStep, SimilarityFilter
from ranksieve.selectors._search.searches import Step
from ranksieve.sums.importance import Quality
from ranksieve.threads import limit_blas_threads

DECIMALS = 10  # kept of similarities; the last bits depend on the order in which queries are added
_MOST_CLUSTERS = 30
_LONGEST_REASON = 40

SAME_ROW = 1e-6  # distance up to which rows of unit length count as identical
_MOST_ROUNDS = 300  # of k-means; rounding might let it go round in circles

Seed = int | np.random.RandomState | None

# Entry that replaces {example_of_families} in docstrings: one feature of each family of copies.
_EXAMPLE = """
    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import {class}
    >>> parameters = dict(n_informative=3, n_redundant=6, n_noise=0, copy_noise=0.1, tied=0)
    >>> data, truth = make_ranking(100, **parameters)
    >>> selector = {class}(n_features_to_select=3).fit(data)
    >>> sorted(truth.families[selector.selected_].tolist())
    [0, 1, 2]
"""


class Clustering(NamedTuple):
    """Clusters of features, and the order of their features; one entry per feature each."""

    labels: np.ndarray  # cluster of each feature
    merit: np.ndarray  # the feature with the largest merit represents its cluster
    rank: np.ndarray  # representatives are listed by rank, the largest first


class ClusterSelector(RankSelector):
    """A selector that clusters similar features and selects one feature per cluster.

    A subclass implements :meth:`_cluster`. Features constant within every query belong to no
    cluster. After ``fit``, ``clusters_`` has the cluster of each feature, which is the index in
    ``selected_`` of the feature that represents it; -1 for constant features.
    """

    with_include = (
        "They represent their clusters. The others represent clusters without an included feature."
    )
    no_groups = "it keeps one feature of each cluster, and a group would add similar ones again."

    _per_feature = RankSelector._per_feature | {"clusters_": PerFeature(fill=-1)}

    def _represent_clusters(
        self, importance: np.ndarray, similarity: np.ndarray, varies: np.ndarray, choices: Choices
    ) -> list[Step]:
        """Cluster the features that vary, and select the representatives of the clusters."""
        automatic = isinstance(self.n_features_to_select, str)
        varying = np.flatnonzero(varies)
        # Clustering depends on the order of the features.
        alike = similarity[np.ix_(varying, varying)]
        order = canonical_order(importance[varying], alike)
        features, alike = varying[order], alike[np.ix_(order, order)]
        listed, merit = list(choices.start), {}
        self.clusters_ = np.full(len(similarity), -1)
        if len(features):
            found, chosen = _cluster_and_represent(
                partial(self._cluster, features, importance[features], alike),
                len(features),
                np.flatnonzero(np.isin(features, listed)),
                None if automatic else choices.k - len(listed),
            )
            listed += features[chosen].tolist()
            merit = dict(zip(features.tolist(), found.merit.tolist(), strict=True))
            self.n_clusters_ = int(found.labels.max()) + 1
            self.clusters_[features] = _number_clusters(found.labels, features, listed)
        if not automatic:
            listed += np.setdiff1d(np.flatnonzero(~varies), listed).tolist()
        return [Step(feature, merit.get(feature, 0.0)) for feature in listed[: choices.k]]

    @abstractmethod
    def _cluster(
        self, features: np.ndarray, importance: np.ndarray, similarity: np.ndarray, k: int | None
    ) -> Clustering:
        """Divide the given features into ``k`` clusters; None chooses the number automatically.

        Features are sorted by decreasing importance. Labels are 0, 1, ..., without gaps.
        """


class ClusterFilter(SimilarityFilter, ClusterSelector):
    """A filter that selects one feature per cluster."""

    with_include, no_groups = ClusterSelector.with_include, ClusterSelector.no_groups

    _shared_docs: ClassVar[dict[str, str]] = {"example_of_families": _EXAMPLE}

    max_clusters: int | None = None

    def _choose_groups(
        self, quality: Quality, similarity: np.ndarray, choices: Choices
    ) -> list[GroupStep]:
        if not quality.varies.any():
            raise DataError("cannot cluster: all features are constant within every query")
        steps = self._represent_clusters(quality.values, similarity, quality.varies, choices)
        return [GroupStep(*step) for step in steps]  # without groups

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


def dense_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks of values without gaps, 0 for the smallest; values equal up to rounding share one.

    Comparing ranks instead of values keeps choices from depending on the last bit.
    """
    order = np.argsort(values, kind="stable")
    same = ROUNDING * np.abs(values).max(initial=0.0)
    result = np.zeros(len(values), dtype=np.intp)
    result[order[1:]] = np.cumsum(np.diff(values[order]) > same)
    return result


def canonical_order(importance: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    """Features by decreasing importance, then by decreasing sum of similarities, then by index."""
    return np.lexsort((-dense_ranks(similarity.sum(axis=1)), -dense_ranks(importance)))


def _representatives(found: Clustering) -> np.ndarray:
    """Feature with the largest merit in each cluster, by decreasing rank; ties go to the first."""
    merit = dense_ranks(found.merit)
    clusters = [np.flatnonzero(found.labels == label) for label in range(found.labels.max() + 1)]
    best = np.sort([members[np.argmax(merit[members])] for members in clusters])
    return best[np.argsort(-dense_ranks(found.rank[best]), kind="stable")]


def _cluster_and_represent(
    cluster: Callable[[Any], Clustering], n: int, start: np.ndarray, k: int | None
) -> tuple[Clustering, np.ndarray]:
    """Cluster ``n`` features so that ``k`` clusters have none of ``start``, and represent those.

    ``cluster`` gets the number of clusters, or None to choose it. The features at the positions
    ``start`` represent their clusters. If ``k`` is None, all other clusters are represented.
    """
    number = None if k is None else min(max(1, k + min(1, len(start))), n)
    while True:
        found = cluster(number)
        chosen = _representatives(found)
        others = chosen[~np.isin(found.labels[chosen], found.labels[start])]
        if k is None or number is None or len(others) >= k or number == n:
            return found, others[:k]
        number += 1


def _number_clusters(labels: np.ndarray, features: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """Number clusters by the position of their first feature in ``order``.

    Clusters without a feature in ``order`` follow.
    """
    position_of = {feature: position for position, feature in enumerate(order)}
    positions = [position_of.get(feature, len(order)) for feature in features.tolist()]
    first = np.full(labels.max() + 1, len(order))
    np.minimum.at(first, labels, positions)
    without = np.flatnonzero(first == len(order))
    first[without] += np.arange(len(without))
    return first[labels]


def cluster_counts(n: int, most: int | None = None) -> range:
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
    from sklearn.metrics import silhouette_score  # slow to import

    tried = list(numbers)
    if len(tried) == 1:
        return tried[0]
    values = np.array([silhouette_score(*cluster(k), metric="precomputed") for k in tried])
    return tried[int(np.argmax(dense_ranks(values)))]


def bisecting_kmeans(
    Y: np.ndarray,
    k: int,
    *,
    split: Literal["sse", "size"] = "sse",
    n_init: int = 2016,
    random_state: Seed = 0,
) -> np.ndarray:
    """Split clusters of rows in two until there are ``k``; return labels 0 .. k - 1.

    There are always ``k`` clusters: among identical rows, the first is split off from the others.

    Each bisection is the best of ``n_init`` starts: a start is a pair of rows, to the nearer of
    which the others go. If there are no more pairs than that, each is a start, so that k-means++,
    which starts from pairs of rows, too, cannot find anything better, and the seed does not
    matter; otherwise pairs are drawn as in k-means++. k-means proceeds from there, and then single
    rows move as long as that makes the halves tighter [1]_: in many dimensions k-means alone gets
    stuck nearly everywhere. Of equally good bisections the same one is taken whatever the starts.

    Takes O(n d) time for each start and round, for n rows of d columns, and O(n) for each move.

    References
    ----------
    .. [1] M. Telgarsky, A. Vattani. Hartigan's method: k-means clustering without Voronoi.
       AISTATS 2010.
    """
    clusters = [np.arange(len(Y))]
    with limit_blas_threads(1):  # there are few rows, one per feature
        while len(clusters) < k:
            members = clusters.pop(_to_split(Y, clusters, split))
            first = _first_half(Y[members], n_init, random_state)
            clusters += [members[first], members[~first]]
    labels = np.empty(len(Y), dtype=np.intp)
    for label, members in enumerate(clusters):
        labels[members] = label
    return labels


def _to_split(Y: np.ndarray, clusters: list[np.ndarray], split: str) -> int:
    """The cluster with the largest scatter, or size; ties by the other, then by first member."""
    scatter = dense_ranks(np.array([_sum_of_squares(Y[members]) for members in clusters]))

    def priority(position: int) -> tuple[int, int, int, int]:
        size = len(clusters[position])
        spread = int(scatter[position])
        keys = (size, spread) if split == "size" else (spread, size)
        return (min(size, 2), *keys, -int(clusters[position][0]))  # one member cannot be split

    return max(range(len(clusters)), key=priority)


def _sum_of_squares(rows: np.ndarray) -> float:
    """Squared distances from the mean; 0 if the rows are identical up to rounding."""
    total = float(((rows - rows.mean(axis=0)) ** 2).sum())
    return total if total > SAME_ROW**2 else 0.0


def _first_half(rows: np.ndarray, n_init: int, random_state: Seed) -> np.ndarray:
    """Mask of the rows that the best bisection puts into the same half as the first row."""
    if len(rows) == 2 or _sum_of_squares(rows) == 0.0:
        return np.arange(len(rows)) == 0
    rows = rows - rows.mean(axis=0)
    products = rows @ rows.T
    halves = _start(products, n_init, random_state)
    halves = _distinct(_exchange(products, _kmeans(rows, halves)))
    return halves[np.argmax(dense_ranks(_tightness(products, halves)))]


# Below, ``halves`` (starts, rows) are masks of the first half of each bisection. Rows have mean 0,
# so that both halves follow from the sum of the first one.


def _start(products: np.ndarray, n_init: int, random_state: Seed) -> np.ndarray:
    """Halves of the rows that are nearer to one of two rows, for all pairs or some of them."""
    n, squares = len(products), products.diagonal()
    one, other = np.triu_indices(n, 1)
    if len(one) > n_init:
        distances = np.maximum(0.0, squares[:, None] + squares - 2 * products)
        chances = distances / distances.sum(axis=1, keepdims=True) / n
        drawn = check_random_state(random_state).choice(n * n, n_init, p=chances.ravel())
        one, other = np.divmod(drawn, n)
    halves = products[one] - products[other] > (squares[one] - squares[other])[:, None] / 2
    starts = np.arange(len(one))
    halves[starts, one], halves[starts, other] = True, False
    return halves


def _distinct(halves: np.ndarray) -> np.ndarray:
    """Different bisections in a fixed order, each with the first row in its first half."""
    packed = np.packbits(np.where(halves[:, :1], halves, ~halves), axis=1)
    found = np.unpackbits(np.unique(packed, axis=0), axis=1, count=halves.shape[1])
    return found[found.min(axis=1) == 0].astype(bool)  # not those without a second half


def _kmeans(rows: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Assign rows to the nearer mean until nothing changes."""
    for _ in range(_MOST_ROUNDS):
        halves = _distinct(halves)
        n_first = halves.sum(axis=1)
        n_second = len(rows) - n_first
        sums = halves @ rows
        middle = (sums**2).sum(axis=1) * (n_second - n_first) / (2 * n_first * n_second)
        moved = sums @ rows.T > middle[:, None]
        if (moved == halves).all():
            break
        halves = moved
    return _distinct(halves)


def _tightness(products: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Sum of squared distances from the mean of all rows, minus that from the means of halves."""
    size = halves.sum(axis=1)
    return (halves @ products * halves).sum(axis=1) * _scale(len(products), size)


def _scale(n: int, size: np.ndarray) -> np.ndarray:
    """Factor from the squared sum of ``size`` of ``n`` rows to tightness; 0 for an empty half."""
    return np.where((size > 0) & (size < n), n / np.maximum(1, size * (n - size)), 0.0)


def _exchange(products: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Move single rows to the other half, the best one first, until no move pays; in place."""
    n, squares = len(products), products.diagonal()
    least = ROUNDING * squares.sum()
    size = halves.sum(axis=1)
    inner = halves @ products  # of the sum of the first half with each row
    total = (inner * halves).sum(axis=1)  # its squared norm
    active = np.arange(len(halves))
    while len(active):
        sign = np.where(halves[active], -1, 1)
        totals = total[active, None] + 2 * sign * inner[active] + squares
        gains = totals * _scale(n, size[active, None] + sign)
        best = gains.argmax(axis=1)
        before = total[active] * _scale(n, size[active])
        pays = np.flatnonzero(gains[np.arange(len(active)), best] > before + least)
        active, best = active[pays], best[pays]
        total[active] = totals[pays, best]
        size[active] += sign[pays, best]
        inner[active] += sign[pays, best, None] * products[best]
        halves[active, best] = ~halves[active, best]
    return halves
