r"""The verdict of a check: whether a recommendation holds on new queries, by a test of known error.

Let :math:`\lambda` be the true loss of the kept features, relative to all features, and
:math:`\delta` the margin. The recommendation

- is *broken* if the loss is shown to exceed the margin: a one-sided test at the level (95 % by
  default) rejects :math:`\lambda \le \delta`; or if values of kept features have changed, and that
  is shown to cost more than the margin;
- *holds* if the loss is shown to be below the margin, or if its mean is not above the margin and
  the queries are *enough*: a loss of twice the margin would be found broken with a probability of
  80 %;
- *cannot be judged* otherwise, and if the data shows nothing: it has fewer than ``FEWEST`` queries,
  it is exactly the data of the training, or no ranking of it is better than another.

If all features are kept, none is lost, so it holds unless changed values break it.

With so many queries that they are just enough, and differences that are about normal, the
probabilities are

=====================  ======  =====  ===============
true loss              broken  holds  cannot be judged
=====================  ======  =====  ===============
none                   0.0 %   99 %   1 %
half the margin        0.2 %   89 %   10 %
the margin             5 %     50 %   45 %
twice the margin       80 %    1 %    19 %
=====================  ======  =====  ===============

A change of values may harm all rankers alike, so that nothing is lost relative to all features. Its
cost is the loss of the kept features relative to *the same queries with repaired values*: each
feature that drifts notably gets its earlier distribution back, quantile by quantile. It is tested
like the loss, only if there is such a drift, which itself is claimed in error at most in one check
of a hundred (:mod:`ranksieve.sums.drift`).

With more queries, all of them are better. With fewer, nearly all checks of a recommendation that
holds cannot be judged, and at most 5 % are called broken: at most 2 % if nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from ranksieve.recommendation.claim import Claim
from ranksieve.significance.claims import fieller_bound
from ranksieve.significance.samples import paired_differences
from ranksieve.text import quantity

State = Literal["holds", "broken", "undecided"]
EXIT_STATUS: dict[State, int] = {"holds": 0, "broken": 1, "undecided": 2}
IN_WORDS: dict[State, str] = {
    "holds": "Holds",
    "broken": "Broken",
    "undecided": "Cannot be judged",
}
FEWEST = 50
"""Fewer queries are not judged: losses that one query in twenty has may be missing among them."""


class Verdict(NamedTuple):
    """Whether a recommendation holds.

    Attributes
    ----------
    state : {"holds", "broken", "undecided"}
    reason : str
        Why it cannot be judged; empty if it can.
    most : float
        One-sided upper confidence bound of the change, which is compared with the margin; infinite
        if the queries do not give one.
    """

    state: State
    reason: str
    most: float


@dataclass(frozen=True)
class DriftCost:
    """What changes of values cost the kept features.

    Attributes
    ----------
    features : list of str
        The features whose values have been repaired.
    repaired : float
        Mean of the measure with the kept features and repaired values.
    change : float
        Relative change from repaired values to the values as they are.
    most : float
        One-sided upper confidence bound of this change.
    is_shown : bool
        Whether the cost is shown to exceed the margin.
    """

    features: list[str]
    repaired: float
    change: float
    most: float
    is_shown: bool


def judge(
    values: np.ndarray,
    base: np.ndarray,
    weights: np.ndarray | None,
    claim: Claim,
    *,
    is_new: bool,
) -> Verdict:
    """Judge by the values of queries with the kept features and with all, and their claim."""
    if not is_new:
        return Verdict("undecided", "this is exactly the data of the recommendation", np.inf)
    if not claim.with_all > 0:
        why = f"{claim.measure} is 0 with all features: no query has a relevant document"
        return Verdict("undecided", why, np.inf)
    if claim.about == "all":
        return Verdict("holds", "", np.inf)
    few = quantity(claim.n_queries, "query is", "queries are")
    if claim.n_queries < FEWEST:
        return Verdict("undecided", f"{few} too few, it takes at least {FEWEST}", np.inf)
    most = upper_bound(values, base, weights, claim.level)
    if most < -claim.margin:
        return Verdict("broken", "", most)
    is_enough = claim.n_queries >= claim.queries_needed
    if claim.is_shown or (is_enough and claim.change >= -claim.margin):
        return Verdict("holds", "", most)
    if is_enough:
        return Verdict("undecided", "the mean loss is above the margin, but may be chance", most)
    needed = f", about {claim.needed} are needed" if isfinite(claim.queries_needed) else ""
    return Verdict("undecided", f"{few} too few{needed}", most)


def judge_drift(
    features: list[str],
    values: np.ndarray,
    repaired: np.ndarray,
    weights: np.ndarray | None,
    claim: Claim,
) -> DriftCost | None:
    """Judge by the values of queries as they are, and with repaired features; None if too few."""
    mean = float(np.average(repaired, weights=weights)) if len(repaired) else 0.0
    if claim.n_queries < FEWEST or not mean > 0:
        return None
    most = upper_bound(values, repaired, weights, claim.level)
    change = float(np.average(values, weights=weights)) / mean - 1
    return DriftCost(features, mean, change, most, bool(most < -claim.margin))


def add_drift(verdict: Verdict, cost: DriftCost | None, margin: float) -> Verdict:
    """Take into account what changed values cost."""
    if cost is None or verdict.state == "broken":
        return verdict
    if cost.is_shown:
        return verdict._replace(state="broken", reason="")
    if verdict.state == "holds" and cost.change < -margin:
        why = "values have changed, and their mean cost is above the margin, but may be chance"
        return verdict._replace(state="undecided", reason=why)
    return verdict


def upper_bound(
    values: np.ndarray, base: np.ndarray, weights: np.ndarray | None, level: float
) -> float:
    """One-sided upper confidence bound of the relative change from ``base`` to ``values``."""
    degrees = paired_differences(values, base, weights).degrees
    return -fieller_bound(-values, base, weights, float(special.stdtrit(degrees, level))) - 1
