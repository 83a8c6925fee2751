"""An overview of data: labels, lengths, and features that are constant or duplicated."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ranksieve.data import Block
from ranksieve.data.missing import count_missing
from ranksieve.engine import Source, engine_of
from ranksieve.sums.chunks import varying_columns

MOST_FEATURES_TO_PAIR = 2_000


@dataclass(frozen=True)
class Facts:
    """Facts about one block or about all blocks."""

    labels: Counter[float]  # number of rows with each label
    lengths: np.ndarray  # documents of each query
    n_without_relevant: int  # queries without a relevant document
    n_missing: np.ndarray  # (features,): values that are NaN
    n_infinite: int  # values that are infinite
    n_nonzero: int  # values that are neither 0 nor missing
    low: np.ndarray  # (features,): smallest value
    high: np.ndarray  # (features,): largest value
    flat: np.ndarray | None  # (features,): constant within every query of positive weight, or None
    digests: list[bytes]  # one per feature; those of equal columns are equal

    @property
    def constant(self) -> np.ndarray:
        """Whether each feature has one value everywhere, or none."""
        is_missing = self.n_missing == self.lengths.sum()
        return is_missing | ((self.low == self.high) & (self.n_missing == 0))

    @property
    def duplicates(self) -> list[list[int]]:
        """Groups of features with equal values everywhere, except constant features."""
        groups: dict[bytes, list[int]] = defaultdict(list)
        for feature in np.flatnonzero(~self.constant).tolist():
            groups[self.digests[feature]].append(feature)
        return [group for group in groups.values() if len(group) > 1]

    def join(self, other: Facts) -> Facts:
        """Facts about this block and the next."""
        flat = None if self.flat is None or other.flat is None else self.flat & other.flat
        pairs = zip(self.digests, other.digests, strict=True)
        return Facts(
            labels=self.labels + other.labels,
            lengths=np.concatenate([self.lengths, other.lengths]),
            n_without_relevant=self.n_without_relevant + other.n_without_relevant,
            n_missing=self.n_missing + other.n_missing,
            n_infinite=self.n_infinite + other.n_infinite,
            n_nonzero=self.n_nonzero + other.n_nonzero,
            low=np.fmin(self.low, other.low),
            high=np.fmax(self.high, other.high),
            flat=flat,
            digests=[hashlib.blake2b(a + b).digest() for a, b in pairs],
        )


class Overview:
    """Statistic: facts about a block."""

    title = "Overview"

    def __init__(self, block: Block, relevance: float) -> None:
        self.block = replace(block, keeps_missing=True)
        self.relevance = relevance

    def facts(self) -> Facts:
        """All facts about the block."""
        X, y, starts = self.block.X, self.block.y, self.block.query_ptr[:-1]
        values = X.data if self.block.is_sparse else X
        few = X.shape[1] <= MOST_FEATURES_TO_PAIR
        if self.block.is_sparse:
            low, high = X.nanmin(axis=0).toarray().ravel(), X.nanmax(axis=0).toarray().ravel()
        else:
            low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        n_missing = count_missing(X)
        return Facts(
            labels=Counter(y.tolist()),
            lengths=np.diff(self.block.query_ptr),
            n_without_relevant=int(np.sum(np.add.reduceat(y >= self.relevance, starts) == 0)),
            n_missing=n_missing,
            n_infinite=int(np.isinf(values).sum()),
            n_nonzero=int(np.count_nonzero(values) - n_missing.sum()),
            low=low,
            high=high,
            flat=~varying_columns(self.block) if few else None,
            digests=[hashlib.blake2b(column).digest() for column in self._columns()],
        )

    def _columns(self) -> Iterator[bytes]:
        """Bytes of each column."""
        if not self.block.is_sparse:
            for column in self.block.X.T:
                yield _unify_nan_bits(column).tobytes()
            return
        matrix = self.block.X.tocsc()
        matrix.data = _unify_nan_bits(matrix.data)
        for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
            yield matrix.indices[start:end].tobytes() + matrix.data[start:end].tobytes()


def _unify_nan_bits(values: np.ndarray) -> np.ndarray:
    """The same values, with the same bits for all missing ones."""
    gaps = np.isnan(values)
    return np.where(gaps, np.nan, values) if gaps.any() else values


def overview(source: Source, relevance: float = 1.0) -> Facts:
    """Facts about all blocks of a source; labels of at least ``relevance`` are relevant."""
    with engine_of(source).start(Overview, relevance) as workers:
        first, *others = workers.collect("facts")
    for other in others:
        first = first.join(other)
    return first
