"""Rankers on queries that they were not trained on: folds, subsets, scores of a teacher."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ranksieve.base.estimator import RankEstimator
from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.data.inputs import check_query_weights
from ranksieve.engine import Source, in_memory, whole_block
from ranksieve.engine.memo import shared
from ranksieve.metrics import Convention, Measure
from ranksieve.progress import track
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.adapter import untrained_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.registry.foreign import row_weights
from ranksieve.selectors._search.checkpoint import Checkpoint
from ranksieve.selectors._search.held_out import counted_queries
from ranksieve.splits import Split, query_parts
from ranksieve.sums.held_out import Measured
from ranksieve.threads import are_few_rows, limit_blas_threads, limit_threads, ordered_map

_SEEDS = ("random_state", "estimator__random_state", "estimator__random_seed")

Subset = tuple[int, ...]


class Fold(NamedTuple):
    """Queries to train on, and held-out queries to evaluate on."""

    train: RankingData
    test: RankingData


def make_folds(data: RankingData, cv: Any, random_state: Any) -> list[Fold]:
    """Make folds over queries.

    ``cv`` is a number of parts, each held out once; ``"leave-query-out"``; splits, whose training
    and test queries are used; or pairs of training and test queries as 0-based positions.
    """
    counted = counted_queries(data)
    n_queries = len(counted)
    if isinstance(cv, (str, Integral)):
        if n_queries < 2:
            raise DataError("cannot hold out the only query: pass an eval_set")
        if cv == "leave-query-out":
            parts = query_parts(n_queries, n_queries, shuffle=False)
        else:
            parts = query_parts(n_queries, min(int(cv), n_queries), random_state=random_state)
        pairs = [(counted[np.setdiff1d(np.arange(n_queries), p)], counted[p]) for p in parts]
    else:
        pairs = [_as_pair(split, data.n_queries) for split in cv]
    if not pairs:
        raise DataError("cv has no folds")
    for train, test in pairs:
        if len(np.intersect1d(train, test)):
            raise DataError(
                "cv: a query is in both the training part and the held-out part of a fold"
            )
    folds = [Fold(data.take_queries(train), data.take_queries(test)) for train, test in pairs]
    for number, fold in enumerate(folds):
        for part in fold:
            check_query_weights(part.query_weights, f"cv: in fold {number}, the weights")
    return folds


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

    Copies of the untrained ranker are trained, each with its own random numbers. Values are negated
    if smaller is better. Results are added to ``known``, so that no subset is trained twice.
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
        self._sign = 1.0 if measure.greater_is_better else -1.0
        tests = (whole_block(fold.test) for fold in self.folds)
        self._measured = [Measured(test, measure, convention) for test in tests]

    @property
    def n_rows(self) -> int:
        """Number of rows to train on, in the largest fold."""
        return max(fold.train.n_rows for fold in self.folds)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the held-out queries of all folds."""
        return np.concatenate([measured.weights for measured in self._measured])

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
        ranker = self.ranker._for_features(subset, fold.train.n_features)
        ranker.fit(fold.train.take_features(list(subset)))
        return self.judge(ranker.predict(fold.test.take_features(list(subset))), number)

    def judge(self, scores: np.ndarray, number: int) -> np.ndarray:
        """Value of the measure for each held-out query of a fold, given scores."""
        measured = self._measured[number]
        return self._sign * measured.prepared.per_query(measured.ranking(scores))


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


def make_teacher(teacher: Any) -> Ranker:
    """Make a ranker from an estimator of any library, the name of a ranker, or ``"trees"``."""
    if teacher == "trees":
        return LambdaMART(100, num_leaves=15)
    return untrained_ranker(teacher)


@shared
def teacher_scores(
    source: Source, teacher: Any, n_folds: int, n_repeats: int, random_state: int
) -> np.ndarray:
    """Score of each row by rankers that were trained without its query.

    Scores are centered within queries, averaged over the repeats, and divided by their standard
    deviation over all rows. Queries of weight 0 have scores of 0. Shards are read into memory.

    The queries are divided into ``n_folds`` parts, each of which is scored by a ranker trained on
    the others; every repeat has other parts and another random seed of the ranker.
    """
    data, ranker = in_memory(source), make_teacher(teacher)
    counted = counted_queries(data)
    n = len(counted)
    if n < n_folds:
        raise DataError(
            f"there {'is only one query' if n == 1 else f'are only {n} queries'} for the {n_folds} "
            "folds of the teacher: lower n_folds, or use no teacher"
        )
    tasks = [
        (_with_seed(ranker, repeat), counted[part])
        for repeat in range(n_repeats)
        for part in query_parts(n, n_folds, random_state=random_state + repeat)
    ]
    scores, advance = np.zeros(data.n_rows), track("Teacher", len(tasks))
    results = in_parallel(lambda task: _held_out_scores(data, *task), tasks, ranker, data.n_rows)
    for (_, part), found in zip(tasks, results, strict=True):
        scores[_rows_of(data, part)] += found
        advance(1)
    counts, starts = data.group_counts, data.query_ptr[:-1]
    scores -= np.repeat(np.add.reduceat(scores, starts) / counts, counts)
    if not scores.any():
        raise DataError(
            "the teacher gives all documents of a query the same score: use another teacher, or "
            f"none; if the values are too small for its trees to split, {SCALE_FIRST}"
        )
    scores /= _deviation(scores, data)
    return scores if data is source else data.to_input_order(scores)


def _deviation(scores: np.ndarray, data: RankingData) -> float:
    """Standard deviation of scores that are centered within queries."""
    if data.query_weights is None:
        return float(scores.std())
    return float(np.sqrt(np.average(scores**2, weights=row_weights(data))))


def _held_out_scores(data: RankingData, ranker: Ranker, part: np.ndarray) -> np.ndarray:
    """Scores of some queries by a ranker trained on all others."""
    others = np.setdiff1d(np.arange(data.n_queries), part)
    return ranker.fit(data.take_queries(others)).predict(data.take_queries(part))


def _rows_of(data: RankingData, queries: np.ndarray) -> np.ndarray:
    """Mask of the rows of some queries."""
    return np.repeat(np.isin(np.arange(data.n_queries), queries), data.group_counts)


def _with_seed(ranker: Ranker, repeat: int) -> Ranker:
    """Copy of a ranker whose random seed, if it has one, is set for a repeat."""
    copy, known = clone(ranker), ranker.get_params()
    seeds = {
        name: known[name] for name in _SEEDS if isinstance(known.get(name, ""), (int, NoneType))
    }
    return copy.set_params(**{name: (seed or 0) + repeat for name, seed in seeds.items()})
