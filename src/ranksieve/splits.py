"""Query-wise protocols: LETOR's rotation, k-fold over queries, the six trials of GAS.

A query is never divided: a split has positions of whole queries. Its parts are joined in the order
in which they are given, like the files of a LETOR fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.text import quantity


@dataclass(frozen=True, eq=False)
class Split:
    """Queries to train on, to validate on and to test on.

    Parameters
    ----------
    train, vali, test : int arrays
        0-based positions of queries; their order is kept. No query may occur twice, so that
        nothing leaks from one part into another. ``vali`` may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.data import RankingData
    >>> from ranksieve.splits import Split
    >>> data = RankingData(np.ones((4, 1)), y=[0, 1, 0, 1], qid=["a", "b", "c", "c"])
    >>> train, vali, test = Split(train=[2], vali=[0], test=[1]).apply(data)
    >>> train.qid.tolist(), vali.qid.tolist(), test.qid.tolist()
    (['c', 'c'], ['a'], ['b'])
    """

    train: np.ndarray
    vali: np.ndarray
    test: np.ndarray

    def __post_init__(self) -> None:
        for role in ("train", "vali", "test"):
            object.__setattr__(self, role, _as_positions(getattr(self, role), role))
        queries, counts = np.unique(self.queries, return_counts=True)
        if np.any(counts > 1):
            raise DataError(f"query {queries[counts > 1][0]} occurs twice in a split")

    @property
    def queries(self) -> np.ndarray:
        """All queries of the split: train, then validation, then test."""
        return np.concatenate([self.train, self.vali, self.test])

    def apply(self, data: RankingData) -> tuple[RankingData, RankingData, RankingData]:
        """Take the queries to train on, to validate on and to test on from ``data``."""
        last = self.queries.max(initial=-1)
        if last >= data.n_queries:
            raise DataError(
                f"the split uses query {last} (0-based) but the data has {data.n_queries} queries"
            )
        return (
            data.take_queries(self.train),
            data.take_queries(self.vali),
            data.take_queries(self.test),
        )


def row_splits(splits: Sequence[Split], qid: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Convert splits of queries to pairs of training rows and test rows.

    scikit-learn takes these as ``cv``. It does not use validation queries: their rows are left out.
    ``qid`` is the query of each row; queries count in order of first appearance.

    Examples
    --------
    >>> from ranksieve.splits import query_kfold, row_splits
    >>> folds = query_kfold(3, 3, shuffle=False)
    >>> [(train.tolist(), test.tolist()) for train, test in row_splits(folds, list("abaccb"))]
    [([0, 2], [3, 4]), ([1, 5], [0, 2]), ([3, 4], [1, 5])]
    """
    ids = np.asarray(qid)
    data = RankingData(np.empty((len(ids), 0)), np.zeros(len(ids)), ids)
    parts = [split.apply(data) for split in splits]
    return [(np.sort(train.row_order), np.sort(test.row_order)) for train, _, test in parts]


def adjacent_parts(sizes: Sequence[int]) -> list[np.ndarray]:
    """Return parts of the given sizes, one after the other, such as joined files."""
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def query_parts(
    n_queries: int, n_parts: int, *, shuffle: bool = True, random_state: Any = 0
) -> list[np.ndarray]:
    """Divide queries into parts whose sizes differ by at most one.

    With ``shuffle``, queries are assigned at random instead of in runs; within a part they stay in
    order. ``random_state`` is a seed, a numpy Generator or None.

    Examples
    --------
    >>> from ranksieve.splits import query_parts
    >>> [part.tolist() for part in query_parts(7, 3, shuffle=False)]
    [[0, 1, 2], [3, 4], [5, 6]]
    """
    if n_parts < 2:
        raise DataError(f"queries must be divided into at least 2 parts, got {n_parts}")
    if n_queries < n_parts:
        raise DataError(
            f"{quantity(n_queries, 'query', 'queries')} cannot be divided into {n_parts} parts"
        )
    queries = np.arange(n_queries)
    if shuffle:
        queries = np.random.default_rng(random_state).permutation(queries)
    return [np.sort(part) for part in np.array_split(queries, n_parts)]


def complementary_halves(n_queries: int, n_pairs: int, random_state: Any = 0) -> list[np.ndarray]:
    """Divide queries ``n_pairs`` times at random into two disjoint halves.

    Returns the ascending positions of the queries of each half, one pair after the other. If the
    number of queries is odd, each pair leaves out a query.
    """
    half = n_queries // 2
    if half < 2:
        raise DataError(
            f"{quantity(n_queries, 'query', 'queries')} cannot be divided into halves: there must "
            "be two queries in each, so four in all"
        )
    random = np.random.default_rng(random_state)
    orders = [random.permutation(n_queries) for _ in range(n_pairs)]
    return [np.sort(part) for order in orders for part in (order[:half], order[half : 2 * half])]


