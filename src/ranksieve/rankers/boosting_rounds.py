"""Choice of the number of rounds by a measure, for boosting rankers."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Literal

import numpy as np

from ranksieve.choosing import EarlyStopping
from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.metrics import Convention, Measure, get_convention, parse_measure
from ranksieve.sums.chunks import FeatureColumns
from ranksieve.sums.held_out import Measured, orient


class GrowingModel(Measured):
    """Statistic: measure of held-out queries after each addition to a model."""

    def __init__(self, block: Block, measure: Measure, convention: Convention) -> None:
        block.check_finite()
        super().__init__(block, measure, convention)
        self.columns = FeatureColumns(block.X)
        self.scores = np.zeros(len(block.y))

    def add(self, feature: int, alpha: float, threshold: float | None) -> tuple[float, float]:
        """Add ``alpha`` times a feature, or where it is above a threshold; see :meth:`total`."""
        column = self.columns[feature]
        self.scores += alpha * (column if threshold is None else column > threshold)
        return self.total(self.scores)


class Rounds:
    """Finds the best round of a growing model on held-out queries, and decides when to stop.

    Without validation data there is no best round. None for ``early_stopping_rounds`` never stops.
    """

    def __init__(
        self,
        validation: Source | None,
        measure: str | Measure,
        convention: str | Convention,
        ties: Literal["average", "stable"],
        early_stopping_rounds: int | None,
    ) -> None:
        self._stack = ExitStack()
        self._workers = None
        self._measure = parse_measure(measure)
        if validation is not None:
            parameters = self._measure, get_convention(convention, ties)
            workers = engine_of(validation).start(GrowingModel, *parameters)
            self._workers = self._stack.enter_context(workers)
        self._stopping = EarlyStopping(early_stopping_rounds)

    def __enter__(self) -> Rounds:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def best(self) -> int:
        """The best round, from 1 (the first if several are equal); 0 without validation data."""
        return self._stopping.best

    @property
    def measured(self) -> np.ndarray:
        """The measure after each round, in its original sign."""
        return orient(np.array(self._stopping.values), self._measure)

    def add(self, feature: int, alpha: float, threshold: float | None = None) -> bool:
        """Add a feature, or a threshold on it, to the model; return whether to stop."""
        if self._workers is None:
            return False
        n, total = self._workers.sum("add", feature, alpha, threshold)
        return self._stopping.add(total / n)
