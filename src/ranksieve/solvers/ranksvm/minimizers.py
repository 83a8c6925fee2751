"""Minimizers of RankSVM's objectives, with a bound on the distance from the optimum."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ranksieve.data import DataError
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.engine import Workers
from ranksieve.solvers.ranksvm.losses import Hinge, SquaredHinge

_LINE = 25  # most trials along a Newton step; near the solution the first one is enough
_LEVEL = 1e-3  # fraction of the initial derivative at which a line search ends
_LINE_PLANES = 6  # trials between two planes; more trials do not save planes
_BEYOND = 0.1  # position of the next plane between the best weights and those of the planes
_IDLE = 50  # rounds after which an unused plane is dropped
_RIDGE = 1e-13  # relative to the largest square, for planes that are combinations of others


class Solution(NamedTuple):
    """Solution for one C, with the attributes of :class:`RankSVM`."""

    C: float
    coef: np.ndarray
    n_iter: int
    objective: float
    gap: float
    C_per_pair: float


class Solver(ABC):
    """A minimizer; ``scale`` divides C."""

    def __init__(self, workers: Workers[Any], scale: float) -> None:
        self.workers, self.scale = workers, scale

    def solve(self, C: float, start: np.ndarray, tol: float, max_iter: int) -> Solution:
        """Minimize, starting from some weights."""
        per_pair = C / self.scale
        for n_iter, (w, objective, gap) in enumerate(self._steps(per_pair, start, tol)):  # noqa: B007
            if not np.isfinite(gap):
                raise DataError(f"the slopes of the loss are too large to square; {SCALE_FIRST}")
            if gap <= tol * objective or n_iter == max_iter:
                break
        if gap > tol * objective:
            rounding = f"; rounding allows no more: {SCALE_FIRST}" if n_iter < max_iter else ""
            warnings.warn(
                f"RankSVM stopped after {n_iter} iterations (max_iter={max_iter}) with a duality "
                f"gap of {gap / objective:.1e} of the objective (tol={tol}){rounding}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Solution(C, w, n_iter, float(objective), float(gap), per_pair)

    @abstractmethod
    def _steps(self, C: float, w: np.ndarray, tol: float) -> Iterator[Any]:
        """Yield weights, the objective and its gap, beginning with those of the start.

        Ends when rounding errors keep both the objective and its gap from falling any further.
        """


class Newton(Solver):
    """Truncated Newton steps for the squared hinge loss."""

    def _steps(self, C: float, w: np.ndarray, tol: float) -> Iterator[Any]:
        loss, slope = self.workers.sum(SquaredHinge.loss_and_gradient_at, w)
        diagonal, least, smallest = None, np.inf, np.inf
        while True:
            gradient = w + C * slope
            objective, gap = float(0.5 * w @ w + C * loss), float(0.5 * gradient @ gradient)
            yield w, objective, gap
            # Where features are large, the gap falls on after the objective has no more digits.
            if objective >= least and gap > 0.5 * smallest:
                return
            least, smallest = min(least, objective), min(smallest, gap)
            if diagonal is None:
                diagonal = 1 + C * self.workers.sum(SquaredHinge.hessian_diagonal)
            step = self._direction(C, gradient, diagonal, min(0.1, np.sqrt(gap / objective)))
            w = w + self._line_search(C, w, step, gradient @ step) * step
            loss, slope = self.workers.sum(SquaredHinge.loss_and_gradient)

    def _direction(
        self, C: float, gradient: np.ndarray, diagonal: np.ndarray, tol: float
    ) -> np.ndarray:
        """Newton direction by preconditioned conjugate gradients, up to a residual of ``tol``."""
        step, residual = np.zeros(len(gradient)), -gradient
        direction = residual / diagonal
        square = residual @ direction
        for _ in range(2 * len(gradient) + 10):
            hessian_times = direction + C * self.workers.sum(
                SquaredHinge.hessian_product, direction
            )
            length = square / (direction @ hessian_times)
            step = step + length * direction
            residual = residual - length * hessian_times
            if residual @ residual <= tol**2 * (gradient @ gradient):
                break
            before, square = square, residual @ (residual / diagonal)
            direction = residual / diagonal + square / before * direction
        return step

    def _line_search(self, C: float, w: np.ndarray, step: np.ndarray, slope: float) -> float:
        """Step length by Newton's method for the derivative, within brackets around its zero."""
        low, high, t = 0.0, np.inf, 1.0
        derivative = self.workers.sum(SquaredHinge.search_direction, step)
        for _ in range(_LINE):
            own = (w + t * step) @ step + C * derivative
            if abs(own) <= _LEVEL * abs(slope):
                break
            low, high = (t, high) if own < 0 else (low, t)
            t -= own / (step @ step + C * self.workers.sum(SquaredHinge.line_curvature))
            if not low < t < high:
                t = 2 * low if high == np.inf else 0.5 * (low + high)
            derivative = self.workers.sum(SquaredHinge.line_derivative, t)
        return t


