"""How much selections of several runs agree, and how often each feature is selected."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import combinations
from typing import Any

import numpy as np
from scipy import special

from ranksieve.data import DataError
from ranksieve.significance.samples import Interval, check_level

_UNDEFINED = (
    "stability is not defined if all selections are empty or contain all features: leave this "
    "method out"
)


def nogueira(selections: Iterable[Iterable[int]], n_features: int, level: float = 0.95) -> Interval:
    """Stability of selected features across folds, with its confidence interval.

    ``1 - mean over features of s_f^2 / ((k/d) (1 - k/d))``, where ``s_f^2`` is the unbiased
    variance of whether feature f is selected, k the mean number of selected features and d the
    number of all features. It is 1 if all folds select the same features, and 0 on average for
    random choices. Selections may differ in size; if they do not, the value equals that of
    :func:`kuncheva`.

    Parameters
    ----------
    selections : sequences of int
        Selected features of each fold, 0-based, in any order.
    n_features : int
        Number of features to choose from.
    level : float
        Confidence of the interval.

    Notes
    -----
    The interval is asymptotic and assumes independent selections. Folds of one cross-validation are
    few and share most of their training data: for them, it is too narrow and only a rough guide.

    References
    ----------
    - S. Nogueira, K. Sechidis, G. Brown. On the stability of feature selection algorithms.
      Journal of Machine Learning Research 18(174), 2018.

    Examples
    --------
    >>> from ranksieve.significance import nogueira
    >>> stability = nogueira([[0, 1], [1, 0], [0, 2]], n_features=5)
    >>> round(stability.estimate, 4)
    0.4444
    """
    check_level(level)
    chosen = _selection_matrix(selections, n_features)
    frequency = chosen.mean(axis=0)
    share = frequency.mean()
    if share in (0.0, 1.0):
        raise DataError(_UNDEFINED)
    n_sets = len(chosen)
    spread = share * (1 - share)
    stability = 1 - n_sets / (n_sets - 1) * np.mean(frequency * (1 - frequency)) / spread
    shares = chosen.mean(axis=1)
    influence = (
        (chosen * frequency).mean(axis=1)
        - shares * share
        + stability / 2 * (2 * shares * share - shares - share + 1)
    ) / spread
    error = 2 / n_sets * np.sqrt(np.sum((influence - influence.mean()) ** 2))
    reach = special.ndtri((1 + level) / 2) * error
    return Interval(float(stability), float(stability - reach), float(stability + reach))


def jaccard(selections: Iterable[Iterable[Hashable]]) -> float:
    """Mean Jaccard index ``|A & B| / |A | B|`` over all pairs of selections.

    It grows with the number of selected features even if they are chosen at random; see
    :func:`nogueira` for an index that does not. Two empty selections have the index 1. Features may
    be given by index or by name, in any order.

    Examples
    --------
    >>> from ranksieve.significance import jaccard
    >>> jaccard([[0, 1, 2], [2, 1, 3]])
    0.5
    """
    sets = _selection_sets(selections)
    indices = [len(A & B) / len(A | B) if A | B else 1.0 for A, B in combinations(sets, 2)]
    return float(np.mean(indices))


def kuncheva(selections: Iterable[Iterable[int]], n_features: int) -> float:
    """Mean consistency index over all pairs of selections of the same size.

    ``(r d - k^2) / (k (d - k))`` for two selections of k out of d features that have r in common:
    1 if they are the same, and 0 on average for random choices. See :func:`nogueira` for the
    parameters.

    References
    ----------
    - L. Kuncheva. A stability index for feature selection. Artificial Intelligence and
      Applications 2007.

    Examples
    --------
    >>> from ranksieve.significance import kuncheva
    >>> kuncheva([[0, 1], [1, 2]], n_features=4)
    0.0
    """
    chosen = _selection_matrix(selections, n_features)
    sizes = np.unique(chosen.sum(axis=1))
    if len(sizes) > 1:
        raise DataError(
            f"selections have {int(sizes[0])} to {int(sizes[-1])} features: "
            "kuncheva needs selections of one size; use nogueira instead"
        )
    size = sizes[0]
    if size in (0, n_features):
        raise DataError(_UNDEFINED)
    common = (chosen @ chosen.T)[np.triu_indices(len(chosen), 1)]
    return float(np.mean((common * n_features - size**2) / (size * (n_features - size))))


def selection_probabilities(
    selections: Iterable[Iterable[int]], n_features: int, clusters: Any = None
) -> np.ndarray:
    """Share of the runs that select each feature, or any feature of its cluster.

    See :func:`nogueira` for the first parameters. ``clusters`` has the cluster of each feature, as
    :func:`near_copies` returns it: a run that selects any feature of a cluster selects the cluster.

    Examples
    --------
    >>> from ranksieve.significance import selection_probabilities
    >>> runs = [[0, 1], [0, 2], [0, 1], [2, 0]]
    >>> selection_probabilities(runs, n_features=4).tolist()
    [1.0, 0.5, 0.5, 0.0]
    >>> selection_probabilities(runs, n_features=4, clusters=[0, 1, 1, 2]).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    chosen = _selection_matrix(selections, n_features)
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
    """Cluster of each feature: features are together if near-copies connect them.

    Near-copies have a similarity of at least ``least``; ``similarity`` has the shape (features,
    features). Clusters are numbered from 0 in the order of their first features.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import near_copies
    >>> alike = np.array([[1.0, 0.2, 0.97], [0.2, 1.0, 0.3], [0.97, 0.3, 1.0]])
    >>> near_copies(alike, 0.95).tolist()
    [0, 1, 0]
    """
    from scipy.sparse.csgraph import connected_components  # slow to import

    _, labels = connected_components(similarity >= least, directed=False)
    _, first = np.unique(labels, return_index=True)
    return np.argsort(np.argsort(first))[labels]


def false_selections_bound(n_selected: float, n_features: int, threshold: float) -> float:
    r"""Bound on the expected number of features that are kept by chance.

    .. math:: E \le \frac{q^2}{(2 \tau - 1)\, p}

    for p features (``n_features``), of which runs on halves of the queries select q on average
    (``n_selected``). Features are kept if at least a fraction :math:`\tau` of the runs select them
    (``threshold``, above 0.5). The bound counts kept features that a run on a half selects with a
    probability of at most q / p, as if at random. Runs come in pairs, on two halves without a
    common query; nothing else is assumed.

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


def _selection_matrix(selections: Iterable[Iterable[int]], n_features: int) -> np.ndarray:
    """Return 1 for each feature that a run selects, in an array of shape (runs, features)."""
    sets = _selection_sets(selections)
    matrix = np.zeros((len(sets), n_features))
    for row, features in zip(matrix, sets, strict=True):
        if not all(0 <= feature < n_features for feature in features):
            raise DataError(
                f"selections have features {min(features)} to {max(features)}, but n_features "
                f"is {n_features}: indices start at 0"
            )
        row[list(features)] = 1.0
    return matrix


def _selection_sets(selections: Iterable[Iterable[Any]]) -> list[set[Any]]:
    sets = []
    for position, selection in enumerate(map(list, selections)):
        sets.append(set(selection))
        if len(sets[-1]) < len(selection):
            raise DataError(
                f"selection {position} (0-based) lists a feature twice: pass the indices of the "
                "selected features, not a mask"
            )
    if len(sets) < 2:
        raise DataError(f"stability compares selections: pass at least 2, got {len(sets)}")
    return sets
