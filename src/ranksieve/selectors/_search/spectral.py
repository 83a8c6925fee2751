"""Spectral clusters of features: graph, embedding, bisecting k-means."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ranksieve.selectors._search.clustering import dense_ranks
from ranksieve.threads import limit_openmp_threads

_SAME_ROW = 1e-6  # distance up to which rows of unit length count as identical


def similarity_graph(similarity: np.ndarray, sigma: float) -> np.ndarray:
    """Weights of edges: similarities above ``sigma``, else 0; no vertex has an edge to itself."""
    graph = np.where(similarity > sigma, similarity, 0.0)
    np.fill_diagonal(graph, 0.0)
    return graph


def normalized_laplacian(graph: np.ndarray) -> np.ndarray:
    r"""Compute :math:`I - A^{-1/2} W A^{-1/2}`; rows and columns of isolated vertices are 0."""
    degree = graph.sum(axis=1)
    connected = degree > 0
    scale = np.zeros_like(degree)
    scale[connected] = 1 / np.sqrt(degree[connected])
    return np.diag(connected.astype(float)) - scale[:, None] * graph * scale


def embedding(vectors: np.ndarray, k: int) -> np.ndarray:
    """Rows of the first ``k`` eigenvectors, scaled to unit length; rows of zeros stay."""
    rows = vectors[:, :k]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > _SAME_ROW, rows / np.maximum(lengths, _SAME_ROW), 0.0)


def eigengap(eigenvalues: np.ndarray, numbers: range) -> int:
    """The k of ``numbers`` with the largest gap between eigenvalues k and k + 1, counted from 1."""
    if len(numbers) == 1:
        return numbers[0]
    gaps = [eigenvalues[k] - eigenvalues[k - 1] for k in numbers]
    return numbers[int(np.argmax(dense_ranks(np.array(gaps))))]


def bisecting_kmeans(
    Y: np.ndarray,
    k: int,
    *,
    split: Literal["sse", "size"] = "sse",
    n_init: int = 10,
    random_state: int | np.random.RandomState | None = 0,
) -> np.ndarray:
    """Split clusters of rows in two until there are ``k``; return labels 0 .. k - 1.

    There are always ``k`` clusters: among identical rows, the first is split off from the others.
    """
    clusters = [np.arange(len(Y))]
    with limit_openmp_threads(1):  # there are few rows, one per feature
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
    return total if total > _SAME_ROW**2 else 0.0


def _first_half(
    rows: np.ndarray, n_init: int, random_state: int | np.random.RandomState | None
) -> np.ndarray:
    """Mask of the rows that k-means puts into the same half as the first row."""
    from sklearn.cluster import KMeans  # slow to import

    alone = np.arange(len(rows)) == 0
    if len(rows) == 2 or _sum_of_squares(rows) == 0.0:
        return alone
    labels = KMeans(2, n_init=n_init, random_state=random_state).fit_predict(rows)
    return labels == labels[0]
