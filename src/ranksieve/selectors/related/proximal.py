"""Proximal gradient steps: a smooth loss, and a penalty that keeps whole rows of weights at 0."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

_GROW, _FADE = 2.0, 0.9  # factors of the assumed curvature: after too long a step, after others
_ROUNDING = 1e-10  # relative differences of the loss below this may be rounding

LossAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Loss and gradient at some weights, as one vector."""


class RowPenalty(NamedTuple):
    """Sum over rows of ``costs`` times the norm of a row; further weights are not penalized.

    The first ``len(costs) * width`` weights are the rows, one after the other. With a width of 1
    the norm of a row is the absolute value of a weight.
    """

    costs: np.ndarray
    width: int = 1

    def rows(self, weights: np.ndarray) -> np.ndarray:
        """The penalized weights as a view of shape (rows, width)."""
        return weights[: len(self.costs) * self.width].reshape(-1, self.width)

    def lengths(self, weights: np.ndarray) -> np.ndarray:
        """Norm of each row."""
        return np.asarray(np.sqrt((self.rows(weights) ** 2).sum(axis=1)))

    def value(self, weights: np.ndarray) -> float:
        """Penalty of some weights."""
        return float(self.costs @ self.lengths(weights))

    def shrink(self, weights: np.ndarray, step: float) -> np.ndarray:
        """Weights that minimize the penalty plus the squared distance over twice the step."""
        lengths = self.lengths(weights)
        left = np.maximum(0.0, lengths - step * self.costs)
        shrunk = weights.copy()
        self.rows(shrunk)[:] *= (left / np.where(lengths > 0, lengths, 1.0))[:, None]
        return shrunk

    def violation(self, weights: np.ndarray, gradient: np.ndarray) -> float:
        """Largest violation of a condition of optimality, given the gradient of the loss."""
        lengths = self.lengths(weights)
        slopes = gradient.copy()
        is_used = lengths > 0
        pull = np.where(is_used, self.costs / np.where(is_used, lengths, 1.0), 0.0)
        self.rows(slopes)[:] += pull[:, None] * self.rows(weights)
        penalized = self.lengths(slopes)
        penalized = np.where(is_used, penalized, np.maximum(0.0, penalized - self.costs))
        free = np.abs(slopes[len(self.costs) * self.width :])
        return float(max(penalized.max(initial=0.0), free.max(initial=0.0)))


class ProximalResult(NamedTuple):
    """Result of the minimization."""

    weights: np.ndarray
    gradient: np.ndarray  # of the loss
    objective: float
    violation: float
    n_iter: int


def minimize(
    loss_and_gradient: LossAndGradient,
    start: np.ndarray,
    penalty: RowPenalty,
    tol: float,
    max_iter: int,
) -> ProximalResult:
    r"""Minimize a smooth loss plus a penalty by accelerated proximal gradient steps.

    Each step goes from an extrapolated point y to the minimum of

    .. math:: \ell(y) + \nabla \ell(y)^T (w - y) + \frac{L}{2} \|w - y\|^2 + penalty(w),

    where L, the curvature, doubles until the loss is below this bound, and decreases after each
    step. If the objective would rise, the next step starts without extrapolation, so that the
    objective never rises. Most steps take two gradients; the violation of optimality falls like
    :math:`1 / T^2` in T steps if the loss is convex (FISTA, Beck and Teboulle 2009).
    """
    at, (loss, gradient) = start, loss_and_gradient(start)
    objective = loss + penalty.value(at)
    y, loss_y, gradient_y = at, loss, gradient
    curvature, momentum = 1.0, 1.0
    violation = penalty.violation(at, gradient)
    for n_iter in range(max_iter + 1):
        if violation <= tol or n_iter == max_iter:
            break
        while True:
            new = penalty.shrink(y - gradient_y / curvature, 1.0 / curvature)
            step = new - y
            loss_new, gradient_new = loss_and_gradient(new)
            quadratic = 0.5 * curvature * (step @ step)
            if quadratic > _ROUNDING * abs(loss_y):
                is_below = loss_new <= loss_y + gradient_y @ step + quadratic
            else:  # losses differ only by rounding, but gradients still give the curvature
                is_below = (gradient_new - gradient_y) @ step <= 2 * quadratic
            if is_below or not np.isfinite(curvature):
                break
            curvature *= _GROW
        objective_new = loss_new + penalty.value(new)
        if y is not at and objective_new > objective:
            y, loss_y, gradient_y, momentum = at, loss, gradient, 1.0
            continue
        if step @ step == 0:  # the step is below rounding
            break
        momentum, before = 0.5 + np.sqrt(0.25 + momentum**2), momentum
        y = new + (before - 1) / momentum * (new - at)
        at, loss, gradient, objective = new, loss_new, gradient_new, objective_new
        loss_y, gradient_y = loss_and_gradient(y) if before > 1 else (loss, gradient)
        curvature *= _FADE
        violation = penalty.violation(at, gradient)
    if violation > tol:
        warnings.warn(
            f"stopped after {n_iter} steps (max_iter={max_iter}) with a violation of "
            f"{violation:.1e} (tol={tol:.1e}): raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return ProximalResult(at, gradient, objective, violation, n_iter)
