"""Values of queries that may have weights: their mean, and how sure it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING

_LEAST = 1e-9  # degrees of freedom, where one query has all the weight but for rounding


class Sample(NamedTuple):
    """Values of queries.

    Attributes
    ----------
    values : array of shape (queries,)
    weights : array of shape (queries,) or None
        How much each counts; positive, with a mean of 1. None if all count the same.
    """

    values: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None) -> Sample:
        """A sample by weights of any scale; those of 0 are left out."""
        if weights is None:
            return cls(values)
        counted = weights > 0
        return cls(values[counted], weights[counted] / weights[counted].mean())

    @property
    def terms(self) -> np.ndarray:
        """Each value times its weight: their mean is the weighted mean."""
        return self.values if self.weights is None else self.values * self.weights

    @property
    def mean(self) -> float:
        """Weighted mean."""
        return float(self.terms.mean())

    @property
    def effective_number(self) -> float:
        r"""Kish's effective number of queries: :math:`(\sum w)^2 / \sum w^2`."""
        n = len(self.values)
        if self.weights is None:
            return n
        return max(float(n**2 / (self.weights @ self.weights)), 1 + _LEAST)

    @property
    def residuals(self) -> np.ndarray:
        """What each query adds to the error of the mean, times the number of queries."""
        rest = self.values - self.mean
        return rest if self.weights is None else rest * self.weights

    @property
    def deviation(self) -> float:
        """Standard deviation; 0 if all values are equal but for rounding, or there is one."""
        if len(self.values) < 2:
            return 0.0
        if self.weights is None:
            deviation = self.values.std(ddof=1)
        else:
            n, rest = self.effective_number, self.values - self.mean
            deviation = np.sqrt((self.weights * rest**2).mean() * n / (n - 1))
        return float(deviation) if deviation > ROUNDING * np.abs(self.values).max() else 0.0

    @property
    def error(self) -> float:
        """Standard error of the mean; see :func:`ranksieve.significance.paired_t_test`."""
        n = len(self.values)
        if self.weights is None or self.deviation == 0:
            return float(self.deviation / np.sqrt(n))
        return float(np.sqrt((self.residuals**2).sum() / (n * (n - 1))))
