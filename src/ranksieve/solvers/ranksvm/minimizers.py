"""Minimizers of RankSVM's objectives, with a bound on how far they are from the least."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ranksieve.data import DataError
from ranksieve.engine import Workers
from ranksieve.fitted import SCALE_FIRST

_LINE = 25  # looks along a Newton step; the first one does near the solution
_LEVEL = 1e-3  # of the derivative at its start is left at the end of a Newton step
_LINE_PLANES = 6  # looks between two planes: more of them save no planes
_BEYOND = 0.1  # how far from the best weights to those of the planes the next plane is put
_IDLE = 50  # rounds after which a plane that was not needed is forgotten
_RIDGE = 1e-13  # of the largest square, for planes that are combinations of others


class Solution(NamedTuple):
    """Weights of one C, as the attributes of :class:`RankSVM`."""

    C: float
    coef: np.ndarray
    n_iter: int
    objective: float
    gap: float
    C_per_pair: float


class Solver(ABC):
    """A minimizer; ``scale`` divides C."""

    def __init__(self, workers: Workers, scale: float) -> None:
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
            warnings.warn(
                f"RankSVM stopped after {n_iter} iterations (max_iter={max_iter}) with a duality "
                f"gap of {gap / objective:.1e} of the objective (tol={tol})",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Solution(C, w, n_iter, float(objective), float(gap), per_pair)

    @abstractmethod
    def _steps(self, C: float, w: np.ndarray, tol: float) -> Iterator[Any]:
        """Yield weights, the objective and its gap; at first those of the start.

        Ends when rounding errors keep the objective from falling any further.
        """


class Newton(Solver):
    """Truncated Newton steps for the squared hinge loss."""

    def _steps(self, C: float, w: np.ndarray, tol: float) -> Iterator[Any]:
        loss, pull = self.workers.sum("look", w)
        diagonal, before = None, np.inf
        while True:
            gradient = w + C * pull
            objective, gap = 0.5 * w @ w + C * loss, 0.5 * gradient @ gradient
            yield w, objective, gap
            if objective >= before:
                return
            before = objective
            if diagonal is None:
                diagonal = 1 + C * self.workers.sum("diagonal")
            step = self._direction(C, gradient, diagonal, min(0.1, np.sqrt(gap / objective)))
            w = w + self._length(C, w, step, gradient @ step) * step
            loss, pull = self.workers.sum("arrive")

    def _direction(
        self, C: float, gradient: np.ndarray, diagonal: np.ndarray, tol: float
    ) -> np.ndarray:
        """Conjugate gradients, preconditioned, until the residual is ``tol`` of the gradient."""
        step, residual = np.zeros(len(gradient)), -gradient
        ahead = residual / diagonal
        square = residual @ ahead
        for _ in range(2 * len(gradient) + 10):
            turned = ahead + C * self.workers.sum("product", ahead)
            length = square / (ahead @ turned)
            step = step + length * ahead
            residual = residual - length * turned
            if residual @ residual <= tol**2 * (gradient @ gradient):
                break
            before, square = square, residual @ (residual / diagonal)
            ahead = residual / diagonal + square / before * ahead
        return step

    def _length(self, C: float, w: np.ndarray, step: np.ndarray, slope: float) -> float:
        """Newton's method for the derivative along a step, within what encloses its zero."""
        low, high, t = 0.0, np.inf, 1.0
        pull = self.workers.sum("aim", step)
        for _ in range(_LINE):
            own = (w + t * step) @ step + C * pull
            if abs(own) <= _LEVEL * abs(slope):
                break
            low, high = (t, high) if own < 0 else (low, t)
            t -= own / (step @ step + C * self.workers.sum("bend"))
            if not low < t < high:
                t = 2 * low if high == np.inf else 0.5 * (low + high)
            pull = self.workers.sum("along", t)
        return t


