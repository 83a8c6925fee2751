"""A simultaneous band: lower bounds of many changes that hold together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ranksieve.data import DataError
from ranksieve.significance.claims import check_margin
from ranksieve.significance.samples import Sample, finite_column

_DRAWS = 20_000  # random vectors for the quantile of a maximum


class Band(NamedTuple):
    """Changes of several candidates from a base, with bounds that hold for all of them at once."""

    base: float  # mean of the base
    change: np.ndarray  # (candidates,) relative change of the mean
    error: np.ndarray  # (candidates,) standard error of the change
    lower: np.ndarray  # (candidates,) lower bound of the change
    quantile: float  # number of standard errors between change and bound


def simultaneous_band(
    differences: Any,
    base: Any,
    level: float = 0.95,
    weights: Any = None,
    *,
    variance_factor: float = 1.0,
    deviations: Any = 0.0,
) -> Band:
    r"""Bound the relative changes of many candidates, whichever of them is looked at afterwards.

    For the differences d_q(t) of query q with candidate t, and the base b_q, the change and its
    bound are

    .. math:: r_t = \frac{\sum_q w_q d_q(t)}{\sum_q w_q b_q}, \qquad r_t - z s_t

    where :math:`s_t` is the standard error of :math:`r_t`, and z is the quantile of
    :math:`\max_t (r_t - \rho_t) / s_t` at the level, for true changes :math:`\rho_t`. All bounds
    lie below the true changes with this probability, so a candidate may be picked by its bound, by
    its change, or by taste.

    Parameters
    ----------
    differences : array of shape (candidates, queries)
    base : array of shape (queries,)
        Its mean must be positive.
    level : float
        Confidence of the band, between 0.5 and 1.
    weights : array of shape (queries,), optional
    variance_factor : float
        Factor of the variances over queries, for values that depend on each other: with models that
        were trained on the other queries, ``1 + n_test / n_train`` (Nadeau and Bengio).
    deviations : float or array of shape (candidates,)
        Standard deviations of what else changes a candidate, independent of the queries; they are
        added to the standard errors as squares.

    Notes
    -----
    The changes are ratios of means, so query q moves :math:`r_t` by
    :math:`u_{qt} = w_q (d_q(t) - r_t b_q) / \sum_q w_q b_q`; their sample covariance is that of the
    changes. The quantile is that of a multivariate t distribution with this correlation, from
    20,000 draws of a fixed seed, and Student's own quantile for one candidate. Takes O(n t^2) time
    for n queries and t candidates.

    References
    ----------
    T. Hothorn, F. Bretz, P. Westfall. Simultaneous inference in general parametric models.
    Biometrical Journal 50(3), 2008.

    C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning 52, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import simultaneous_band
    >>> base = np.linspace(0.2, 0.8, 50)
    >>> noise = np.tile([0.01, -0.01], 25)
    >>> band = simultaneous_band([noise - 0.05, noise[::-1]], base)
    >>> band.change.round(2).tolist(), band.lower.round(2).tolist()
    ([-0.1, 0.0], [-0.11, -0.01])
    """
    check_margin(0.0, level)
    column = finite_column(base, "base")
    rows = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    if rows.shape[1] != len(column) or not np.isfinite(rows).all():
        raise DataError("differences should be finite numbers, one for each query and candidate")
    sample = Sample.of(column, None if weights is None else finite_column(weights, "weights"))
    if weights is not None:
        rows = rows[:, np.asarray(weights) > 0]
    n, shares = len(sample.values), 1.0 if sample.weights is None else sample.weights
    if n < 2:
        raise DataError("a band needs the values of at least 2 queries")
    if sample.mean <= 0:
        raise DataError(f"the mean of the base is {sample.mean:.4g}, not positive")
    change = (rows * shares).mean(axis=1) / sample.mean
    moves = shares * (rows - change[:, None] * sample.values) / sample.mean
    covariance = variance_factor * moves @ moves.T / (n * (n - 1))
    covariance[np.diag_indices_from(covariance)] += np.square(deviations)
    error = np.sqrt(np.diag(covariance))
    z = _quantile_of_maximum(covariance, sample.degrees, level)
    return Band(sample.mean, change, error, change - z * error, z)


def _quantile_of_maximum(covariance: np.ndarray, degrees: float, level: float) -> float:
    """Quantile of the largest of several correlated variables with Student's distribution."""
    error = np.sqrt(np.diag(covariance))
    varies = error > 0
    alone = float(special.stdtrit(degrees, level))
    if varies.sum() < 2:
        return alone
    correlation = covariance[np.ix_(varies, varies)] / np.outer(error[varies], error[varies])
    values, vectors = np.linalg.eigh(correlation)
    # The symmetric root, because eigenvectors have no sign of their own.
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    random = np.random.default_rng(0)
    normal = random.standard_normal((_DRAWS, len(root))) @ root
    scale = np.sqrt(random.chisquare(degrees, _DRAWS) / degrees)
    return max(alone, float(np.quantile(normal.max(axis=1) / scale, level)))
