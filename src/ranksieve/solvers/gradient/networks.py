"""Linear models and networks of one hidden layer: scores, losses and gradients over blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import Block
from ranksieve.engine import Workers
from ranksieve.metrics import Convention, Measure
from ranksieve.solvers.gradient.losses import LOSSES
from ranksieve.sums.chunks import row_weights_of, weights_of
from ranksieve.sums.held_out import Measured, linear_scores
from ranksieve.sums.varying import count_varying

Weights = list[np.ndarray]
"""Weights of a linear model: [coef (features,)]; of a network: [inner (features, hidden), bias
(hidden,), outer (hidden,)]. Scores have no bias, because only differences within a query count."""

# Each activation, and its derivative as a function of the activation's value.
ACTIVATIONS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "tanh": (np.tanh, lambda h: 1.0 - h * h),
    "sigmoid": (lambda a: 0.5 + 0.5 * np.tanh(0.5 * a), lambda h: h * (1.0 - h)),
    "relu": (lambda a: np.maximum(a, 0.0), lambda h: (h > 0).astype(np.float64)),
}


def score_rows(X: Any, weights: Weights, activation: str) -> np.ndarray:
    """Scores of rows by a linear model or a network; a CSR matrix stays sparse."""
    if len(weights) == 1:
        return linear_scores(X, weights[0])
    inner, bias, outer = weights
    hidden = ACTIVATIONS[activation][0](linear_scores(X, inner) + bias)
    return linear_scores(hidden, outer)


def first_weights(n_features: int, hidden: int, random: np.random.RandomState) -> Weights:
    """Initial weights of a network; zeros for a linear model."""
    if hidden == 0:
        return [np.zeros(n_features)]
    # Uniform, with the variance that keeps sums over units at the scale of one (Glorot).
    bounds = np.sqrt(6 / (n_features + hidden)), np.sqrt(6 / (hidden + 1))
    inner = random.uniform(-bounds[0], bounds[0], (n_features, hidden))
    outer = random.uniform(-bounds[1], bounds[1], hidden)
    return [inner, np.zeros(hidden), outer]


class Standard(NamedTuple):
    """Mean and scale of features, to convert weights between standardized and original features."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def from_sums(cls, rows: float, total: np.ndarray, workers: Workers[TrainingLoss]) -> Standard:
        """Moments of the features, from :meth:`TrainingLoss.totals`; constants are not scaled."""
        mean = total / rows
        deviation = np.sqrt(workers.sum(TrainingLoss.squares, mean) / rows)
        varies = deviation > 1e-10 * np.abs(mean)  # a constant may differ from 0 by rounding
        return cls(mean, np.where(varies, deviation, 1.0))

    def to_original(self, weights: Weights) -> Weights:
        """Weights of the same model for the original features."""
        if len(weights) == 1:  # a shift of all scores changes no ranking
            return [weights[0] / self.scale]
        inner = weights[0] / self.scale[:, None]
        return [inner, weights[1] - self.mean @ inner, weights[2].copy()]

    def to_standardized(self, gradients: Weights) -> Weights:
        """Gradient by weights of standardized features, from that by weights of original ones."""
        if len(gradients) == 1:
            return [gradients[0] / self.scale]
        inner, bias, outer = gradients
        return [(inner - np.outer(self.mean, bias)) / self.scale[:, None], bias, outer]


