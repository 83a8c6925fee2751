"""Confidence intervals of differences, also by bootstrap, and a test of non-inferiority."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special

from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError
from ranksieve.significance.samples import (
    check_level,
    differences_of,
    jackknife,
    paired_differences,
    runs_of,
    sums_of_others,
    weighted_pairs,
)
from ranksieve.significance.tests import paired_t_test

_FEWEST_RESAMPLES = 100


class Interval(NamedTuple):
    """An estimate and its confidence interval."""

    estimate: float
    lower: float
    upper: float


class NonInferiority(NamedTuple):
    """Result of :func:`non_inferiority`.

    Attributes
    ----------
    change : float
        Change from the mean of ``b`` to the mean of ``a``, on the scale of the margin.
    lower : float
        One-sided lower confidence bound of the change.
    p_value : float
        p-value of the hypothesis that ``a`` is worse than ``b`` by the margin or more.
    non_inferior : bool
        Whether that hypothesis is rejected; then ``lower`` lies above ``-margin``.
    """

    change: float
    lower: float
    p_value: float
    non_inferior: bool


def student_interval(a: Any, b: Any, level: float = 0.95, weights: Any = None) -> Interval:
    """Compute Student's confidence interval of the mean difference, which matches the t-test.

    Parameters
    ----------
    a, b : arrays of shape (queries,)
        Values of the two methods.
    level : float
        Confidence that the interval contains the true mean difference.
    weights : array of shape (queries,), optional
        How much each query counts in all means, as in :func:`paired_t_test`.

    Returns
    -------
    Interval
        Zero lies outside if and only if the p-value of :func:`paired_t_test` is below
        ``1 - level``. Takes O(n) time for n queries, unlike :func:`bootstrap_interval`.

    Examples
    --------
    >>> from ranksieve.significance import student_interval
    >>> interval = student_interval([0.5, 0.7, 0.4, 0.9], [0.4, 0.5, 0.4, 0.6])
    >>> round(interval.lower, 4), round(interval.upper, 4)
    (-0.0554, 0.3554)
    """
    check_level(level)
    sample = paired_differences(a, b, weights)
    half = sample.half_width(level)
    return Interval(sample.mean, sample.mean - half, sample.mean + half)


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


def non_inferiority(
    a: Any,
    b: Any,
    margin: float = 0.01,
    relative: bool = True,
    level: float = 0.95,
    weights: Any = None,
) -> NonInferiority:
    """Test whether ``a`` is not worse than ``b`` by a margin, such as 1 % of b's mean.

    A test that finds no difference does not show that there is none. Here the hypothesis to
    reject is that ``a`` is worse by the margin or more:
    ``mean(a) <= (1 - margin) mean(b)``, or ``mean(a) <= mean(b) - margin`` if not relative.

    Parameters
    ----------
    a, b : arrays of shape (queries,)
        Values of the two methods; the mean of ``b`` must be positive if ``relative``.
    margin : float
        Smallest loss that would matter, at least 0: a fraction of the mean of ``b`` (below 1) if
        ``relative``, else a difference in the units of the values.
    relative : bool
        Whether the margin is relative to the mean of ``b``.
    level : float
        Confidence of the bound, between 0.5 and 1; the test has the level ``1 - level``.
    weights : array of shape (queries,), optional
        How much each query counts in all means, as in :func:`paired_t_test`.

    Returns
    -------
    NonInferiority

    Notes
    -----
    A one-sided paired t-test of ``a - (1 - margin) b``, or ``a - b + margin``. The bound is the
    lower end of the one-sided interval of the same test: Fieller's interval of
    ``mean(a) / mean(b) - 1``, which allows for the mean of ``b`` being an estimate too, or
    Student's interval of ``mean(a - b)``. A relative change has no bound (-infinity) unless
    the mean of ``b`` is itself significantly above zero at this level; the p-value is therefore
    the larger one of the two tests, so that verdict, p-value and bound always agree.

    References
    ----------
    - E. Fieller. Some problems in interval estimation. Journal of the Royal Statistical
      Society B 16(2), 1954.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import non_inferiority
    >>> b = np.linspace(0.2, 0.8, 50)
    >>> a = b + np.tile([0.01, -0.01], 25)
    >>> non_inferiority(a, b).non_inferior
    True
    >>> non_inferiority(a - 0.01, b).non_inferior
    False
    """
    check_margin(margin, level, relative)
    first, second, weights = weighted_pairs(a, b, weights)
    differences = paired_differences(first, second, weights)
    quantile = float(special.stdtrit(differences.degrees, level))
    if relative:
        base = float(np.average(second, weights=weights))
        if base <= 0:
            raise DataError(f"the mean of b is {base:.4g}, not positive: pass relative=False")
        change = float(np.average(first, weights=weights)) / base - 1
        lower = fieller_bound(first, second, weights, quantile) - 1
        zero = np.zeros_like(second)
        p_value = max(
            paired_t_test(first, (1 - margin) * second, "greater", weights).p_value,
            paired_t_test(second, zero, "greater", weights).p_value,
        )
    else:
        change = differences.mean
        lower = change - quantile * differences.error
        p_value = paired_t_test(first, second - margin, "greater", weights).p_value
    return NonInferiority(change, lower, p_value, p_value < 1 - level)


def check_margin(margin: float, level: float, relative: bool = True) -> None:
    """Raise a ValueError unless margin and one-sided confidence level are valid."""
    if not 0.5 < level < 1:
        raise ValueError(f"level must lie between 0.5 and 1, got {level}")
    if not 0 <= margin < (1 if relative else np.inf):
        raise ValueError(f"margin must be at least 0, and below 1 if relative, got {margin}")


def fieller_bound(
    first: np.ndarray, second: np.ndarray, weights: np.ndarray | None, quantile: float
) -> float:
    """Lower bound of mean(first) / mean(second): the ratio at which the t-test changes its result.

    It solves ``mean(first - rho second)^2 = quantile^2 var(first - rho second) / n`` for rho
    below the observed ratio. Solving for the distance from that ratio avoids cancellation.
    """
    base = np.average(second, weights=weights)
    ratio = np.average(first, weights=weights) / base
    values, n = (first - ratio * second, second), len(first)
    if weights is None:
        products = np.cov(*values) / n
    else:
        changes = np.array([jackknife(column, weights) for column in values])
        products = (n - 1) / n * changes @ changes.T
    rest, second_rest, second_second = quantile**2 * products[[0, 0, 1], [0, 1, 1]]
    leading = base**2 - second_second
    if leading <= 0:
        return -np.inf
    return float(ratio - (second_rest + np.sqrt(second_rest**2 + leading * rest)) / leading)