class CuttingPlanes(Solver):
    """Cutting planes for the hinge loss; they hold for every C, so they are kept between solves."""

    def __init__(self, workers: Workers[Hinge], scale: float) -> None:
        super().__init__(workers, scale)
        self.planes = np.zeros((0, 0))

    def _steps(self, C: float, w: np.ndarray, tol: float) -> Iterator[Any]:
        a, b = self.workers.sum(Hinge.start_at, w)
        objective, bound = 0.5 * w @ w + C * (b - a @ w), 0.0
        if len(self.planes) == 0:  # the first plane says that the loss is not negative
            self.planes, self.offsets = np.zeros((1, len(w))), np.zeros(1)
            self.gram, self.shares, self.idle = np.zeros((1, 1)), np.ones(1), np.zeros(1)
        while True:
            yield w, objective, max(0.0, objective - bound)
            before = objective, bound
            self._add(a, b)
            gram, offsets = C**2 * self.gram, C * self.offsets
            self.shares = least_on_simplex(gram, offsets, self.shares, 0.1 * tol * objective)
            best = C * self.shares @ self.planes
            bound = max(bound, float(offsets @ self.shares - 0.5 * best @ best))
            step = best - w
            t, objective = self._line_search(C, w, step, objective)
            if (objective, bound) == before:
                return
            a, b = self.workers.sum(Hinge.step_and_cut, t, t + _BEYOND * (1 - t))
            w = w + t * step

    def _add(self, a: np.ndarray, b: float) -> None:
        """Add a plane, and drop planes unused for long, except for the first."""
        self.idle = np.where(self.shares > 0, 0, self.idle + 1)
        keep = self.idle < _IDLE
        keep[0] = True
        self.planes = np.vstack([self.planes[keep], a])
        self.offsets = np.append(self.offsets[keep], b)
        products = self.planes @ a
        self.gram = np.pad(self.gram[np.ix_(keep, keep)], (0, 1))
        self.gram[-1], self.gram[:, -1] = products, products
        self.shares, self.idle = np.append(self.shares[keep], 0.0), np.append(self.idle[keep], 0)

    def _line_search(
        self, C: float, w: np.ndarray, step: np.ndarray, objective: float
    ) -> tuple[float, float]:
        """Bisect for the smallest objective along a step; return the best point and its value."""
        low, high, t = 0.0, np.inf, 1.0
        best, least = 0.0, objective
        for trial in range(_LINE_PLANES):
            at = (
                self.workers.sum(Hinge.line_loss_and_derivative, t)
                if trial
                else self.workers.sum(Hinge.search_direction, step)
            )
            new_w = w + t * step
            value = float(0.5 * new_w @ new_w + C * at[0])
            best, least = (t, value) if value < least else (best, least)
            low, high = (t, high) if new_w @ step + C * at[1] < 0 else (low, t)
            t = 2 * low if high == np.inf else 0.5 * (low + high)
        return best, least


def least_on_simplex(
    gram: np.ndarray, offsets: np.ndarray, shares: np.ndarray, tol: float
) -> np.ndarray:
    """Minimize x.gram.x / 2 - offsets.x over x >= 0 with sum 1, by an active set, from ``shares``.

    Stops when the value exceeds the minimum by at most ``tol``.
    """
    x = shares.copy()
    free = np.flatnonzero(x > 0)
    ridge = _RIDGE * (gram.diagonal().max() or 1.0)
    for _ in range(20 + 2 * len(x)):
        x, free = _least_on_face(gram, offsets, x, free, ridge)
        slope = gram @ x - offsets
        entering = int(np.argmin(slope))
        if x @ slope - slope[entering] <= tol or entering in free:
            break
        free = np.append(free, entering)
    return x / x.sum()


def _least_on_face(
    gram: np.ndarray, offsets: np.ndarray, x: np.ndarray, free: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize over the ``free`` variables; those that reach 0 are fixed at 0."""
    while True:
        n = len(free)
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = gram[np.ix_(free, free)] + ridge * np.eye(n)
        system[n, n] = 0.0
        target = np.append(offsets[free] - gram[free] @ x, 0.0)
        step = np.linalg.solve(system, target)[:n]
        room = np.where(step < 0, x[free] / np.where(step < 0, -step, 1.0), np.inf)
        first = int(np.argmin(room))
        x = x.copy()
        x[free] = np.maximum(0.0, x[free] + min(1.0, room[first]) * step)
        if room[first] > 1:
            return x, free
        x[free[first]] = 0.0
        free = np.delete(free, first)
