"""Bootstrap intervals, from samples of queries."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special

from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError
from ranksieve.significance.inputs import (
    check_level,
    differences_of,
    paired_differences,
    runs_of,
    weighted_pairs,
)
from ranksieve.significance.intervals import Interval
from ranksieve.significance.samples import sums_of_others

_FEWEST_RESAMPLES = 100


def bootstrap_interval(
    a: Any,
    b: Any,
    level: float = 0.95,
    n_resamples: int = 10_000,
    method: Literal["bca", "percentile"] = "bca",
    random_state: Any = 0,
    weights: Any = None,
    relative: bool = False,
) -> Interval:
    """Compute a bootstrap confidence interval of the mean difference, resampling queries.

    Parameters
    ----------
    a, b : arrays of shape (queries,)
        Values of the two methods.
    level : float
        Confidence that the interval contains the true mean difference.
    n_resamples : int
        Number of samples to draw, at least 100.
    method : {"bca", "percentile"}
        ``"percentile"`` takes quantiles of the resampled means; ``"bca"`` corrects them for bias
        and acceleration, which is closer to ``level`` if differences are skewed.
    random_state : int, numpy Generator or None
        Random seed of the samples.
    weights : array of shape (queries,), optional
        Weight of each query in the mean; a query is drawn with its weight.
    relative : bool
        Whether to divide by the mean of ``b``, which must be positive: the interval is then that
        of ``mean(a) / mean(b) - 1``. Its ends are infinite if the mean of ``b`` is not positive in
        every sample that is drawn.

    Returns
    -------
    Interval
        Both ends equal the difference if it is the same on all queries.

    Notes
    -----
    BCa takes the quantiles ``Phi(z0 + (z0 + z) / (1 - g (z0 + z)))`` for the normal quantiles z
    of both ends, where ``Phi(z0)`` is the fraction of resampled means below the observed one and
    ``g = sum(u^3) / (6 sum(u^2)^1.5)`` is the jackknife's acceleration; u is how much each query
    changes the mean. Takes O(n_resamples * n) time for n queries.

    References
    ----------
    - B. Efron. Better bootstrap confidence intervals. Journal of the American Statistical
      Association 82(397), 1987.

    Examples
    --------
    >>> from ranksieve.significance import bootstrap_interval
    >>> interval = bootstrap_interval([0.5, 0.7, 0.4, 0.9], [0.4, 0.5, 0.4, 0.6])
    >>> interval.lower > 0
    True
    """
    check_level(level)
    if n_resamples < _FEWEST_RESAMPLES:
        raise ValueError(f"n_resamples must be at least {_FEWEST_RESAMPLES}, got {n_resamples}")
    if method not in ("bca", "percentile"):
        raise ValueError(f"method must be 'bca' or 'percentile', got {method!r}")
    shares = _shares(a, b, weights, relative)
    change = shares.estimate
    if shares.is_constant:
        return Interval(change, change, change)
    drawn = _resample(shares, n_resamples, random_state)
    if drawn is None:
        return Interval(change, -np.inf, np.inf)
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        ends = _corrected_quantiles(ends, shares, drawn)
    lower, upper = np.quantile(drawn, ends)
    return Interval(change, float(lower), float(upper))


class _Shares(NamedTuple):
    """Terms of each query in the sums whose ratio is estimated; None stands for ones."""

    numerators: np.ndarray
    denominators: np.ndarray | None
    is_constant: bool

    @property
    def estimate(self) -> float:
        """Ratio of the sums."""
        mean = float(self.numerators.mean())
        return mean if self.denominators is None else mean / float(self.denominators.mean())

    @property
    def jackknife(self) -> np.ndarray:
        """Change of the ratio by each query (jackknife)."""
        others = sums_of_others(self.numerators)
        if self.denominators is None:
            return self.estimate - others / (len(others) - 1)
        return self.estimate - others / sums_of_others(self.denominators)


def _shares(a: Any, b: Any, weights: Any, relative: bool) -> _Shares:
    if not relative:
        sample = paired_differences(a, b, weights)
        return _Shares(sample.terms, sample.weights, sample.error == 0)
    first, second, weights = weighted_pairs(a, b, weights)
    differences = differences_of(first, second)
    base = second if weights is None else weights * second
    if base.mean() <= 0:
        raise DataError(f"the mean of b is {base.mean():.4g}, not positive: pass relative=False")
    terms = differences if weights is None else weights * differences
    order = np.lexsort((base, terms))  # results must not depend on the order of the queries
    ratios = terms * base.mean() - terms.mean() * base
    scale = np.abs(terms).max() * np.abs(base).max()
    return _Shares(terms[order], base[order], bool(np.all(np.abs(ratios) <= ROUNDING * scale)))


def _resample(shares: _Shares, n_resamples: int, random_state: Any) -> np.ndarray | None:
    """Ratio of each sample; None if the mean of ``b`` is not positive in some sample."""
    rng = np.random.default_rng(random_state)
    ratios = np.empty(n_resamples)
    terms, parts = shares.numerators, shares.denominators
    for rows in runs_of(n_resamples, len(terms)):
        drawn = rng.integers(0, len(terms), (rows.stop - rows.start, len(terms)))
        ratios[rows] = terms[drawn].mean(axis=1)
        if parts is not None:
            base = parts[drawn].mean(axis=1)
            if base.min() <= 0:
                return None
            ratios[rows] /= base
    return ratios


def _corrected_quantiles(ends: np.ndarray, shares: _Shares, drawn: np.ndarray) -> np.ndarray:
    observed = shares.estimate
    bias = special.ndtri((np.mean(drawn < observed) + np.mean(drawn <= observed)) / 2)
    changes = shares.jackknife
    acceleration = np.sum(changes**3) / (6 * np.sum(changes**2) ** 1.5)
    shifted = bias + special.ndtri(ends)
    return special.ndtr(bias + shifted / (1 - acceleration * shifted))
