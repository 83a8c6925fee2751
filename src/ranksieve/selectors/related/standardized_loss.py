"""Loss of a model of standardized features, for selectors that train one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ranksieve.engine import Source, Workers, engine_of
from ranksieve.solvers.gradient.networks import Standard, TrainingLoss, Weights


@dataclass
class StandardizedLoss:
    """Mean loss, and its gradient by the weights of a model of standardized features."""

    workers: Workers[TrainingLoss]
    standard: Standard
    terms: float  # number of pairs or queries over which the loss is averaged
    varies: np.ndarray  # (features,): False if constant within every query of positive weight

    def loss_and_gradient(
        self, weights: Weights, queries: np.ndarray | None = None
    ) -> tuple[float, Weights]:
        """Loss and gradient of all or of the given queries, always divided by all terms."""
        loss, *gradient = self.workers.sum(
            TrainingLoss.loss_and_gradient, self.standard.to_original(weights), queries
        )
        parts = [part / self.terms for part in self.standard.to_standardized(gradient)]
        parts[0][~self.varies] = 0.0  # any other value is due to rounding
        return loss / self.terms, parts

    def linear_loss_and_gradient(
        self, weights: np.ndarray, queries: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """The same for a linear model, whose weights are one vector."""
        loss, (gradient,) = self.loss_and_gradient([weights], queries)
        return loss, gradient


@contextmanager
def standardized_loss(
    source: Source, loss: str, activation: str = "tanh"
) -> Iterator[StandardizedLoss]:
    """Context manager that yields the loss and frees its memory at the end of the block."""
    with engine_of(source).start(TrainingLoss, loss, activation) as workers:
        rows, total, terms = workers.sum(TrainingLoss.totals)
        varies = workers.sum(TrainingLoss.count_varying) > 0
        yield StandardizedLoss(workers, Standard.from_sums(rows, total, workers), terms, varies)
