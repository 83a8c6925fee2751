"""Losses by name, prepared for the labels of a block.

A loss is a kernel of :mod:`ranksieve._kernels.losses`, a function that prepares the labels for it,
and the number of terms of a query; the sum of losses is divided by the total number of terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ranksieve._kernels import losses as kernel
from ranksieve.data import DataError
from ranksieve.metrics import NDCG
from ranksieve.metrics.ranking import Ranking
from ranksieve.threads import over_queries

_MOST_PAIRS = 10**9  # of a query; a step then takes about ten seconds


@dataclass(frozen=True)
class Loss:
    """A loss before it has seen labels."""

    kind: int
    target: Callable[[np.ndarray, np.ndarray], np.ndarray]  # (labels, query_ptr) -> (rows,)
    counts_pairs: bool = False  # whether a query has as many terms as pairs, or just one
    is_smooth: bool = True  # whether line searches work
    looks_at_pairs: bool = False  # whether every step visits all pairs one by one

    def prepare(self, y: np.ndarray, query_ptr: np.ndarray) -> PreparedLoss:
        """Compute what depends on the labels alone, for rows grouped by query."""
        by_label = Ranking.of(y, query_ptr, average_ties=False)
        lengths = np.diff(query_ptr)
        pairs = np.add.reduceat(np.repeat(lengths, lengths) - by_label.tie_end, query_ptr[:-1])
        if self.looks_at_pairs and pairs.max() > _MOST_PAIRS:
            raise DataError(
                f"a query has {pairs.max():,} pairs of documents, all of which this loss visits "
                "in every step; use ListNet, ListMLE, RankSVM or RankRLS instead"
            )
        terms = pairs if self.counts_pairs else np.minimum(pairs, 1)
        target = self.target(y, query_ptr)[by_label.order]
        within = by_label.order - np.repeat(query_ptr[:-1], lengths)
        return PreparedLoss(self.kind, query_ptr, within, by_label.tie_end, target, terms)


@dataclass(frozen=True)
class PreparedLoss:
    """A loss with everything that depends only on the labels.

    ``terms`` (queries,) is 0 where the labels of a query are all equal; the others are as in
    ``_kernels.losses.query_losses``.
    """

    kind: int
    query_ptr: np.ndarray
    order: np.ndarray
    worse: np.ndarray
    target: np.ndarray
    terms: np.ndarray

    def __call__(
        self,
        scores: np.ndarray,
        weights: np.ndarray,
        queries: np.ndarray | None = None,
        score_ptr: np.ndarray | None = None,
    ) -> tuple[float, np.ndarray]:
        """Weighted sum of losses and its derivatives by the scores.

        By default of all queries; with ``queries``, ``scores`` holds those of their documents
        only, the k-th query's at ``score_ptr[k]:score_ptr[k + 1]``.
        """
        if queries is None:
            queries = np.arange(len(self.terms))
        if score_ptr is None:
            score_ptr = self.query_ptr
        gradient, losses = np.empty(len(scores)), np.empty(len(queries))
        over_queries(
            kernel.query_losses[self.kind],
            score_ptr,
            scores,
            score_ptr,
            queries,
            kernel.LabelArrays(self.query_ptr, self.order, self.worse, self.target, weights),
            gradient,
            losses,
        )
        return float(losses.sum()), gradient


def _labels(y: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    return y


def _ones(y: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    return np.ones(len(y))


def _shares_of_ideal(y: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """Contribution of each document to the ideal DCG of its query, equal for equal labels."""
    by_label = Ranking.of(y, query_ptr, average_ties=True)
    lengths = np.diff(query_ptr)
    offsets = np.repeat(query_ptr[:-1], lengths)
    ends = by_label.tie_end
    starts = np.searchsorted(offsets + ends, offsets + ends) - offsets
    sums = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(lengths.max()) + 2.0))])
    discounts = np.empty(len(y))
    discounts[by_label.order] = (sums[ends] - sums[starts]) / (ends - starts)
    return _normalized_gains(y, query_ptr) * discounts


def _softmax(y: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    lengths = np.diff(query_ptr)
    powers = np.exp(y - np.repeat(np.maximum.reduceat(y, query_ptr[:-1]), lengths))
    return powers / np.repeat(np.add.reduceat(powers, query_ptr[:-1]), lengths)


def _normalized_gains(y: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    lists = NDCG().prepare(y, query_ptr, "standard").lists
    ideal = np.where(lists.norm > 0, lists.norm, 1.0)
    return lists.worth / np.repeat(ideal, np.diff(query_ptr))


LOSSES: dict[str, Loss] = {
    "ranknet": Loss(kernel.RANKNET, _labels, counts_pairs=True, looks_at_pairs=True),
    "listnet": Loss(kernel.LISTNET, _softmax),
    "listmle": Loss(kernel.LISTMLE, _ones),
    "listmle-cost": Loss(kernel.LISTMLE, _shares_of_ideal),
    "lambdarank": Loss(kernel.LAMBDARANK, _normalized_gains, is_smooth=False, looks_at_pairs=True),
}
