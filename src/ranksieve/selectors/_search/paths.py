"""Paths of a selection: steps that add features, models with errors, and rules to choose one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.base import Choices
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


def choose_in_turn(
    choices: Choices, varies: np.ndarray, score: Callable[[list[int]], np.ndarray]
) -> list[Step]:
    """Choose groups one at a time, each the best by ``score(groups chosen so far)``.

    ``score`` returns one number per group, and ``varies`` has one entry per group. Steps have
    positions of groups, which are the features themselves if there are no groups. Included groups
    come first. Ties go to the lowest position. Groups whose features are constant within every
    query come last, whatever their scores.
    """
    steps: list[Step] = []
    chosen: list[int] = []
    free = np.ones(len(varies), dtype=bool)
    for number in range(len(varies)):
        if choices.is_full(chosen):
            break
        scores = score(chosen)
        if number < len(choices.start):
            best = choices.start[number]
        else:
            candidates = free & varies if np.any(free & varies) else free
            best = int(np.argmax(np.where(candidates, scores, -np.inf)))
        steps.append(Step(best, float(scores[best])))
        chosen.append(best)
        free[best] = False
    taken = choices.take(chosen)
    return steps[: len(taken)]


def scored_steps(features: Iterable[int], scores: np.ndarray) -> list[Step]:
    """Steps that choose these features, or groups, in this order."""
    return [Step(feature, float(scores[feature])) for feature in features]


def spread_steps(steps: Iterable[Step], choices: Choices) -> list[Step]:
    """Replace steps of groups by steps of their features, each with the score of its group."""
    return [Step(f, step.score) for step in steps for f in choices.features_of([step.feature])]


def best_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose the features with the largest scores; a group has the score of its best feature."""
    leaders = choices.leaders(scores, varies)
    return _largest_first(choices, varies[leaders], scores[leaders])


def best_sum_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose the features with the largest scores; a group has the sum over its features."""
    return _largest_first(choices, choices.any_of(varies), choices.total(scores))


def _largest_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose groups by their scores, which do not depend on the groups chosen before."""
    return spread_steps(choose_in_turn(choices, varies, lambda chosen: scores), choices)


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
