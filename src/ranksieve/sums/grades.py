"""Values of features by class of document: counts, moments, order statistics and tables.

The grades of the labels are taken as unordered classes, over the rows of all queries together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ranksieve._kernels.classes import (
    WeightedQueries,
    add_digits,
    add_squares,
    add_table,
    add_totals,
)
from ranksieve.choosing import ROUNDING
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.sums.chunks import Chunk, chunks, comparable_chunks, row_weights_of, weights_of

MOST_GRADES = 256


def distinct_labels(block: Block) -> np.ndarray:
    """Distinct labels of a block in ascending order, without queries of weight 0."""
    return np.unique(block.y[row_weights_of(block, weights_of(block)) > 0])


def grades_of(*sources: Source) -> np.ndarray:
    """Distinct labels of all sources in ascending order: the classes of documents."""
    found: list[np.ndarray] = []
    for source in sources:
        found += engine_of(source).collect(distinct_labels)
    grades = np.unique(np.concatenate(found))
    if len(grades) > MOST_GRADES:
        raise DataError(
            f"labels are used as classes, but there are {len(grades)} different ones, more than "
            f"{MOST_GRADES}; round them to grades first"
        )
    return grades


class Classes:
    """Statistic: values of features by class.

    ``grades`` are the labels of the classes in ascending order, as :func:`grades_of` finds them;
    ``queries`` is a mask over the queries of all blocks. Rows count by the weights of their
    queries. Counts are whole numbers if queries have no weights. Missing values that are kept count
    as -infinity.
    """

    title = "Classes"

    def __init__(self, block: Block, grades: np.ndarray, queries: np.ndarray | None = None) -> None:
        self.block = block
        self.n_classes = len(grades)
        self.classes = np.searchsorted(grades, block.y)
        weights = weights_of(block, queries)
        self.classes[row_weights_of(block, weights) == 0] = -1
        self.weights = weights
        if block.query_weights is None:
            self.weights = np.ones(len(weights), dtype=np.int64)

    def _part(self, chunk: Chunk) -> tuple[np.ndarray, np.ndarray, WeightedQueries]:
        """Rows, their classes and their queries: the first arguments of all kernels."""
        queries = WeightedQueries(chunk.query_ptr, self.weights[chunk.queries])
        return chunk.X, self.classes[chunk.rows], queries

    def totals(self) -> tuple[np.ndarray, ...]:
        """Counts and sums by class, ranges, queries in which features vary, and missing values.

        If a feature has missing values, its sums are meaningless.
        """
        n_features = self.block.X.shape[1]
        counts = np.zeros(self.n_classes, dtype=self.weights.dtype)
        sums = np.zeros((self.n_classes, n_features))
        low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        varying = np.zeros(n_features, dtype=np.int64)
        missing = np.zeros(n_features, dtype=self.weights.dtype)
        all_finite = True
        for chunk in comparable_chunks(self.block):
            all_finite &= add_totals(*self._part(chunk), counts, sums, low, high, varying)
        if not all_finite:
            self.block.check_finite()
            missing, low = self._missing(low)
        return counts, sums, low, high, varying, missing

    def _missing(self, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weight of rows without a value of each feature, and the smallest other values."""
        missing = np.zeros(len(low), dtype=self.weights.dtype)
        low = np.full(len(low), np.inf)
        for chunk in comparable_chunks(self.block):
            counted = self.classes[chunk.rows] >= 0
            X = chunk.X[counted]
            weights = np.repeat(self.weights[chunk.queries], np.diff(chunk.query_ptr))[counted]
            missing += weights @ np.isneginf(X)
            low = np.minimum(low, np.where(np.isneginf(X), np.inf, X).min(axis=0, initial=np.inf))
        return missing, low

    def squares(self, means: np.ndarray) -> np.ndarray:
        """Sums of squared distances to ``means``, (classes, features)."""
        squares = np.zeros(means.shape)
        for chunk in chunks(self.block):
            add_squares(*self._part(chunk), means, squares)
        return squares

    def digits(self, shift: int, n_bits: int, prefixes: np.ndarray) -> np.ndarray:
        """Counts of the next bits below ``prefixes``; see :func:`values_of_ranks`."""
        counts = np.zeros((*prefixes.shape, 2**n_bits), dtype=self.weights.dtype)
        for chunk in comparable_chunks(self.block):
            add_digits(*self._part(chunk), shift, n_bits, prefixes, counts)
        return counts

    def table(self, edges: np.ndarray, n_edges: np.ndarray) -> np.ndarray:
        """Rows by bin and class, (features, bins, classes)."""
        shape = len(edges), edges.shape[1] + 1, self.n_classes
        table = np.zeros(shape, dtype=self.weights.dtype)
        for chunk in comparable_chunks(self.block):
            add_table(*self._part(chunk), edges, n_edges, table)
        return table


