"""Folds, values of subsets on held-out queries, and a file of them to resume a long search from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ranksieve.base.estimator import RankEstimator
from ranksieve.data import DataError, RankingData
from ranksieve.data.inputs import check_query_weights
from ranksieve.engine import whole_block
from ranksieve.io.files import check_replaceable
from ranksieve.io.record_log import RecordLog
from ranksieve.io.records import PathLike
from ranksieve.metrics import Convention, Measure
from ranksieve.progress import track
from ranksieve.rankers.base import Ranker
from ranksieve.selectors._search.held_out import counted_queries
from ranksieve.splits import Split, query_parts
from ranksieve.sums.held_out import Measured, check_any_value
from ranksieve.threads import are_few_rows, limit_blas_threads, limit_threads, ordered_map

Subset = tuple[int, ...]
Key = tuple[int, ...]  # of a result; see Checkpoint


@dataclass(frozen=True)
class QueryPart:
    """Some queries of data, as positions: rows are copied when they are taken, and not kept."""

    data: RankingData
    queries: np.ndarray | None = None  # None: all
    without: np.ndarray | None = None  # positions of those that are not in the part after all

    @property
    def positions(self) -> np.ndarray:
        """Positions of the queries, in order."""
        queries = np.arange(self.data.n_queries) if self.queries is None else self.queries
        return queries if self.without is None else queries[~np.isin(queries, self.without)]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.positions)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.data.group_counts[self.positions].sum())

    def take(self) -> RankingData:
        """Return the queries as data of their own."""
        return self.data if self.queries is None else self.data.take_queries(self.positions)


class Fold(NamedTuple):
    """Queries to train on, and held-out queries to evaluate on."""

    train: QueryPart
    test: QueryPart

    def take(self, features: Sequence[int]) -> tuple[RankingData, RankingData]:
        """Return training data and held-out data with some features."""
        trains, tests = self.train.data, self.test.data
        few = trains.take_features(list(features))
        few_tests = few if tests is trains else tests.take_features(list(features))
        return replace(self.train, data=few).take(), replace(self.test, data=few_tests).take()


def make_folds(data: RankingData, cv: Any, random_state: Any) -> list[Fold]:
    """Make folds over queries.

    ``cv`` is a number of parts, each held out once; ``"leave-query-out"``; splits, whose training
    and test queries are used; or pairs of training and test queries as 0-based positions.
    """
    if isinstance(cv, (str, Integral)):
        counted = _divisible_queries(data)
        n_queries = len(counted)
        if cv == "leave-query-out":
            parts = query_parts(n_queries, n_queries, shuffle=False)
        else:
            parts = query_parts(n_queries, min(int(cv), n_queries), random_state=random_state)
        # Training queries are those that are not held out: a list of them for each fold would take
        # memory in proportion to the square of the number of queries.
        return [
            Fold(QueryPart(data, counted, without=counted[p]), QueryPart(data, counted[p]))
            for p in parts
        ]
    pairs = [_as_pair(split, data.n_queries) for split in cv]
    if not pairs:
        raise DataError("cv has no folds")
    for number, (train, test) in enumerate(pairs):
        if len(np.intersect1d(train, test)):
            raise DataError(
                "cv: a query is in both the training part and the held-out part of a fold"
            )
        for part in (train, test):
            if len(np.unique(part)) != len(part):
                raise DataError(f"cv: in fold {number}, a query is listed twice")
            weights = None if data.query_weights is None else data.query_weights[part]
            check_query_weights(weights, f"cv: in fold {number}, the weights")
    return [Fold(QueryPart(data, train), QueryPart(data, test)) for train, test in pairs]


def hold_out_fraction(data: RankingData, fraction: float, random_state: Any) -> Fold:
    """Hold out a fraction of the queries, rounded up, and leave at least one to train on."""
    counted = _divisible_queries(data)
    n_queries = len(counted)
    # 0.07 * 100 is a little more than 7.
    n_held_out = min(max(1, math.ceil(round(fraction * n_queries, 9))), n_queries - 1)
    drawn = np.random.default_rng(random_state).permutation(n_queries)[:n_held_out]
    held_out = counted[np.sort(drawn)]
    return Fold(QueryPart(data, counted, without=held_out), QueryPart(data, held_out))


def _divisible_queries(data: RankingData) -> np.ndarray:
    """Positions of the queries whose weight is not 0, of which there must be two."""
    counted = counted_queries(data)
    if len(counted) < 2:
        raise DataError("cannot hold out the only query: pass an eval_set")
    return counted


def _as_pair(split: Any, n_queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the training and test queries of a split or pair."""
    try:
        train, test = (split.train, split.test) if isinstance(split, Split) else split
        pair = np.asarray(train), np.asarray(test)
        if all(p.dtype.kind in "iu" and p.min() >= 0 and p.max() < n_queries for p in pair):
            return pair
    except (TypeError, ValueError):
        pass
    raise DataError(
        "cv: a fold should be a split, or a pair of lists of training and test queries, numbered "
        f"from 0 to {n_queries - 1}; got {split!r:.60}"
    )


