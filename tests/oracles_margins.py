"""Naive versions of the sparse rankers on listed pairs."""

import numpy as np
from scipy.optimize import minimize

from tests import oracles


def pair_differences(data) -> np.ndarray:
    """Better minus worse document of each pair."""
    pairs = oracles.margin_pairs(data.y, data.qid)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    return np.array([X[i] - X[j] for i, j in pairs], dtype=float)


def mean_loss(D, w) -> float:
    return float(np.mean(np.maximum(0.0, 1 - D @ w) ** 2))


def mean_slopes(D, w) -> np.ndarray:
    return -2 * D.T @ np.maximum(0.0, 1 - D @ w) / len(D)


def mean_hessian(D, w) -> np.ndarray:
    active = D[D @ w < 1]
    return 2 * active.T @ active / len(D)


def least_by_splitting(smooth, b, A):
    """Minimize smooth(w) + b.|w| + |w|.A.|w| / 2 with w = u - v for u, v >= 0, by L-BFGS-B.

    ``smooth`` returns a value and a gradient. Returns the weights and the least value.
    """
    n = len(b)

    def split(both):
        u, v = both[:n], both[n:]
        value, slopes = smooth(u - v)
        size = u + v
        bounds = b + A @ size
        total = value + b @ size + 0.5 * size @ A @ size
        return total, np.concatenate([bounds + slopes, bounds - slopes])

    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    found = minimize(
        split,
        np.full(2 * n, 0.01),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * n),
        options=options,
    )
    return found.x[:n] - found.x[n:], float(found.fun)


def frank_wolfe(D, radius, n_steps):
    """FenchelRank as published, with u = w / radius: weights, gap and new feature by step."""
    n_pairs, n = D.shape
    u, told = np.zeros(n), []
    for _ in range(n_steps):
        scores = D @ u
        pi = 2 * radius**2 / n_pairs * np.maximum(0.0, 1 / radius - scores)
        pull = D.T @ pi
        j = int(np.argmax(np.abs(pull)))
        target = np.sign(pull[j]) * np.eye(n)[j]
        gap = pi @ (D @ target - scores)
        told.append((radius * u, gap, j))
        low, high = 0.0, 1.0  # bisection: the objective along the step is convex
        for _ in range(100):
            eta = 0.5 * (low + high)
            there = u + eta * (target - u)
            slope = -np.maximum(0.0, 1 / radius - D @ there) @ (D @ (target - u))
            low, high = (eta, high) if slope < 0 else (low, eta)
        u = (1 - low) * u + low * target
    return told
