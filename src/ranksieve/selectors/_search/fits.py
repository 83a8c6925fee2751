"""Models on the path of a search, with their errors on left-out queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.base import Choices
from ranksieve.choosing import first_nearly_best
from ranksieve.data import DataError
from ranksieve.selectors._search.greedy import Step


class Fit(NamedTuple):
    """A model on the path of a search.

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
    """Raise a DataError unless two queries or more have two documents or more."""
    if n_queries < 2:
        raise DataError(
            "leave-query-out needs at least two queries with two documents or more: if the only "
            "one is left out, nothing remains to train on"
        )


def standard_error(total: float, squares: float, n_queries: float) -> float:
    """Standard error of a sum over queries, given the sum of squares.

    Queries count by their weights: a query of weight 2 counts like two queries.
    """
    if n_queries < 2:
        return float("nan")
    spread = max(0.0, squares - total**2 / n_queries)
    return float(np.sqrt(n_queries / (n_queries - 1) * spread))


def expand_groups(path: Sequence[Fit], choices: Choices) -> list[Fit]:
    """Replace the positions of groups in ``features`` of models by the features of the groups."""
    return [fit._replace(features=tuple(choices.features_of(fit.features))) for fit in path]


def path_steps(path: Sequence[Fit], position: int) -> list[Step]:
    """Steps to a model of a path: each feature, and the error once it was added.

    Features of one group are adjacent and have the same error.
    """
    sizes = np.array([len(fit.features) for fit in path])
    return [
        Step(feature, path[int(np.argmax(sizes >= number))].error)
        for number, feature in enumerate(path[position].features, start=1)
    ]


def best_fit(path: Sequence[Fit], rule: str, least: int = 1, *, tol: float = 0.0) -> int:
    """Position on a path of the model that a rule chooses.

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


def changes_with_bars(changes: Sequence[str], values: Sequence[float]) -> list[str]:
    """Lines of text, each with the change from the previous value and a bar for the value."""
    low, high = min(values), max(values)
    shares = [(value - low) / (high - low) if high > low else 0.0 for value in values]
    lines = zip(["", *changes], shares, strict=True)
    return [f"{change:>8} {'#' * round(20 * share)}".rstrip() for change, share in lines]
