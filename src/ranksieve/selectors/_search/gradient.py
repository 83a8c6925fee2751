"""What selectors share that train a linear model or a small network by the gradient of a loss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ranksieve.engine import Source, Workers, engine_of
from ranksieve.solvers.gradient.networks import Standard, TrainingLoss, Weights


@dataclass
class StandardizedLoss:
    """Mean loss and gradient of the weights that a model has for standardized features.

    Attributes
    ----------
    workers : Workers
        Of :class:`TrainingLoss`.
    standard : Standard
    terms : float
        Pairs or queries, over which the loss is a mean.
    varies : bool array of shape (features,)
        False for features that are constant within every query that counts.
    """

    workers: Workers
    standard: Standard
    terms: float
    varies: np.ndarray

    def loss_and_gradient(
        self, weights: Weights, queries: np.ndarray | None = None
    ) -> tuple[float, Weights]:
        """Loss and gradient, of some queries if these are given; over all terms in any case."""
        loss, *gradient = self.workers.sum(
            "loss_and_gradient", self.standard.applied(weights), queries
        )
        parts = [part / self.terms for part in self.standard.returned(gradient)]
        parts[0][~self.varies] = 0.0  # rounding is all there could be
        return loss / self.terms, parts


@contextmanager
def standardized_loss(
    source: Source, loss: str, activation: str = "tanh"
) -> Iterator[StandardizedLoss]:
    """The loss, whose statistics live beside the data inside a ``with`` block."""
    with engine_of(source).start(TrainingLoss, loss, activation) as workers:
        rows, total, terms = workers.sum("totals")
        varies = workers.sum("count_varying") > 0
        yield StandardizedLoss(workers, Standard.of(rows, total, workers), terms, varies)
