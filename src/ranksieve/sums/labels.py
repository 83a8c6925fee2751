"""Statistic: counts of queries and rows that labels can rank."""

from __future__ import annotations

import numpy as np

from ranksieve.data import Block, DataError, RankingData
from ranksieve.engine import Source, engine_of, whole_block
from ranksieve.sums.chunks import vary_within_queries, weights_of


class Labels:
    """Statistic: number of queries whose rankings can differ in quality."""

    title = "Labels"

    def __init__(self, block: Block) -> None:
        self.block = block

    def counts(self) -> tuple[int, int, int]:
        """Number of queries with two documents or more, with different labels, and with weight."""
        differ = vary_within_queries(self.block.y, self.block.query_ptr)
        counted = differ & (weights_of(self.block) > 0)
        several = np.diff(self.block.query_ptr) >= 2
        return int(np.sum(several)), int(np.sum(differ)), int(np.sum(counted))

    def weight_of_several(self) -> float:
        """Weight of the queries with two documents or more."""
        return float(weights_of(self.block)[np.diff(self.block.query_ptr) >= 2].sum())

    def weight_of_rows(self) -> float:
        """Number of rows, each as often as its query counts."""
        return float(weights_of(self.block) @ np.diff(self.block.query_ptr))


def weight_of_rows(source: Source) -> float:
    """Number of rows, each as often as its query counts."""
    if source.query_weights is None:
        return source.n_rows
    with engine_of(source).start(Labels) as workers:
        return float(workers.sum("weight_of_rows"))


def check_labels_differ(source: Source) -> None:
    """Raise a DataError unless some query has documents with different labels."""
    if isinstance(source, RankingData):  # check the labels without the engine
        several, differ, counted = Labels(whole_block(source)).counts()
    else:
        with engine_of(source).start(Labels) as workers:
            several, differ, counted = workers.sum("counts")
    if several == 0:
        raise DataError(
            "no query has two documents, so there is nothing to rank; check that qid has the "
            "query of each row"
        )
    if differ == 0:
        raise DataError(
            "all documents of each query have equal labels, so every ranking is as good as any "
            "other and features cannot be compared"
        )
    if counted == 0:
        raise DataError("all queries whose documents have different labels have weight 0")
