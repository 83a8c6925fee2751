"""FS-SCPR: spectral clustering of features, and PageRank to choose one feature per cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Real
from typing import Annotated, Literal

import numpy as np
from scipy.linalg import eigh
from sklearn.utils._param_validation import Interval

from ranksieve.base import PerFeature
from ranksieve.data import DataError
from ranksieve.parameters import AtLeastTwo, Count, FeatureCount, NotNegative, Seed, Weight
from ranksieve.registry import Method
from ranksieve.selectors._search.clustering import (
    DECIMALS,
    SAME_ROW,
    ClusterFilter,
    Clustering,
    best_by_silhouette,
    bisecting_kmeans,
    cluster_counts,
    dense_ranks,
)
from ranksieve.selectors._search.filters import ImportanceChoice, SimilarityChoice
from ranksieve.sums.importance import Importance
from ranksieve.sums.similarity import Similarity

_SAME_VALUE = 1e-9  # difference up to which eigenvalues, which are 0 to 2, count as equal
_TOLERANCE, _MOST_ITERATIONS = 1e-10, 1000  # of the PageRank


@dataclass(eq=False, repr=False)
class FSSCPR(ClusterFilter):
    r"""Spectral clustering and biased PageRank (Yeh and Tsai 2022).

    1. Features are vertices of a graph with weights :math:`w_{ij} = e_{ij}`, their similarity, if
       it is above :math:`\sigma`, else 0.
    2. The eigenvectors of the k smallest eigenvalues of :math:`L = I - A^{-1/2} W A^{-1/2}`,
       :math:`A = diag(\sum_j w_{ij})`, are the columns of a matrix whose rows, scaled to unit
       length, are Y. Bisecting k-means makes k clusters of its rows.
    3. Relevance s is a PageRank with preferences p, the importances scaled to sum to 1:

       .. math:: s_i = (1 - \alpha)\, p_i + \alpha \sum_j \frac{w_{ji}}{\sum_l w_{jl}}\, s_j

    4. The representative of a cluster C is

       .. math:: \arg\max_{i \in C}\; \beta\, s_i
                 + (1 - \beta) \frac{1}{|C| - 1} \sum_{j \in C, j \ne i} y_i \cdot y_j

    Parameters
    ----------
    n_features_to_select : int, float, "eigengap" or "silhouette"
        Number of clusters k, or a fraction of the features if below 1, or how to choose it: by the
        largest gap between the eigenvalues k and k + 1, or the largest mean silhouette in Y.
    importance, similarity
        As in :class:`GAS`; importance is the preference for a feature and must not be negative. By
        default large values are good.
    sigma : float
        Features with a similarity of at most sigma are not connected. With concordance, 0.1
        disconnects only features with many ties: others are concordant in half of all pairs.
    alpha : float
        Fraction of relevance that comes from similar features.
    relevance_weight : float
        Weight :math:`\beta` of relevance in the choice of a representative.
    representative : {"relevance_and_similarity", "relevance", "importance"}
        How to choose the representative: by the formula above, the largest s, or the largest p.
    member_similarity : {"cosine", "inverse_distance"}
        Similarity of rows of Y in that formula: their product, or 1 / (1 + distance).
    rescale : {"none", "minmax_in_cluster"}
        Whether to scale both terms of that formula to [0, 1] within each cluster. Unscaled, s is
        about 1 / n and similarity near 1.
    split : {"sse", "size"}
        Which cluster is bisected next: the one with the largest sum of squared distances from its
        mean, or the one with the most members.
    n_init, random_state : int, and int, RandomState or None
        Number of starts of k-means for each bisection, and its random seed. Starts are pairs of
        features; the seed matters only if there are more pairs than starts, which means, at the
        default, more than 64 features.
    max_clusters : int, optional
        Largest number that is chosen automatically, as in :class:`Hierarchical`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features by decreasing relevance s; those constant within every query last. If the number is
        chosen automatically, constant features are left out.
    path_ : list of (feature, score)
        Score by which each representative was chosen; the similarity of a cluster of one is 0 in
        the formula. 0 for constant features.
    relevance_ : array of shape (features,)
        PageRank s, 0 for constant features; the sum is 1.
    graph_ : array of shape (features, features)
        Weights W.
    eigenvalues_ : array of shape (varying features,)
        Eigenvalues of L, the smallest first.
    embedding_ : array of shape (features, n_clusters_)
        Y, with rows of zeros for constant features.
    clusters_, n_clusters_, scores_, importance_, directions_, similarity_
        As in :class:`HCAS`.

    Notes
    -----
    Takes O(n^3) time for n features, and O(n k) for each start and round of k-means, after
    importance and similarity. Scaling features within queries, the first step of the paper, changes
    neither.

    The paper gives the steps above, :math:`\sigma = 0.1, \alpha = 0.85, \beta = 0.5`, concordance
    and MAP, and suggests to choose k. The other defaults are ours, and so are these choices: a
    feature without neighbors is a component of its own (:math:`L_{ii} = 0`) and passes its
    relevance on by preference; of identical rows of Y the most important feature is split off
    first; of components, which have equal eigenvalues, those with more important features come
    first in Y; ties go to the more important feature, then to the one more similar to all others,
    then to the lowest index.

    A bisection in many dimensions has very many local optima, and k-means from ten starts ends in
    another one for nearly every seed. Here all pairs of up to 64 features are starts, and single
    features move where k-means has stopped, so that seeds agree. Among many more features without
    clear clusters they may still differ: compare several before you interpret one selection.

    With concordance nearly all features are connected, and the eigengap does not count isolated
    features; with tau-b it does.

    References
    ----------
    - J.-Y. Yeh, C.-J. Tsai. A graph-based feature selection method for learning to rank using
      spectral clustering for redundancy minimization and biased PageRank for relevance analysis.
      Computer Science and Information Systems 19, 2022.
    - A. Y. Ng, M. I. Jordan, Y. Weiss. On spectral clustering: analysis and an algorithm. NIPS
      2001.

    {example_of_families}
    """

    methods = (Method("fs-scpr", "one feature per spectral cluster, by biased PageRank"),)

    _per_feature = ClusterFilter._per_feature | {
        "relevance_": PerFeature(),
        "graph_": PerFeature((0, 1)),
        "embedding_": PerFeature(),
    }

    n_features_to_select: FeatureCount | Literal["eigengap", "silhouette"] = 10
    _: KW_ONLY
    importance: ImportanceChoice = Importance("map", both_directions=False)
    similarity: SimilarityChoice = Similarity("concordance")
    sigma: NotNegative = 0.1
    alpha: Annotated[float, Interval(Real, 0, 1, closed="left")] = 0.85
    relevance_weight: Weight = 0.5
    representative: Literal["relevance_and_similarity", "relevance", "importance"] = (
        "relevance_and_similarity"
    )
    member_similarity: Literal["cosine", "inverse_distance"] = "cosine"
    rescale: Literal["none", "minmax_in_cluster"] = "none"
    split: Literal["sse", "size"] = "sse"
    n_init: Count = 2016
    max_clusters: AtLeastTwo | None = None
    random_state: Seed = 0

    def _cluster(
        self, features: np.ndarray, importance: np.ndarray, similarity: np.ndarray, k: int | None
    ) -> Clustering:
        graph = similarity_graph(similarity.round(DECIMALS), self.sigma)
        from scipy.sparse import csgraph  # slow to import, and `select` imports this file

        laplacian = csgraph.laplacian(graph, normed=True)
        self.eigenvalues_, vectors = canonical_eigenvectors(laplacian)
        bisect = partial(
            bisecting_kmeans, split=self.split, n_init=self.n_init, random_state=self.random_state
        )
        if k is None:
            k = self._choose_number(vectors, bisect)
        Y = embedding(vectors, k)
        labels = bisect(Y, k)
        s = biased_pagerank(graph, preference(importance), self.alpha)
        n = len(self.similarity_)
        self.graph_ = np.zeros((n, n))
        self.graph_[np.ix_(features, features)] = graph
        self.embedding_, self.relevance_ = np.zeros((n, k)), np.zeros(n)
        self.embedding_[features], self.relevance_[features] = Y, s
        if self.representative == "importance":
            return Clustering(labels, merit=importance, rank=s)
        if self.representative == "relevance":
            return Clustering(labels, merit=s, rank=s)
        return Clustering(labels, merit=self._merit(Y, labels, s), rank=s)

    def _choose_number(
        self, vectors: np.ndarray, bisect: Callable[[np.ndarray, int], np.ndarray]
    ) -> int:
        numbers = cluster_counts(len(vectors), self.max_clusters)
        if self.n_features_to_select == "eigengap":
            return eigengap(self.eigenvalues_, numbers)

        def cluster(k: int) -> tuple[np.ndarray, np.ndarray]:
            Y = embedding(vectors, k)
            return _distances(Y), bisect(Y, k)

        return best_by_silhouette(numbers, cluster)

    def _merit(self, Y: np.ndarray, labels: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Score by which a feature is chosen to represent its cluster."""
        likeness = mean_similarity(Y, labels, self.member_similarity)
        if self.rescale == "minmax_in_cluster":
            s, likeness = minmax_in_cluster(s, labels), minmax_in_cluster(likeness, labels)
        return self.relevance_weight * s + (1 - self.relevance_weight) * likeness


