"""Weights of pairs, their sums over thresholds, and their update in a round of RankBoost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ranksieve._kernels.boosting import (
    add_distinct,
    add_nibbles,
    add_potentials,
    add_step,
    encode,
    pair_potentials,
)
from ranksieve.data import Block
from ranksieve.engine import Workers
from ranksieve.sums.chunks import chunks, row_weights_of, vary_within_queries, weights_of
from ranksieve.sums.grades import values_of_ranks

MOST_THRESHOLDS = 255  # of a feature, so that codes fit in a byte


class PairPotentials:
    """Statistic: keeps a byte per value and the weights of all pairs, as sums over documents."""

    title = "RankBoost"

    def __init__(self, block: Block) -> None:
        self.block = block
        starts, lengths = block.query_ptr[:-1], np.diff(block.query_ptr)
        self.weights = weights_of(block)
        kept = vary_within_queries(block.y, block.query_ptr) & (self.weights > 0)
        rows = np.flatnonzero(np.repeat(kept, lengths))
        codes = np.repeat(np.arange(len(starts)), lengths)
        self.rows = rows[np.lexsort((-block.y[rows], codes[rows]))]  # by query and label
        self.labels = block.y[self.rows]
        self.row_weights = np.ones(len(self.rows), dtype=np.int64)
        if block.query_weights is not None:
            self.row_weights = row_weights_of(block, self.weights)[self.rows]
        self.query_ptr = np.concatenate([[0], np.cumsum(np.where(kept, lengths, 0))])
        self.scores, self.potentials = np.zeros((2, len(self.rows)))

    def _parts(self, block: Block) -> Any:
        """Chunks of a block, their rows in informative queries, and the positions of these rows."""
        for chunk in chunks(block):
            ends = self.query_ptr[[chunk.queries.start, chunk.queries.stop]]
            positions = slice(*ends.tolist())
            yield chunk.X, self.rows[positions] - chunk.rows.start, positions

    def distinct(self, most: int) -> tuple[float, np.ndarray, np.ndarray]:
        """Weight of rows; number, up to ``most``, and list of each feature's distinct values.

        The weight is an int if queries have no weights.
        """
        n_features = self.block.X.shape[1]
        counts = np.zeros(n_features, dtype=np.int64)
        values = np.empty((n_features, most))
        all_finite = True
        for X, rows, _ in self._parts(self.block):
            all_finite &= add_distinct(X, rows, most, counts, values)
        if not all_finite:
            self.block.check_finite()
        return self.row_weights.sum(), counts, values

    def nibbles(self, features: np.ndarray, shift: int, prefixes: np.ndarray) -> np.ndarray:
        """Counts of the next four bits below ``prefixes``; see :func:`order_statistics`."""
        block = self.block
        if block.is_sparse:  # only these columns need to become dense
            block, features = replace(block, X=block.X[:, features]), np.arange(len(features))
        counts = np.zeros((*prefixes.shape, 16), dtype=self.row_weights.dtype)
        for X, rows, positions in self._parts(block):
            weights = self.row_weights[positions]
            add_nibbles(X, rows, weights, features, shift, prefixes, counts)
        return counts

    def begin(self, thresholds: np.ndarray, n: np.ndarray) -> tuple[float, np.ndarray]:
        """Replace values by the number of thresholds below them; return as :meth:`advance`."""
        self.codes = np.empty((len(thresholds), len(self.rows)), dtype=np.uint8)
        for X, rows, positions in self._parts(self.block):
            encode(X, rows, thresholds, n, self.codes[:, positions])
        self.scores[:] = 0
        return self._sums()

    def advance(self, feature: int, position: int, alpha: float) -> tuple[float, np.ndarray]:
        """Add a threshold to the model; return the weight of all pairs and potentials by code."""
        add_step(self.codes[feature], position, alpha, self.scores)
        return self._sums()

    def _sums(self) -> tuple[float, np.ndarray]:
        total = pair_potentials(
            self.scores, self.labels, self.weights, self.query_ptr, self.potentials
        )
        sums = np.zeros((len(self.codes), MOST_THRESHOLDS + 1))
        add_potentials(self.codes, self.potentials, sums)
        return total, sums


def order_statistics(workers: Workers, features: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Values of given ranks (0-based, ascending) of each feature: array (features, ranks).

    Rows count by their weights.
    """
    return values_of_ranks(
        lambda *known: workers.sum("nibbles", features, *known),
        np.tile(ranks, (len(features), 1)),
        n_bits=4,
    )
