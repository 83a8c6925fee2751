"""Choose among values: which are equal, nearly as good or worth their cost, and when to stop."""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDING = 1e-11
"""Differences up to this are no differences: sums in another order differ in their last bits."""


def equals_of_best(values: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Mask of the values that equal the largest one up to rounding.

    ``scale`` is the size of the numbers that were added; that of a mean of measures is 1.
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


def pareto_front(costs: Any, values: Any) -> list[int]:
    """Positions of the candidates that are better than all that cost no more, cheapest first.

    Parameters
    ----------
    costs : array of shape (candidates,)
        Among those of equal cost, the best counts; among equally good ones, the first.
    values : array of shape (candidates,)
        Larger is better; NaN where there is none. One that exceeds those of all cheaper candidates
        by rounding alone is no better.

    Examples
    --------
    >>> pareto_front(costs=[3, 1, 2, 1, 4], values=[0.7, 0.4, 0.3, 0.5, 0.7])
    [3, 0]
    """
    front: list[int] = []
    prices, gains = np.asarray(costs, dtype=np.float64), np.asarray(values, dtype=np.float64)
    best = -np.inf
    for place in np.lexsort((-gains, prices)).tolist():
        if gains[place] > best + ROUNDING * abs(gains[place]):
            best = gains[place]
            front.append(place)
    return front


class EarlyStopping:
    """Keep track of the best round, and decide when to stop.

    Parameters
    ----------
    rounds : int or None
        Stop after this many rounds without a better one; None never stops.
    rounding : float
        How much a round must exceed the best one to be better.

    Attributes
    ----------
    values : list of float
        Value of each round; larger is better.
    best : int
        The best round, from 1 (the first if several are equal); 0 before the first round.
    """

    def __init__(self, rounds: int | None, rounding: float = ROUNDING) -> None:
        self.rounds = rounds
        self.rounding = rounding
        self.values: list[float] = []
        self.best = 0

    def add(self, value: float) -> bool:
        """Record the value of a round; return whether to stop."""
        self.values.append(value)
        if self.best == 0 or value > self.values[self.best - 1] + self.rounding:
            self.best = len(self.values)
        return self.rounds is not None and len(self.values) - self.best >= self.rounds
