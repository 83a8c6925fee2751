"""Test claims that a loss is below a margin, one at a time or several together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ranksieve.data import DataError
from ranksieve.significance.samples import Sample, jackknife, paired_differences, weighted_pairs
from ranksieve.significance.tests import paired_t_test

_HIGHEST = float(np.nextafter(1.0, 0.0))  # confidence level


class NonInferiority(NamedTuple):
    """Whether ``a`` is shown not to be worse than ``b`` by a margin."""

    change: float  # from the mean of ``b`` to the mean of ``a``, on the scale of the margin
    lower: float  # one-sided lower confidence bound of the change
    p_value: float  # of the hypothesis that ``a`` is worse by the margin or more
    non_inferior: bool  # whether it is rejected; then ``lower`` lies above ``-margin``


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
    a, b, weights
        See :func:`paired_t_test`; the mean of ``b`` must be positive if ``relative``.
    margin : float
        Smallest loss that would matter, at least 0: a fraction of the mean of ``b`` (below 1) if
        ``relative``, else a difference in the units of the values.
    relative : bool
        Whether the margin is relative to the mean of ``b``.
    level : float
        Confidence of the bound, between 0.5 and 1; the test has the level ``1 - level``.

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
    return NonInferiority(change, lower, p_value, bool(p_value < 1 - level))


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


class Claim(NamedTuple):
    """Whether ``a`` is shown to lose less than a margin of the mean of ``b``.

    Attributes
    ----------
    n_queries : int
        Number of queries compared, without those of weight 0.
    value, base : float
        Means of ``a`` and of ``b``.
    change : float
        ``value / base - 1``; NaN if ``base`` is not positive.
    lower : float
        One-sided lower confidence bound of the change; -infinity if there is none.
    margin : float
        Largest loss that does not matter, as a fraction of the base.
    level : float
        Confidence of the bound.
    p_value : float
        p-value of the hypothesis that the loss is the margin or more.
    tested : bool
        False if an earlier claim in its sequence was not shown, so that this one was not tested.
    shown : bool
        Whether the claim was tested and the hypothesis was rejected.
    """

    n_queries: int
    value: float
    base: float
    change: float
    lower: float
    margin: float
    level: float
    p_value: float
    tested: bool
    shown: bool


def claim_non_inferiority(
    a: Any, b: Any, margin: float = 0.01, level: float = 0.95, weights: Any = None
) -> Claim:
    r"""Test the claim that ``a`` loses less than a margin of the mean of ``b``.

    The queries must not have been used to choose what is tested. A claim is not shown if there is
    only one query, or if the mean of ``b`` is not positive.

    Parameters
    ----------
    a, b, margin, level, weights
        See :func:`non_inferiority`; the margin is relative. A false claim is shown with a
        probability of at most ``1 - level``.

    Notes
    -----
    ``bootstrap_interval(a, b, 2 * level - 1, relative=True).lower`` is the same bound
    without the assumption that means are normal, as a check.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import claim_non_inferiority
    >>> b = np.linspace(0.2, 0.8, 50)
    >>> claim = claim_non_inferiority(b + np.tile([0.01, -0.01], 25), b)
    >>> claim.shown, round(claim.lower, 4)
    (True, -0.0048)
    """
    check_margin(margin, level)
    first, second, weights = weighted_pairs(a, b, weights, least=1)
    value, base = (Sample.of(column, weights).mean for column in (first, second))
    change, lower, p_value, shown = np.nan, -np.inf, 1.0, False
    if base > 0:
        change = value / base - 1
    if base > 0 and len(first) > 1:
        change, lower, p_value, shown = non_inferiority(first, second, margin, True, level, weights)
    return Claim(
        len(first), value, base, change, lower, margin, level, p_value, tested=True, shown=shown
    )


def claim_sequence(
    candidates: Iterable[Any],
    b: Any,
    margin: float = 0.01,
    level: float = 0.95,
    weights: Any = None,
) -> list[Claim]:
    """Test claims in a fixed order until the first one that is not shown.

    Parameters
    ----------
    candidates : iterable of arrays of shape (queries,)
        Values of the candidates in the order of the tests, such as numbers of features from the
        largest down. The order must not depend on these values.
    b, margin, level, weights
        See :func:`claim_non_inferiority`.

    Notes
    -----
    Each test has the full level, and yet the probability that any false claim is shown is at most
    ``1 - level``: the first false claim in the order is shown with at most that probability, and no
    other false claim is tested unless it is.

    References
    ----------
    - W. Maurer, L. Hothorn, W. Lehmacher. Multiple comparisons in drug clinical trials and
      preclinical assays: a-priori ordered hypotheses. Biometrie in der chemisch-pharmazeutischen
      Industrie 6, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import claim_sequence
    >>> b = np.linspace(0.2, 0.8, 50)
    >>> noise = np.tile([0.01, -0.01], 25)
    >>> claims = claim_sequence([b + noise, b + noise - 0.1, b], b)
    >>> [claim.shown for claim in claims], [claim.tested for claim in claims]
    ([True, False, False], [True, True, False])
    """
    claims: list[Claim] = []
    for values in candidates:
        claim = claim_non_inferiority(values, b, margin, level, weights)
        tested = not claims or claims[-1].shown
        claims.append(claim._replace(tested=tested, shown=tested and claim.shown))
    return claims


def claim_chains(
    chains: Mapping[str, Iterable[Any]],
    b: Any,
    margin: float = 0.01,
    level: float = 0.95,
    weights: Any = None,
    pass_on: bool = True,
) -> dict[str, list[Claim]]:
    """Test several sequences of claims, such as one per selector, at one joint level.

    Parameters
    ----------
    chains : mapping of names to iterables of arrays
        Candidates of each sequence; see :func:`claim_sequence`.
    b, margin, level, weights
        See :func:`claim_non_inferiority`. The probability that any false claim in any chain is
        shown is at most ``1 - level``, so the best of the shown claims may be chosen.
    pass_on : bool
        Whether a chain whose claims are all shown passes its share on to the others. Must be False
        if the end of a chain depends on the values.

    Notes
    -----
    Each of m chains has an equal share of the probability ``1 - level``. Once all claims of a chain
    are shown, its share is divided among the other chains; a chain without candidates keeps its
    share. Claims have the final level of their chain. This is the graphical procedure with an edge
    of weight 1 from each claim to the next one of its chain, and of weight 1 / (m - 1) from the
    last one to the first of every other chain. It shows at least as much as m separate chains at
    level ``1 - (1 - level) / m``.

    References
    ----------
    F. Bretz, W. Maurer, W. Brannath, M. Posch. A graphical approach to sequentially rejective
    multiple test procedures. Statistics in Medicine 28, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.significance import claim_chains
    >>> b = np.linspace(0.2, 0.8, 50)
    >>> noise = np.tile([0.01, -0.01], 25)
    >>> claims = claim_chains({"gas-e": [b + noise], "top": [b + noise, b - 0.1]}, b)
    >>> round(claims["top"][0].level, 4), [claim.shown for claim in claims["top"]]
    (0.95, [True, False])
    """
    check_margin(margin, level)
    values = {name: list(candidates) for name, candidates in chains.items()}
    shares = dict.fromkeys(values, (1 - level) / max(1, len(values)))
    claims: dict[str, list[Claim]] = {}
    unfinished = list(values)
    while unfinished:
        for name in unfinished:
            level_of_chain = min(1 - shares[name], _HIGHEST)  # a level near 1 may be rounded to it
            claims[name] = claim_sequence(values[name], b, margin, level_of_chain, weights)
        done = [name for name in unfinished if claims[name] and claims[name][-1].shown]
        unfinished = [name for name in unfinished if name not in done]
        if not (done and pass_on):
            break
        for name in unfinished:
            shares[name] += sum(shares[other] for other in done) / len(unfinished)
    return {name: claims[name] for name in values}
