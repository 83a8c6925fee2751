"""Numbers that summarize results: effect size, wins, improvement, unified rank, risk measures.

In risk measures, losses of queries count more than gains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy import special

from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError
from ranksieve.significance.samples import (
    Sample,
    finite_column,
    paired_differences,
    ratio_of,
    weighted_pairs,
)


class WinTieLoss(NamedTuple):
    """Numbers of queries on which ``a`` is better than ``b``, equal, and worse."""

    wins: int
    ties: int
    losses: int


def effect_size(a: Any, b: Any, weights: Any = None) -> float:
    """Cohen's d of paired values: the mean difference in units of its standard deviation.

    ``mean(a - b) / s(a - b)``, with n - 1 in the variance. It is 0 if all differences are zero, and
    infinite if all of them are the same other number. Weights count in the standard deviation, too.

    References
    ----------
    - J. Cohen. Statistical Power Analysis for the Behavioral Sciences, section 2.3.5 (d_z).
      1988.

    Examples
    --------
    >>> from ranksieve.significance import effect_size
    >>> effect_size([3.0, 5.0, 7.0], [2.0, 3.0, 4.0])
    2.0
    """
    differences = paired_differences(a, b, weights)
    return ratio_of(differences.mean, differences.deviation)


def win_tie_loss(a: Any, b: Any, tie: float = ROUNDING) -> WinTieLoss:
    """Count the queries on which ``a`` is better than ``b``, equal, and worse.

    Values that differ by no more than ``tie`` count as equal.

    Examples
    --------
    >>> from ranksieve.significance import win_tie_loss
    >>> win_tie_loss([0.3, 0.5, 0.5, 0.8], [0.1 + 0.2, 0.4, 0.6, 0.7])
    WinTieLoss(wins=2, ties=1, losses=1)
    """
    if not tie >= 0:
        raise ValueError(f"tie must be at least 0, got {tie}")
    first, second, _ = weighted_pairs(a, b)
    wins = int(np.count_nonzero(first - second > tie))
    losses = int(np.count_nonzero(second - first > tie))
    return WinTieLoss(wins, len(first) - wins - losses, losses)


def relative_improvement(a: Any, b: Any) -> float:
    """Improvement of the mean of ``a`` over the mean of ``b``, in percent of the latter.

    ``100 (mean(a) - mean(b)) / mean(b)``, given values of the two methods or their means.

    Examples
    --------
    >>> from ranksieve.significance import relative_improvement
    >>> round(relative_improvement(0.6337, 0.5733), 2)
    10.54
    """
    first = float(finite_column(np.atleast_1d(a), "a").mean())
    base = float(finite_column(np.atleast_1d(b), "b").mean())
    if base <= 0:
        raise DataError(f"the mean of b is {base:.4g}, but must be positive")
    return 100 * (first - base) / base


def unified_rank(values: Any) -> np.ndarray:
    """Summarize a table in one number per method, from the method's rank in every cell.

    ``Rank = sum over r of ((M - r + 1) / M) R_r``, where M is the number of methods and R_r the
    number of cells (a measure on a collection) in which the method comes r-th. Ties share the
    better rank: 1, 2, 2, 4. The best possible value is the number of cells. The table has methods
    by cells, and larger is better.

    References
    ----------
    - J.-Y. Yeh, C.-J. Tsai. A graph-based feature selection method for learning to rank using
      spectral clustering for redundancy minimization and biased PageRank for relevance analysis.
      Computer Science and Information Systems 19, 2022.

    Examples
    --------
    >>> from ranksieve.significance import unified_rank
    >>> unified_rank([[0.9, 0.5], [0.8, 0.5], [0.7, 0.4], [0.6, 0.6]]).tolist()
    [1.75, 1.5, 0.75, 1.25]
    """
    table = _finite_table(values, "cell", "cells")
    ranks = scipy.stats.rankdata(-table, method="min", axis=0)
    return (len(table) + 1 - ranks).sum(axis=1) / len(table)


def u_risk(a: Any, b: Any, alpha: float = 1.0) -> float:
    r"""Mean difference over queries, with losses weighted by ``1 + alpha`` (URisk).

    .. math:: U = \frac{1}{n} \sum_q \delta_q, \qquad
              \delta_q = \begin{cases} d_q & d_q \ge 0 \\ (1 + \alpha)\, d_q & d_q < 0 \end{cases}

    for the differences ``d = a - b`` from the baseline on n queries. It is negative if the weighted
    losses exceed the gains, and with an alpha of 0 it is the mean difference.

    References
    ----------
    - L. Wang, P. N. Bennett, K. Collins-Thompson. Robust ranking models via risk-sensitive
      optimization. SIGIR 2012.

    Examples
    --------
    >>> from ranksieve.significance import u_risk
    >>> method, baseline = [0.5, 0.75, 0.25, 0.5], [0.25, 0.25, 0.5, 0.5]
    >>> u_risk(method, baseline, alpha=0), u_risk(method, baseline, alpha=3)
    (0.125, -0.0625)
    """
    return _weighted_differences(a, b, alpha).mean


def t_risk(a: Any, b: Any, alpha: float = 1.0) -> float:
    r"""URisk divided by its standard error (TRisk), which approximately follows Student's t.

    .. math:: T = \frac{U}{s / \sqrt{n}}

    with the standard deviation s of the weighted differences of :func:`u_risk`. Below -2, the risk
    is significant at a level of about .05; above 2, the reward is. It is infinite if all weighted
    differences are equal, or 0 if they are 0. With an alpha of 0 it is the t of
    :func:`paired_t_test`.

    References
    ----------
    - B. T. Dincer, C. Macdonald, I. Ounis. Hypothesis testing for the risk-sensitive evaluation of
      retrieval systems. SIGIR 2014.

    Examples
    --------
    >>> from ranksieve.significance import t_risk
    >>> round(t_risk([0.5, 0.75, 0.25, 0.5], [0.25, 0.25, 0.5, 0.5], alpha=1), 4)
    0.2928
    """
    weighed = _weighted_differences(a, b, alpha)
    return ratio_of(weighed.mean, weighed.error)


def geo_risk(values: Any, alpha: float = 1.0) -> np.ndarray:
    r"""Quality and risk of several methods, each compared with all of them (GeoRisk).

    .. math:: G_i = \sqrt{\frac{S_i}{n}\, \Phi\!\left(\frac{Z_i}{n}\right)}, \qquad
              Z_i = \sum_q (1 + \alpha\, [x_{iq} < e_{iq}])
              \frac{x_{iq} - e_{iq}}{\sqrt{e_{iq}}}, \qquad
              e_{iq} = \frac{S_i T_q}{N}

    for the values x of the methods on n queries, their sums S over queries, T over methods and N
    over both; :math:`\Phi` is the normal distribution. No method is the baseline: e is the expected
    value of a method with that mean on a query of that difficulty. Larger is better, and values
    change with the methods that are compared; none may be negative.

    References
    ----------
    - B. T. Dincer, C. Macdonald, I. Ounis. Risk-sensitive evaluation and learning to rank using
      multiple baselines. SIGIR 2016.

    Examples
    --------
    >>> from ranksieve.significance import geo_risk
    >>> steady, moody = [0.5, 0.5, 0.5, 0.5], [1.0, 0.0, 0.9, 0.1]
    >>> [round(value, 4) for value in geo_risk([steady, moody], alpha=2).tolist()]
    [0.463, 0.389]
    """
    _check_alpha(alpha)
    table = _finite_table(values, "query", "queries")
    if (table < 0).any():
        raise DataError("values has negative numbers, which GeoRisk does not allow")
    total = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / (total or 1.0)
    excess = table - expected
    z = np.divide(excess, np.sqrt(expected), out=np.zeros_like(excess), where=expected > 0)
    z_risk = np.where(z < 0, (1 + alpha) * z, z).mean(axis=1)
    return np.sqrt(table.mean(axis=1) * special.ndtr(z_risk))


def _finite_table(values: Any, column: str, columns: str) -> np.ndarray:
    """Return a table of finite numbers, methods by ``columns``; raise a DataError otherwise."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise DataError(f"values must be a table of methods by {columns}, got shape {table.shape}")
    if not np.isfinite(table).all():
        method, position = np.argwhere(~np.isfinite(table))[0]
        raise DataError(
            f"values has {table[method, position]} for method {method} in {column} {position} "
            f"(0-based): leave out {columns} that some method lacks"
        )
    return table


def _weighted_differences(a: Any, b: Any, alpha: float) -> Sample:
    """Differences a - b, losses times ``1 + alpha``."""
    _check_alpha(alpha)
    values = paired_differences(a, b).values
    return Sample(np.where(values < 0, (1 + alpha) * values, values))


def _check_alpha(alpha: float) -> None:
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be 0 or more, got {alpha}")
