"""Minimize a quadratic function with penalties on absolute values."""

from __future__ import annotations

import numpy as np

from ranksieve.solvers.ranksvm.penalties import Weighted

_RIDGE = 1e-13  # relative to each second derivative, for combinations of other features
_FLAT = 1e-30  # replaces a second derivative of 0, where no pair is active
_EQUAL = 1e-9  # relative difference up to which violations are equal


def least_quadratic(
    H: np.ndarray, linear: np.ndarray, penalty: Weighted, start: np.ndarray, limits: np.ndarray
) -> np.ndarray:
    r"""Minimize a quadratic function with penalties on absolute values, by an active set.

    .. math:: \tfrac12 v^T H v + c^T v + b^T |v| + \tfrac12 |v|^T A |v|

    Parameters
    ----------
    H : array of shape (n, n)
        Positive semidefinite.
    linear : array of shape (n,)
        c.
    penalty : Weighted
        b, nonnegative; and A, positive semidefinite and nonnegative.
    start : array of shape (n,)
    limits : array of shape (n,)
        Largest allowed violation of each variable at 0: how far its slope exceeds b + A |v|.

    Notes
    -----
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
