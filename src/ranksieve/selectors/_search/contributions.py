"""Importance of features to a trained ranker by SHAP values within queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.rankers.base import Ranker
from ranksieve.sums.chunks import CHUNK, chunks, weights_of
from ranksieve.threads import limit_threads


def shap_within_queries(ranker: Ranker, source: Source) -> np.ndarray:
    r"""Mean distance of the SHAP values of each feature from their mean in the query.

    .. math:: I_j = \frac{1}{|Q|} \sum_q \frac{1}{n_q} \sum_{i \in q} |\phi_{ij} - \bar\phi_{qj}|

    with the contribution :math:`\phi_{ij}` of feature j to the score of document i. What a feature
    adds equally to all documents of a query does not change their ranking. Queries count by their
    weights, whatever their number of documents. For a linear ranker,
    :math:`\phi_{ij} = w_j x_{ij}`. Rankers that are neither linear nor made of trees raise a
    ValueError.
    """
    with engine_of(source).start(_Distances, ranker) as workers:
        weight, sums = workers.sum("sums")
    return np.asarray(sums / weight)


class _Distances:
    """Statistic: distances of contributions from their means in the queries."""

    title = "Contributions"

    def __init__(self, block: Block, ranker: Ranker) -> None:
        self.block = block
        self.ranker = ranker

    def sums(self) -> tuple[float, np.ndarray]:
        """Weight of all queries, and the weighted sum of their mean distances."""
        weights = weights_of(self.block)
        total = np.zeros(self.block.X.shape[1])
        with limit_threads(1):  # each of many blocks has a thread already
            for chunk in chunks(self.block, CHUNK):
                starts, lengths = chunk.query_ptr[:-1], np.diff(chunk.query_ptr)[:, None]
                parts = self._contributions(chunk.X)
                means = np.add.reduceat(parts, starts) / lengths
                distances = np.abs(parts - np.repeat(means, lengths[:, 0], axis=0))
                total += weights[chunk.queries] @ (np.add.reduceat(distances, starts) / lengths)
        return float(weights.sum()), total

    def _contributions(self, X: np.ndarray) -> np.ndarray:
        coef: Any = getattr(self.ranker, "coef_", None)
        return self.ranker._contributions(X) if coef is None else X * coef