class CuttingPlanes(Solver):
    """Cutting planes for the hinge loss; kept from one C to the next, for which they hold too."""

    def __init__(self, workers: Workers, scale: float) -> None:
        super().__init__(workers, scale)
        self.planes = np.zeros((0, 0))

    def _steps(self, C: float, w: np.ndarray, tol: float) -> Iterator[Any]:
        a, b = self.workers.sum("begin", w)
        objective, bound = 0.5 * w @ w + C * (b - a @ w), 0.0
        if len(self.planes) == 0:  # the first says that a sum of violations is not negative
            self.planes, self.offsets = np.zeros((1, len(w))), np.zeros(1)
            self.gram, self.shares, self.idle = np.zeros((1, 1)), np.ones(1), np.zeros(1)
        while True:
            yield w, objective, max(0.0, objective - bound)
            self._add(a, b)
            gram, offsets = C**2 * self.gram, C * self.offsets
            self.shares = least_on_simplex(gram, offsets, self.shares, 0.1 * tol * objective)
            best = C * self.shares @ self.planes
            bound = max(bound, float(offsets @ self.shares - 0.5 * best @ best))
            step = best - w
            t, objective = self._length(C, w, step, objective)
            a, b = self.workers.sum("move", t, t + _BEYOND * (1 - t))
            w = w + t * step

    def _add(self, a: np.ndarray, b: float) -> None:
        """Add a plane; forget those that were not needed for long, but never the first."""
        self.idle = np.where(self.shares > 0, 0, self.idle + 1)
        keep = self.idle < _IDLE
        keep[0] = True
        self.planes = np.vstack([self.planes[keep], a])
        self.offsets = np.append(self.offsets[keep], b)
        products = self.planes @ a
        self.gram = np.pad(self.gram[np.ix_(keep, keep)], (0, 1))
        self.gram[-1], self.gram[:, -1] = products, products
        self.shares, self.idle = np.append(self.shares[keep], 0.0), np.append(self.idle[keep], 0)

    def _length(
        self, C: float, w: np.ndarray, step: np.ndarray, objective: float
    ) -> tuple[float, float]:
        """Bisect for the least objective along a step; the best of few places, and its value."""
        low, high, t = 0.0, np.inf, 1.0
        best, least = 0.0, objective
        for look in range(_LINE_PLANES):
            at = self.workers.sum("along", t) if look else self.workers.sum("aim", step)
            there = w + t * step
            value = 0.5 * there @ there + C * at[0]
            best, least = (t, value) if value < least else (best, least)
            low, high = (t, high) if there @ step + C * at[1] < 0 else (low, t)
            t = 2 * low if high == np.inf else 0.5 * (low + high)
        return best, least


def least_on_simplex(
    gram: np.ndarray, offsets: np.ndarray, shares: np.ndarray, tol: float
) -> np.ndarray:
    """Minimize x.gram.x / 2 - offsets.x over x >= 0 with sum 1, by an active set, from ``shares``.

    Stops when the least value is not further away than ``tol``.
    """
    x = shares.copy()
    free = np.flatnonzero(x > 0)
    ridge = _RIDGE * (gram.diagonal().max() or 1.0)
    for _ in range(20 + 2 * len(x)):
        x, free = _least_on_face(gram, offsets, x, free, ridge)
        slope = gram @ x - offsets
        enters = int(np.argmin(slope))
        if x @ slope - slope[enters] <= tol or enters in free:
            break
        free = np.append(free, enters)
    return x / x.sum()


def _least_on_face(
    gram: np.ndarray, offsets: np.ndarray, x: np.ndarray, free: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize over the variables ``free``, of which those that reach 0 leave."""
    while True:
        n = len(free)
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = gram[np.ix_(free, free)] + ridge * np.eye(n)
        system[n, n] = 0.0
        toward = np.append(offsets[free] - gram[free] @ x, 0.0)
        step = np.linalg.solve(system, toward)[:n]
        room = np.where(step < 0, x[free] / np.where(step < 0, -step, 1.0), np.inf)
        first = int(np.argmin(room))
        x = x.copy()
        x[free] = np.maximum(0.0, x[free] + min(1.0, room[first]) * step)
        if room[first] > 1:
            return x, free
        x[free[first]] = 0.0
        free = np.delete(free, first)
