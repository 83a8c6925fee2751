"""Bins of features, one column each: quantiles of numbers, codes of categories.

:class:`BinnedRows` are the rows of a block with these columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ranksieve.data import Block, DataError
from ranksieve.engine import Source, engine_of
from ranksieve.engine.memo import shared
from ranksieve.sums.centered_rows import CenteredRows
from ranksieve.sums.chunks import Chunk, FeatureColumns, row_weights_of, weights_of
from ranksieve.sums.grades import Classes, frequency_edges, totals
from ranksieve.text import on_one_line


@dataclass(frozen=True)
class Bins:
    """Bins of all features."""

    # For a numeric feature, the inner edges of its bins, ascending: bin b has values in
    # (edge b - 1, edge b]. For a categorical one, the codes with their own bins, ascending; all
    # other codes share the last bin. Missing values count as -infinity.
    bounds: tuple[np.ndarray, ...]
    is_category: np.ndarray  # (features,)

    @property
    def sizes(self) -> np.ndarray:
        """Number of bins of each feature."""
        return np.array([len(bounds) + 1 for bounds in self.bounds])

    @cached_property
    def starts(self) -> np.ndarray:
        """Column of each feature's first bin, and last the number of columns."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def feature_of(self) -> np.ndarray:
        """Feature of each column."""
        return np.repeat(np.arange(len(self.bounds)), self.sizes)

    @cached_property
    def bin_of(self) -> np.ndarray:
        """Bin of each column, counted from 0 in its feature."""
        return np.arange(self.starts[-1]) - self.starts[self.feature_of]

    def columns_of(self, features: Sequence[int]) -> np.ndarray:
        """Columns of some features."""
        return np.concatenate([np.arange(*self.starts[[f, f + 1]]) for f in features])

    def encode(self, X: Any) -> np.ndarray:
        """Bin of each value of an array or CSR matrix: (rows, features)."""
        columns = FeatureColumns(X)
        codes = np.empty(X.shape, dtype=np.min_scalar_type(int(self.sizes.max())))
        for feature, (bounds, is_category) in enumerate(
            zip(self.bounds, self.is_category, strict=True)
        ):
            codes[:, feature] = bins_of(columns[feature], bounds, is_category)
        return codes


def bins_of(values: np.ndarray, bounds: np.ndarray, is_category: bool) -> np.ndarray:
    """Bin of each value of one feature; see :class:`Bins`."""
    values = _comparable(values)
    bins = np.searchsorted(bounds, values)
    if not is_category:
        return bins
    return np.where(np.append(bounds, np.nan)[bins] == values, bins, len(bounds))


def _comparable(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), -np.inf, values)


class Categories:
    """Statistic: the codes of the categorical ``features``."""

    title = "Categories"

    def __init__(self, block: Block, features: np.ndarray) -> None:
        self.block, self.features = block, features

    def codes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Codes of each categorical feature in ascending order, and the weight of their rows.

        If some values are not whole numbers, only the first of these.
        """
        columns, found = FeatureColumns(self.block.X), []
        weights = row_weights_of(self.block, weights_of(self.block))
        counted = weights > 0
        for feature in self.features.tolist():
            codes, owner = np.unique(_comparable(columns[feature])[counted], return_inverse=True)
            counts = np.bincount(owner, weights[counted], minlength=len(codes))
            fractional = codes != np.floor(codes)
            found.append(
                (codes[fractional][:1], counts[fractional][:1])
                if fractional.any()
                else (codes, counts)
            )
        return found


@shared
def make_bins(
    source: Source, n_bins: int, categories: tuple[int, ...] = (), max_categories: int = 64
) -> Bins:
    """Find bins with equally many rows, except for equal values, and the codes of categories.

    Rows count by the weights of their queries. A numeric feature has at most ``n_bins`` bins, of
    which those with equal edges are merged, and one more for missing values. ``categories`` are
    features whose values must be whole numbers, each with its own bin; if there are more than
    ``max_categories``, the rarest share one.
    """
    one_class = np.array([np.inf])
    with engine_of(source).start(Classes, one_class) as workers:
        found = totals(workers)
        edges = frequency_edges(workers, found, n_bins)
    bounds = []
    for row, high, n_missing in zip(edges, found.high, found.missing, strict=True):
        below = [-np.inf] if n_missing else []  # upper edge of the bin of missing values
        bounds.append(np.unique([*below, *row[row < high]]))
    codes = _codes(source, categories, max_categories)
    for feature, kept in zip(categories, codes, strict=True):
        bounds[feature] = kept
    return Bins(tuple(bounds), np.isin(np.arange(source.n_features), categories))


def _codes(source: Source, categories: tuple[int, ...], most: int) -> list[np.ndarray]:
    """Codes of each categorical feature that have their own bins."""
    if not categories:
        return []
    with engine_of(source).start(Categories, np.array(categories)) as workers:
        parts = workers.collect(Categories.codes)
    kept = []
    for position, feature in enumerate(categories):
        codes = np.concatenate([part[position][0] for part in parts])
        counts = np.concatenate([part[position][1] for part in parts])
        _check_whole(codes, source, feature)
        distinct, owner = np.unique(codes, return_inverse=True)
        totals = np.bincount(owner, weights=counts)
        if len(distinct) > most:
            distinct = np.sort(distinct[np.argsort(-totals, kind="stable")[: most - 1]])
        kept.append(distinct)
    return kept


def _check_whole(codes: np.ndarray, source: Source, feature: int) -> None:
    for value in codes[codes != np.floor(codes)][:1]:
        name = on_one_line(source.feature_names[feature])
        raise DataError(
            f"categorical: feature {name} has the value {value:g}, but codes of categories must be "
            "whole numbers: remove the feature from categorical, or number its values"
        )


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
