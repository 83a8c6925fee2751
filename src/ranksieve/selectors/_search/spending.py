"""Costs in a search for features: gain per cost, and a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.base import Choices
from ranksieve.choosing import ROUNDING
from ranksieve.costs import AlignedCosts
from ranksieve.data import DataError
from ranksieve.selectors._search.paths import Fit


class Spending(NamedTuple):
    """Costs of features and the budget of a search."""

    costs: AlignedCosts  # of the features that are not excluded
    choices: Choices  # features of each group that a search may add
    budget: float = np.inf  # largest total cost of the selected features
    weighs: bool = True  # whether steps are compared by their gain per cost, or by gain alone

    def prices(self, chosen: Sequence[int], candidates: np.ndarray) -> np.ndarray:
        """Cost that each candidate would add to the chosen features."""
        if self.choices.groups is None:
            return self.costs.marginal(chosen)[candidates]
        before = self.choices.features_of(chosen)
        whole = self.costs.total(before)
        added = [self.choices.features_of([position]) for position in candidates.tolist()]
        return np.array([self.costs.total([*before, *features]) - whole for features in added])

    def affordable(self, chosen: Sequence[int], candidates: np.ndarray) -> np.ndarray:
        """Candidates that can be added within the budget."""
        if np.isinf(self.budget) or not len(candidates):
            return candidates
        spent = self.costs.total(self.choices.features_of(chosen))
        total = spent + self.prices(chosen, candidates)
        return candidates[total <= self.budget * (1 + ROUNDING)]

    def check_start(self) -> None:
        """Raise a DataError if the included features cost more than the budget."""
        cost = self.costs.total(self.choices.include)
        if cost > self.budget * (1 + ROUNDING):
            raise DataError(
                f"the included features cost {cost:g}, which exceeds the budget of {self.budget:g}"
            )

    def check_path(self, path: Sequence[Fit]) -> None:
        """Raise a DataError if nothing could be selected."""
        if not path:
            least = self.prices([], np.arange(self.choices.n_groups)).min()
            raise DataError(
                f"no feature that varies can be selected within the budget of {self.budget:g}; "
                f"the cheapest feature costs {least:g}"
            )


def errors_for_cost(errors: np.ndarray, error: float, prices: np.ndarray) -> np.ndarray:
    """Errors adjusted for cost: each step is scaled to the cost of the cheapest one.

    The smallest belongs to the step with the largest gain per cost. If any step lowers the error at
    no cost, only such steps are finite. A step that raises the error is penalized in proportion to
    its cost. If all steps cost the same, these are the errors themselves. ``errors`` are those
    after each step, ``error`` is that before.
    """
    gains = error - errors
    gains[np.abs(gains) <= ROUNDING * abs(error)] = 0.0
    free_gains = (prices == 0) & (gains > 0)
    if free_gains.any():
        return np.where(free_gains, errors, np.inf)
    if not prices.any():
        return errors
    ratios = prices / prices[prices > 0].min()
    per_cost = np.divide(gains, ratios, out=gains * ratios, where=gains > 0)
    return np.where(ratios == 1, errors, error - per_cost)


def ways_to_spend(costs: AlignedCosts, choices: Choices, budget: float | None) -> list[Spending]:
    """Ways to compare steps: by gain per cost, and, if there is a budget, also by gain alone.

    Only one way if all steps cost the same.
    """
    plain = Spending(costs, choices, np.inf if budget is None else budget, weighs=False)
    plain.check_start()
    if not (costs.vary or choices.has_several):
        return [plain]
    weighing = plain._replace(weighs=True)
    return [weighing] if budget is None else [weighing, plain]
