"""Newton steps for the squared hinge loss on pairs with a penalty that keeps weights at 0.

:func:`least_quadratic` solves the problem of each step.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ranksieve.solvers.ranksvm.mean_loss import ActiveSet, MeanLoss
from ranksieve.solvers.ranksvm.penalties import Penalty, Weighted

_FALL = 1e-4  # fraction of the expected decrease that a step must reach
_ROUNDING = 1e-13  # relative increase of the objective that counts as rounding
_SHORTEST = 2.0**-30
_FIRST = 100  # most features that may enter the working set at once
_RIDGE = 1e-13  # relative to each second derivative, for combinations of other features
_FLAT = 1e-30  # replaces a second derivative of 0, where no pair is active
_EQUAL = 1e-9  # relative difference up to which violations are equal


class Minimum(NamedTuple):
    """Weights that minimize an objective."""

    coef: np.ndarray  # (features,)
    objective: float  # mean squared violation of the margin, plus the penalty
    slopes: np.ndarray  # (features,): gradient of the mean squared violation
    nearness: np.ndarray  # (features,): slopes divided by the bound up to which a weight stays at 0
    # Largest violation of an optimality condition, relative to the largest slope at 0, both divided
    # by the standard deviations of their features.
    violation: float
    n_iter: int  # Newton steps


class SparseNewton:
    r"""Minimizes the mean squared violation of the margin over all pairs, plus a penalty.

    .. math:: \frac1P \sum_{y_i > y_j} \max(0, 1 - w^T (x_i - x_j))^2
              + \sum_f g_f(|w_f|) + \tfrac12 |w|^T A |w|

    with concave g. Each solution is the start of the next; the loss is given at weights of 0.
    Features that will probably not get a weight are left out, and checked afterwards.

    Notes
    -----
    A step minimizes the quadratic function that has the derivatives of the loss, with concave
    functions replaced by their tangents; backtracking ensures that the objective falls. It reads
    only the columns of a working set: O(m k^2 + m log n) for m rows in queries of n documents and k
    features of the set. The set has the features with weights and those whose slope could reach its
    bound if it changes as fast as the bound does (the strong rule of Tibshirani et al. 2012); when
    the steps end, one pass over all features finds those that the rule has missed.

    Since the loss is quadratic as long as the same pairs violate the margin, the last step is
    exact.
    """

    def __init__(self, loss: MeanLoss) -> None:
        self.loss = loss
        # Weights of the last solution, and the gradient of the loss there, (features,).
        self.coef, self.slopes = np.zeros(loss.n_features), loss.full_gradient()
        # Largest absolute slope at 0, divided by the standard deviation of its feature.
        self.steepest = float(np.max(np.abs(self.slopes) / loss.deviations))
        self.bounds: np.ndarray | None = None

    def move_to(self, coef: np.ndarray) -> None:
        """Start the next solution from some weights."""
        columns = np.flatnonzero(coef)
        self.loss.set_active(columns, coef[columns])
        self.coef, self.slopes, self.bounds = coef.copy(), self.loss.full_gradient(), None

    def curvature(self, feature: int) -> float:
        """Second derivative of the loss by the weight of a feature, where all weights are 0."""
        self.loss.set_active(np.array([feature]), np.zeros(1))
        return float(self.loss.mean(ActiveSet.hessian)[0, 0])

    def solve(self, penalty: Penalty, tol: float = 1e-8, max_iter: int = 1000) -> Minimum:
        """Minimize, starting from the last solution."""
        coef, n_iter = self.coef, 0
        limits = self._limits(tol)
        working = self._first_working_set(penalty)
        while True:
            part, objective, steps = self._descend(
                working, coef[working], penalty.take(working), limits[working], max_iter - n_iter
            )
            coef = np.zeros(len(coef))
            coef[working] = part
            n_iter += steps
            self.slopes = self.loss.full_gradient()
            violation = penalty.violation(coef, self.slopes) / limits
            missed = _largest(violation, 1.0, working)
            if len(missed) == 0 or n_iter == max_iter:
                break
            working = np.union1d(working, missed)
        self.coef, self.bounds = coef, penalty.bounds(coef)
        worst = tol * float(violation.max())
        if worst > tol:
            _warn(n_iter, max_iter, worst, tol)
        return Minimum(coef, objective, self.slopes, self._nearness(), worst, n_iter)

    def solve_on(
        self, columns: np.ndarray, penalty: Penalty, tol: float = 1e-8, max_iter: int = 1000
    ) -> np.ndarray:
        """Weights of some features that minimize the objective if all others are 0."""
        start = np.zeros(len(columns))
        return self._descend(columns, start, penalty, self._limits(tol)[columns], max_iter)[0]

    def _limits(self, tol: float) -> np.ndarray:
        """Largest allowed violation of each optimality condition."""
        return tol * (self.steepest or 1.0) * self.loss.deviations

    def _first_working_set(self, penalty: Penalty) -> np.ndarray:
        """First working set: features with weights, and those that the strong rule keeps."""
        bounds = penalty.bounds(self.coef)
        change = 0.0 if self.bounds is None else np.minimum(0.0, bounds - self.bounds)
        support = np.flatnonzero(self.coef)
        return np.union1d(support, _largest(np.abs(self.slopes) - bounds - change, 0.0, support))

    def _nearness(self) -> np.ndarray:
        """Slopes relative to their bounds; where there is no bound, to the steepest slope."""
        assert self.bounds is not None
        size, positive = np.abs(self.slopes), self.bounds > 0
        relative = size / self._limits(1.0)
        return np.divide(size, self.bounds, out=relative, where=positive)

    def _descend(
        self,
        columns: np.ndarray,
        v: np.ndarray,
        penalty: Penalty,
        limits: np.ndarray,
        max_iter: int,
    ) -> tuple[np.ndarray, float, int]:
        """Newton steps for the weights of some features: weights, objective, number of steps."""
        loss, slopes = self.loss.set_active(columns, v)
        n_iter = 0
        while True:
            objective = loss + penalty.value(v)
            wrong = penalty.violation(v, slopes) > limits
            if n_iter == max_iter or not wrong.any():
                break
            H = self.loss.mean(ActiveSet.hessian)
            new = None
            if not wrong[v == 0].any():
                new = self._newton_step(v, slopes, H, penalty, objective)
            if new is None:
                new = self._tangent_step(v, slopes, H, penalty, objective, limits)
            if new is None:
                break
            v = new
            loss, slopes = self.loss.mean(ActiveSet.loss_and_gradient)
            n_iter += 1
        return v, objective, n_iter

    def _tangent_step(
        self,
        v: np.ndarray,
        slopes: np.ndarray,
        H: np.ndarray,
        penalty: Penalty,
        objective: float,
        limits: np.ndarray,
    ) -> np.ndarray | None:
        """Minimize with tangents of the concave functions, and halve the step until it pays off.

        None if it never does, which is due to rounding.
        """
        tangents = Weighted(penalty.slopes(v), penalty.similarity)
        best = least_quadratic(H, slopes - H @ v, tangents, v, 0.1 * limits)
        step = best - v
        expected = slopes @ step + tangents.value(best) - tangents.value(v)
        t, loss = 1.0, self.loss.mean(ActiveSet.loss_after, step)
        while not _decreases_enough(loss + penalty.value(v + t * step), objective, t * expected):
            t *= 0.5
            loss = self.loss.mean(ActiveSet.line_loss, t)
            if t < _SHORTEST:
                return None
        return best if t == 1 else v + t * step

    def _newton_step(
        self, v: np.ndarray, slopes: np.ndarray, H: np.ndarray, penalty: Penalty, objective: float
    ) -> np.ndarray | None:
        """Newton step of the nonzero weights, if a penalty is curved there and the step pays off.

        Steps with tangents alone converge slowly for such penalties.
        """
        support, curvatures = np.flatnonzero(v), penalty.curvatures(v)
        if len(support) == 0 or not curvatures[support].any():
            return None
        gradient = (slopes + np.sign(v) * penalty.bounds(v))[support]
        try:
            root = np.linalg.cholesky(H[np.ix_(support, support)] + np.diag(curvatures[support]))
        except np.linalg.LinAlgError:  # not convex here, so not near a minimum
            return None
        step = np.zeros(len(v))
        step[support] = -np.linalg.solve(root.T, np.linalg.solve(root, gradient))
        new = v + step
        if np.any(np.sign(new) != np.sign(v)):
            return None
        reached = self.loss.mean(ActiveSet.loss_after, step) + penalty.value(new)
        decreases = _decreases_enough(reached, objective, gradient @ step[support])
        if not decreases:
            self.loss.mean(ActiveSet.line_loss, 0.0)
        return new if decreases else None


def _decreases_enough(now: float, before: float, expected: float) -> bool:
    """Whether an objective has fallen by enough of the expected decrease, up to rounding."""
    return now <= (1 + _ROUNDING) * before + _FALL * expected


def _largest(values: np.ndarray, above: float, have: np.ndarray) -> np.ndarray:
    """Features not in ``have`` with the largest values above a number; ties by index."""
    values = values.copy()
    values[have] = -np.inf
    found = np.flatnonzero(values > above)
    most = max(_FIRST, 2 * len(have))
    return found[np.argsort(-values[found], kind="stable")[:most]]


def _warn(n_iter: int, max_iter: int, worst: float, tol: float) -> None:
    warnings.warn(
        f"stopped after {n_iter} Newton steps (max_iter={max_iter}) with optimality conditions "
        f"violated by {worst:.1e} (tol={tol})",
        ConvergenceWarning,
        stacklevel=3,
    )


def least_quadratic(
    H: np.ndarray, linear: np.ndarray, penalty: Weighted, start: np.ndarray, limits: np.ndarray
) -> np.ndarray:
    r"""Minimize a quadratic function with penalties on absolute values, by an active set.

    .. math:: \tfrac12 v^T H v + c^T v + b^T |v| + \tfrac12 |v|^T A |v|

    H and A are positive semidefinite; c is ``linear``; ``penalty`` has b and A, which are not
    negative. ``limits`` (n,) say how far the slope of each variable at 0 may exceed b + A |v|.

    On a face, where signs are given and the other variables are 0, a linear system gives the
    minimum; variables that reach 0 on the way leave the face. Then the variable with the largest
    violation enters, the first of equals, so that of two equal features the second stays out; and
    so do all variables whose threshold is 0. Takes O(k^3) time for a face of k variables.
    """
    v, signs = start.copy(), np.sign(start)
    for _ in range(20 + 10 * len(v)):
        v, signs = _least_on_face(H, linear, penalty, v, signs)
        slope = H @ v + linear
        bounds = penalty.bounds(v)
        excess = np.where(signs == 0, (np.abs(slope) - bounds) / limits, -np.inf)
        worst = excess.max(initial=-np.inf)
        if worst <= 1:
            break
        entering = (excess > 1) & (bounds == 0)
        entering[np.argmax(excess >= (1 - _EQUAL) * worst)] = True
        signs = np.where(entering, -np.sign(slope), signs)
    return v


def _least_on_face(
    H: np.ndarray, linear: np.ndarray, penalty: Weighted, v: np.ndarray, signs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize over the variables with signs; those that reach 0 are fixed at 0."""
    v, signs = v.copy(), signs.copy()
    while True:
        face = np.flatnonzero(signs)
        if len(face) == 0:
            return v, signs
        s, inside = signs[face], np.ix_(face, face)
        system = H[inside]
        if penalty.similarity is not None:
            system += s[:, None] * s * penalty.similarity[inside]
        residual = -(linear[face] + penalty.weights[face] * s + system @ v[face])
        diagonal = np.diag_indices(len(face))
        system[diagonal] = np.maximum((1 + _RIDGE) * system[diagonal], _FLAT)
        step = np.linalg.solve(system, residual)
        shrinks = step * s < 0
        room = np.where(shrinks, np.abs(v[face]) / np.where(shrinks, np.abs(step), 1.0), np.inf)
        first = int(np.argmin(room))
        v[face] += min(1.0, room[first]) * step
        if room[first] > 1:
            return v, signs
        v[face[first]] = signs[face[first]] = 0.0
