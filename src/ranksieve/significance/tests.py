"""Test whether one method ranks the same queries better than another."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy
from scipy import special

from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError
from ranksieve.significance.samples import (
    finite_column,
    paired_differences,
    ratio_of,
    runs_of,
)

Alternative = Literal["two-sided", "greater", "less"]

_FEW = 13  # largest number of differences whose signs are all enumerated despite ties


class Comparison(NamedTuple):
    """Result of a test of ``a`` against ``b``."""

    difference: float  # mean of ``a - b`` over queries, weighted if they have weights
    p_value: float  # 1 if all differences are zero
    statistic: float  # t, the rank sum, or the mean difference itself
    n_queries: int  # number of queries compared, without those of weight 0


def paired_t_test(
    a: Any, b: Any, alternative: Alternative = "two-sided", weights: Any = None
) -> Comparison:
    r"""Student's t-test of the mean difference over queries.

    ``t = mean(d) / (s / sqrt(n))`` for the differences ``d = a - b`` on n queries with standard
    deviation s, compared with Student's distribution of n - 1 degrees of freedom.

    Parameters
    ----------
    a, b : arrays of shape (queries,)
        Values of the two methods.
    alternative : {"two-sided", "greater", "less"}
        Whether the means differ, or the mean of ``a`` is greater, or less.
    weights : array of shape (queries,), optional
        How much each query counts in the mean.

    Notes
    -----
    With weights w, the mean is :math:`\bar d = \sum w d / \sum w`. Its standard error is that of
    the jackknife,

    .. math:: \sqrt{\frac{n - 1}{n} \sum_q (\bar d - \bar d_{-q})^2},

    where :math:`\bar d_{-q}` is the mean without query q. There are
    :math:`(\sum w)^2 / \sum w^2 - 1` degrees of freedom (Kish's effective number of queries, minus
    1). With equal weights, this is the test above. Weights say how much a query matters, not how
    often it was observed: doubling all of them changes nothing, and a few heavy queries make the
    test less certain.

    References
    ----------
    - M. Smucker, J. Allan, B. Carterette. A comparison of statistical significance tests for
      information retrieval evaluation. CIKM 2007.
    - L. Kish. Survey Sampling, sections 8.2 and 11.7. 1965. (Weights.)

    Examples
    --------
    >>> from ranksieve.significance import paired_t_test
    >>> result = paired_t_test([0.5, 0.7, 0.4, 0.9], [0.4, 0.5, 0.4, 0.6])
    >>> round(result.difference, 4), round(result.p_value, 4)
    (0.15, 0.1027)
    """
    _check_alternative(alternative)
    differences = paired_differences(a, b, weights)
    t = ratio_of(differences.mean, differences.error)
    p_value = _t_p_value(t, differences.degrees, alternative) if differences.values.any() else 1.0
    return Comparison(differences.mean, p_value, t, len(differences.values))


def _check_alternative(alternative: str) -> None:
    if alternative not in get_args(Alternative):
        raise ValueError(
            f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}"
        )


def _t_p_value(t: float, degrees: float, alternative: str) -> float:
    if alternative == "two-sided":
        return float(2 * special.stdtr(degrees, -abs(t)))
    return float(special.stdtr(degrees, -t if alternative == "greater" else t))


def randomization_test(
    a: Any,
    b: Any,
    n_permutations: int = 10_000,
    alternative: Alternative = "two-sided",
    random_state: Any = 0,
    weights: Any = None,
) -> Comparison:
    """Fisher's randomization test of the mean difference over queries.

    If the methods do not differ, each difference could as well have had the other sign. The
    p-value is the fraction of all assignments of signs whose mean is at least as extreme as the
    observed one. The test assumes nothing about the distribution of the values.

    Parameters
    ----------
    a, b, alternative, weights
        See :func:`paired_t_test`; the weight of a query is the same for all signs.
    n_permutations : int
        Number of assignments to draw. If there are no more than that in all (``2^k`` for k nonzero
        differences), all are enumerated and the p-value is exact; otherwise it is
        ``(1 + extreme) / (1 + n_permutations)``, which keeps the level of the test.
    random_state : int, numpy Generator or None
        Random seed of the signs.

    Notes
    -----
    Takes O(n_permutations * k) time.

    References
    ----------
    - M. Smucker, J. Allan, B. Carterette. A comparison of statistical significance tests for
      information retrieval evaluation. CIKM 2007.
    - B. Phipson, G. Smyth. Permutation p-values should never be zero. Statistical
      Applications in Genetics and Molecular Biology 9(1), 2010.

    Examples
    --------
    >>> from ranksieve.significance import randomization_test
    >>> randomization_test([0.5, 0.7, 0.4, 0.9], [0.4, 0.5, 0.4, 0.6]).p_value
    0.25
    """
    _check_alternative(alternative)
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations}")
    differences = paired_differences(a, b, weights).terms
    # Sort sizes, so that the order of queries and of methods does not matter.
    sizes = np.sort(np.abs(differences[differences != 0]))
    observed = differences.sum()
    exact = len(sizes) <= np.log2(n_permutations)
    if exact:
        sums = _all_signed_sums(sizes)
    else:
        sums = _random_signed_sums(sizes, n_permutations, random_state)
    tolerance = ROUNDING * sizes.sum()
    if alternative == "two-sided":
        extreme = np.abs(sums) >= abs(observed) - tolerance
    elif alternative == "greater":
        extreme = sums >= observed - tolerance
    else:
        extreme = sums <= observed + tolerance
    count, total = int(np.count_nonzero(extreme)), len(sums)
    p_value = count / total if exact else (1 + count) / (1 + total)
    mean = float(differences.mean())
    return Comparison(mean, p_value, mean, len(differences))


def _all_signed_sums(sizes: np.ndarray) -> np.ndarray:
    """Sums of numbers under all assignments of signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _random_signed_sums(sizes: np.ndarray, n_permutations: int, random_state: Any) -> np.ndarray:
    """Sums of numbers under random signs."""
    rng = np.random.default_rng(random_state)
    sums = np.empty(n_permutations)
    for rows in runs_of(n_permutations, len(sizes)):
        positive = rng.integers(0, 2, (rows.stop - rows.start, len(sizes)), dtype=np.int8)
        sums[rows] = 2 * (positive @ sizes) - sizes.sum()
    return sums


