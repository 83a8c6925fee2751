"""Importance: how well each feature ranks alone, as a sum over queries.

The statistic is a small class for :mod:`ranksieve.engine`, with functions that run it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.engine.memo import shared
from ranksieve.metrics import Convention, Measure, PairwiseError, get_convention, parse_measure
from ranksieve.metrics.ranking import ColumnSums
from ranksieve.parameters import ParameterValue, check_boolean, check_choice
from ranksieve.sums.chunks import chunks, weights_of

_LOSSES = {"loss": "inverse loss", "one_minus_loss": "1 - loss"}  # besides measures
_SMALLEST_LOSS = 1e-12


@dataclass(frozen=True, repr=False)
class Importance(ParameterValue):
    r"""How well a feature ranks alone, as a parameter of selectors.

    .. math:: w_f = \frac{1}{|Q|} \sum_{q \in Q} M_q(x_f)

    is the mean over queries, weighted if they have weights, of a measure M of the ranking by
    feature f; that of the pairwise error is over the queries with different labels. A document
    without a value of the feature, if the data keeps missing values, ranks last in both directions,
    tied with all others without one. Called with data, it returns the :class:`Quality` of all
    features. Where a selector takes an importance, the name of a measure stands for the selector's
    default with that measure.

    Parameters
    ----------
    measure : str or Measure
        A measure such as ``"map"`` or ``"ndcg@10"``, negated if smaller values are better, since a
        larger importance is better; or ``"loss"``, the inverse of the mean pairwise error,
        :math:`1 / \max(loss, 10^{-12})`; or ``"one_minus_loss"``, which is bounded and therefore
        easier to balance with similarity.
    convention : str or Convention
        Convention of the measure; see :mod:`ranksieve.metrics`.
    ties : {"average", "stable"}
        Average over all orders of documents with equal values, or keep their order in the data,
        which reveals the labels in some collections.
    both_directions : bool
        Whether to rank by descending and by ascending values and take the better direction; else
        large values are good.

    Examples
    --------
    >>> from ranksieve import RankingData
    >>> from ranksieve.selectors import GAS, Importance
    >>> importance = Importance("mrr", both_directions=False)
    >>> data = RankingData([[1.0, 9.0], [2.0, 5.0], [3.0, 7.0]], y=[0, 0, 1], qid=[4, 4, 4])
    >>> importance(data).values.tolist()
    [1.0, 0.5]
    >>> GAS(n_features_to_select=1, importance=importance).fit(data).selected_.tolist()
    [0]
    """

    measure: str | Measure
    convention: str | Convention = "standard"
    ties: Literal["average", "stable"] = "average"
    both_directions: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.measure, (str, Measure)):
            raise ValueError(
                f"importance: measure must be the name of a measure, got {self.measure!r}"
            )
        self._parse_measure()
        get_convention(self.convention)
        check_choice("importance: ties", self.ties, ("average", "stable"))
        check_boolean("importance: both_directions", self.both_directions)

    def __call__(self, source: Source, queries: np.ndarray | None = None) -> Quality:
        """Quality of each feature over all queries, or those where ``queries`` is true."""
        measure = self._parse_measure()
        sums = importance_sums(source, measure, self.convention, ties=self.ties, queries=queries)
        means = sums.mean if measure.greater_is_better else -sums.mean
        features = np.arange(len(sums.varying))
        direction = means.argmax(axis=0) if self.both_directions else np.zeros_like(features)
        values = means[direction, features]
        if self.measure == "loss":
            values = 1.0 / np.maximum(-values, _SMALLEST_LOSS)
        elif self.measure == "one_minus_loss":
            values = 1.0 + values
        return Quality(
            values=values,
            variance=sums.variance[direction, features],
            directions=1 - 2 * direction,
            varies=sums.varying > 0,
        )

    @property
    def label(self) -> str:
        """Name for axes and tables."""
        return _LOSSES.get(str(self.measure)) or str(self._parse_measure())

    def _parse_measure(self) -> Measure:
        is_loss = isinstance(self.measure, str) and self.measure in _LOSSES
        return PairwiseError() if is_loss else parse_measure(self.measure)


@dataclass(frozen=True)
class Quality:
    """Quality of each feature alone, in the better of its directions; all arrays (features,)."""

    values: np.ndarray  # larger is better
    variance: np.ndarray  # sample variance of the measure over queries
    directions: np.ndarray  # 1 if large values of the feature are good, -1 if small ones are
    varies: np.ndarray  # False for features that are constant within every query: they cannot rank

    def take(self, features: np.ndarray) -> Quality:
        """Quality of some features."""
        parts = self.values, self.variance, self.directions, self.varies
        return Quality(*(part[features] for part in parts))


def rank_by_features(
    block: Block,
    measure: Measure,
    convention: Convention | str,
    queries: np.ndarray | None = None,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Sums over queries of a measure when the documents are ranked by one feature.

    Returns the weight of queries with a value, sums of values and squares, numbers of varying
    queries. The arrays (2, features) have ranking by descending value in row 0, by ascending in
    row 1. The last one (features,) counts the queries in which a feature is not constant.
    """
    weights = weights_of(block, queries)
    prepared = measure.prepare(block.y, block.query_ptr, convention, block.row_weights)
    sums = ColumnSums(block.X.shape[1])
    all_finite = True
    for chunk in chunks(block):
        all_finite &= prepared.add_columns(
            chunk.X,
            chunk.query_ptr,
            sums,
            weights[chunk.queries],
            first_query=chunk.queries.start,
            first_row=chunk.rows.start,
            keeps_missing=block.keeps_missing,
        )
    if not all_finite:
        block.check_finite()
    return float(weights @ prepared.is_defined), sums.values, sums.squares, sums.varying


