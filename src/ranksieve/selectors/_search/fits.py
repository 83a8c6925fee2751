"""Steps of a search: models with their errors on queries that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.choosing import first_nearly_best
from ranksieve.data import DataError


class Fit(NamedTuple):
    """A model of a search.

    Attributes
    ----------
    features : tuple of int
        Features in the order in which they were added.
    coef : array
        Their weights.
    error : float
        Leave-query-out error: the weighted sum over queries of the criterion; smaller is better.
    deviation : float
        Standard error of that sum, from its spread over queries.
    """

    features: tuple[int, ...]
    coef: np.ndarray
    error: float
    deviation: float


def check_two_queries(n_queries: int) -> None:
    """Raise a DataError unless a query can be left out of those with two documents or more."""
    if n_queries < 2:
        raise DataError(
            "leave-query-out needs two queries with two documents or more: if the only one is left "
            "out, nothing remains to train on"
        )


def standard_error(total: float, squares: float, n_queries: float) -> float:
    """Standard error of a sum over queries, given the sum of squares.

    Weights count queries: all three are as if a query of weight 2 were there twice.
    """
    if n_queries < 2:
        return float("nan")
    spread = max(0.0, squares - total**2 / n_queries)
    return float(np.sqrt(n_queries / (n_queries - 1) * spread))


def best_fit(path: Sequence[Fit], rule: str, least: int = 1, *, tol: float = 0.0) -> int:
    """Position on a path of the model to take.

    ``"best"``: the smallest error, the smaller model on ties. ``"one_se"``: the smallest model
    whose error is within one standard error of the best. ``"tolerance"``: within ``tol`` of it.
    Models before the ``least``-th do not count.
    """
    errors = np.array([fit.error for fit in path])
    errors[: least - 1] = np.inf
    best = int(np.argmin(errors))
    if rule == "best":
        return best
    margin = tol if rule == "tolerance" else path[best].deviation
    return first_nearly_best(-errors, margin)