class Totals(NamedTuple):
    """Result of :func:`totals`."""

    counts: np.ndarray  # (classes,)
    sums: np.ndarray  # (classes, features)
    low: np.ndarray  # (features,)
    high: np.ndarray
    varies: np.ndarray  # (features,): whether the feature varies within some query
    missing: np.ndarray  # (features,): weight of the rows without a value


def totals(workers: Workers[Classes]) -> Totals:
    """Counts and sums by class, and the range of each feature."""
    counts, sums, low, high, varying, missing = zip(*workers.collect(Classes.totals), strict=True)
    return Totals(
        counts=np.sum(counts, axis=0),
        sums=np.sum(sums, axis=0),
        low=np.min(low, axis=0),
        high=np.max(high, axis=0),
        varies=np.sum(varying, axis=0) > 0,
        missing=np.sum(missing, axis=0),
    )


def order_statistics(workers: Workers[Classes], ranks: np.ndarray, n_features: int) -> np.ndarray:
    """Values of given ranks within their class, exactly and without sorting.

    ``ranks`` (classes or 1, ranks) or (classes or 1, features, ranks) are 0-based and ascend, for
    each class or for all of them together; rows count by their weights. ``workers`` are those of
    :class:`Classes`. The result has the shape (classes or 1, features, ranks).
    """
    everywhere = ranks if ranks.ndim == 3 else np.repeat(ranks[:, None, :], n_features, axis=1)
    return values_of_ranks(lambda *known: workers.sum(Classes.digits, *known), everywhere, n_bits=8)


def frequency_edges(workers: Workers[Classes], found: Totals, n_bins: int) -> np.ndarray:
    """Inner edges of bins with equally many values, some of which may be equal.

    Bin b has values in (edge b - 1, edge b]. Missing values are below all bins and are not counted.
    ``workers`` are those of :class:`Classes`. Returns an array (features, bins - 1).
    """
    total = found.counts.sum()
    present = total - found.missing
    ranks = found.missing[:, None] + bin_ranks(present, n_bins)  # missing values come first
    ranks = np.minimum(ranks, last_rank(total))  # if all values are missing
    return order_statistics(workers, ranks[None], len(found.low))[0]


def values_of_ranks(
    count: Callable[[int, int, np.ndarray], np.ndarray], ranks: np.ndarray, n_bits: int
) -> np.ndarray:
    """Values of given ranks, in an array of the same shape; both ascend along the last axis.

    A value is found some bits at a time, from the highest: in each round over the data, all values
    that begin with the known bits are counted by their next bits. So the result does not depend on
    where the data is stored, and only counts are communicated.

    ``count`` maps a shift, ``n_bits`` and the prefixes of all targets to counts by the bits from
    the shift on; for adjacent equal prefixes, only the counts of the first are used. Ranks are
    integers if the counts are.
    """
    prefixes = np.zeros(ranks.shape, dtype=np.uint64)
    left = ranks.copy()  # rank among the values with the prefix
    for shift in range(64 - n_bits, -n_bits, -n_bits):
        counts = count(shift, n_bits, prefixes)
        is_first = np.ones(prefixes.shape, dtype=bool)  # counted at the first target with a prefix
        is_first[..., 1:] = prefixes[..., 1:] != prefixes[..., :-1]
        positions = np.where(is_first, np.arange(ranks.shape[-1]), 0)
        first = np.maximum.accumulate(positions, axis=-1)
        counts = np.take_along_axis(counts, first[..., None], axis=-2)
        below = np.cumsum(counts, axis=-1)
        digit = np.sum(below <= left[..., None], axis=-1)
        # Rounding of fractional counts must not lead beyond the last value.
        last = 2**n_bits - 1 - np.argmax(counts[..., ::-1] > 0, axis=-1)
        digit = np.minimum(last, digit)
        left -= np.take_along_axis(below - counts, digit[..., None], axis=-1)[..., 0]
        prefixes = (prefixes << np.uint64(n_bits)) | digit.astype(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    return np.where(prefixes & sign, prefixes ^ sign, ~prefixes).view(np.float64)


def bin_ranks(totals: np.ndarray | float, n_bins: int) -> np.ndarray:
    """Ranks of the last value in each of ``n_bins`` bins of equal weight, except for the last bin.

    Values count by their weights: bin b ends at the first value up to which the fraction b /
    ``n_bins`` of the weight lies. Totals that are not of an integer type are sums of weights. The
    result has one more axis, for the bins.
    """
    counts, ends = np.asarray(totals)[..., None], np.arange(1, n_bins)
    if counts.dtype.kind == "i":
        return np.maximum(-(-counts * ends // n_bins) - 1, 0)
    return counts * ends / n_bins * (1 - ROUNDING)


def last_rank(total: float) -> float:
    """Rank of the largest of ``total`` values; see :func:`bin_ranks`."""
    return total - 1 if np.asarray(total).dtype.kind == "i" else total * (1 - ROUNDING)