def similarity_graph(similarity: np.ndarray, sigma: float) -> np.ndarray:
    """Weights of edges: similarities above ``sigma``, else 0; no vertex has an edge to itself."""
    graph = np.where(similarity > sigma, similarity, 0.0)
    np.fill_diagonal(graph, 0.0)
    return graph


def canonical_eigenvectors(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix, ascending, and eigenvectors that rounding does not choose.

    Eigenvectors of equal eigenvalues are any basis of their space, and those of one eigenvalue have
    any sign. Here each is the part of a coordinate, the first one possible, that lies in the space
    and is orthogonal to the eigenvectors before it.
    """
    values, vectors = eigh(matrix)
    for same in np.split(np.arange(len(values)), np.flatnonzero(np.diff(values) > _SAME_VALUE) + 1):
        axes = np.empty((0, len(same)))
        for row in vectors[:, same]:
            rest = row - axes.T @ (axes @ row)
            if len(axes) < len(same) and np.linalg.norm(rest) > SAME_ROW:
                axes = np.vstack([axes, rest / np.linalg.norm(rest)])
        vectors[:, same] = vectors[:, same] @ axes.T
    return values, vectors


def embedding(vectors: np.ndarray, k: int) -> np.ndarray:
    """Rows of the first ``k`` eigenvectors, scaled to unit length; rows of zeros stay."""
    rows = vectors[:, :k]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > SAME_ROW, rows / np.maximum(lengths, SAME_ROW), 0.0)


def eigengap(eigenvalues: np.ndarray, numbers: range) -> int:
    """The k of ``numbers`` with the largest gap between eigenvalues k and k + 1, counted from 1."""
    if len(numbers) == 1:
        return numbers[0]
    gaps = [eigenvalues[k] - eigenvalues[k - 1] for k in numbers]
    return numbers[int(np.argmax(dense_ranks(np.array(gaps))))]


def preference(importance: np.ndarray) -> np.ndarray:
    """Importance scaled to sum to 1; equal for all features if it is 0 everywhere."""
    if importance.min() < 0:
        raise DataError(
            "FSSCPR needs a nonnegative importance; for an error, use importance='one_minus_loss'"
        )
    total = importance.sum()
    return importance / total if total > 0 else np.full(len(importance), 1 / len(importance))


def biased_pagerank(graph: np.ndarray, p: np.ndarray, alpha: float) -> np.ndarray:
    """Compute relevance by power iteration from ``p``; it sums to 1.

    Isolated vertices pass their relevance on by ``p``. Without that, all values would be smaller by
    the same factor.
    """
    degree = graph.sum(axis=1)
    connected = degree > 0
    share = graph / np.where(connected, degree, 1.0)[:, None]
    s = p
    for _ in range(_MOST_ITERATIONS):
        before, kept = s, alpha * s[~connected].sum()
        s = (1 - alpha + kept) * p + alpha * (before @ share)
        if np.abs(s - before).sum() < _TOLERANCE:
            break
    return s


def mean_similarity(Y: np.ndarray, labels: np.ndarray, kind: str = "cosine") -> np.ndarray:
    """Mean similarity of each row to the others of its cluster; 0 for a cluster of one."""
    alike = Y @ Y.T if kind == "cosine" else 1 / (1 + _distances(Y))
    together = labels[:, None] == labels
    np.fill_diagonal(together, False)
    return (alike * together).sum(axis=1) / np.maximum(together.sum(axis=1), 1)


def _distances(Y: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist  # slow to import, and `select` imports this file

    return np.asarray(cdist(Y, Y))


def minmax_in_cluster(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Scale values to [0, 1] within each cluster; 0 where they are equal up to rounding."""
    scaled = np.zeros_like(values)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        low, high = values[members].min(), values[members].max()
        if dense_ranks(values[members]).any():
            scaled[members] = (values[members] - low) / (high - low)
    return scaled
