"""HCAS and Hierarchical: cluster similar features and keep the best of each cluster."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ranksieve.parameters import AtLeastTwo, FeatureCount
from ranksieve.registry import Method
from ranksieve.selectors._search.clustering import (
    DECIMALS,
    ClusterFilter,
    Clustering,
    best_by_silhouette,
    cluster_counts,
)
from ranksieve.selectors._search.filters import ImportanceChoice, SimilarityChoice
from ranksieve.sums.importance import Importance
from ranksieve.sums.similarity import Similarity


class _Agglomerative(ClusterFilter):
    """Clusters bottom-up by 1 - similarity and keeps the most important feature of each cluster."""

    def _cluster(
        self, features: np.ndarray, importance: np.ndarray, similarity: np.ndarray, k: int | None
    ) -> Clustering:
        apart = dissimilarity(similarity.round(DECIMALS))
        merges = self._merge(apart)
        if k is None:
            numbers = cluster_counts(len(features), self.max_clusters)
            k = best_by_silhouette(numbers, lambda number: (apart, cut(merges, number)))
        self.linkage_ = _with_leaves(merges, np.argsort(np.argsort(features)))
        return Clustering(cut(merges, k), merit=importance, rank=importance)

    @abstractmethod
    def _merge(self, apart: np.ndarray) -> np.ndarray:
        """The tree, as :func:`scipy.cluster.hierarchy.linkage` returns it."""


@dataclass(eq=False, repr=False)
class HCAS(_Agglomerative):
    r"""Hierarchical clustering by Ward's criterion: the most important feature of each cluster.

    Clusters start as single features with distances :math:`d_{ij} = 1 - e_{ij}` for the similarity
    e. The two nearest clusters u and v merge, n - k times. The distance of the merged cluster from
    another cluster w is

    .. math:: d_{uv,w} = \frac{(|u| + |w|)\, d_{uw} + (|v| + |w|)\, d_{vw} - |w|\, d_{uv}}
                              {|u| + |v| + |w|}

    Parameters
    ----------
    n_features_to_select : int or float
        Number of clusters k, or a fraction of the features if below 1.
    importance, similarity
        As in :class:`GAS`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features by decreasing importance; those constant within every query last.
    clusters_ : int array of shape (features,)
        Cluster of each feature, -1 for constant ones; the features of cluster 0 are represented by
        ``selected_[0]``, and so on.
    n_clusters_ : int
    linkage_ : array of shape (varying features - 1, 4)
        The tree, for :func:`scipy.cluster.hierarchy.dendrogram`. Leaf i is the i-th feature that
        varies, ``np.flatnonzero(clusters_ >= 0)[i]``.
    path_, scores_, importance_, directions_, similarity_
        As in :class:`GAS`; the scores of the path are importances.

    Notes
    -----
    Takes O(n^2) time for n features, after importance and similarity. The authors' program clusters
    in the same way (``ward.D`` of R: the update above on d, not on its square), but differs in
    importance and similarity as described in :class:`NGAS`. Ties go to the feature that is more
    similar to all others, then to the lowest index, which is our choice. Sets for smaller k are
    contained in those for larger k.

    References
    ----------
    - A. Gigli, C. Lucchese, F. M. Nardini, R. Perego. Fast feature selection for learning to rank.
      ICTIR 2016.
    - F. Murtagh, P. Legendre. Ward's hierarchical agglomerative clustering method: which algorithms
      implement Ward's criterion? Journal of Classification 31, 2014. (On ``ward.D``.)

    {example_of_families}
    """

    methods = (Method("hcas", "the most important feature of each of Ward's clusters"),)

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    importance: ImportanceChoice = Importance("ndcg@10")
    similarity: SimilarityChoice = Similarity("spearman", absolute=True)

    def _merge(self, apart: np.ndarray) -> np.ndarray:
        return ward_d(apart)


@dataclass(eq=False, repr=False)
class Hierarchical(_Agglomerative):
    r"""Hierarchical clustering: the best single feature represents its cluster.

    Clusters start as single features with distances :math:`1 - \tau_{ij}` for Kendall's tau. The
    two nearest clusters merge until k are left, or the number with the largest mean silhouette.

    Parameters
    ----------
    n_features_to_select : int, float or "silhouette"
        Number of clusters k, or a fraction of the features if below 1, or how to choose it.
    linkage : {"average", "complete", "single"}
        Whether the distance of clusters is the mean, largest or smallest distance of their members.
    max_clusters : int, optional
        Largest number of clusters that ``"silhouette"`` may choose; by default half the number of
        features that vary, but at most 30.
    importance, similarity
        As in :class:`GAS`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, clusters_, n_clusters_, linkage_, path_, scores_, importance_, similarity_
        As in :class:`HCAS`. If the silhouette chooses the number, constant features are left out.

    Notes
    -----
    Takes O(n^2) time for n features after importance and similarity, and as much for each number of
    clusters that ``"silhouette"`` tries. The paper uses Kendall's tau, one representative per
    cluster, chosen by MAP or NDCG, and chooses the number of clusters by their quality; we know
    only a summary of it. Tau-b, average linkage and the silhouette are our choices. Its alternative
    representative, the feature with the largest weight in a linear ranker, is not implemented.

    References
    ----------
    G. Hua, M. Zhang, Y. Liu, S. Ma, L. Ru. Hierarchical feature selection for ranking. WWW 2010.

    {example_of_families}
    """

    methods = (Method("hierarchical", "the most important feature of each tau cluster"),)

    n_features_to_select: FeatureCount | Literal["silhouette"] = 10
    _: KW_ONLY
    linkage: Literal["average", "complete", "single"] = "average"
    importance: ImportanceChoice = Importance("map")
    similarity: SimilarityChoice = Similarity("tau_b")
    max_clusters: AtLeastTwo | None = None

    def _merge(self, apart: np.ndarray) -> np.ndarray:
        return link(apart, self.linkage)


def dissimilarity(similarity: np.ndarray) -> np.ndarray:
    """1 - similarity, at least 0; 0 on the diagonal, where ties make similarity less than 1."""
    apart = np.maximum(1.0 - similarity, 0.0)
    np.fill_diagonal(apart, 0.0)
    return apart


def ward_d(apart: np.ndarray) -> np.ndarray:
    """The tree of R's ``hclust(d, "ward.D")``, in the format of SciPy's ``linkage``.

    SciPy updates squares, as in ``ward.D2``; given square roots, it updates the distances.
    """
    merges = link(np.sqrt(apart), "ward")
    merges[:, 2] **= 2
    return merges


def cut(merges: np.ndarray, k: int) -> np.ndarray:
    """Labels 0 .. k - 1 after all but the last k - 1 merges."""
    from scipy.cluster.hierarchy import fcluster  # slow to import, and `select` imports this file

    if len(merges) == 0:  # SciPy has no tree of one leaf
        return np.zeros(1, dtype=np.intp)
    # fcluster makes fewer clusters where heights are equal; the numbers of the merges never are.
    steps = merges.copy()
    steps[:, 2] = np.arange(len(merges))
    return fcluster(steps, k, "maxclust") - 1


def link(apart: np.ndarray, method: str) -> np.ndarray:
    """The tree of merges of :func:`scipy.cluster.hierarchy.linkage`, from a matrix of distances."""
    from scipy.cluster.hierarchy import linkage  # slow to import, and `select` imports this file
    from scipy.spatial.distance import squareform

    if len(apart) == 1:
        return np.empty((0, 4))
    return linkage(squareform(apart, checks=False), method)


def _with_leaves(merges: np.ndarray, names: np.ndarray) -> np.ndarray:
    """The same tree with leaf i renamed to ``names[i]``."""
    renamed = merges.copy()
    nodes = np.concatenate([names, np.arange(len(names), len(names) + len(merges))])
    renamed[:, :2] = np.sort(nodes[merges[:, :2].astype(int)], axis=1)
    return renamed
