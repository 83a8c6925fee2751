"""Scores of a ranker on queries that it was not trained on, as targets for other methods."""

from __future__ import annotations

from types import NoneType
from typing import Any

import numpy as np
from sklearn.base import clone

from ranksieve.data import DataError, RankingData
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.engine import Source, in_memory
from ranksieve.engine.memo import shared
from ranksieve.progress import track
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.adapter import untrained_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.registry.foreign import row_weights
from ranksieve.selectors._search.held_out import in_parallel
from ranksieve.selectors._search.parts import counted_queries
from ranksieve.splits import query_parts

_SEEDS = ("random_state", "estimator__random_state", "estimator__random_seed")


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
