"""Base of the selectors that use held-out queries, and how queries are divided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.base import RankSelector
from ranksieve.data import DataError, RankingData
from ranksieve.data.inputs import check_query_weights
from ranksieve.engine import Source
from ranksieve.splits import Split, query_parts
from ranksieve.sums.densities import Part


class HeldOutSelector(RankSelector):
    """Base of selectors that use held-out queries, which ``_choose`` gets as ``vali``."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        eval_set: Any = None,
        *,
        eval_qid: Any = None,
        eval_group: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Select features.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`ranksieve.base.RankSelector.fit`.
        eval_set : tuple (X, y, qid), RankingData, opened shards, or list [(X, y)], optional
            Held-out queries, with their own weights if they have any. Without it, some queries of
            the data are held out.
        eval_qid, eval_group : list of one array, optional
            For a list [(X, y)], as LightGBM and XGBoost take it: the query of each row of X, or the
            number of rows of each query, one after the other.
        """
        held_out = {"eval_set": eval_set, "eval_qid": eval_qid, "eval_group": eval_group}
        return self._fit(X, y, qid, sample_weight, **held_out)


def hold_out(
    source: Source, vali: Source | None, fraction: float, random_state: Any
) -> tuple[Part, Part]:
    """Return training and held-out queries: all and ``vali``, or a random division.

    Without ``vali``, a fraction of the queries is held out, but at least one query.
    """
    if vali is not None:
        return Part(source), Part(vali)
    counted = counted_queries(source)
    n_queries = len(counted)
    if n_queries < 2:
        raise DataError("cannot hold out the only query: pass an eval_set")
    n_held_out = min(max(1, round(fraction * n_queries)), n_queries - 1)
    held_out = np.zeros(source.n_queries, dtype=bool)
    order = check_random_state(random_state).permutation(n_queries)
    held_out[counted[order[:n_held_out]]] = True
    return Part(source, ~held_out), Part(source, held_out)


def counted_queries(source: Source) -> np.ndarray:
    """Positions of the queries whose weight is not 0."""
    weights = source.query_weights
    return np.arange(source.n_queries) if weights is None else np.flatnonzero(weights)


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