def rotate_parts(parts: Sequence[Any]) -> list[Split]:
    """Rotate parts so that each of them is the test part once.

    With ``k`` parts, fold ``f`` trains on parts ``f, ..., f + k - 3``, validates on
    ``f + k - 2`` and tests on ``f + k - 1``, counted cyclically. Five parts S1..S5 give the
    folds of LETOR: Fold1 is S1, S2, S3 / S4 / S5 and Fold5 is S5, S1, S2 / S3 / S4. There must be
    at least three parts, each the 0-based positions of its queries.

    References
    ----------
    T. Qin, T.-Y. Liu, J. Xu, H. Li. LETOR: A benchmark collection for research on learning to
    rank for information retrieval. Information Retrieval 13, 2010.

    Examples
    --------
    >>> from ranksieve.splits import rotate_parts
    >>> for split in rotate_parts([[0], [1], [2], [3], [4]]):
    ...     split.train.tolist(), split.vali.tolist(), split.test.tolist()
    ([0, 1, 2], [3], [4])
    ([1, 2, 3], [4], [0])
    ([2, 3, 4], [0], [1])
    ([3, 4, 0], [1], [2])
    ([4, 0, 1], [2], [3])
    """
    if len(parts) < 3:
        raise DataError(
            f"train, validation and test need at least 3 parts of the queries, got {len(parts)}"
        )
    rotations = [[*parts[first:], *parts[:first]] for first in range(len(parts))]
    return [Split(np.concatenate(train), vali, test) for *train, vali, test in rotations]


def query_kfold(
    n_queries: int, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = 0
) -> list[Split]:
    """Divide queries into k folds: train on k - 2 parts, validate on one, test on one.

    Every query is tested once. The parameters are those of :func:`query_parts`; ``n_splits`` is
    the number of parts, at least 3.

    Examples
    --------
    >>> from ranksieve.splits import query_kfold
    >>> [split.test.tolist() for split in query_kfold(6, 3, shuffle=False)]
    [[4, 5], [0, 1], [2, 3]]
    """
    if n_splits < 3:
        raise DataError(f"train, validation and test need n_splits >= 3, got {n_splits}")
    parts = query_parts(n_queries, n_splits, shuffle=shuffle, random_state=random_state)
    return rotate_parts(parts)


def six_trials(n_queries: int, *, shuffle: bool = True, random_state: Any = 0) -> list[Split]:
    """Divide queries into three parts, and train, validate and test on them in all six orders.

    This is the protocol of GAS, whose results are averages over the six trials. The parameters are
    those of :func:`query_parts`.

    References
    ----------
    X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007.

    Examples
    --------
    >>> from ranksieve.splits import six_trials
    >>> trials = six_trials(3, shuffle=False)
    >>> [(int(t.train[0]), int(t.vali[0]), int(t.test[0])) for t in trials]
    [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    """
    parts = query_parts(n_queries, 3, shuffle=shuffle, random_state=random_state)
    return [Split(*assignment) for assignment in permutations(parts)]


def resample_queries(
    n_queries: int, n_resamples: int, *, share: float = 0.8, random_state: int = 0
) -> list[np.ndarray]:
    """Draw a fraction of the queries repeatedly, each time without replacement.

    Unlike in a bootstrap, no query is drawn twice: otherwise, methods that hold out some of these
    queries would train on copies of held-out queries.

    Examples
    --------
    >>> from ranksieve.splits import resample_queries
    >>> [part.tolist() for part in resample_queries(5, 3)]
    [[0, 1, 2, 3], [0, 2, 3, 4], [0, 1, 3, 4]]
    """
    n_drawn = max(1, round(share * n_queries))
    seeds = np.random.SeedSequence(random_state).spawn(n_resamples)
    draws = (np.random.default_rng(s).permutation(n_queries)[:n_drawn] for s in seeds)
    return [np.sort(queries) for queries in draws]


def _as_positions(queries: Any, role: str) -> np.ndarray:
    positions = np.asarray(queries)
    if positions.size == 0:
        positions = positions.astype(np.int64)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise DataError(f"{role} must be a list of 0-based query positions")
    if np.any(positions < 0):
        raise DataError(f"{role} has the negative query position {positions.min()}")
    return positions.astype(np.int64)
