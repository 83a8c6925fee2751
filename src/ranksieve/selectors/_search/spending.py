"""Searches that pay for features: the gain of a step for its cost, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.base import Choices
from ranksieve.choosing import ROUNDING
from ranksieve.costs import AlignedCosts
from ranksieve.data import DataError
from ranksieve.selectors._search.fits import Fit


class Spending(NamedTuple):
    """What features cost, and how much may be spent on them.

    Attributes
    ----------
    costs : AlignedCosts
        Of the features that are not excluded.
    choices : Choices
        Tells the features of each group that a search adds.
    budget : float
        Largest cost of all features together.
    weighs : bool
        Whether steps are compared by their gain for their cost, or by their gain alone.
    """

    costs: AlignedCosts
    choices: Choices
    budget: float = np.inf
    weighs: bool = True

    def prices(self, chosen: Sequence[int], candidates: np.ndarray) -> np.ndarray:
        """What each candidate would add to the cost of what is chosen."""
        if self.choices.groups is None:
            return self.costs.marginal(chosen)[candidates]
        before = self.choices.features_of(chosen)
        whole = self.costs.total(before)
        added = [self.choices.features_of([place]) for place in candidates.tolist()]
        return np.array([self.costs.total([*before, *features]) - whole for features in added])

    def affordable(self, chosen: Sequence[int], candidates: np.ndarray) -> np.ndarray:
        """Candidates that can be added within the budget."""
        if np.isinf(self.budget) or not len(candidates):
            return candidates
        spent = self.costs.total(self.choices.features_of(chosen))
        total = spent + self.prices(chosen, candidates)
        return candidates[total <= self.budget * (1 + ROUNDING)]

    def check_start(self) -> None:
        """Raise a DataError if what comes first costs more than the budget."""
        cost = self.costs.total(self.choices.include)
        if cost > self.budget * (1 + ROUNDING):
            raise DataError(
                f"the included features cost {cost:g}, more than the budget of {self.budget:g}"
            )

    def check_path(self, path: Sequence[Fit]) -> None:
        """Raise a DataError if nothing could be selected."""
        if not path:
            least = self.prices([], np.arange(self.choices.n_groups)).min()
            raise DataError(
                f"no feature that varies can be selected within the budget of {self.budget:g}; "
                f"the least that a feature costs is {least:g}"
            )


def errors_for_cost(errors: np.ndarray, error: float, prices: np.ndarray) -> np.ndarray:
    """Errors that steps would reach if each spent as much as the cheapest, at its gain per cost.

    The smallest is that of the step with the largest gain per cost. Of steps that cost nothing,
    those that gain anything come first; of steps that lose, a cheap one loses less. If all cost the
    same, these are the errors themselves.

    Parameters
    ----------
    errors : array of shape (steps,)
        Error after each step.
    error : float
        Error before.
    prices : array of shape (steps,)
    """
    gains = error - errors
    gains[np.abs(gains) <= ROUNDING * abs(error)] = 0.0
    gifts = (prices == 0) & (gains > 0)
    if gifts.any():
        return np.where(gifts, errors, np.inf)
    if not prices.any():
        return errors
    ratios = prices / prices[prices > 0].min()
    per_cost = np.divide(gains, ratios, out=gains * ratios, where=gains > 0)
    return np.where(ratios == 1, errors, error - per_cost)


def ways_to_spend(costs: AlignedCosts, choices: Choices, budget: float | None) -> list[Spending]:
    """By the gain for its cost, and by the gain alone if there is a budget.

    One way if they are the same.
    """
    plain = Spending(costs, choices, np.inf if budget is None else budget, weighs=False)
    plain.check_start()
    if not (costs.vary or choices.has_several):
        return [plain]
    weighing = plain._replace(weighs=True)
    return [weighing] if budget is None else [weighing, plain]
