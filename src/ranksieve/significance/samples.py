"""Values of queries, with or without weights: checks, means, errors and confidence intervals."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special

from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError

_LEAST = 1e-9  # smallest degrees of freedom, if one query has nearly all the weight
_FEWEST_RESAMPLES = 100
_VALUES_AT_ONCE = 2**20  # largest part of a random matrix to have in memory


class Sample(NamedTuple):
    """Values of queries, with or without weights."""

    values: np.ndarray  # (queries,)
    weights: np.ndarray | None = None  # (queries,): positive, mean 1; None if all are equal

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
        changes = jackknife(self.values, self.weights)
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


def finite_column(values: Any, name: str) -> np.ndarray:
    """Return one finite number per query; raise a DataError for anything else."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not len(column):
        raise DataError(f"{name} must be a list of numbers, but its shape is {column.shape}")
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        raise DataError(
            f"{name} has {column[bad[0]]} at position {bad[0]} (0-based): "
            "leave it out, or replace it by a number"
        )
    return column


def weighted_pairs(
    a: Any, b: Any, weights: Any = None, least: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Values of both methods, and weights with a mean of 1; queries of weight 0 are left out.

    Raises a DataError unless ``least`` or more queries are left.
    """
    first, second = finite_column(a, "a"), finite_column(b, "b")
    if len(first) != len(second):
        raise DataError(
            f"a has {len(first)} values and b has {len(second)}: pass one value per query for "
            "each method, the same queries in the same order"
        )
    if len(first) < least:
        raise DataError(f"a comparison needs the values of at least {least} queries")
    if weights is None:
        return first, second, None
    column = finite_column(weights, "weights")
    if len(column) != len(first):
        raise DataError(f"there are {len(column)} weights for the values of {len(first)} queries")
    counted = column > 0
    if column.min() < 0 or counted.sum() < least:
        raise DataError(f"weights must not be negative, and at least {least} must be positive")
    return first[counted], second[counted], column[counted] / column[counted].mean()


def paired_differences(a: Any, b: Any, weights: Any = None) -> Sample:
    """Differences a - b, sorted so that no result depends on the order of the queries."""
    first, second, weights = weighted_pairs(a, b, weights)
    differences = differences_of(first, second)
    if weights is None:
        return Sample(np.sort(differences))
    order = np.lexsort((weights, differences))
    return Sample(differences[order], weights[order])


def differences_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Differences of values; rounding errors become 0."""
    differences = first - second
    largest = max(np.abs(first).max(), np.abs(second).max())
    differences[np.abs(differences) <= ROUNDING * largest] = 0.0
    return differences


def ratio_of(mean: float, scale: float) -> float:
    """Divide a mean by its scale; if the scale is 0, return infinity, or 0 for a mean of 0."""
    if scale == 0:
        return float(np.sign(mean) * np.inf) if mean else 0.0
    return float(mean / scale)


def check_level(level: float) -> None:
    """Raise a ValueError unless ``level`` is between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def runs_of(n_rows: int, n_columns: int) -> list[slice]:
    """Slices of rows, so that only a part of a large random matrix is in memory."""
    step = max(1, _VALUES_AT_ONCE // n_columns)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


class Interval(NamedTuple):
    """An estimate and its confidence interval."""

    estimate: float
    lower: float
    upper: float


def student_interval(a: Any, b: Any, level: float = 0.95, weights: Any = None) -> Interval:
    """Compute Student's confidence interval of the mean difference, which matches the t-test.

    Zero lies outside if and only if the p-value of :func:`paired_t_test` is below ``1 - level``.

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
    a, b, weights
        See :func:`paired_t_test`; a query is drawn with its weight.
    level : float
        Confidence that the interval contains the true mean difference.
    n_resamples : int
        Number of samples to draw, at least 100.
    method : {"bca", "percentile"}
        ``"percentile"`` takes quantiles of the resampled means; ``"bca"`` corrects them for bias
        and acceleration, which is closer to ``level`` if differences are skewed.
    random_state : int, numpy Generator or None
        Random seed of the samples.
    relative : bool
        Whether to divide by the mean of ``b``, which must be positive: the interval is then that
        of ``mean(a) / mean(b) - 1``. Its ends are infinite if the mean of ``b`` is not positive in
        every sample that is drawn.

    Notes
    -----
    Both ends equal the difference if it is the same on all queries. BCa takes the quantiles
    ``Phi(z0 + (z0 + z) / (1 - g (z0 + z)))`` for the normal quantiles z of both ends, where
    ``Phi(z0)`` is the fraction of resampled means below the observed one and
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
