"""Documents in ranked order, and measures ready to look at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranksieve._kernels import measures as kernel
from ranksieve._kernels.ranking import rank_queries
from ranksieve.threads import over_queries


@dataclass(frozen=True)
class Ranking:
    """Documents of each query in ranked order.

    ``order`` (rows,) holds rows, best first within each query; ``tie_end`` (rows,) the rank
    after each rank's block of equal scores, counted within the query. ``average_ties`` says
    whether to average over the orders of a block or to take its documents as they are.
    """

    query_ptr: np.ndarray
    order: np.ndarray
    tie_end: np.ndarray
    average_ties: bool

    @property
    def has_ties(self) -> bool:
        """Whether any query has equal scores."""
        lengths = np.diff(self.query_ptr)
        # Without ties the blocks of n documents end at 1, 2, ..., n; with ties at more.
        return bool(self.tie_end.sum() > (lengths * (lengths + 1) // 2).sum())

    @classmethod
    def of(cls, scores: np.ndarray, query_ptr: np.ndarray, *, average_ties: bool) -> Ranking:
        """Rank by descending score, equal scores in row order."""
        order, tie_end = np.empty((2, len(scores)), dtype=np.int64)
        over_queries(rank_queries, query_ptr, scores, query_ptr, order, tie_end)
        return cls(query_ptr, order, tie_end, average_ties)


@dataclass(frozen=True)
class Prepared:
    """A measure with all that depends on the labels alone; ranks of any score can follow.

    ``worth`` (rows,) is what each document counts; ``norm`` divides the sum of a query, with
    one entry per query or, for MeanNDCG, one per row; see ``_kernels.measures.measure_list``.
    """

    kind: int
    worth: np.ndarray
    norm: np.ndarray
    norm_ptr: np.ndarray
    discounts: np.ndarray
    cutoff: int
    empty: float

    def per_query(self, ranking: Ranking) -> np.ndarray:
        """Value of each query."""
        out = np.empty(len(ranking.query_ptr) - 1)
        over_queries(
            kernel.measure_queries,
            ranking.query_ptr,
            self.kind,
            self.worth,
            ranking.order,
            ranking.tie_end,
            ranking.average_ties,
            self.discounts,
            self.norm,
            self.norm_ptr,
            self.cutoff,
            self.empty,
            ranking.query_ptr,
            out,
        )
        return out
