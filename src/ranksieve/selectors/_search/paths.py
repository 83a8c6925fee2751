"""Paths of a search: steps that add features, models with errors, and rules to choose one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.choosing import first_nearly_best
from ranksieve.data import DataError


class Step(NamedTuple):
    """A step of a selection: the chosen feature, and its score when it was chosen."""

    feature: int
    score: float


class Fit(NamedTuple):
    """A model on the path of a search."""

    features: tuple[int, ...]  # in the order in which they were added
    coef: np.ndarray  # their weights
    error: float  # weighted sum over left-out queries of the criterion; smaller is better
    deviation: float  # standard error of that sum, from its spread over queries

    @property
    def score(self) -> float:
        """The error."""
        return self.error


class MeasuredFit(NamedTuple):
    """A model on the path of a search by a measure."""

    features: tuple[int, ...]  # in the order in which they were added
    coef: np.ndarray  # their weights, if the model has weights
    value: float  # weighted mean over left-out queries of the measure, in its own sign
    deviation: float  # standard error of that mean, from its spread over queries

    @property
    def score(self) -> float:
        """The value of the measure."""
        return self.value


AnyFit = Fit | MeasuredFit


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


def path_steps(path: Sequence[AnyFit], position: int) -> list[Step]:
    """Steps to a model of a path: each feature, and the error or value once it was added.

    Features of one group are adjacent and have the same score.
    """
    sizes = np.array([len(fit.features) for fit in path])
    return [
        Step(feature, path[int(np.argmax(sizes >= number))].score)
        for number, feature in enumerate(path[position].features, start=1)
    ]


def best_fit(
    path: Sequence[AnyFit],
    rule: str,
    least: int = 1,
    *,
    tol: float = 0.0,
    greater_is_better: bool = False,
) -> int:
    """Position on a path of the model that a rule chooses.

    ``"best"``: the best error or value, the smaller model on ties. ``"one-se"``: the smallest model
    within one standard error of the best. ``"tolerance"``: within ``tol`` of it. Models before the
    ``least``-th do not count.
    """
    errors = np.array([fit.score for fit in path]) * (-1.0 if greater_is_better else 1.0)
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
