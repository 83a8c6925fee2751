"""Search strategies for features by an error on left-out queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ranksieve.choosing import ROUNDING, EarlyStopping, first_of_best
from ranksieve.selectors._search.fits import Fit, standard_error
from ranksieve.solvers.rankrls.backfitting import BackfittedModel
from ranksieve.solvers.rankrls.model import SampledModel


class Searched(Protocol):
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
        """Weights of ``features``, if it has any."""

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
        Number of queries that have an error, or their weight.
    varies : bool array of shape (features,)
        False for features that are constant within every query; they come last.
    include : sequence of int
        Features to start with, in this order; they are never removed.
    exclude : sequence of int
        Features that must not be selected.
    """

    def __init__(
        self,
        n_queries: float,
        varies: np.ndarray,
        include: Sequence[int] = (),
        exclude: Sequence[int] = (),
    ) -> None:
        self.n_queries = n_queries
        self.include = list(include)
        allowed = ~np.isin(np.arange(len(varies)), list(exclude))
        self.useful, self.useless = allowed & varies, allowed & ~varies

    def free(self, features: Sequence[int]) -> np.ndarray:
        """Features that may be added to a model: constant ones if there are no others."""
        for able in (self.useful, self.useless):
            free = able.copy()
            free[list(features)] = False
            if free.any():
                return np.flatnonzero(free)
        return np.empty(0, dtype=np.intp)

    def removable(self, features: Sequence[int]) -> list[int]:
        """Features that may be removed from a model: constant ones first."""
        able = [feature for feature in features if feature not in self.include]
        return [feature for feature in able if self.useless[feature]] or able

    def fit(self, model: Searched | SampledModel | BackfittedModel) -> Fit:
        """The current model."""
        deviation = standard_error(model.error, model.square, self.n_queries)
        return Fit(tuple(model.features), model.coefficients, model.error, deviation)


def forward(model: Searched, k: int, bounds: Bounds, patience: int | None = None) -> list[Fit]:
    """Repeatedly add the feature with the smallest error.

    With ``patience``, ends after this many additions that did not lower the error.
    """
    path = _begin(model, bounds)
    stopping = EarlyStopping(patience, rounding=0.0)
    for fit in path:
        stopping.add(-fit.error)
    while len(path) < k:
        model.change(_best_addition(model, bounds))
        path.append(bounds.fit(model))
        if stopping.add(-path[-1].error):
            break
    return path


def backward(model: Searched, k: int, bounds: Bounds) -> list[Fit]:
    """Repeatedly remove the feature that is missed least, starting with the given model.

    Models of the path are in order of size.
    """
    path = [bounds.fit(model)]
    while len(model.features) > k and bounds.removable(model.features):
        model.change(_best_removal(model, bounds)[0])
        path.append(bounds.fit(model))
    return path[::-1]


def forward_sampled(
    model: SampledModel, k: int, bounds: Bounds, kappa: int, random: np.random.RandomState
) -> list[Fit]:
    """Repeatedly add the best of ``kappa`` random features."""
    path: list[Fit] = []
    while len(path) < k:
        if len(path) < len(bounds.include):
            candidates = np.array([bounds.include[len(path)]])
        else:
            free = bounds.free(model.features)
            candidates = np.sort(random.choice(free, min(kappa, len(free)), replace=False))
        errors = model.candidate_errors(candidates)
        model.change(int(candidates[first_least(errors)]))
        path.append(bounds.fit(model))
    return path


def floating(model: Searched, k: int, bounds: Bounds, beyond: int = 2) -> list[Fit]:
    """Sequential floating forward selection: after each addition, remove unnecessary features.

    A feature is removed if that gives the best model of its size so far. The search goes ``beyond``
    k features, and the best model of each size up to k counts; these need not be nested.

    References
    ----------
    P. Pudil, J. Novovicova, J. Kittler. Floating search methods in feature selection. Pattern
    Recognition Letters 15, 1994.
    """
    best = {len(fit.features): fit for fit in _begin(model, bounds)}

    def note() -> bool:
        size = len(model.features)
        if size and (size not in best or model.error < best[size].error):
            best[size] = bounds.fit(model)
            return True
        return False

    while len(model.features) < k + beyond and len(bounds.free(model.features)):
        model.change(_best_addition(model, bounds))
        note()
        while len(model.features) > max(2, len(bounds.include)):
            removed, error = _best_removal(model, bounds)
            if not error < best[len(model.features) - 1].error * (1 - ROUNDING):
                break
            model.change(removed)
            if not note():  # the error was a rounding away from the best
                break
    return [best[size] for size in sorted(best) if size <= k]


def foba(
    model: Searched, k: int, bounds: Bounds, epsilon: float = 0.0, nu: float = 0.5
) -> list[Fit]:
    """Forward-backward search (FoBa): remove features that have come to cost little.

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
    while len(model.features) < k and len(bounds.free(model.features)):
        before, added = model.error, _best_addition(model, bounds)
        if model.features and before - model.addition_errors(np.array([added]))[0] <= epsilon:
            break
        model.change(added)
        size = len(model.features)
        gains[size] = before - model.error
        if size not in best or model.error < best[size].error:
            best[size] = bounds.fit(model)
        while len(model.features) > max(1, len(bounds.include)):
            size = len(model.features)
            removed, error = _best_removal(model, bounds)
            if removed == added or error - model.error > nu * gains.get(size, 0.0):
                break
            model.change(removed)
            if model.error < best[size - 1].error:
                best[size - 1] = bounds.fit(model)
    return [best[size] for size in sorted(best) if size <= len(model.features)]


def _begin(model: Searched, bounds: Bounds) -> list[Fit]:
    path = []
    for feature in bounds.include:
        model.change(feature)
        path.append(bounds.fit(model))
    return path


def _best_addition(model: Searched, bounds: Bounds) -> int:
    free = bounds.free(model.features)
    return int(free[first_least(model.addition_errors(free))])


def _best_removal(model: Searched, bounds: Bounds) -> tuple[int, float]:
    """The feature that is missed least, and the error without it."""
    able = bounds.removable(model.features)
    errors = model.removal_errors(able)
    place = first_least(errors)
    return able[place], float(errors[place])


def first_least(errors: np.ndarray) -> int:
    """Position of the first error that equals the smallest one up to rounding."""
    return first_of_best(-errors, scale=abs(errors.min()))
