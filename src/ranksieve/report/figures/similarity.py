"""Similarity of features, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ranksieve.data import DataError
from ranksieve.report.figures.names import names_of, width_of
from ranksieve.report.figures.style import (
    COLOR_MAP,
    LETTER,
    WIDTH,
    finish,
    finish_color_bar,
    new_axes,
)

_MOST_NAMED = 20
_SAME = 1e-9  # difference up to which a matrix counts as symmetric


def plot_similarity(
    similarity: Any,
    clusters: Any = None,
    names: Sequence[str] | None = None,
    *,
    label: str = "similarity",
    ax: Axes | None = None,
) -> Axes:
    """Draw the similarity of all pairs of features, like ones side by side.

    Parameters
    ----------
    similarity : array of shape (features, features)
        Symmetric, such as ``similarity_`` of a fitted selector.
    clusters : int array of shape (features,), optional
        Cluster of each feature, such as ``clusters_`` of a fitted selector. Clusters are framed,
        the largest first; features of cluster -1 belong to none and come last. Without clusters,
        features are ordered as the leaves of a tree, by average linkage of ``1 - similarity``.
    names : sequence of str, optional
        Of the features, printed if there are no more than 20; by default their numbers, from 1.
    label : str
        What the values are, such as ``"share of concordant pairs"``.
    ax : Axes, optional
        Where to draw; by default on a new figure of one column's width.

    Returns
    -------
    Axes

    Notes
    -----
    Colors are from 0 to 1, or from the tenth below the smallest value if that is negative. O(n^2)
    for n features, as a rule; the order of the leaves, in which neighbors are most alike, may take
    O(n^3).

    References
    ----------
    Figure 7 of X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007.

    Examples
    --------
    >>> from ranksieve.report.figures import plot_similarity
    >>> ax = plot_similarity([[1.0, 0.2, 0.9], [0.2, 1.0, 0.3], [0.9, 0.3, 1.0]], [0, 1, 0])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['1', '3', '2']
    """
    values = _check_similarity(similarity)
    labels = names_of(names, len(values))
    sizes: list[int]
    if clusters is None:
        order, sizes = _by_tree(values), []
    else:
        order, sizes = _by_cluster(values, clusters)
    named = [labels[feature] for feature in order] if len(order) <= _MOST_NAMED else []
    if ax is None:
        ax = new_axes(WIDTH - 0.5 - LETTER * max(map(width_of, named), default=0))
    image = ax.imshow(
        values[np.ix_(order, order)],
        cmap=COLOR_MAP,
        vmin=min(np.floor(10 * values.min()) / 10, 0.0),
        vmax=max(1.0, values.max()),
        interpolation="nearest",
    )
    _frame(ax, sizes)
    finish(ax, "features, by similarity" if clusters is None else "features, by cluster")
    ax.set_xticks([])  # as the rows
    ax.set_yticks(np.arange(len(named)), named)
    ax.tick_params(length=0)
    ax.spines[:].set(visible=True, linewidth=0.5)
    beside = ax.inset_axes((1.03, 0.0, 0.05, 1.0))  # as high as the image
    finish_color_bar(ax.figure.colorbar(image, cax=beside), label)
    return ax


def _check_similarity(similarity: Any) -> np.ndarray:
    values = np.asarray(similarity, dtype=float)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise DataError(f"similarity must have a row and a column per feature, not {values.shape}")
    if not np.isfinite(values).all() or np.abs(values - values.T).max() > _SAME:
        raise DataError("similarity must be finite and symmetric")
    return values


def _by_tree(values: np.ndarray) -> np.ndarray:
    """Features in the order of a tree's leaves, in which neighbors are alike."""
    if len(values) < 2:
        return np.arange(len(values))
    apart = values.max() - (values + values.T) / 2
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), "average", optimal_ordering=True)
    return leaves_list(tree)


def _by_cluster(values: np.ndarray, clusters: Any) -> tuple[np.ndarray, list[int]]:
    """Features by cluster, and how many there are in each; within a cluster like neighbors."""
    clusters = np.asarray(clusters)
    if clusters.shape != (len(values),):
        raise DataError(
            f"clusters has shape {clusters.shape}, but there are {len(values)} features"
        )
    found, counts = np.unique(clusters[clusters >= 0], return_counts=True)
    found, counts = found[np.argsort(-counts, kind="stable")], np.sort(counts)[::-1]
    members = [np.flatnonzero(clusters == cluster) for cluster in found]
    members += [np.flatnonzero(clusters < 0)]
    ordered = [part[_by_tree(values[np.ix_(part, part)])] for part in members]
    return np.concatenate(ordered), counts.tolist()


def _frame(ax: Axes, sizes: list[int]) -> None:
    """Frame clusters of these sizes, from the upper left; black on white shows on all colors."""
    start = -0.5
    for size in sizes:
        for color, width in (("white", 1.6), ("black", 0.7)):
            ax.add_patch(
                Rectangle((start, start), size, size, fill=False, edgecolor=color, linewidth=width)
            )
        start += size
