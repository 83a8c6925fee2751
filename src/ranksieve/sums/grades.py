"""Values of features by class of document: counts, moments, order statistics and tables.

The grades of the labels are taken as unordered classes, over the rows of all queries together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ranksieve._kernels.classes import add_digits, add_squares, add_table, add_totals
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.sums.chunks import chunks, comparable_chunks, wanted_queries

MOST_GRADES = 256


class Grades:
    """Statistic: which labels there are."""

    title = "Labels"

    def __init__(self, block: Block) -> None:
        self.block = block

    def distinct(self) -> np.ndarray:
        """Labels in ascending order, each once."""
        return np.unique(self.block.y)


def grades_of(*sources: Source) -> np.ndarray:
    """Labels of all sources in ascending order, each once: the classes of documents."""
    found: list[np.ndarray] = []
    for source in sources:
        with engine_of(source).start(Grades) as workers:
            found += workers.collect("distinct")
    grades = np.unique(np.concatenate(found))
    if len(grades) > MOST_GRADES:
        raise DataError(
            f"labels are taken as classes, but there are {len(grades)} different ones, more than "
            f"{MOST_GRADES}; round them to grades first"
        )
    return grades


class Classes:
    """Statistic: values of features by class.

    Parameters
    ----------
    block : Block
    grades : array
        Labels of the classes in ascending order, as :func:`grades_of` finds them.
    queries : bool array of shape (queries of all blocks,), optional
        The queries to look at.

    Notes
    -----
    Missing values that are kept are below all others: -infinity.
    """

    title = "Classes"

    def __init__(self, block: Block, grades: np.ndarray, queries: np.ndarray | None = None) -> None:
        self.block = block
        self.n_classes = len(grades)
        self.classes = np.searchsorted(grades, block.y)
        wanted = wanted_queries(block, queries)
        self.classes[~np.repeat(wanted, np.diff(block.query_ptr))] = -1

    def totals(self) -> tuple[np.ndarray, ...]:
        """Counts and sums by class, smallest and largest values, and queries that tell.

        And the rows without a value. Where there are any, the sums mean nothing.
        """
        n_features = self.block.X.shape[1]
        counts = np.zeros(self.n_classes, dtype=np.int64)
        sums = np.zeros((self.n_classes, n_features))
        low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        varying, missing = np.zeros((2, n_features), dtype=np.int64)
        all_finite = True
        for chunk in comparable_chunks(self.block):
            all_finite &= add_totals(
                chunk.X,
                self.classes[chunk.rows],
                chunk.query_ptr,
                counts,
                sums,
                low,
                high,
                varying,
            )
        if not all_finite:
            self.block.check_finite()
            missing, low = self._missing(low)
        return counts, sums, low, high, varying, missing

    def _missing(self, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows without a value of each feature, and the smallest values of the others."""
        missing, low = np.zeros(len(low), dtype=np.int64), np.full(len(low), np.inf)
        for chunk in comparable_chunks(self.block):
            X = chunk.X[self.classes[chunk.rows] >= 0]
            missing += np.isneginf(X).sum(axis=0)
            low = np.minimum(low, np.where(np.isneginf(X), np.inf, X).min(axis=0, initial=np.inf))
        return missing, low

    def squares(self, means: np.ndarray) -> np.ndarray:
        """Sums of squared distances to ``means``, (classes, features)."""
        squares = np.zeros(means.shape)
        for chunk in chunks(self.block):
            add_squares(chunk.X, self.classes[chunk.rows], means, squares)
        return squares

    def digits(self, shift: int, prefixes: np.ndarray) -> np.ndarray:
        """Counts of the next byte below ``prefixes``; see :func:`order_statistics`."""
        counts = np.zeros((*prefixes.shape, 256), dtype=np.int64)
        for chunk in comparable_chunks(self.block):
            add_digits(chunk.X, self.classes[chunk.rows], shift, prefixes, counts)
        return counts

    def table(self, edges: np.ndarray, n_edges: np.ndarray) -> np.ndarray:
        """Rows by bin and class, (features, bins, classes)."""
        table = np.zeros((len(edges), edges.shape[1] + 1, self.n_classes), dtype=np.int64)
        for chunk in comparable_chunks(self.block):
            add_table(chunk.X, self.classes[chunk.rows], edges, n_edges, table)
        return table


