"""Base of the selectors that use held-out queries, and how queries are held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.base import RankSelector
from ranksieve.data import DataError
from ranksieve.engine import Source
from ranksieve.sums.densities import Part


class HeldOutSelector(RankSelector):
    """Base of selectors that use held-out queries, which ``_choose`` gets as ``eval_set``."""

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
    source: Source, eval_set: Source | None, fraction: float, random_state: Any
) -> tuple[Part, Part]:
    """Return training and held-out queries: all and ``eval_set``, or a random division.

    Without an ``eval_set``, a fraction of the queries is held out, but at least one query.
    """
    if eval_set is not None:
        return Part(source), Part(eval_set)
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
