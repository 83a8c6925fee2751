"""Candidates for a recommendation, and the rule by which one of them is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ranksieve.choosing import ROUNDING
from ranksieve.significance.samples import Sample

ALL, NONE = "all", "none"
"""Candidates that no selector makes: all features, and no feature."""
RuleName = Literal["half-margin", "safe", "one-se", "best"]
RULES = ("half-margin", "safe", "one-se", "best")


class Candidate(NamedTuple):
    """The first ``size`` features of a selector, on each of the places that choose.

    Attributes
    ----------
    selector : str
    size : int
    cost : float
        Mean over the places.
    values : array of shape (queries,)
        Value of each query that chooses.
    """

    selector: str
    size: int
    cost: float
    values: np.ndarray


@dataclass(frozen=True)
class Rule:
    """Which of the candidates to take, given values of the queries that choose.

    Attributes
    ----------
    name : {"half-margin", "safe", "one-se", "best"}
        The cheapest candidate is taken that is enough. A mean is enough if it is at least that of
        all features times 1 - margin / 2; or if its loss plus one standard error is within the
        margin; or if its loss is within one standard error. ``"best"``: the best mean is taken.
    margin : float
        Relative to the mean with all features.
    budget : float or None
        Largest cost. If no candidate within it is enough, the best one is taken.
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
        """The cheapest that is enough, the better of equals; else the best."""
        affordable = [one for one in candidates if self.is_affordable(one.cost)]
        enough = [one for one in affordable if self.is_enough(one.values, base, weights)]

        def mean(one: Candidate) -> float:
            return Sample.of(one.values, weights).mean

        if enough and self.budget is None:
            return min(enough, key=lambda one: (round(one.cost, 9), -mean(one), one.size))
        return max(affordable, key=lambda one: (round(mean(one), 12), -one.cost, -one.size))
