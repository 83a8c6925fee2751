"""Choose among values: equal up to rounding, nearly best, Pareto optimal, by sums of ranks.

Also early stopping.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

ROUNDING = 1e-11
"""Differences up to this count as rounding: sums in another order differ in their last bits."""


def equals_of_best(values: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Mask of the values that equal the largest one up to rounding.

    ``scale`` is the magnitude of the numbers that were added; 1 for means of measures.
    """
    return values >= values.max() - ROUNDING * scale


def first_of_best(values: np.ndarray, scale: float = 1.0) -> int:
    """Position of the first value that equals the largest one up to rounding."""
    return int(np.argmax(equals_of_best(values, scale)))


def first_nearly_best(values: np.ndarray, margin: float) -> int:
    """Position of the first value within a margin of the largest; a margin of NaN counts as 0.

    For values by number of features, it is the smallest number that is nearly as good as the best.
    """
    return int(np.argmax(values >= values.max() - np.nan_to_num(margin)))


def sum_ranks(lists: Sequence[Sequence[int]], n: int) -> np.ndarray:
    """Sum of the ranks, from 0, of each of n items in several lists; n where it is not listed.

    Examples
    --------
    >>> sum_ranks([[2, 0], [0, 1, 2]], 4).tolist()
    [1, 5, 2, 8]
    """
    each = np.full((len(lists), n), n)
    for ranks, listed in zip(each, lists, strict=True):
        ranks[list(listed)] = np.arange(len(listed))
    total: np.ndarray = each.sum(axis=0)
    return total


def pareto_front(costs: Any, values: Any) -> list[int]:
    """Positions of the candidates that are better than all cheaper ones, by increasing cost.

    Larger values are better, and differences up to rounding do not count; NaN stands for no value.
    Among equal costs only the best candidate is kept; among equal values, the first.

    Examples
    --------
    >>> pareto_front(costs=[3, 1, 2, 1, 4], values=[0.7, 0.4, 0.3, 0.5, 0.7])
    [3, 0]
    """
    front: list[int] = []
    prices, gains = np.asarray(costs, dtype=np.float64), np.asarray(values, dtype=np.float64)
    best = -np.inf
    for candidate in np.lexsort((-gains, prices)).tolist():
        if gains[candidate] > best + ROUNDING * abs(gains[candidate]):
            best = gains[candidate]
            front.append(candidate)
    return front


class EarlyStopping:
    """Keep track of the best round, and decide when to stop."""

    def __init__(self, rounds: int | None, rounding: float = ROUNDING) -> None:
        self.rounds = rounds  # without an improvement, after which to stop; None never stops
        self.rounding = rounding  # largest difference that does not count as an improvement
        self.values: list[float] = []  # of each round; larger is better
        self.best = 0  # the best round, from 1 (the first if several are equal); 0 if there is none

    def add(self, value: float) -> bool:
        """Record the value of a round; return whether to stop."""
        self.values.append(value)
        if self.best == 0 or value > self.values[self.best - 1] + self.rounding:
            self.best = len(self.values)
        return self.rounds is not None and len(self.values) - self.best >= self.rounds
