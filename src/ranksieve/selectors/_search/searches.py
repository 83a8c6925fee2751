"""Searches for features by an error on left-out queries, their paths, and rules to end them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ranksieve.base import Choices
from ranksieve.choosing import ROUNDING, EarlyStopping, first_nearly_best, first_of_best
from ranksieve.costs import AlignedCosts
from ranksieve.data import DataError
from ranksieve.progress import track

_BEYOND = 2  # how many more features than wanted a floating search tries


class Step(NamedTuple):
    """A step of a selection: the chosen feature, and its score when it was chosen."""

    feature: int
    score: float


class Fit(NamedTuple):
    """A model on the path of a search."""

    features: tuple[int, ...]  # in the order in which they were added
    coef: np.ndarray  # their weights
    error: float  # weighted sum over left-out queries of the criterion; smaller is better
    deviation: float  # standard error of that sum, from its spread over queries

    @property
    def score(self) -> float:
        """The error."""
        return self.error


class MeasuredFit(NamedTuple):
    """A model on the path of a search by a measure."""

    features: tuple[int, ...]  # in the order in which they were added
    coef: np.ndarray  # their weights, if the model has weights
    value: float  # weighted mean over left-out queries of the measure, in its own sign
    deviation: float  # standard error of that mean, from its spread over queries

    @property
    def score(self) -> float:
        """The value of the measure."""
        return self.value


AnyFit = Fit | MeasuredFit


def check_two_queries(n_queries: int) -> None:
    """Raise a DataError unless two queries or more have two documents or more."""
    if n_queries < 2:
        raise DataError(
            "leave-query-out needs at least two queries with two documents or more: if the only "
            "one is left out, nothing remains to train on"
        )


def standard_error(total: float, squares: float, n_queries: float) -> float:
    """Standard error of a sum over queries, given the sum of squares.

    Queries count by their weights: a query of weight 2 counts like two queries.
    """
    if n_queries < 2:
        return float("nan")
    spread = max(0.0, squares - total**2 / n_queries)
    return float(np.sqrt(n_queries / (n_queries - 1) * spread))


def path_steps(path: Sequence[AnyFit], position: int) -> list[Step]:
    """Steps to a model of a path: each feature, and the error or value once it was added.

    Features of one group are adjacent and have the same score.
    """
    sizes = np.array([len(fit.features) for fit in path])
    return [
        Step(feature, path[int(np.argmax(sizes >= number))].score)
        for number, feature in enumerate(path[position].features, start=1)
    ]


def best_fit(
    path: Sequence[AnyFit],
    rule: str,
    least: int = 1,
    *,
    tol: float = 0.0,
    greater_is_better: bool = False,
) -> int:
    """Position on a path of the model that a rule chooses.

    ``"best"``: the best error or value, the smaller model on ties. ``"one-se"``: the smallest model
    within one standard error of the best. ``"tolerance"``: within ``tol`` of it. Models before the
    ``least``-th do not count.
    """
    errors = np.array([fit.score for fit in path]) * (-1.0 if greater_is_better else 1.0)
    errors[: least - 1] = np.inf
    best = int(np.argmin(errors))
    if rule == "best":
        return best
    margin = tol if rule == "tolerance" else path[best].deviation
    return first_nearly_best(-errors, margin)


def changes_with_bars(changes: Sequence[str], values: Sequence[float]) -> list[str]:
    """Lines of text, each with the change from the previous value and a bar for the value."""
    low, high = min(values), max(values)
    shares = [(value - low) / (high - low) if high > low else 0.0 for value in values]
    lines = zip(["", *changes], shares, strict=True)
    return [f"{change:>8} {'#' * round(20 * share)}".rstrip() for change, share in lines]


class ForwardModel(Protocol):
    """A model to which a search adds one group of features at a time.

    Groups are numbered as in :class:`Choices`: without groups, a number is that of a feature.
    """

    chosen: list[int]  # groups in the model, in the order in which they were added

    @property
    def error(self) -> float:
        """Sum over queries; smaller is better."""

    @property
    def square(self) -> float:
        """Sum of squares over queries."""

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of the features of the chosen groups, if the model has weights."""

    def change(self, group: int) -> None:
        """Add a group."""

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error after adding each of some groups, in ascending order."""


class SearchModel(ForwardModel, Protocol):
    """A model from which ``change`` also removes a group that is in it."""

    def removal_errors(self, candidates: Sequence[int]) -> np.ndarray:
        """Error after removing each of some groups."""


class Bounds(NamedTuple):
    """Limits of a search."""

    n_queries: float  # number of queries with an error, or their total weight
    varies: np.ndarray  # (groups,): False if constant within every query; such groups come last
    choices: Choices  # number of features to choose, and included ones, which are never removed
    costs: AlignedCosts | None = None  # of the features that are not excluded
    budget: float = np.inf  # largest total cost of the selected features
    weighs_costs: bool = False  # whether additions are compared by their gain per cost
    kappa: int | None = None  # number of random groups to try in a step, instead of all
    random: np.random.RandomState | None = None  # draws them

    def free(self, chosen: Sequence[int]) -> np.ndarray:
        """Groups that may be added within the budget; constant ones only if there are no others."""
        is_free = np.ones(len(self.varies), dtype=bool)
        is_free[list(chosen)] = False
        varying = np.flatnonzero(is_free & self.varies)
        candidates = varying if len(varying) else np.flatnonzero(is_free)
        if self.costs is None or np.isinf(self.budget):
            return candidates
        spent = self.costs.total(self.choices.features_of(chosen))
        total = spent + self.prices(chosen, candidates)
        return candidates[total <= self.budget * (1 + ROUNDING)]

    def prices(self, chosen: Sequence[int], candidates: np.ndarray) -> np.ndarray:
        """Cost that each candidate would add to the chosen groups."""
        assert self.costs is not None
        if self.choices.groups is None:
            return self.costs.marginal(chosen)[candidates]
        before = self.choices.features_of(chosen)
        whole = self.costs.total(before)
        added = [self.choices.features_of([position]) for position in candidates.tolist()]
        return np.array([self.costs.total([*before, *features]) - whole for features in added])

    def removable(self, chosen: Sequence[int]) -> list[int]:
        """Groups that may be removed from a model; only constant ones if there are any."""
        eligible = [group for group in chosen if group not in self.choices.start]
        return [group for group in eligible if not self.varies[group]] or eligible

    def fit(self, model: ForwardModel) -> Fit:
        """Record of the current model."""
        deviation = standard_error(model.error, model.square, self.n_queries)
        features = tuple(self.choices.features_of(model.chosen))
        return Fit(features, model.coefficients, model.error, deviation)


def forward(model: ForwardModel, bounds: Bounds, patience: int | None = None) -> list[Fit]:
    """Repeatedly add the feature with the smallest error, or the group if there are groups.

    Only random ones are tried if there is a ``kappa``. If costs are weighed, it is the one with the
    largest gain per cost; a budget ends the search. With ``patience``, it ends after this many
    additions in a row that did not lower the error.
    """
    path = _begin(model, bounds)
    stopping = EarlyStopping(patience, rounding=0.0)
    for fit in path:
        stopping.add(-fit.error)
    n_free = len(bounds.free(model.chosen))
    left = bounds.choices.k - bounds.choices.size_of(model.chosen)
    advance = track("Candidates", sum(range(max(0, n_free - left) + 1, n_free + 1)))
    while not bounds.choices.is_full(model.chosen) and len(bounds.free(model.chosen)):
        added = _best_addition(model, bounds)
        if added not in bounds.choices.take([*model.chosen, added]):
            break
        model.change(added)
        path.append(bounds.fit(model))
        advance(n_free)
        n_free -= 1
        if stopping.add(-path[-1].error):
            break
    return path


def forward_with_costs(
    make: Callable[[], ForwardModel],
    bounds: Bounds,
    costs: AlignedCosts,
    budget: float | None,
    *,
    by_last: bool,
) -> list[Fit]:
    """Search forward by the gain per cost, and with a budget also by the gain alone.

    The path with the smallest error is kept: the error of its last model if ``by_last``, else that
    of its best one. If all steps cost the same, both searches are the same one. ``make`` makes a
    model without features; models made before are no longer used. Raises a DataError if the
    included features cost more than the budget, or if it suffices for no feature.
    """
    by_gain = bounds._replace(costs=costs, budget=np.inf if budget is None else budget)
    cost = costs.total(bounds.choices.include)
    if cost > by_gain.budget * (1 + ROUNDING):
        raise DataError(
            f"the included features cost {cost:g}, which exceeds the budget of {by_gain.budget:g}"
        )
    ways = [by_gain._replace(weighs_costs=True), by_gain][: 1 if budget is None else 2]
    if not (costs.vary or bounds.choices.has_several):
        ways = [by_gain]
    paths = [forward(make(), way) for way in ways]
    if not all(paths):
        least = by_gain.prices([], np.arange(bounds.choices.n_groups)).min()
        raise DataError(
            f"no feature that varies can be selected within the budget of {by_gain.budget:g}; "
            f"the cheapest feature costs {least:g}"
        )
    errors = [path[-1].error if by_last else min(fit.error for fit in path) for path in paths]
    return paths[first_smallest(np.array(errors))]


def backward(model: SearchModel, bounds: Bounds, *, to_the_end: bool = False) -> list[Fit]:
    """Repeatedly remove the feature whose removal gives the smallest error.

    Starts with the given model. Ends when the wanted number is reached, or when nothing is left to
    remove. Models of the path are in order of size.
    """
    path = [bounds.fit(model)]
    least = max(1, len(bounds.choices.start))
    last = least if to_the_end else max(least, bounds.choices.k)
    advance = track("Candidates", sum(range(last + 1, len(model.chosen) + 1)))
    while len(model.chosen) > least and (to_the_end or not bounds.choices.fits(model.chosen)):
        model.change(_best_removal(model, bounds)[0])
        path.append(bounds.fit(model))
        advance(len(model.chosen) + 1)
    return path[::-1]


def floating(model: SearchModel, bounds: Bounds) -> list[Fit]:
    """Sequential floating forward selection: after each addition, remove unnecessary features.

    A feature is removed if that gives the best model of its size so far. The search continues to
    ``_BEYOND`` more than the wanted number, and returns the best model of each size up to the
    wanted number; these need not be nested (Pudil, Novovicova and Kittler 1994).
    """
    best = dict(enumerate(_begin(model, bounds), start=1))

    def keep_if_best() -> bool:
        size = len(model.chosen)
        if size and (size not in best or model.error < best[size].error):
            best[size] = bounds.fit(model)
            return True
        return False

    choices = bounds.choices
    while not choices.is_full(model.chosen[:-_BEYOND]) and len(bounds.free(model.chosen)):
        model.change(_best_addition(model, bounds))
        keep_if_best()
        while len(model.chosen) > max(2, len(bounds.choices.start)):
            removed, error = _best_removal(model, bounds)
            if not error < best[len(model.chosen) - 1].error * (1 - ROUNDING):
                break
            model.change(removed)
            if not keep_if_best():  # better only by rounding
                break
    path = [best[size] for size in sorted(best)]
    return [fit for fit in path if choices.fits(choices.groups_of(fit.features))] or path[:1]


def foba(model: SearchModel, bounds: Bounds, epsilon: float, nu: float) -> list[Fit]:
    """Forward-backward search (FoBa): also remove features that have become nearly useless.

    Stops if the best addition, after the first, lowers the error by no more than ``epsilon``. After
    an addition, features are removed as long as that raises the error by at most ``nu`` times the
    gain of the addition that led to this size (T. Zhang, NIPS 2008).
    """
    best = dict(enumerate(_begin(model, bounds), start=1))
    gains: dict[int, float] = {}
    choices = bounds.choices
    while not choices.is_full(model.chosen) and len(bounds.free(model.chosen)):
        before, added = model.error, _best_addition(model, bounds)
        if model.chosen and before - model.addition_errors(np.array([added]))[0] <= epsilon:
            break
        model.change(added)
        size = len(model.chosen)
        gains[size] = before - model.error
        if size not in best or model.error < best[size].error:
            best[size] = bounds.fit(model)
        while len(model.chosen) > max(1, len(bounds.choices.start)):
            size = len(model.chosen)
            removed, error = _best_removal(model, bounds)
            if removed == added or error - model.error > nu * gains.get(size, 0.0):
                break
            model.change(removed)
            if model.error < best[size - 1].error:
                best[size - 1] = bounds.fit(model)
    return [best[size] for size in sorted(best) if size <= len(model.chosen)]


def _begin(model: ForwardModel, bounds: Bounds) -> list[Fit]:
    path = []
    for group in bounds.choices.start:
        model.change(group)
        path.append(bounds.fit(model))
    return path


def _best_addition(model: ForwardModel, bounds: Bounds) -> int:
    """Group whose addition gives the smallest error, or the largest gain per cost."""
    candidates = bounds.free(model.chosen)
    if bounds.kappa is not None and bounds.random is not None:
        drawn = bounds.random.choice(candidates, min(bounds.kappa, len(candidates)), replace=False)
        candidates = np.sort(drawn)
    errors = model.addition_errors(candidates)
    if bounds.weighs_costs:
        prices = bounds.prices(model.chosen, candidates)
        errors = errors_for_cost(errors, model.error, prices)
    return int(candidates[first_smallest(errors)])


def _best_removal(model: SearchModel, bounds: Bounds) -> tuple[int, float]:
    """Group whose removal gives the smallest error, and that error."""
    eligible = bounds.removable(model.chosen)
    errors = model.removal_errors(eligible)
    position = first_smallest(errors)
    return eligible[position], float(errors[position])


def first_smallest(errors: np.ndarray) -> int:
    """Position of the first error that equals the smallest one up to rounding."""
    return first_of_best(-errors, scale=abs(errors.min()))


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
