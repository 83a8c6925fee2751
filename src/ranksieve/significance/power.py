"""Number of queries needed to show that a loss is small, and the smallest loss to show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ranksieve.data import DataError
from ranksieve.significance.claims import check_margin, fieller_bound
from ranksieve.significance.samples import Sample, paired_differences, weighted_pairs


def queries_needed(
    a: Any,
    b: Any,
    margin: float = 0.01,
    level: float = 0.95,
    power: float = 0.8,
    loss: float = 0.0,
    weights: Any = None,
) -> float:
    r"""Number of queries that would probably show that the loss is below the margin.

    Let s be the standard deviation of :math:`d = a - (1 - \delta) b`, which
    :func:`non_inferiority` tests. For a true loss of :math:`\lambda`, the number is about

    .. math:: \left( \frac{(z_{level} + z_{power}) \, s}{(\delta - \lambda) \, \bar b} \right)^2 .

    Parameters
    ----------
    a, b, weights
        See :func:`paired_t_test`. They are of similar queries, from which the variance is
        estimated; future queries are assumed to have the same distribution of weights.
    margin, level
        See :func:`claim_non_inferiority`; the margin is :math:`\delta`.
    power : float
        Probability that the claim is shown, at least 0.5.
    loss : float
        The true loss :math:`\lambda`, as a fraction of the mean of ``b``; a gain if negative.

    Returns
    -------
    float
        A whole number, at least 2; infinite if the loss is not below the margin, or if the mean of
        ``b`` is not positive; NaN if there is only one query, which has no variance.

    References
    ----------
    - S. Julious. Sample sizes for clinical trials with normal data. Statistics in Medicine 23,
      2004.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import queries_needed
    >>> rng = np.random.default_rng(0)
    >>> b = rng.uniform(0.2, 0.8, 100)
    >>> a = b + rng.normal(0, 0.1, 100)
    >>> queries_needed(a, b, margin=0.01), queries_needed(a, b, margin=0.02)
    (2100.0, 525.0)
    """
    check_margin(margin, level)
    quantiles = _quantiles(level, power)
    first, second, weights = weighted_pairs(a, b, weights, least=1)
    base = Sample.of(second, weights).mean
    if base <= 0 or loss >= margin:
        return math.inf
    if len(first) < 2:
        return math.nan
    error = paired_differences(first, (1 - margin) * second, weights).error
    ratio = quantiles * error / ((margin - loss) * base)
    needed = len(first) * (ratio * ratio)  # a square by ** would raise an error if it is infinite
    return float(max(2, math.ceil(needed))) if math.isfinite(needed) else math.inf


def showable_margin(
    a: Any,
    b: Any,
    level: float = 0.95,
    power: float = 0.8,
    n_queries: float | None = None,
    weights: Any = None,
) -> float:
    """Smallest margin that would probably be shown if in fact nothing is lost.

    It is the margin for which :func:`queries_needed` gives this number of queries, as a fraction of
    the mean of ``b``; infinite if no margin can be shown, and NaN if there is only one query.

    Parameters
    ----------
    a, b, level, power, weights
        See :func:`queries_needed`.
    n_queries : int, optional
        Number of queries; by default the number of values.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import showable_margin
    >>> rng = np.random.default_rng(0)
    >>> b = rng.uniform(0.2, 0.8, 100)
    >>> a = b + rng.normal(0, 0.1, 100)
    >>> round(showable_margin(a, b), 3), round(showable_margin(a, b, n_queries=525), 3)
    (0.046, 0.02)
    """
    check_margin(0.0, level)
    quantiles = _quantiles(level, power)
    if n_queries is not None and not n_queries >= 1:
        raise DataError(f"n_queries must be at least 1, got {n_queries}")
    first, second, weights = weighted_pairs(a, b, weights, least=1)
    if Sample.of(second, weights).mean <= 0:
        return math.inf
    if len(first) < 2:
        return math.nan
    # If nothing is lost, the bound of the change is the smallest margin that can be shown.
    even = first - Sample.of(first - second, weights).mean
    quantiles *= np.sqrt(len(first) / (n_queries or len(first)))
    return 1 - fieller_bound(even, second, weights, quantiles)


def _quantiles(level: float, power: float) -> float:
    if not 0.5 <= power < 1:
        raise ValueError(f"power must be at least 0.5 and below 1, got {power}")
    return float(special.ndtri(level) + special.ndtri(power))
