"""Penalties on absolute weights that keep most of them at 0."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class Penalty(ABC):
    """A concave function of each absolute weight, plus a quadratic form of all of them."""

    similarity: np.ndarray | None = None

    @abstractmethod
    def value(self, w: np.ndarray) -> float:
        """Penalty of some weights."""

    @abstractmethod
    def slopes(self, w: np.ndarray) -> np.ndarray:
        """Derivative of the concave functions by absolute weights."""

    @abstractmethod
    def curvatures(self, w: np.ndarray) -> np.ndarray:
        """Second derivative of the concave functions by absolute weights."""

    def bounds(self, w: np.ndarray) -> np.ndarray:
        """Largest absolute slope of the loss for which each weight stays at 0."""
        slopes = self.slopes(w)
        return slopes if self.similarity is None else slopes + self.similarity @ np.abs(w)

    def violation(self, w: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Violation of each weight's optimality condition, given the slopes of the loss."""
        bounds = self.bounds(w)
        return np.where(
            w == 0, np.maximum(0.0, np.abs(slopes) - bounds), np.abs(slopes + np.sign(w) * bounds)
        )

    @abstractmethod
    def take(self, columns: np.ndarray) -> Penalty:
        """Penalty of the weights of some features, if all others are 0."""


class Weighted(Penalty):
    """Sum of b_j |w_j|, and half of |w|.A.|w|."""

    def __init__(self, weights: np.ndarray, similarity: np.ndarray | None = None) -> None:
        self.weights, self.similarity = weights, similarity

    def value(self, w: np.ndarray) -> float:
        """Penalty of some weights."""
        size = np.abs(w)
        value = self.weights @ size
        return float(
            value if self.similarity is None else value + 0.5 * size @ self.similarity @ size
        )

    def slopes(self, w: np.ndarray) -> np.ndarray:
        """Weights b of the absolute values."""
        return self.weights

    def curvatures(self, w: np.ndarray) -> np.ndarray:
        """Zeros."""
        return np.zeros(len(w))

    def take(self, columns: np.ndarray) -> Penalty:
        """Penalty of the weights of some features, if all others are 0."""
        similarity = self.similarity
        inside = None if similarity is None else similarity[np.ix_(columns, columns)]
        return Weighted(self.weights[columns], inside)


class MCP(Penalty):
    """Minimax concave penalty: ``lam t - t^2 / (2 gamma)`` up to ``gamma lam``, then constant.

    Here t is an absolute weight times the scale of its feature.
    """

    def __init__(self, lam: float, gamma: float, scales: np.ndarray) -> None:
        self.lam, self.gamma, self.scales = lam, gamma, scales

    def value(self, w: np.ndarray) -> float:
        """Penalty of some weights."""
        t = np.minimum(np.abs(w) * self.scales, self.gamma * self.lam)
        return float(np.sum(self.lam * t - t**2 / (2 * self.gamma)))

    def slopes(self, w: np.ndarray) -> np.ndarray:
        """Derivative by absolute weights."""
        return self.scales * np.maximum(0.0, self.lam - np.abs(w) * self.scales / self.gamma)

    def curvatures(self, w: np.ndarray) -> np.ndarray:
        """Second derivative by absolute weights."""
        is_curved = np.abs(w) * self.scales < self.gamma * self.lam
        return np.where(is_curved, -(self.scales**2) / self.gamma, 0.0)

    def take(self, columns: np.ndarray) -> Penalty:
        """Penalty of the weights of some features, if all others are 0."""
        return MCP(self.lam, self.gamma, self.scales[columns])


class Log(Penalty):
    """Logarithmic penalty: ``lam epsilon log(1 + t / epsilon)``, with t as in :class:`MCP`."""

    def __init__(self, lam: float, epsilon: float, scales: np.ndarray) -> None:
        self.lam, self.epsilon, self.scales = lam, epsilon, scales

    def value(self, w: np.ndarray) -> float:
        """Penalty of some weights."""
        t = np.abs(w) * self.scales
        return float(np.sum(self.lam * self.epsilon * np.log1p(t / self.epsilon)))

    def slopes(self, w: np.ndarray) -> np.ndarray:
        """Derivative by absolute weights."""
        return self.scales * self.lam / (1 + np.abs(w) * self.scales / self.epsilon)

    def curvatures(self, w: np.ndarray) -> np.ndarray:
        """Second derivative by absolute weights."""
        return -self.slopes(w) * self.scales / (self.epsilon + np.abs(w) * self.scales)

    def take(self, columns: np.ndarray) -> Penalty:
        """Penalty of the weights of some features, if all others are 0."""
        return Log(self.lam, self.epsilon, self.scales[columns])
