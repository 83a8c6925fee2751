"""Probabilities of selection, over runs on parts of the queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from ranksieve.data import DataError
from ranksieve.significance.stability import selection_matrix


def selection_probabilities(
    selections: Iterable[Iterable[int]], n_features: int, clusters: Any = None
) -> np.ndarray:
    """Share of the runs that select each feature, or any feature of its cluster.

    Parameters
    ----------
    selections : sequences of int
        Selected features of each run, 0-based, in any order; two runs or more.
    n_features : int
        Number of features to choose from.
    clusters : int array of shape (features,), optional
        Cluster of each feature, such as :func:`near_copies` returns. A run that selects any feature
        of a cluster selects the cluster.

    Returns
    -------
    array of shape (features,)

    Examples
    --------
    >>> from ranksieve.significance import selection_probabilities
    >>> runs = [[0, 1], [0, 2], [0, 1], [2, 0]]
    >>> selection_probabilities(runs, n_features=4).tolist()
    [1.0, 0.5, 0.5, 0.0]
    >>> selection_probabilities(runs, n_features=4, clusters=[0, 1, 1, 2]).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    chosen = selection_matrix(selections, n_features)
    if clusters is None:
        return chosen.mean(axis=0)
    labels = np.asarray(clusters)
    if labels.shape != (n_features,):
        raise DataError(f"clusters should have a label for each of {n_features} features")
    _, clusters = np.unique(labels, return_inverse=True)
    any_of = np.zeros((len(chosen), n_features))
    for run, feature in zip(*np.nonzero(chosen), strict=True):
        any_of[run, clusters[feature]] = 1.0
    return any_of.mean(axis=0)[clusters]


def near_copies(similarity: np.ndarray, least: float) -> np.ndarray:
    """Clusters of features that are near-copies, or connected by near-copies.

    Parameters
    ----------
    similarity : array of shape (features, features)
    least : float
        Smallest similarity of near-copies.

    Returns
    -------
    int array of shape (features,)
        Cluster of each feature, numbered from 0 in the order of their first features.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import near_copies
    >>> alike = np.array([[1.0, 0.2, 0.97], [0.2, 1.0, 0.3], [0.97, 0.3, 1.0]])
    >>> near_copies(alike, 0.95).tolist()
    [0, 1, 0]
    """
    _, labels = connected_components(similarity >= least, directed=False)
    _, first = np.unique(labels, return_index=True)
    return np.argsort(np.argsort(first))[labels]


def false_selections_bound(n_selected: float, n_features: int, threshold: float) -> float:
    r"""Bound on the expected number of features that are kept by chance.

    .. math:: E \le \frac{q^2}{(2 \tau - 1)\, p}

    for p features, of which runs on halves of the queries select q on average. Features are kept if
    at least a fraction :math:`\tau` of the runs select them. The bound counts kept features that a
    run on a half selects with a probability of at most q / p, as if at random. Runs come in pairs,
    on two halves without a common query; nothing else is assumed.

    Parameters
    ----------
    n_selected : float
        Mean number of features that a run selects.
    n_features : int
        Number of features to choose from.
    threshold : float
        Smallest fraction of runs; above 0.5.

    References
    ----------
    - R. D. Shah, R. J. Samworth. Variable selection with error control: another look at stability
      selection. Journal of the Royal Statistical Society B 75(1), 2013. Theorem 1.

    Examples
    --------
    >>> from ranksieve.significance import false_selections_bound
    >>> round(false_selections_bound(5, 100, 0.75), 10)
    0.5
    """
    if not 0.5 < threshold <= 1:
        raise DataError(f"the threshold must be above 0.5 and at most 1, got {threshold}")
    return n_selected**2 / ((2 * threshold - 1) * n_features)