class Totals(NamedTuple):
    """What :func:`totals` finds."""

    counts: np.ndarray  # (classes,)
    sums: np.ndarray  # (classes, features)
    low: np.ndarray  # (features,)
    high: np.ndarray
    varies: np.ndarray  # (features,): not constant within every query
    missing: np.ndarray  # (features,): rows without a value


def totals(workers: Workers) -> Totals:
    """Counts and sums by class, and the range of each feature; ``workers`` of :class:`Classes`."""
    counts, sums, low, high, varying, missing = zip(*workers.collect("totals"), strict=True)
    return Totals(
        counts=np.sum(counts, axis=0),
        sums=np.sum(sums, axis=0),
        low=np.min(low, axis=0),
        high=np.max(high, axis=0),
        varies=np.sum(varying, axis=0) > 0,
        missing=np.sum(missing, axis=0),
    )


def order_statistics(workers: Workers, ranks: np.ndarray, n_features: int) -> np.ndarray:
    """Values of given ranks within their class, exactly and without sorting.

    Parameters
    ----------
    workers : Workers of :class:`Classes`
    ranks : int array of shape (classes or 1, ranks) or (classes or 1, features, ranks)
        0-based, ascending; for all classes together, or for each class.
    n_features : int

    Returns
    -------
    array of shape (classes or 1, features, ranks)
    """
    everywhere = ranks if ranks.ndim == 3 else np.repeat(ranks[:, None, :], n_features, axis=1)
    return values_of_ranks(lambda *known: workers.sum("digits", *known), everywhere, n_bits=8)


def values_of_ranks(
    count: Callable[[int, np.ndarray], np.ndarray], ranks: np.ndarray, n_bits: int
) -> np.ndarray:
    """Numbers of given ranks: array of the shape of ``ranks``, which ascend along the last axis.

    A number is found some bits at a time, from the highest: in each round over the data, all values
    that begin with what is known are counted by their next bits. So the result is the same wherever
    the data lives, and only counts travel.

    Parameters
    ----------
    count : callable
        From a shift and the prefixes of all targets to counts by the ``n_bits`` from that bit on;
        of equal prefixes next to each other, those of the first count.
    ranks : int array
    n_bits : int
        Bits in a round.
    """
    prefixes = np.zeros(ranks.shape, dtype=np.uint64)
    left = ranks.copy()  # rank among those with the prefix
    for shift in range(64 - n_bits, -n_bits, -n_bits):
        counts = count(shift, prefixes)
        fresh = np.ones(prefixes.shape, dtype=bool)  # counted at the first target with a prefix
        fresh[..., 1:] = prefixes[..., 1:] != prefixes[..., :-1]
        places = np.where(fresh, np.arange(ranks.shape[-1]), 0)
        first = np.maximum.accumulate(places, axis=-1)
        counts = np.take_along_axis(counts, first[..., None], axis=-2)
        below = np.cumsum(counts, axis=-1)
        digit = np.minimum(2**n_bits - 1, np.sum(below <= left[..., None], axis=-1))
        left -= np.take_along_axis(below - counts, digit[..., None], axis=-1)[..., 0]
        prefixes = (prefixes << np.uint64(n_bits)) | digit.astype(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    return np.where(prefixes & sign, prefixes ^ sign, ~prefixes).view(np.float64)


def varying_features(source: Source) -> np.ndarray:
    """Mask of the features that vary within some query; a missing value is one of its own.

    Raises a DataError for NaN unless missing values are kept.
    """
    all_rows = np.array([np.inf])  # one class
    with engine_of(source).start(Classes, all_rows) as workers:
        return totals(workers).varies
