"""Ranked documents, measures prepared for them, and labels in the form that measures need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ranksieve._kernels import measures as kernel
from ranksieve._kernels.importance import add_importance
from ranksieve._kernels.ranking import rank_queries
from ranksieve.threads import over_queries

NO_CUTOFF = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Ranking:
    """Documents of each query in ranked order.

    ``order`` (rows,) has the rows, best first within each query; ``tie_end`` (rows,) has the rank
    after each rank's block of equal scores, counted within the query. ``average_ties`` says
    whether to average over the orders of a block or to keep its documents in order.
    """

    query_ptr: np.ndarray
    order: np.ndarray
    tie_end: np.ndarray
    average_ties: bool

    @cached_property
    def each_alone(self) -> np.ndarray:
        """Value of ``tie_end`` if all scores were different."""
        starts = np.repeat(self.query_ptr[:-1], np.diff(self.query_ptr))
        return np.arange(1, len(self.order) + 1) - starts

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
    """A measure with everything that depends only on the labels, ready for any scores."""

    kind: int  # of the kernels in ``_kernels.measures``
    lists: kernel.ListMeasure  # what they need from the labels

    @property
    def is_defined(self) -> np.ndarray:
        """Whether each query has a value; the others are left out of means, and are 0 in sums."""
        if self.kind == kernel.PAIR_ERRORS:
            return self.lists.norm > 0
        return np.ones(len(self.lists.norm_ptr) - 1, dtype=bool)

    def per_query(self, ranking: Ranking) -> np.ndarray:
        """Value of each query; 0 where it is not defined."""
        out = np.empty(len(ranking.query_ptr) - 1)
        use_ties = ranking.average_ties or self.kind == kernel.PAIR_ERRORS
        over_queries(
            kernel.measure_queries[self.kind],
            ranking.query_ptr,
            self.lists,
            ranking.order,
            ranking.tie_end if use_ties else ranking.each_alone,
            ranking.query_ptr,
            out,
        )
        return out

    def add_columns(
        self,
        X: np.ndarray,
        query_ptr: np.ndarray,
        sums: ColumnSums,
        weights: np.ndarray,
        *,
        first_query: int = 0,
        first_row: int = 0,
        keeps_missing: bool = False,
    ) -> bool:
        """Rank by each column of X, and add the values of all queries to ``sums``.

        ``query_ptr`` has the rows of X of each query; the first row of X is row ``first_row``, and
        its first query is query ``first_query``, of the data that the measure was prepared for.
        Queries count by ``weights``. If ``keeps_missing``, NaN ranks last in both directions.
        Returns whether all other values of X are finite; if not, the sums are meaningless.
        """
        own = self.lists._replace(
            worth=self.lists.worth[first_row : first_row + len(X)],
            norm_ptr=self.lists.norm_ptr[first_query : first_query + len(query_ptr)],
        )
        found = sums.values, sums.squares, sums.varying
        return bool(add_importance[self.kind](X, own, query_ptr, weights, keeps_missing, *found))


class ColumnSums:
    """Sums over queries of a measure when ranking by each column."""

    def __init__(self, n_columns: int) -> None:
        # Weighted sums of the value and of its square: row 0 ranks by descending numbers, row 1 by
        # ascending ones.
        self.values, self.squares = np.zeros((2, 2, n_columns))
        self.varying = np.zeros(n_columns, dtype=np.int64)  # queries in which it is not constant


@dataclass(frozen=True)
class GroupedLabels:
    """Labels of grouped rows, in the form that measures need."""

    y: np.ndarray
    query_ptr: np.ndarray
    average_ties: bool
    row_weights: np.ndarray | None = None  # (rows,) of measures that take them

    @property
    def lengths(self) -> np.ndarray:
        """Number of documents of each query."""
        return np.diff(self.query_ptr)

    def weighted(self, values: np.ndarray) -> np.ndarray:
        """Values of the rows, multiplied by the weights of the rows if there are any."""
        return values if self.row_weights is None else values * self.row_weights

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum per query."""
        return np.add.reduceat(values, self.query_ptr[:-1])

    def ideal_curve(self, gains: np.ndarray, discounts: np.ndarray) -> np.ndarray:
        """DCG of each query's best order after every rank, one number per row."""
        ideal = np.empty(len(gains))
        over_queries(kernel.ideal_curve, self.query_ptr, gains, discounts, self.query_ptr, ideal)
        return ideal

    def ideal_dcg(self, gains: np.ndarray, discounts: np.ndarray, cutoff: int) -> np.ndarray:
        """DCG of each query's best order up to the cutoff."""
        if cutoff > kernel.FEW:
            last = np.minimum(self.lengths, cutoff) - 1
            return self.ideal_curve(gains, discounts)[self.query_ptr[:-1] + last]
        ideal = np.empty(len(self.lengths))
        over_queries(
            kernel.ideal_dcg, self.query_ptr, gains, discounts, cutoff, self.query_ptr, ideal
        )
        return ideal

    def prepare(
        self,
        kind: int,
        worth: np.ndarray,
        norm: np.ndarray,
        *,
        discounts: np.ndarray | None = None,
        cutoff: int | None = None,
        empty: float = 0.0,
        most: float = 1.0,
    ) -> Prepared:
        """A measure of these labels; see :func:`ranksieve._kernels.measures.measure_list`.

        ``worth`` (rows,) is the gain or relevance of each document; ``norm`` divides the sum of a
        query, with one entry per query or, for MeanNDCG, one per row; no value exceeds ``most``.
        """
        per_row = kind == kernel.MEAN_NDCG
        norm_ptr = self.query_ptr if per_row else np.arange(len(self.query_ptr))
        if discounts is None:
            discounts = np.ones(self.lengths.max())
        cutoff = NO_CUTOFF if cutoff is None else cutoff
        ties = self.average_ties
        return Prepared(
            kind,
            kernel.ListMeasure(worth, discounts, norm, norm_ptr, cutoff, float(empty), ties, most),
        )


def number_levels(y: np.ndarray, query_ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number each query's distinct labels 0, 1, ..., and count its pairs of unequal labels.

    Returns arrays of shapes (rows,) and (queries,).

    Examples
    --------
    >>> levels, n_pairs = number_levels(np.array([0.0, 2, 2, 1, 1]), np.array([0, 3, 5]))
    >>> levels.tolist(), n_pairs.tolist()
    ([0, 1, 1, 0, 0], [2, 0])
    """
    starts, lengths = query_ptr[:-1], np.diff(query_ptr)
    descending = Ranking.of(y, query_ptr, average_ties=True)
    begins = np.ones(len(y), dtype=bool)  # whether a row starts a new level
    begins[1:] = descending.tie_end[1:] != descending.tie_end[:-1]
    begins[starts] = True
    number = np.cumsum(begins)
    levels = np.empty(len(y), dtype=np.int64)
    levels[descending.order] = np.repeat(number[query_ptr[1:] - 1], lengths) - number
    n_worse = np.repeat(lengths, lengths) - descending.tie_end
    return levels, np.add.reduceat(n_worse, starts)
