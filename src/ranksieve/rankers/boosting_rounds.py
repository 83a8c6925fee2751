"""What rankers that grow in rounds share: columns beside blocks, and rounds chosen by a measure."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Literal

import numpy as np

from ranksieve.choosing import EarlyStopping
from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.metrics import Convention, Measure, Ranking, parse_measure
from ranksieve.sums.chunks import locating


def block_weights(block: Block, query_weights: np.ndarray | None) -> np.ndarray:
    """Part of the weights of all queries that is about a block; without any, all 1."""
    n_queries = len(block.query_ptr) - 1
    if query_weights is None:
        return np.ones(n_queries)
    return query_weights[block.first_query : block.first_query + n_queries]


class Columns:
    """Single features of a block; a CSR matrix is turned around once, to find them quickly."""

    def __init__(self, block: Block) -> None:
        self._X = block.X.tocsc() if block.is_sparse else block.X
        self._is_sparse = block.is_sparse

    def __getitem__(self, feature: int) -> np.ndarray:
        column = self._X[:, [feature]].toarray()[:, 0] if self._is_sparse else self._X[:, feature]
        return np.ascontiguousarray(column, dtype=np.float64)


class Measured:
    """What is measured of a block: scores of documents to values of queries, larger is better.

    A measure of which smaller values are better counts as 1 minus its value.
    """

    def __init__(
        self, block: Block, measure: Measure, convention: Convention | str, average_ties: bool
    ) -> None:
        self.query_ptr = block.query_ptr
        self.prepared = measure.prepare(block.y, block.query_ptr, convention)
        self.average_ties = average_ties
        self.greater_is_better = measure.greater_is_better

    def ranking(self, scores: np.ndarray) -> Ranking:
        """Documents of each query by descending score."""
        return Ranking.of(scores, self.query_ptr, average_ties=self.average_ties)

    def values(self, ranking: Ranking) -> np.ndarray:
        """Value of each query."""
        return self.oriented(self.prepared.per_query(ranking))

    def oriented(self, values: np.ndarray) -> np.ndarray:
        """Values of the measure, turned so that larger is better."""
        return values if self.greater_is_better else 1 - values


class HeldOut:
    """Statistic: measure of held-out queries as a model grows."""

    title = "Validation"

    def __init__(
        self, block: Block, measure: Measure, convention: Convention | str, average_ties: bool
    ) -> None:
        block.check_finite()
        self.columns = Columns(block)
        self.measured = Measured(block, measure, convention, average_ties)
        self.scores = np.zeros(len(block.y))

    def add(self, feature: int, alpha: float) -> tuple[int, float]:
        """Add a feature times ``alpha``; number of queries, and sum of their values."""
        return self._measure(alpha * self.columns[feature])

    def add_step(self, feature: int, alpha: float, threshold: float) -> tuple[int, float]:
        """Add ``alpha`` where a feature is above the threshold; returns as :meth:`add`."""
        return self._measure(np.where(self.columns[feature] > threshold, alpha, 0.0))

    def _measure(self, change: np.ndarray) -> tuple[int, float]:
        self.scores += change
        values = self.measured.values(self.measured.ranking(self.scores))
        return len(values), float(values.sum())


class Rounds:
    """Which round of a growing model is best on held-out queries, and when to stop.

    Parameters
    ----------
    validation : Source or None
        Without one, there is nothing to say.
    measure, convention, ties
        See :mod:`ranksieve.metrics`.
    patience : int or None
        Stop after so many rounds without a better one; None never stops.
    """

    def __init__(
        self,
        validation: Source | None,
        measure: str | Measure,
        convention: str | Convention,
        ties: Literal["average", "stable"],
        patience: int | None,
    ) -> None:
        self._stack = ExitStack()
        self._workers = None
        self._measure = parse_measure(measure)
        if validation is not None:
            parameters = self._measure, convention, ties == "average"
            with locating(validation):
                workers = engine_of(validation).start(HeldOut, *parameters)
            self._workers = self._stack.enter_context(workers)
        self._stopping = EarlyStopping(patience)

    def __enter__(self) -> Rounds:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    @property
    def best(self) -> int:
        """The best round, from 1; the first of equals; 0 without rounds or validation data."""
        return self._stopping.best

    @property
    def measured(self) -> np.ndarray:
        """The measure itself after each round."""
        values = np.array(self._stopping.values)
        return values if self._measure.greater_is_better else 1 - values

    def add(self, feature: int, alpha: float, threshold: float | None = None) -> bool:
        """Let the model grow by a feature, or by a threshold on it; returns whether to stop."""
        if self._workers is None:
            return False
        if threshold is None:
            n, total = self._workers.sum("add", feature, alpha)
        else:
            n, total = self._workers.sum("add_step", feature, alpha, threshold)
        return self._stopping.add(total / n)
