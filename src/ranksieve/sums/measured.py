"""Statistic: how well given scores rank the queries of a block."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ranksieve.data import Block
from ranksieve.metrics import Convention, Measure, Ranking, get_convention
from ranksieve.sums.chunks import take_queries, weights_of

Values = TypeVar("Values", float, np.ndarray)


class Measured:
    """Statistic: values of queries, given scores of documents; larger is better.

    If smaller values of a measure are better, 1 minus the value is used. Statistics that measure a
    model inherit from this class.

    ``queries`` is a mask over the queries of all blocks; by default all are used. A block may have
    none of them.
    """

    title = "Validation"

    def __init__(
        self,
        block: Block,
        measure: Measure,
        convention: Convention | str,
        queries: np.ndarray | None = None,
    ) -> None:
        self.block = take_queries(block, queries)
        self.weights = weights_of(self.block)
        self.average_ties = get_convention(convention).averages_ties
        self.measure = measure
        self.is_empty = len(self.block.y) == 0
        if not self.is_empty:
            self.prepared = measure.prepare(self.block.y, self.block.query_ptr, convention)

    def ranking(self, scores: np.ndarray) -> Ranking:
        """Documents of each query by descending score."""
        return Ranking.of(scores, self.block.query_ptr, average_ties=self.average_ties)

    def values(self, ranking: Ranking) -> np.ndarray:
        """Value of each query."""
        return self.oriented(self.prepared.per_query(ranking))

    def oriented(self, values: np.ndarray) -> np.ndarray:
        """Convert values so that larger is better; see :func:`orient`."""
        return orient(values, self.measure)

    def total(self, scores: np.ndarray) -> tuple[float, float]:
        """Weight of the queries, and the weighted sum of their values."""
        values = self.values(self.ranking(scores))
        return float(self.weights.sum()), float((self.weights * values).sum())


def orient(values: Values, measure: Measure) -> Values:
    """Convert values so that larger is better, or back: 1 - value if smaller is better."""
    return values if measure.greater_is_better else 1 - values
