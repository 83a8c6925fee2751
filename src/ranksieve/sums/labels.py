"""Statistic: whether labels leave anything to rank."""

from __future__ import annotations

import numpy as np

from ranksieve.data import Block, DataError, RankingData
from ranksieve.engine import Source, engine_of
from ranksieve.sums.chunks import vary_within_queries


class Labels:
    """Statistic: how many queries could be ranked well or badly."""

    title = "Labels"

    def __init__(self, block: Block) -> None:
        self.block = block

    def counts(self) -> tuple[int, int]:
        """Queries with two documents or more, and those whose labels are not all equal."""
        differ = vary_within_queries(self.block.y, self.block.query_ptr)
        return int(np.sum(np.diff(self.block.query_ptr) >= 2)), int(np.sum(differ))


def check_labels_differ(source: Source) -> None:
    """Raise a DataError unless some query has documents with different labels."""
    if isinstance(source, RankingData):  # one look at the labels, without the engine
        several, differ = Labels(Block(source.X, source.y, source.query_ptr)).counts()
    else:
        with engine_of(source).start(Labels) as workers:
            several, differ = workers.sum("counts")
    if several == 0:
        raise DataError(
            "no query has two documents, so there is nothing to rank; does qid say which rows "
            "belong together?"
        )
    if differ == 0:
        raise DataError(
            "all documents of each query have equal labels, so that every ranking is as good as "
            "any other and no feature can be told from the rest"
        )
