"""Convert ranking data to the form that LightGBM takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from ranksieve.data import Block, DataError, RankingData
from ranksieve.engine import Source, engine_of, whole_block

LARGEST_LABEL = 30  # LightGBM's default table of gains ends at this label


def to_library_format(X: Any) -> Any:
    """Convert rows to the format of tree libraries: SciPy's sparse matrices, not sparse arrays."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else np.ascontiguousarray(X)


@contextmanager
def lightgbm_errors() -> Iterator[None]:
    """Turn errors of LightGBM, such as for a query of 10,001 documents, into a DataError."""
    import lightgbm

    try:
        yield
    except lightgbm.basic.LightGBMError as error:
        raise DataError(f"LightGBM: {error}") from None


def blocks_of(source: Source) -> list[Block]:
    """Blocks of all rows of a source in this process; shards are memory-mapped, not read."""
    if isinstance(source, RankingData):
        return [whole_block(source)]
    return [source.block(number) for number in range(source.n_shards)]


def dataset_of(blocks: Iterable[Block], reference: Any = None) -> Any:
    """Make a LightGBM Dataset from adjacent blocks, with the bins of ``reference`` if given."""
    import lightgbm

    blocks = list(blocks)
    X: Any = [to_library_format(block.X) for block in blocks]  # arrays are joined without a copy
    if blocks[0].is_sparse:
        X = sparse.vstack(X, format="csr")
    counts = [np.diff(block.query_ptr) for block in blocks]
    weights: Any = [block.query_weights for block in blocks]
    is_weighted = weights[0] is not None
    return lightgbm.Dataset(
        X,
        np.concatenate([block.y for block in blocks]),
        reference=reference,
        weight=np.repeat(np.concatenate(weights), np.concatenate(counts)) if is_weighted else None,
        group=np.concatenate(counts),
    )


class _BlockLabels:
    """Statistic: labels that are not whole numbers in a range."""

    title = "Labels"

    def __init__(self, block: Block, largest: int) -> None:
        self.block = block
        self.largest = largest

    def first_wrong(self) -> tuple[int, float] | None:
        """Row and value of the first wrong label; None if all are right."""
        y = self.block.y
        wrong = (y != np.floor(y)) | (y < 0) | (y > self.largest)
        if not np.any(wrong):
            return None
        row = int(np.argmax(wrong))
        return self.block.first_row + row, float(y[row])


def check_whole_labels(name: str, source: Source, largest: int = LARGEST_LABEL) -> None:
    """Raise a DataError unless all labels are whole numbers from 0 to ``largest``."""
    with engine_of(source).start(_BlockLabels, largest) as workers:
        wrong = [found for found in workers.collect("first_wrong") if found is not None]
    if wrong:
        row, label = wrong[0]
        if isinstance(source, RankingData):
            row = int(source.row_order[row])
        raise DataError(
            f"{name} needs whole labels from 0 to {largest}, but row {row} has {label:g}"
        )
