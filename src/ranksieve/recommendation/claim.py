"""The claim of a recommendation: a bound of the loss of features, and its meaning in words."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Literal

import numpy as np

from ranksieve.significance import claim_non_inferiority, queries_needed
from ranksieve.significance.samples import Sample
from ranksieve.text import quantity

_MANY = 1e15  # a larger number of queries is written as a power of ten
About = Literal["set", "none", "all", "test", "new data"]


@dataclass(frozen=True, repr=False)
class Claim:
    """Whether the measure falls by less than the margin.

    Attributes
    ----------
    about : {"set", "none", "all", "test", "new data"}
        What is claimed: that the recommended features are shown to be enough, by cross-fitting;
        that no smaller set is (the numbers are those of the set that comes nearest); nothing,
        because all features are kept and there is no smaller set to compare with; that these
        features are enough on test queries, which had no part in anything; or on new data, whose
        queries may have had a part in it.
    measure : str
    margin, level : float
    n_queries : int
        Number of judging queries.
    with_all, with_chosen : float
        Mean of the measure with all features, and with the chosen ones.
    change, lower, upper : float
        Relative change, and its two-sided confidence interval at ``level``.
    bound : float
        One-sided lower confidence bound of the change, which is compared with the margin; minus
        infinity if the queries do not give one. That of cross-fitting holds for all sets of the
        curve at once.
    is_shown : bool
        Whether the loss is shown to be less than the margin.
    queries_needed : float
        Number of queries that would show it with a probability of 80 % if nothing is lost.
    """

    about: About
    measure: str
    margin: float
    level: float
    n_queries: int = 0
    with_all: float = 0.0
    with_chosen: float = 0.0
    change: float = 0.0
    lower: float = -inf
    upper: float = inf
    bound: float = -inf
    is_shown: bool = False
    queries_needed: float = inf

    def __repr__(self) -> str:
        return f"<Claim: {self.headline}>"

    @classmethod
    def test(
        cls,
        values: np.ndarray,
        base: np.ndarray,
        weights: np.ndarray | None,
        about: About,
        measure: str,
        margin: float,
        level: float,
    ) -> Claim:
        """Test the values of the judging queries with the chosen features against all features.

        Without any query, nothing is claimed.
        """
        tested: Any = dict(about=about, measure=measure, margin=margin, level=level)
        if not len(values):
            return cls(**tested)
        claim = claim_non_inferiority(values, base, margin, level, weights)
        sample = Sample.of(values - base, weights)
        reach = inf
        if claim.base > 0 and len(sample.values) > 1:
            reach = sample.half_width(level) / claim.base
        change = claim.change if isfinite(claim.change) else 0.0
        return cls(
            **tested,
            n_queries=claim.n_queries,
            with_all=claim.base,
            with_chosen=claim.value,
            change=change,
            lower=change - reach,
            upper=change + reach,
            bound=claim.lower,
            is_shown=claim.shown,
            queries_needed=queries_needed(values, base, margin, level, weights=weights),
        )

    @property
    def sentence(self) -> str:
        """What was tested and the result, in a few sentences."""
        if not self.n_queries or self.about == "all":
            return f"{self.headline}."
        return f"{self.headline}: {self.numbers}"

    @property
    def headline(self) -> str:
        """What was tested and whether it is shown, without the final period."""
        if self.about == "all":
            return "All features are kept, so there is nothing to compare"
        loss = f"lose less than {percent(self.margin)} of {self.measure}"
        if not self.n_queries:
            return f"Nothing is claimed about the loss of {self.measure}: no query has judged"
        queries = quantity(self.n_queries, "query", "queries")
        sure = f"with {confidence(self.level)} confidence"
        if self.about == "none":
            return f"No smaller set of features is shown to {loss} {sure}, on {queries}"
        # Nobody knows whether new data has queries of the old.
        which = {
            "set": ", each ranked by models that it did not train",
            "test": " that had no part in the choice",
            "new data": " of the new data",
        }[self.about]
        shown = "are shown" if self.is_shown else "are not shown"
        return f"These features {shown} to {loss} {sure}, on {queries}{which}"

    @property
    def numbers(self) -> str:
        """The means, the change, and what these queries can show."""
        them = "the nearest such set" if self.about == "none" else "them"
        means = f"{self.with_chosen:.4f} with {them}, {self.with_all:.4f} with all features"
        if isfinite(self.lower):
            means += (
                f", a change of {change_in_words(self.change)} "
                f"({change_in_words(self.lower)} to {change_in_words(self.upper)})"
            )
        return f"{means}. {self._could_be_shown()}"

    def _could_be_shown(self) -> str:
        """State the one-sided bound and, if necessary, how many queries would show the margin."""
        if not isfinite(self.bound):
            return "These queries cannot show any margin."
        text = f"The loss is below {loss_in_words(self.bound)} with that confidence."
        if not self.is_shown and self.n_queries < self.queries_needed < inf:
            text += (
                f" If nothing is lost, it takes about {self.needed} queries to show "
                f"a margin of {percent(self.margin)}."
            )
        return text

    @property
    def needed(self) -> str:
        """Number of queries that it takes, for readers."""
        return f"{self.queries_needed:{',.0f' if self.queries_needed < _MANY else '.3g'}}"


def confidence(level: float) -> str:
    """Format a confidence level as a percentage, with all digits: 99.99% is not 100%."""
    return f"{100 * level:.12g}%"


def percent(share: float) -> str:
    """Format a given share, such as a margin, as a percentage with up to three digits."""
    return f"{100 * share:.3g}%"


def change_in_words(change: float) -> str:
    """Format a measured change; the same digits wherever it is shown."""
    return f"{change:+z.2%}"


def loss_in_words(change: float) -> str:
    """Format what is lost at a change, with the same digits; nothing is if it is a gain."""
    return f"{max(0.0, -change):.2%}"
