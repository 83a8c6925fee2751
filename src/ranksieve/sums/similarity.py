"""Similarity: how similarly two features order the documents, for all pairs of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ranksieve._kernels.similarity import (
    BY_BITS,
    BY_RANKS,
    BY_SORTING,
    CONCORDANCE,
    SPEARMAN,
    TAU_A,
    TAU_B,
    SimilaritySettings,
    add_similarity,
)
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, engine_of
from ranksieve.engine.memo import shared
from ranksieve.parameters import ParameterValue, check_boolean, check_choice
from ranksieve.sums.chunks import CHUNK, chunks, weights_of

SIMILARITIES = {"concordance": CONCORDANCE, "tau_a": TAU_A, "tau_b": TAU_B, "spearman": SPEARMAN}

# Lists of up to this number of documents per feature are counted by bits. Most of that time goes
# into comparing document pairs once per feature, so more features make it pay for longer lists.
# Milliseconds per query on one core, by bits / by sorting:
#
#     features    100 documents       400          1000          2000          5000
#           10      0.09 / 0.27    1.4 / 1.4     9.1 / 3.9      34 / 8.5     171 / 24
#           46      0.35 / 4.9     5.2 / 23       30 / 64      115 / 143     760 / 411
#          136       1.9 / 42       26 / 187     110 / 475     500 / 1098   3217 / 3201
_MOST_BY_BITS = 40


@dataclass(frozen=True, repr=False)
class Similarity(ParameterValue):
    r"""How similarly two features order the documents, as a parameter of selectors.

    .. math:: e_{fg} = \frac{1}{|Q|} \sum_{q \in Q} e_q(d_f x_f, d_g x_g)

    is the mean over queries, weighted if they have weights, of a similarity of the rankings by
    features f and g, reversed if their directions d are -1. A document without a value of a
    feature, if the data keeps missing values, comes last whatever the direction, tied with all
    others without one. :func:`feature_similarity` has the formulas. Called with data, it returns
    the similarity of all pairs. Where a selector takes a similarity, the name of a method stands
    for the selector's default with that method.

    Parameters
    ----------
    method : {"concordance", "tau_a", "tau_b", "spearman"} or callable
        Fraction of document pairs that both features order strictly the same way, Kendall's tau-a
        or tau-b, or Spearman's coefficient; or a function from the data to a matrix, which is used
        unchanged.
    absolute : bool
        Average the absolute values, so that opposite features count as similar. Concordance does
        not change.
    align_directions : bool
        Whether selectors reverse features whose small values are good before comparing them.
    ties : {"tied", "stable"}
        Whether documents with equal values are tied, or ordered as in the data, as if a list had
        been sorted. In sorted lists, features with many equal values look similar.

    Examples
    --------
    >>> from ranksieve import RankingData
    >>> from ranksieve.selectors import Similarity
    >>> data = RankingData([[1.0, 9.0], [2.0, 5.0], [3.0, 7.0]], y=[0, 0, 1], qid=[4, 4, 4])
    >>> Similarity("tau_b", absolute=True)(data).round(3).tolist()
    [[1.0, 0.333], [0.333, 1.0]]
    """

    method: str | Callable[[Any], Any]
    absolute: bool = False
    align_directions: bool = False
    ties: Literal["tied", "stable"] = "tied"

    def __post_init__(self) -> None:
        if not callable(self.method):
            check_choice("similarity: method", self.method, SIMILARITIES)
        check_boolean("similarity: absolute", self.absolute)
        check_boolean("similarity: align_directions", self.align_directions)
        check_choice("similarity: ties", self.ties, ("tied", "stable"))

    def __call__(self, source: Source, directions: np.ndarray | None = None) -> np.ndarray:
        """Similarity of all pairs of features; ``directions`` are used if they are aligned."""
        return feature_similarity(
            source, self, directions=directions if self.align_directions else None
        )


def compare_features(
    block: Block, method: str, directions: np.ndarray, absolute: bool, ties: str
) -> tuple[float, np.ndarray]:
    """Weight of the queries that can be ranked, and the sum of their similarities of all pairs.

    The parameters are those of :class:`Similarity`; ``directions`` (features,) are 1 or -1. The
    sum is (features, features).
    """
    keeps, weights = block.keeps_missing, weights_of(block)
    upper = np.zeros((len(directions), len(directions)))
    for chunk in chunks(block, most=CHUNK if ties == "stable" else None):
        X, signs = chunk.X, directions
        if ties == "stable":
            X = _break_ties(X * directions, chunk.query_ptr, keeps)
            signs = np.ones(len(directions))
        settings = SimilaritySettings(signs, SIMILARITIES[method], absolute, _MOST_BY_BITS, keeps)
        queries = chunk.query_ptr, weights[chunk.queries]
        if not _add_similarities(X, *queries, settings, upper):
            block.check_finite()
    several = np.diff(block.query_ptr) > 1
    return float(weights[several].sum()), upper + np.triu(upper, 1).T


def _add_similarities(
    X: np.ndarray,
    query_ptr: np.ndarray,
    weights: np.ndarray,
    settings: SimilaritySettings,
    upper: np.ndarray,
) -> bool:
    """Add queries in their order, each by the faster way of counting; False if one is not finite.

    A kernel returns the first query that is left to the other one, or a negative number.
    """
    way = BY_RANKS if settings.method == SPEARMAN else BY_BITS
    first = 0
    while 0 <= first < len(query_ptr) - 1:
        first = add_similarity[way](X, query_ptr, weights, first, settings, upper)
        way = BY_SORTING if way == BY_BITS else BY_BITS
    return first >= 0


def _break_ties(X: np.ndarray, query_ptr: np.ndarray, keeps_missing: bool) -> np.ndarray:
    """Numbers that order the documents of each query like a stable sort, missing values last.

    Infinite where a value is infinite, or where a missing value is not kept.
    """
    untied = np.empty(X.shape)
    queries = np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))
    for feature in range(X.shape[1]):
        order = np.lexsort((-X[:, feature], queries))
        untied[order, feature] = -np.arange(len(X), dtype=np.float64)
    untied[np.isinf(X) if keeps_missing else ~np.isfinite(X)] = np.inf
    return untied


def feature_similarity(
    source: Source,
    similarity: str | Callable[[Any], Any] | Similarity = "concordance",
    *,
    directions: Any = None,
) -> np.ndarray:
    r"""Compute how similarly each pair of features orders the documents, averaged over queries.

    In a query of n documents let C be the number of unordered document pairs of which features i
    and j strictly prefer the same document, D the number of those that they order differently,
    and U_i the number of those that are not tied in feature i. Its similarity of i and j is

    .. math::

        \text{concordance} = \frac{C}{n (n - 1) / 2}, \qquad
        \tau_a = \frac{C - D}{n (n - 1) / 2}, \qquad
        \tau_b = \frac{C - D}{\sqrt{U_i U_j}},

    or Spearman's coefficient: Pearson's correlation of ranks, ties having their average rank.
    Tau-b and Spearman's coefficient are 0 if a feature is constant in the query. Queries with
    fewer than two documents are left out of the mean. Missing values that the data keeps are equal
    to each other and less than all others, after features were reversed by ``directions``.

    Concordance is in [0, 1] and about 0.5 for independent features without ties; the others are in
    [-1, 1]. With concordance and tau-a a feature with ties is less than 1 similar to itself, and a
    constant one 0. ``directions`` (features,) are 1, or -1 for a feature whose small values are
    good, which is then ranked by ascending value. The result (features, features) is symmetric.

    Notes
    -----
    A query takes O(f n^2 + f^2 n^2 / 64) time for f features and short lists of n documents: a
    document pair is a bit, and 64 are counted at a time. Long lists take O(f^2 n log n), by
    Knight's algorithm, with one sort per feature. Spearman's coefficient takes O(f n log n + f^2
    n). Each query's counts are whole numbers, so its similarity does not depend on the order of its
    documents.

    References
    ----------
    - M. G. Kendall. A new measure of rank correlation. Biometrika 30, 1938.
    - W. R. Knight. A computer method for calculating Kendall's tau with ungrouped data. Journal
      of the American Statistical Association 61, 1966.
    - X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007. (Concordance.)

    Examples
    --------
    The features disagree on one of three document pairs, and the last one has a tie.

    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.similarity import feature_similarity
    >>> X = [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [3.0, 3.0, 5.0]]
    >>> data = RankingData(X, y=[0, 0, 1], qid=[4, 4, 4])
    >>> feature_similarity(data).round(3).tolist()
    [[1.0, 0.667, 0.667], [0.667, 1.0, 0.667], [0.667, 0.667, 0.667]]
    >>> feature_similarity(data, "tau_b").round(3).tolist()
    [[1.0, 0.333, 0.816], [0.333, 1.0, 0.816], [0.816, 0.816, 1.0]]
    """
    similarity = Similarity.make(similarity)
    method, ties = similarity.method, similarity.ties
    if callable(method):
        return _as_matrix(method(source), source.n_features)
    signs = _as_directions(directions, source.n_features)
    absolute = similarity.absolute and method != "concordance"  # concordance is never negative
    return _mean_similarity(source, method, signs, absolute, ties)


@shared
def _mean_similarity(
    source: Source, method: str, directions: np.ndarray, absolute: bool, ties: str
) -> np.ndarray:
    """Mean over queries; the arguments are plain values, so that the memo recognizes them."""
    parameters = method, directions, absolute, ties
    n_queries, total = engine_of(source).sum(compare_features, *parameters)
    if n_queries == 0:
        raise DataError("the similarity of features needs a query with at least two documents")
    return total / n_queries


def _as_matrix(values: Any, n_features: int) -> np.ndarray:
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("similarity must return a matrix of finite numbers") from None
    if matrix.shape != (n_features, n_features):
        raise DataError(f"similarity has shape {matrix.shape}, but there are {n_features} features")
    if not np.isfinite(matrix).all():
        raise DataError("similarity must return a matrix of finite numbers")
    return matrix


def _as_directions(directions: Any, n_features: int) -> np.ndarray:
    if directions is None:
        return np.ones(n_features)
    signs = np.asarray(directions, dtype=float)
    if signs.shape != (n_features,):
        raise ValueError(
            f"directions has shape {signs.shape}, but the data has {n_features} features"
        )
    wrong = np.flatnonzero(np.abs(signs) != 1.0)
    if len(wrong):
        raise ValueError(
            f"directions must be 1 or -1, but is {signs[wrong[0]]:g} for feature {wrong[0]}"
        )
    return signs
