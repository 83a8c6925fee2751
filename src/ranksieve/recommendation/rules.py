"""Candidates for a recommendation, and the rule that chooses one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING
from ranksieve.significance.samples import Sample

ALL, NONE = "all", "none"
"""Names of the candidates that need no selector: all features, and no features."""
RuleName = Literal["half-margin", "safe", "one-se", "best"]
RULES = ("half-margin", "safe", "one-se", "best")


class Candidate(NamedTuple):
    """The first ``size`` features of a selector, selected in each of the choosing folds.

    Attributes
    ----------
    selector : str
    size : int
    cost : float
        Mean cost over the folds.
    values : array of shape (queries,)
        Value of each choosing query.
    """

    selector: str
    size: int
    cost: float
    values: np.ndarray


@dataclass(frozen=True)
class Rule:
    """Chooses a candidate from the values of the choosing queries.

    Attributes
    ----------
    name : {"half-margin", "safe", "one-se", "best"}
        The first three choose the cheapest candidate that is enough: its mean loss is at most half
        the margin; its loss plus one standard error is within the margin; or its loss is within one
        standard error. ``"best"`` chooses the candidate with the best mean.
    margin : float
        Largest acceptable loss, relative to the mean with all features.
    budget : float or None
        Largest cost. With a budget, the best candidate within it is chosen.
    """

    name: RuleName = "half-margin"
    margin: float = 0.01
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.name not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {self.name!r:.60}")
        if not 0 < self.margin < 1:
            raise ValueError(f"margin must lie between 0 and 1, got {self.margin!r:.60}")
        if self.budget is not None and not self.budget >= 0:
            raise ValueError(f"budget must be at least 0, got {self.budget!r:.60}")

    def is_enough(self, values: np.ndarray, base: np.ndarray, weights: np.ndarray | None) -> bool:
        """Whether values are nearly as good as those with all features."""
        loss = Sample.of(base - values, weights)
        allowed = self.margin * Sample.of(base, weights).mean
        if self.name == "half-margin":
            return loss.mean <= allowed / 2 + ROUNDING
        if self.name == "safe":
            return loss.mean + loss.error <= allowed + ROUNDING
        return self.name == "one-se" and loss.mean <= loss.error + ROUNDING

    def is_affordable(self, cost: float) -> bool:
        """Whether a cost is within the budget."""
        return self.budget is None or cost <= self.budget * (1 + ROUNDING)

    def choose(
        self, candidates: Sequence[Candidate], base: np.ndarray, weights: np.ndarray | None
    ) -> Candidate:
        """Choose the cheapest affordable candidate that is enough, or else the best one.

        With a budget, always choose the best. Of equally cheap candidates, the better one wins.
        """
        affordable = [one for one in candidates if self.is_affordable(one.cost)]
        enough = [one for one in affordable if self.is_enough(one.values, base, weights)]

        def mean(one: Candidate) -> float:
            return Sample.of(one.values, weights).mean

        if enough and self.budget is None:
            return min(enough, key=lambda one: (round(one.cost, 9), -mean(one), one.size))
        return max(affordable, key=lambda one: (round(mean(one), 12), -one.cost, -one.size))