class TrainingLoss:
    """Statistic: loss and gradient of a model's weights, and moments of the features.

    ``loss`` is a key of ``LOSSES``; ``activation``, of ``ACTIVATIONS``, is for networks only.
    """

    title = "Training"

    def __init__(self, block: Block, loss: str, activation: str) -> None:
        self.block = block
        self.activation = ACTIVATIONS[activation]
        self.loss = LOSSES[loss].prepare(block.y, block.query_ptr)
        self.last_query = block.first_query + len(block.query_ptr) - 1
        self.weights = weights_of(block)
        counted = np.where(self.loss.terms > 0, self.weights, 0.0)
        self.row_weights = row_weights_of(block, counted)

    def totals(self) -> tuple[float, np.ndarray, float]:
        """Sums over rows of weights and of weighted feature values, and terms of the loss.

        Rows of queries whose labels are all equal do not count.
        """
        total = self.block.X.T @ self.row_weights
        if not np.isfinite(total).all():
            self.block.check_finite()
        terms = float(self.weights @ self.loss.terms)
        return float(self.row_weights.sum()), np.asarray(total), terms

    def squares(self, mean: np.ndarray) -> np.ndarray:
        """Weighted sum over rows of squared distances from the mean."""
        X, rows = self.block.X, self.row_weights
        if not self.block.is_sparse:
            return np.asarray(rows @ (X - mean) ** 2)
        stored = X.copy()
        stored.data = (stored.data - mean[stored.indices]) ** 2
        present = X.copy()
        present.data = np.ones(len(present.data))
        return np.asarray(stored.T @ rows + (rows.sum() - present.T @ rows) * mean**2)

    def count_varying(self) -> np.ndarray:
        """Number of informative queries in which each feature is not constant."""
        return count_varying(self.block, self._counted)

    def informative_queries(self) -> np.ndarray:
        """Positions, among all queries, of those with different labels and positive weight."""
        return self.block.first_query + np.flatnonzero(self._counted)

    @property
    def _counted(self) -> np.ndarray:
        return (self.loss.terms > 0) & (self.weights > 0)

    def loss_and_gradient(
        self, weights: Weights, queries: np.ndarray | None = None
    ) -> tuple[Any, ...]:
        """Loss, and its gradient by each of the weights.

        ``queries`` are positions of the queries to use, ascending; by default all.
        """
        X, local, score_ptr = self.block.X, None, None
        if queries is not None:
            among = slice(*np.searchsorted(queries, [self.block.first_query, self.last_query]))
            local = queries[among] - self.block.first_query
            rows, score_ptr = _rows_of(local, self.block.query_ptr)
            X = X[rows]
        if len(weights) == 1:
            scores = np.asarray(X @ weights[0], dtype=np.float64)
            loss, dz = self.loss(scores, self.weights, local, score_ptr)
            return loss, np.asarray(X.T @ dz)
        inner, bias, outer = weights
        activate, derivative = self.activation
        hidden = activate(np.asarray(X @ inner) + bias)
        loss, dz = self.loss(hidden @ outer, self.weights, local, score_ptr)
        back = derivative(hidden)
        back *= outer
        back *= dz[:, None]
        return loss, np.asarray(X.T @ back), back.sum(axis=0), dz @ hidden


def _rows_of(queries: np.ndarray, query_ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of some queries, and the position of each query's first row among them."""
    starts, lengths = query_ptr[queries], query_ptr[queries + 1] - query_ptr[queries]
    score_ptr = np.concatenate([[0], np.cumsum(lengths)])
    return np.arange(score_ptr[-1]) + np.repeat(starts - score_ptr[:-1], lengths), score_ptr


class MeasuredNetwork(Measured):
    """Statistic: sums over queries of a measure of the rankings by a model."""

    def __init__(
        self, block: Block, measure: Measure, convention: Convention | str, activation: str
    ) -> None:
        super().__init__(block, measure, convention)
        self.activation = activation

    def sums(self, weights: Weights) -> tuple[float, float]:
        """Weight of the queries, and the sum of their values; larger is better."""
        scores = np.asarray(score_rows(self.block.X, weights, self.activation), dtype=np.float64)
        if not np.isfinite(scores).all():
            self.block.check_finite()
        return self.total(scores)


class PlainSteps:
    """Gradient descent with a fixed learning rate."""

    def __init__(self, weights: Weights, rate: float) -> None:
        self.weights, self.rate = weights, rate

    def step(self, gradients: Weights) -> None:
        """Update the weights in place."""
        for weight, gradient in zip(self.weights, gradients, strict=True):
            weight -= self.rate * gradient


class AdamSteps:
    """Adam: steps of similar size for all weights, whatever the size of their gradients.

    References
    ----------
    Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015.
    """

    def __init__(self, weights: Weights, rate: float) -> None:
        self.weights, self.rate = weights, rate
        self.means = [np.zeros_like(weight) for weight in weights]
        self.squares = [np.zeros_like(weight) for weight in weights]
        self.n_steps = 0

    def step(self, gradients: Weights) -> None:
        """Update the weights in place."""
        self.n_steps += 1
        fade, fade_squares = 0.9, 0.999  # as in the paper
        # Corrects the bias of both averages, which start at 0.
        rate = self.rate * np.sqrt(1 - fade_squares**self.n_steps) / (1 - fade**self.n_steps)
        parts = zip(self.weights, gradients, self.means, self.squares, strict=True)
        for weight, gradient, mean, square in parts:
            mean += (1 - fade) * (gradient - mean)
            square += (1 - fade_squares) * (gradient**2 - square)
            weight -= rate * mean / (np.sqrt(square) + 1e-8)


STEPS: dict[str, type[PlainSteps] | type[AdamSteps]] = {"sgd": PlainSteps, "adam": AdamSteps}
