"""Rows with a column for each bin of each feature."""

from __future__ import annotations

import numpy as np

from ranksieve.data import Block
from ranksieve.solvers.rankrls.rotation import CenteredRows
from ranksieve.sums.bins import Bins
from ranksieve.sums.chunks import Chunk


class BinnedRows(CenteredRows):
    """Rows of a block with 1 in the column of each value's bin, centered on demand.

    Only the bins are kept, a byte or two for each value. ``target`` (rows of all blocks,) has
    values to predict instead of the labels.
    """

    def __init__(self, block: Block, bins: Bins, target: np.ndarray | None = None) -> None:
        self.bins = bins
        y = block.y
        if target is not None:
            y = target[block.first_row : block.first_row + len(y)]
        codes = bins.encode(block.X)
        super().__init__(
            Block(
                codes, y, block.query_ptr, block.first_row, block.first_query, block.query_weights
            )
        )
        self.n_features = int(bins.starts[-1])

    def _columns(self, chunk: Chunk, features: np.ndarray | None) -> np.ndarray:
        wanted = slice(None) if features is None else features
        codes = np.take(chunk.X, self.bins.feature_of[wanted], axis=1)  # in row order
        return (codes == self.bins.bin_of[wanted].astype(codes.dtype)).astype(np.float64)