def feature_importance(
    source: Source, importance: str | Measure | Importance = "ndcg@10"
) -> np.ndarray:
    """Compute how well each feature alone ranks the documents, in both directions.

    Returns the mean over queries of the measure (2, features), ranked by descending (row 0) and by
    ascending (row 1) value; that of the pairwise error is over the queries with different labels.
    An :class:`Importance` has a measure with its convention and treatment of ties.

    Takes O(f m log n) time for f features and m rows in queries of n documents; one sort serves
    both directions. Missing values that the data keeps rank last in both.

    Examples
    --------
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.importance import feature_importance
    >>> data = RankingData([[1.0, 9.0], [2.0, 5.0], [3.0, 7.0]], y=[0, 0, 1], qid=[4, 4, 4])
    >>> feature_importance(data, "mrr").round(3).tolist()
    [[1.0, 0.5], [0.333, 0.5]]
    """
    how = Importance.make(importance)
    return importance_sums(source, how.measure, how.convention, ties=how.ties).mean


class ImportanceSums(NamedTuple):
    """Sums over queries of each feature's value; see :func:`rank_by_features`."""

    n_queries: float  # the sum of the weights of those with a value
    values: np.ndarray  # (2, features): by descending and by ascending value
    squares: np.ndarray
    varying: np.ndarray  # (features,)

    @property
    def mean(self) -> np.ndarray:
        """Mean over queries, (2, features)."""
        return self.values / (self.n_queries or 1.0)

    @property
    def variance(self) -> np.ndarray:
        """Weighted sample variance over queries, (2, features)."""
        n = self.n_queries or 1.0
        return np.maximum(0.0, self.squares - self.values**2 / n) / max(1, n - 1)


@shared
def importance_sums(
    source: Source,
    measure: str | Measure,
    convention: str | Convention = "standard",
    *,
    ties: Literal["stable", "average"] = "average",
    queries: np.ndarray | None = None,
) -> ImportanceSums:
    """Compute the sums behind :func:`feature_importance`, for callers that need more than the mean.

    With ``queries``, a boolean mask over all queries, only those count.
    """
    parameters = parse_measure(measure), get_convention(convention, ties), queries
    return ImportanceSums(*engine_of(source).sum(rank_by_features, *parameters))
