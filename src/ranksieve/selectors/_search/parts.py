"""Divide queries into training and held-out queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.base import RankSelector, as_source
from ranksieve.data import DataError
from ranksieve.engine import Source
from ranksieve.sums.density_sums import Part


class HeldOutSelector(RankSelector):
    """Base of selectors that use held-out queries, which ``_choose`` gets as ``eval_set``."""

    def fit(self, X: Any, y: Any = None, qid: Any = None, eval_set: Any = None) -> Any:
        """Select features.

        Parameters
        ----------
        X, y, qid
            As in :meth:`ranksieve.base.RankSelector.fit`.
        eval_set : tuple (X, y, qid), RankingData or opened shards, optional
            Held-out queries. Without it, some queries of the data are held out.
        """
        return self._fit(X, y, qid, eval_set=eval_set)


def hold_out(
    source: Source, eval_set: Any, fraction: float, random_state: Any
) -> tuple[Part, Part]:
    """Return training and held-out queries: all and ``eval_set``, or a random division.

    Parameters
    ----------
    source : RankingData or opened shards
    eval_set : tuple (X, y, qid), RankingData, opened shards or None
    fraction : float
        Fraction of the queries to hold out if there is no ``eval_set``; at least one query.
    random_state : int, RandomState or None
        Random seed for the choice of held-out queries.
    """
    if eval_set is not None:
        return Part(source), Part(as_source(eval_set, source))
    if source.n_queries < 2:
        raise DataError("there is only one query, and none to hold out: pass an eval_set")
    n_held_out = min(max(1, round(fraction * source.n_queries)), source.n_queries - 1)
    held_out = np.zeros(source.n_queries, dtype=bool)
    order = check_random_state(random_state).permutation(source.n_queries)
    held_out[order[:n_held_out]] = True
    return Part(source, ~held_out), Part(source, held_out)