def wilcoxon_test(
    a: Any, b: Any, alternative: Alternative = "two-sided", weights: Any = None
) -> Comparison:
    """Wilcoxon's signed-rank test of whether differences are symmetric about zero.

    Differences that are not zero are ranked by size; the statistic is the sum W+ of the ranks of
    the positive ones, or the smaller of W+ and W- if the test is two-sided.

    Parameters
    ----------
    a, b, alternative, weights
        See :func:`paired_t_test`. Differences are ranked by their size times the weight, which is
        symmetric about zero if the difference is.

    Notes
    -----
    Differences of zero are left out. ``scipy.stats.wilcoxon`` uses the exact distribution for up to
    50 differences without ties, and otherwise the normal one. For up to 13 differences, the
    distribution is exact even with ties. Sizes that differ only by rounding errors share a rank.

    References
    ----------
    - F. Wilcoxon. Individual comparisons by ranking methods. Biometrics Bulletin 1(6), 1945.

    Examples
    --------
    >>> from ranksieve.significance import wilcoxon_test
    >>> wilcoxon_test([0.5, 0.7, 0.45, 0.9], [0.4, 0.5, 0.4, 0.6]).p_value
    0.125
    """
    _check_alternative(alternative)
    differences = paired_differences(a, b, weights).terms
    mean = float(differences.mean())
    if not differences.any():
        return Comparison(mean, 1.0, 0.0, len(differences))
    step = ROUNDING * np.abs(differences).max()
    steps = np.round(differences[differences != 0] / step)
    if len(steps) <= _FEW:
        return Comparison(mean, *_exact_wilcoxon(steps, alternative), len(differences))
    result = scipy.stats.wilcoxon(steps, alternative=alternative)
    return Comparison(mean, float(result.pvalue), float(result.statistic), len(differences))


def _exact_wilcoxon(differences: np.ndarray, alternative: Alternative) -> tuple[float, float]:
    """P-value of Wilcoxon's test over all assignments of signs, and its statistic."""
    # Doubled, because ties have half ranks.
    ranks = np.round(2 * scipy.stats.rankdata(np.abs(differences))).astype(int)
    ways = np.ones(1)  # number of assignments for each sum of positive ranks
    for rank in ranks:
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    positive = int(ranks[differences > 0].sum())
    at_least, at_most = ways[positive:].sum(), ways[: positive + 1].sum()
    if alternative == "two-sided":
        smaller = min(positive, ranks.sum() - positive) / 2
        return float(min(1.0, 2 * min(at_least, at_most) / ways.sum())), float(smaller)
    extreme = at_least if alternative == "greater" else at_most
    return float(extreme / ways.sum()), positive / 2


def holm(p_values: Any) -> np.ndarray:
    """Adjust p-values for the number of tests by Holm's step-down method.

    The i-th smallest of m p-values becomes ``max over j <= i of min(1, (m - j + 1) p_(j))``.
    If all hypotheses with an adjusted p-value of at most alpha are rejected, the probability of any
    false rejection is at most alpha, however the tests depend on each other. Adjusted p-values are
    in the order of the given ones.

    References
    ----------
    - S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal
      of Statistics 6(2), 1979.

    Examples
    --------
    >>> from ranksieve.significance import holm
    >>> holm([0.01, 0.25, 0.03]).tolist()
    [0.03, 0.25, 0.06]
    """
    column = finite_column(p_values, "p_values")
    if np.any((column < 0) | (column > 1)):
        raise DataError("p_values must lie between 0 and 1")
    order = np.argsort(column, kind="stable")
    factors = np.arange(len(column), 0, -1)
    adjusted = np.empty_like(column)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * column[order]), 1.0)
    return adjusted