class FoldValues:
    """Values of a measure on held-out queries, for rankers trained on subsets of the features.

    Copies of the untrained ranker are trained, each with its own random numbers. Results are added
    to ``known``, so that no subset is trained twice.
    """

    def __init__(
        self,
        ranker: Ranker,
        folds: Sequence[Fold],
        measure: Measure,
        convention: Convention | str,
        known: Checkpoint,
    ) -> None:
        self.ranker = ranker
        self.folds = list(folds)
        self.known = known
        self.n_trained = 0
        self.measure = measure
        tests = (whole_block(fold.test.take().take_features([])) for fold in self.folds)
        self._measured = [Measured(test, measure, convention) for test in tests]
        check_any_value(float(self.weights.sum()))

    @cached_property
    def n_rows(self) -> int:
        """Number of rows to train on, in the largest fold."""
        return max(fold.train.n_rows for fold in self.folds)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the held-out queries of all folds."""
        return np.concatenate([measured.weights for measured in self._measured])

    @property
    def is_defined(self) -> np.ndarray:
        """Whether each held-out query has a value; the others are 0, with weight 0."""
        return np.concatenate([measured.prepared.is_defined for measured in self._measured])

    def values(self, subsets: Sequence[Subset]) -> list[np.ndarray]:
        """Value of each held-out query, for each subset of features."""
        keys = [tuple(sorted(subset)) for subset in subsets]
        missing = [key for key in dict.fromkeys(keys) if key not in self.known]
        advance = track("Subsets", len(missing))
        tasks = [(key, number) for key in missing for number in range(len(self.folds))]
        parts: list[np.ndarray] = []
        results = in_parallel(self._train_and_judge, tasks, self.ranker, self.n_rows)
        for (key, number), part in zip(tasks, results, strict=True):
            parts.append(part)
            if number == len(self.folds) - 1:
                self.known.add(key, [np.concatenate(parts)])
                self.n_trained += 1
                parts = []
                advance(1)
        return [self.known[key][0] for key in keys]

    def _train_and_judge(self, task: tuple[Subset, int]) -> np.ndarray:
        """Train on a subset of the features of a fold, and evaluate on its held-out queries."""
        subset, number = task
        fold = self.folds[number]
        ranker = self.ranker._for_features(subset, fold.train.data.n_features)
        train, test = fold.take(subset)
        return self.judge(ranker.fit(train).predict(test), number)

    def judge(self, scores: np.ndarray, number: int) -> np.ndarray:
        """Value of the measure for each held-out query of a fold, given scores."""
        measured = self._measured[number]
        return measured.prepared.per_query(measured.ranking(scores))


def in_parallel(
    function: Callable[[Any], Any], items: Iterable[Any], method: RankEstimator, n_rows: int
) -> Iterable[Any]:
    """Apply a function to items in parallel, each on one thread; yield results in order.

    One after the other if it fits a method on so few rows that threads would take longer.
    """

    def on_one_thread(item: Any) -> Any:
        with limit_threads(1):
            return function(item)

    is_one_by_one = method.steps_in_python and are_few_rows(n_rows)
    with limit_blas_threads(1):
        yield from (map if is_one_by_one else ordered_map)(on_one_thread, items)


class Checkpoint(dict[Key, list[np.ndarray]]):
    """Results of a search by key, in memory and, if there is a path, in a file.

    A key that lists features stands for the values of all held-out queries. The key -1 - f followed
    by features stands for their importances on fold f and the values of its held-out queries.

    An existing file is read; the file of another search is refused. ``search`` has everything that
    the results depend on, and ``n_queries`` the number of held-out queries of each fold.
    """

    def __init__(
        self, path: PathLike | None, search: Mapping[str, str], n_queries: Sequence[int]
    ) -> None:
        super().__init__()
        self._log = None if path is None else _SearchLog(Path(path), search, n_queries, self)

    def add(self, key: Key, arrays: Iterable[np.ndarray]) -> None:
        """Keep a result, and write it to the file."""
        found = list(arrays)
        if self._log is not None:
            self._log.add(key, [array.tolist() for array in found])
        self.setdefault(key, found)


class _SearchLog(RecordLog):
    """The file of a checkpoint; its records are added to ``results``."""

    FORMAT = "ranksieve-results"
    VERSION = 3
    WHAT = "the results of a search"
    INSTEAD = "remove the file, or name another"

    def __init__(
        self,
        path: Path,
        search: Mapping[str, str],
        n_queries: Sequence[int],
        results: Checkpoint,
    ) -> None:
        check_replaceable(path)
        self._n_queries, self._arrays = n_queries, results
        super().__init__(path, search)

    def _checked(self, cell: Any, result: Any, where: str) -> None:
        if type(cell) is not list or not all(type(number) is int for number in cell):
            raise ValueError("a key should be a list of whole numbers")
        if type(result) is not list or not all(_is_array(values) for values in result):
            raise ValueError("a result should be lists of numbers")
        if [len(values) for values in result] != self._lengths(cell):
            raise ValueError(f"there should be {self._lengths(cell)} values")
        self._arrays[tuple(cell)] = [np.array(values, dtype=np.float64) for values in result]

    def _lengths(self, cell: list[int]) -> list[int]:
        if not cell or cell[0] >= 0:
            return [sum(self._n_queries)]
        fold = -1 - cell[0]
        if fold >= len(self._n_queries):
            raise ValueError(f"there is no fold {fold}")
        return [len(cell) - 1, self._n_queries[fold]]


def _is_array(values: Any) -> bool:
    return type(values) is list and all(type(v) is float and math.isfinite(v) for v in values)
