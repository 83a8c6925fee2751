"""Search strategies for features by an error on left-out queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ranksieve.base import Choices
from ranksieve.choosing import ROUNDING, EarlyStopping, first_of_best
from ranksieve.selectors._search.paths import Fit, standard_error
from ranksieve.selectors._search.spending import Spending, errors_for_cost
from ranksieve.solvers.rankrls.backfitting import BackfittedModel
from ranksieve.solvers.rankrls.groups import GroupModel
from ranksieve.solvers.rankrls.model import SampledModel


class SearchModel(Protocol):
    """A model that a search changes by one feature at a time."""

    features: list[int]

    @property
    def error(self) -> float:
        """Sum over queries; smaller is better."""

    @property
    def square(self) -> float:
        """Sum of squares over queries."""

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of ``features``, if the model has weights."""

    def change(self, feature: int) -> None:
        """Add a feature, or remove it if it is in the model."""

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error after adding each of some features."""

    def removal_errors(self, candidates: Sequence[int]) -> np.ndarray:
        """Error after removing each of some features."""


class Bounds:
    """Limits of a search.

    Parameters
    ----------
    n_queries : float
        Number of queries with an error, or their total weight.
    varies : bool array of shape (features,)
        False for features that are constant within every query; they come last.
    choices : Choices
        Number of features to choose, and included features, which are never removed.
    spending : Spending, optional
        Costs of features, and the budget.
    """

    def __init__(
        self,
        n_queries: float,
        varies: np.ndarray,
        choices: Choices,
        spending: Spending | None = None,
    ) -> None:
        self.n_queries = n_queries
        self.choices, self.start = choices, choices.start
        self.useful, self.useless = varies, ~varies
        self.spending = spending

    def with_spending(self, spending: Spending | None) -> Bounds:
        """The same limits with costs and a budget."""
        return Bounds(self.n_queries, self.useful, self.choices, spending)

    def free(self, features: Sequence[int]) -> np.ndarray:
        """Features that may be added to a model; constant ones only if there are no others."""
        for eligible in (self.useful, self.useless):
            free = eligible.copy()
            free[list(features)] = False
            if free.any():
                candidates = np.flatnonzero(free)
                if self.spending is None:
                    return candidates
                return self.spending.affordable(features, candidates)
        return np.empty(0, dtype=np.intp)

    def weigh(self, errors: np.ndarray, model: SearchModel, candidates: np.ndarray) -> np.ndarray:
        """Errors after additions, adjusted for their costs if costs are weighed."""
        if self.spending is None or not self.spending.weighs:
            return errors
        prices = self.spending.prices(model.features, candidates)
        return errors_for_cost(errors, model.error, prices)

    def removable(self, features: Sequence[int]) -> list[int]:
        """Features that may be removed from a model; only constant ones if there are any."""
        eligible = [feature for feature in features if feature not in self.start]
        return [feature for feature in eligible if self.useless[feature]] or eligible

    def fit(self, model: SearchModel | SampledModel | BackfittedModel) -> Fit:
        """Record of the current model."""
        deviation = standard_error(model.error, model.square, self.n_queries)
        return Fit(tuple(model.features), model.coefficients, model.error, deviation)


def forward(model: SearchModel, bounds: Bounds, patience: int | None = None) -> list[Fit]:
    """Repeatedly add the feature with the smallest error, or the group if there are groups.

    If costs are weighed, it is the one with the largest gain per cost; a budget ends the search.
    With ``patience``, it ends after this many additions in a row that did not lower the error.
    """
    path = _begin(model, bounds)
    stopping = EarlyStopping(patience, rounding=0.0)
    for fit in path:
        stopping.add(-fit.error)
    while not bounds.choices.is_full(model.features) and len(bounds.free(model.features)):
        added = _best_addition(model, bounds)
        if added not in bounds.choices.take([*model.features, added]):
            break
        model.change(added)
        path.append(bounds.fit(model))
        if stopping.add(-path[-1].error):
            break
    return path


def forward_paying(
    make: Callable[[], SearchModel], bounds: Bounds, ways: Sequence[Spending], *, by_last: bool
) -> list[Fit]:
    """Search forward in several ways to spend, and keep the path with the smallest error.

    ``make`` makes a model without features; models made before are no longer used. The error of a
    path is that of its last model if ``by_last``, else that of its best one.
    """
    paths = []
    for spending in ways:
        paths.append(forward(make(), bounds.with_spending(spending)))
        spending.check_path(paths[-1])
    errors = [path[-1].error if by_last else min(fit.error for fit in path) for path in paths]
    return paths[first_smallest(np.array(errors))]


def backward(model: SearchModel, bounds: Bounds, *, to_the_end: bool = False) -> list[Fit]:
    """Repeatedly remove the feature whose removal gives the smallest error.

    Starts with the given model. Ends when the wanted number is reached, or when nothing is left to
    remove. Models of the path are in order of size.
    """
    path = [bounds.fit(model)]
    least = max(1, len(bounds.start))
    while len(model.features) > least and (to_the_end or not bounds.choices.fits(model.features)):
        model.change(_best_removal(model, bounds)[0])
        path.append(bounds.fit(model))
    return path[::-1]


def forward_sampled(
    model: SampledModel | GroupModel, bounds: Bounds, kappa: int, random: np.random.RandomState
) -> list[Fit]:
    """Repeatedly add the best of ``kappa`` random features or groups."""
    path: list[Fit] = []
    while not bounds.choices.is_full(model.features):
        if len(path) < len(bounds.start):
            candidates = np.array([bounds.start[len(path)]])
        else:
            free = bounds.free(model.features)
            candidates = np.sort(random.choice(free, min(kappa, len(free)), replace=False))
        added = int(candidates[first_smallest(model.candidate_errors(candidates))])
        if added not in bounds.choices.take([*model.features, added]):
            break
        model.change(added)
        path.append(bounds.fit(model))
    return path


def floating(model: SearchModel, bounds: Bounds, beyond: int = 2) -> list[Fit]:
    """Sequential floating forward selection: after each addition, remove unnecessary features.

    A feature is removed if that gives the best model of its size so far. The search continues to
    ``beyond`` more than the wanted number, and returns the best model of each size up to the wanted
    number; these need not be nested.

    References
    ----------
    P. Pudil, J. Novovicova, J. Kittler. Floating search methods in feature selection. Pattern
    Recognition Letters 15, 1994.
    """
    best = {len(fit.features): fit for fit in _begin(model, bounds)}

    def keep_if_best() -> bool:
        size = len(model.features)
        if size and (size not in best or model.error < best[size].error):
            best[size] = bounds.fit(model)
            return True
        return False

    choices = bounds.choices
    while not choices.is_full(model.features[:-beyond]) and len(bounds.free(model.features)):
        model.change(_best_addition(model, bounds))
        keep_if_best()
        while len(model.features) > max(2, len(bounds.start)):
            removed, error = _best_removal(model, bounds)
            if not error < best[len(model.features) - 1].error * (1 - ROUNDING):
                break
            model.change(removed)
            if not keep_if_best():  # better only by rounding
                break
    path = [best[size] for size in sorted(best)]
    return [fit for fit in path if choices.fits(fit.features)] or path[:1]


def foba(model: SearchModel, bounds: Bounds, epsilon: float = 0.0, nu: float = 0.5) -> list[Fit]:
    """Forward-backward search (FoBa): also remove features that have become nearly useless.

    Stops if the best addition, after the first, lowers the error by no more than ``epsilon``. After
    an addition, features are removed as long as that raises the error by at most ``nu`` times the
    gain of the addition that led to this size.

    References
    ----------
    T. Zhang. Adaptive forward-backward greedy algorithm for sparse learning with linear models.
    NIPS 2008.
    """
    best = {len(fit.features): fit for fit in _begin(model, bounds)}
    gains: dict[int, float] = {}
    choices = bounds.choices
    while not choices.is_full(model.features) and len(bounds.free(model.features)):
        before, added = model.error, _best_addition(model, bounds)
        if model.features and before - model.addition_errors(np.array([added]))[0] <= epsilon:
            break
        model.change(added)
        size = len(model.features)
        gains[size] = before - model.error
        if size not in best or model.error < best[size].error:
            best[size] = bounds.fit(model)
        while len(model.features) > max(1, len(bounds.start)):
            size = len(model.features)
            removed, error = _best_removal(model, bounds)
            if removed == added or error - model.error > nu * gains.get(size, 0.0):
                break
            model.change(removed)
            if model.error < best[size - 1].error:
                best[size - 1] = bounds.fit(model)
    return [best[size] for size in sorted(best) if size <= len(model.features)]


def _begin(model: SearchModel, bounds: Bounds) -> list[Fit]:
    path = []
    for feature in bounds.start:
        model.change(feature)
        path.append(bounds.fit(model))
    return path


def _best_addition(model: SearchModel, bounds: Bounds) -> int:
    free = bounds.free(model.features)
    errors = bounds.weigh(model.addition_errors(free), model, free)
    return int(free[first_smallest(errors)])


def _best_removal(model: SearchModel, bounds: Bounds) -> tuple[int, float]:
    """Feature whose removal gives the smallest error, and that error."""
    eligible = bounds.removable(model.features)
    errors = model.removal_errors(eligible)
    position = first_smallest(errors)
    return eligible[position], float(errors[position])


def first_smallest(errors: np.ndarray) -> int:
    """Position of the first error that equals the smallest one up to rounding."""
    return first_of_best(-errors, scale=abs(errors.min()))
