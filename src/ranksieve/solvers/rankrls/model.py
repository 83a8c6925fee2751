"""Pairwise least squares on some features, with the error after adding each other feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ranksieve.engine import Workers
from ranksieve.solvers.rankrls.residuals import Change, LeaveQueryOut, ReplayedLeaveQueryOut
from ranksieve.sums.checks import finite


class Products(NamedTuple):
    """Products of centered features and labels over all rows."""

    xx: np.ndarray
    xy: np.ndarray
    yy: float


class Model:
    """Pairwise least squares on some features, with errors after adding each other feature.

    ``workers`` are those of :class:`ranksieve.solvers.rankrls.residuals.LeaveQueryOut`,
    ``products`` the sum of their method ``gram``, and ``lam`` is the regularization.
    """

    errors: np.ndarray  # (features,): error after adding each; infinite for those in the model
    error: float  # sum over queries of the leave-query-out error
    square: float  # sum of its square

    def __init__(self, workers: Workers[Any], products: Products, lam: float) -> None:
        self.workers = workers
        self.xx, self.xy, _ = products
        self.lam = lam
        self.features: list[int] = []  # in the order in which they were added
        self._regress()
        self._start()

    def change(self, feature: int) -> None:
        """Add a feature, or remove it if it is in the model."""
        half = self._half[:, feature]
        change = Change(
            feature=feature,
            model=np.array(self.features, dtype=np.intp),
            weights=solve_triangular(self._factor, half, trans="T", lower=True),
            inverse=float(self._inverse[feature]),
            d=float(self._d[feature]),
            t=(self.xx[feature] - half @ self._half) / (self.lam * self._inverse[feature]),
        )
        if feature in self.features:
            self.features.remove(feature)
        else:
            self.features.append(feature)
        self._regress()
        self._move(change)

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Error after adding each of some features."""
        return self.errors[candidates]

    def removal_errors(self, candidates: Sequence[int]) -> np.ndarray:
        """Error after removing each of some features of the model."""
        chosen = self.features
        inner = self._inner()
        errors = self.workers.sum(
            LeaveQueryOut.removal_errors, np.array(chosen), inner, self.xy[chosen]
        )
        return errors[[chosen.index(feature) for feature in candidates]]

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of ``features``."""
        return solve_triangular(self._factor, self._labels, trans="T", lower=True)

    def _start(self) -> None:
        self._take(*self.workers.sum(LeaveQueryOut.begin, self.lam, self._inverse, self._d))

    def _move(self, change: Change) -> None:
        self._take(*self.workers.sum(LeaveQueryOut.change, change, self._inverse, self._d))

    def _take(self, errors: np.ndarray, error: float, square: float) -> None:
        self.errors, self.error, self.square = errors, error, square
        self.errors[self.features] = np.inf

    def _inner(self) -> np.ndarray:
        return _regularize(self.xx, self.features, self.lam)

    def _regress(self) -> None:
        """Regress all features and the labels on those in the model."""
        chosen = self.features
        self._factor = _factor(self._inner())
        self._half = solve_triangular(self._factor, self.xx[chosen], lower=True)
        self._labels = solve_triangular(self._factor, self.xy[chosen], lower=True)
        own = (np.diag(self.xx) - (self._half**2).sum(axis=0)) / self.lam
        self._inverse = 1.0 + own
        # For a feature in the model, 1 / c = -1 + own avoids cancellation.
        root = solve_triangular(self._factor, np.eye(len(chosen)), lower=True)
        self._inverse[chosen] = -self.lam * (root**2).sum(axis=0)
        self._d = (self.xy - self._labels @ self._half) / (self.lam * self._inverse)


class ReplayedModel(Model):
    """The same model on :class:`ranksieve.solvers.rankrls.residuals.ReplayedLeaveQueryOut`."""

    def _start(self) -> None:
        self._history = np.empty((0, len(self.xy)))
        self._set_errors(*self.workers.sum(ReplayedLeaveQueryOut.start, self.lam))

    def _move(self, change: Change) -> None:
        found = self.workers.sum(
            ReplayedLeaveQueryOut.apply_change, change, self._history[:, change.feature].copy()
        )
        self._history = np.concatenate([self._history, change.t[None]])
        self._set_errors(*found)

    def _set_errors(self, error: float, square: float) -> None:
        errors = self.workers.sum(
            ReplayedLeaveQueryOut.errors, None, self._history, self._inverse, self._d
        )
        self._take(errors, error, square)


class SampledModel:
    """The same model for samples of candidates, without the products of all features.

    Features can only be added. ``workers`` are those of
    :class:`ranksieve.solvers.rankrls.residuals.ReplayedLeaveQueryOut`.
    """

    def __init__(self, workers: Workers[ReplayedLeaveQueryOut], lam: float) -> None:
        self.workers = workers
        self.lam = lam
        self.features: list[int] = []
        self._factor = np.empty((0, 0))
        self._labels = np.empty(0)
        self.error, self.square = workers.sum(ReplayedLeaveQueryOut.start, lam)
        self._seen: tuple[Any, ...] = ([],)

    def addition_errors(self, candidates: np.ndarray) -> np.ndarray:
        """Errors after adding each of some features; infinite for constant ones."""
        model = np.array(self.features, dtype=np.intp)
        with_model, own, with_labels = self.workers.sum(
            ReplayedLeaveQueryOut.products, candidates, model
        )
        half = solve_triangular(self._factor, with_model, lower=True)
        inverse = 1.0 + (own - (half**2).sum(axis=0)) / self.lam
        d = (with_labels - self._labels @ half) / (self.lam * inverse)
        # Features were only added, so the current factor contains t of each change.
        history = half / np.diag(self._factor)[:, None]
        self._seen = candidates.tolist(), half, with_labels, inverse, d, history
        errors = self.workers.sum(ReplayedLeaveQueryOut.errors, candidates, history, inverse, d)
        return np.where(own > 0, errors, np.inf)

    def change(self, feature: int) -> None:
        """Add a feature."""
        if feature not in self._seen[0]:
            self.addition_errors(np.array([feature]))
        seen, half, with_labels, inverse, d, history = self._seen
        position = seen.index(feature)
        half = half[:, position]
        weights = solve_triangular(self._factor, half, trans="T", lower=True)
        model = np.array(self.features, dtype=np.intp)
        change = Change(
            feature, model, weights, float(inverse[position]), float(d[position]), np.empty(0)
        )
        self.error, self.square = self.workers.sum(
            ReplayedLeaveQueryOut.apply_change, change, history[:, position].copy()
        )
        corner = np.sqrt(self.lam * inverse[position])
        bigger = np.zeros((len(half) + 1, len(half) + 1))
        bigger[:-1, :-1], bigger[-1, :-1], bigger[-1, -1] = self._factor, half, corner
        label = (with_labels[position] - self._labels @ half) / corner
        self._factor, self._labels = bigger, np.append(self._labels, label)
        self.features.append(feature)
        self._seen = ([],)

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of ``features``."""
        return solve_triangular(self._factor, self._labels, trans="T", lower=True)


def ridge(products: Products, features: Sequence[int], lam: float) -> np.ndarray:
    """Weights of some features by regularized least squares."""
    chosen = list(features)
    factor = _factor(_regularize(products.xx, chosen, lam))
    half = solve_triangular(factor, products.xy[chosen], lower=True)
    return solve_triangular(factor, half, trans="T", lower=True)


def _regularize(xx: np.ndarray, features: list[int], lam: float) -> np.ndarray:
    return xx[np.ix_(features, features)] + lam * np.eye(len(features))


def _factor(inner: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor."""
    return cholesky(finite(inner), lower=True) if len(inner) else inner
