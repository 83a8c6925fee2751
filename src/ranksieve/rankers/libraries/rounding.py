"""Values that tree libraries round, and features whose documents they then cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ranksieve.choosing import ROUNDING
from ranksieve.data import Block, DataError
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.engine import Source, engine_of
from ranksieve.sums.chunks import CHUNK, chunks

_NEGLIGIBLE = 0.01  # share of the queries in which a feature may be lost


@dataclass(frozen=True)
class Rounding:
    """How a library rounds values; a larger value never becomes less than a smaller one."""

    in_words: str
    dtype: type[np.floating]  # type of its numbers
    zero: float  # largest absolute value that it takes for 0

    def round(self, values: np.ndarray) -> np.ndarray:
        """Values as the library sees them; too large ones become infinite."""
        with np.errstate(over="ignore", under="ignore"):
            rounded = values.astype(self.dtype, copy=False)
        return np.where(np.abs(rounded) <= self.zero, self.dtype(0), rounded)

    def changes(self, values: np.ndarray) -> np.ndarray:
        """Mask of the values that the library changes."""
        if self.dtype is np.float64:  # quicker than a comparison with rounded values
            return (np.abs(values) <= self.zero) & (values != 0)
        return self.round(values) != values


LIGHTGBM_ROUNDING = Rounding("takes values up to 1e-35 for 0", np.float64, float(np.float32(1e-35)))
FLOAT32_ROUNDING = Rounding("rounds values to float32", np.float32, 0.0)


def count_changed(block: Block, rounding: Rounding) -> np.ndarray:
    """Number of values of each feature that are changed, (features,)."""
    X, n_features = block.X, block.X.shape[1]
    if block.is_sparse:
        return np.bincount(X.indices[rounding.changes(X.data)], minlength=n_features)
    found = np.zeros(n_features, dtype=np.int64)
    for chunk in chunks(block, CHUNK):
        found += rounding.changes(chunk.X).sum(axis=0)
    return found


def count_varying_rounded(block: Block, rounding: Rounding, features: np.ndarray) -> np.ndarray:
    """For some features, queries in which they vary, and in which they do if rounded.

    Differences that are rounding errors themselves do not count. Shape (2, features).
    """
    found = np.zeros((2, len(features)), dtype=np.int64)
    for columns, low, high in _ranges(block, features):
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.maximum(np.abs(low), np.abs(high))
            varies = high - low > ROUNDING * size  # never true of missing values
        ends = rounding.round(low), rounding.round(high)
        # Of values from minus to plus infinity, hardly more than signs are left.
        stays = varies & (ends[0] != ends[1]) & np.isfinite(ends).any(axis=0)
        for row, mask in enumerate((varies, stays)):
            found[row] += np.bincount(columns[mask], minlength=len(features))
    return found


def _ranges(
    block: Block, features: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Columns, and their smallest and largest values in each query."""
    if block.is_sparse:
        yield _sparse_ranges(block, features)
        return
    for chunk in chunks(block, CHUNK):
        X, starts = chunk.X[:, features], chunk.query_ptr[:-1]
        low, high = np.fmin.reduceat(X, starts), np.fmax.reduceat(X, starts)
        yield np.tile(np.arange(len(features)), len(low)), low.ravel(), high.ravel()


def _sparse_ranges(block: Block, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of a CSR matrix, of queries with stored values only."""
    matrix, lengths = block.X[:, features].tocsc(), np.diff(block.query_ptr)
    columns = np.repeat(np.arange(len(features)), np.diff(matrix.indptr))
    queries = np.repeat(np.arange(len(lengths)), lengths)[matrix.indices]
    is_first = np.ones(len(columns), dtype=bool)
    is_first[1:] = (np.diff(columns) != 0) | (np.diff(queries) != 0)
    starts = np.flatnonzero(is_first)
    if not len(starts):
        return starts, np.empty(0), np.empty(0)
    low, high = np.fmin.reduceat(matrix.data, starts), np.fmax.reduceat(matrix.data, starts)
    n_stored = np.diff(np.append(starts, len(columns)))
    has_zero = n_stored < lengths[queries[starts]]
    low = np.where(has_zero, np.fmin(low, 0), low)
    high = np.where(has_zero, np.fmax(high, 0), high)
    return columns[starts], low, high


def value_sizes(block: Block, feature: int) -> tuple[float, float]:
    """Smallest and largest absolute value of a feature, other than 0; NaN if there is none."""
    column = block.X[:, [feature]]
    sizes = np.abs(column.data if block.is_sparse else column[:, 0])
    sizes = sizes[sizes > 0]
    return (float(sizes.min()), float(sizes.max())) if len(sizes) else (np.nan, np.nan)


def check_distinct_values(name: str, source: Source, rounding: Rounding) -> None:
    """Raise a DataError for a feature that varies in queries, but after rounding in few of them.

    ``name`` is that of the library. Few are less than half: some rounded values among others do no
    harm. A feature may also be lost in a hundredth of all queries, such as a sparse one in a fold.
    """
    engine = engine_of(source)
    rounded = np.flatnonzero(engine.sum(count_changed, rounding))
    if not len(rounded):
        return
    before, after = engine.sum(count_varying_rounded, rounding, rounded)
    lost = rounded[(2 * after < before) & (before - after > _NEGLIGIBLE * source.n_queries)]
    if not len(lost):
        return
    smallest, largest = np.array(engine.collect(value_sizes, int(lost[0]))).T
    shown = ", ".join(repr(str(source.feature_names[f])) for f in lost[:3].tolist())
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    sizes = float(np.nanmin(smallest)), float(np.nanmax(largest))
    raise DataError(
        f"{name} {rounding.in_words}: in most queries it could not tell documents apart by feature "
        f"{shown}{more} (absolute values {sizes[0]:.3g} to {sizes[1]:.3g}); "
        f"{_remedy(*sizes, rounding)}{SCALE_FIRST}"
    )


def _remedy(smallest: float, largest: float, rounding: Rounding) -> str:
    """What to do about values of these sizes that are rounded to equal ones."""
    limit = np.finfo(rounding.dtype)
    if largest > float(limit.max):
        exponent = -int(np.frexp(largest)[1])
    elif smallest > max(rounding.zero, float(limit.tiny)):
        return f"subtract a constant, such as {smallest:.17g}, or "
    else:
        exponent = min(1 - int(np.frexp(smallest)[1]), 1023)  # 2.0**1024 is no number
        if int(np.frexp(largest)[1]) + exponent > limit.maxexp - 1:
            return "take its logarithm, or "
    return f"multiply it by 2.0**{exponent}, which changes no digit, or "
