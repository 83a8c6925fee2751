"""Choice of the number of rounds by a measure, for boosting rankers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ranksieve.choosing import EarlyStopping
from ranksieve.data import Block
from ranksieve.engine import Source, Workers, changes_state, engine_of
from ranksieve.metrics import Convention, Measure, get_convention, parse_measure
from ranksieve.sums.chunks import FeatureColumns
from ranksieve.sums.held_out import Measured, check_any_value, orient


class GrowingModel(Measured):
    """Statistic: measure of held-out queries after each addition to a model."""

    def __init__(self, block: Block, measure: Measure, convention: Convention) -> None:
        block.check_finite()
        super().__init__(block, measure, convention)
        self.columns = FeatureColumns(block.X)
        self.scores = np.zeros(len(block.y))

    @changes_state
    def add(self, feature: int, alpha: float, threshold: float | None) -> tuple[float, float]:
        """Add ``alpha`` times a feature, or where it is above a threshold; see :meth:`total`."""
        column = self.columns[feature]
        self.scores += alpha * (column if threshold is None else column > threshold)
        return self.total(self.scores)


class Rounds:
    """Finds the best round of a growing model on held-out queries, and decides when to stop.

    The convention, ties and early stopping are those of the ranker. Without validation data there
    is no best round.
    """

    def __init__(
        self, ranker: Any, measure: Measure, workers: Workers[GrowingModel] | None
    ) -> None:
        self._measure, self._workers = measure, workers
        self._stopping = EarlyStopping(ranker.early_stopping_rounds)

    @classmethod
    @contextmanager
    def measured_on(
        cls, vali: Source | None, ranker: Any, measure: str | Measure
    ) -> Iterator[Rounds]:
        """Keep scores of the validation data, if there is any, while rounds are added."""
        parsed = parse_measure(measure)
        if vali is None:
            yield cls(ranker, parsed, None)
            return
        convention = get_convention(ranker.convention, ranker.ties)
        with engine_of(vali).start(GrowingModel, parsed, convention) as workers:
            yield cls(ranker, parsed, workers)

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
        n, total = self._workers.sum(GrowingModel.add, feature, alpha, threshold)
        check_any_value(n)
        return self._stopping.add(total / n)
