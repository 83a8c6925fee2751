"""Choose among values: which of them are equal, which is nearly as good, and when to stop."""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-11
"""Differences up to this are no differences: sums in another order differ in their last bits."""


def equals_of_best(values: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Mask of the values that the largest one exceeds by no more than rounding.

    ``scale`` is the size of the numbers that were added; that of a mean of measures is 1.
    """
    return values >= values.max() - ROUNDING * scale


def first_of_best(values: np.ndarray, scale: float = 1.0) -> int:
    """Place of the first value that no other exceeds by more than rounding."""
    return int(np.argmax(equals_of_best(values, scale)))


def first_nearly_best(values: np.ndarray, margin: float) -> int:
    """Place of the first value within a margin of the largest; a margin of NaN counts as 0.

    Of values by number of features, these are the fewest that are nearly as good.
    """
    return int(np.argmax(values >= values.max() - np.nan_to_num(margin)))


class EarlyStopping:
    """Which round is the best so far, and whether to stop.

    Parameters
    ----------
    rounds : int or None
        Stop after so many rounds without a better one; None never stops.
    rounding : float
        How much a round must exceed the best one to be better.

    Attributes
    ----------
    values : list of float
        Of each round; larger is better.
    best : int
        The best round, from 1; the first of equals; 0 without any.
    """

    def __init__(self, rounds: int | None, rounding: float = ROUNDING) -> None:
        self.rounds = rounds
        self.rounding = rounding
        self.values: list[float] = []
        self.best = 0

    def add(self, value: float) -> bool:
        """Take note of the value of a round; returns whether to stop."""
        self.values.append(value)
        if self.best == 0 or value > self.values[self.best - 1] + self.rounding:
            self.best = len(self.values)
        return self.rounds is not None and len(self.values) - self.best >= self.rounds
