"""Values of queries that may have weights: their mean and its standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from ranksieve.choosing import ROUNDING

_LEAST = 1e-9  # smallest degrees of freedom, if one query has nearly all the weight


class Sample(NamedTuple):
    """Values of queries.

    Attributes
    ----------
    values : array of shape (queries,)
    weights : array of shape (queries,) or None
        Weight of each query; positive, with a mean of 1. None if all are equal.
    """

    values: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None) -> Sample:
        """Make a sample with weights of any scale; queries of weight 0 are left out."""
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
    def degrees(self) -> float:
        r"""Degrees of freedom: n - 1, with Kish's effective number of queries if weighted.

        That is :math:`n = (\sum w)^2 / \sum w^2`.
        """
        if self.weights is None:
            return len(self.values) - 1
        shares, rest = self._shares()
        return max(float(shares @ rest / (shares @ shares)), _LEAST)

    def _shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Share of each query in the sum of all weights, and the share of all others."""
        assert self.weights is not None
        shares = self.weights / self.weights.sum()
        return shares, sums_of_others(shares)

    @property
    def jackknife(self) -> np.ndarray:
        """Change of the mean by each query: the mean minus that of all others."""
        if self.weights is None:
            return (self.values - self.mean) / (len(self.values) - 1)
        return jackknife(self.values, self.weights)

    @property
    def is_constant(self) -> bool:
        """Whether all values are equal up to rounding; true for a single value."""
        if len(self.values) < 2:
            return True
        return bool(self.values.std(ddof=1) <= ROUNDING * np.abs(self.values).max())

    @property
    def deviation(self) -> float:
        """Standard deviation; 0 if all values are equal up to rounding."""
        if self.is_constant:
            return 0.0
        if self.weights is None:
            return float(self.values.std(ddof=1))
        shares, rest = self._shares()
        return float(np.sqrt(shares @ (self.values - self.mean) ** 2 / (shares @ rest)))

    @property
    def error(self) -> float:
        """Standard error of the mean; see :func:`ranksieve.significance.paired_t_test`."""
        n = len(self.values)
        if self.weights is None or self.is_constant:
            return self.deviation / float(np.sqrt(n))
        changes = self.jackknife
        return float(np.sqrt((n - 1) / n * (changes @ changes)))

    def half_width(self, level: float) -> float:
        """Half the width of Student's confidence interval of the mean; needs two values."""
        return float(special.stdtrit(self.degrees, (1 + level) / 2)) * self.error


def jackknife(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Change of the weighted mean by each query: the mean minus that of all others."""
    means = sums_of_others(weights * values) / sums_of_others(weights)
    return weights / weights.sum() * (values - means)


def sums_of_others(terms: np.ndarray) -> np.ndarray:
    """For each term, the sum of all others.

    Subtracting a term from the sum of all would lose small terms beside a large one.
    """
    before = np.concatenate([[0.0], np.cumsum(terms[:-1])])
    after = np.concatenate([np.cumsum(terms[:0:-1])[::-1], [0.0]])
    return before + after
