"""Thresholds for engines that use float32, chosen so that rows take the same branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.export.forms import TreeEnsemble, add_up, zero_for_missing

_AS_ZERO = np.float32(1e-35)  # LightGBM treats values up to this one as 0
_LARGEST = np.finfo(np.float32).max
_NO_CUT = 1e300  # LightGBM's threshold of splits that separate only missing values
_ROUNDS_TO_LARGEST = np.nextafter(2.0**128 - 2.0**103, 0)  # more would be infinite in float32


def to_single(values: np.ndarray) -> np.ndarray:
    """Round values to float32 as engines do; values that are too large become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def weighted_sums(rows: np.ndarray, weights: list[float]) -> np.ndarray:
    """Add weighted features of float32 rows in float32; missing values count as 0."""
    return add_up(zero_for_missing(rows) * np.array(weights, dtype=np.float32), np.float32)


def round_down(values: np.ndarray) -> np.ndarray:
    """Return the largest float32 that is not above each value.

    For every float32 x, ``x <= value`` is then equivalent to ``x <= round_down(value)``.
    """
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(all="ignore"):
        rounded = values.astype(np.float32)
        return np.where(rounded > values, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def largest_rounding_to(values: Any) -> np.ndarray:
    """Return the largest float64 that rounds to at most each float32 value.

    For every float64 x, ``float32(x) <= value`` is then equivalent to
    ``x <= largest_rounding_to(value)``.

    Examples
    --------
    >>> import numpy as np
    >>> last = largest_rounding_to(np.float32([0.1]))[0]
    >>> bool(np.float32(last) == np.float32(0.1) < np.float32(np.nextafter(last, 1)))
    True
    """
    below = np.asarray(values, dtype=np.float32)
    with np.errstate(all="ignore"):
        above = np.nextafter(below, np.float32(np.inf))
        middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
        middle = np.where(middle.astype(np.float32) > below, np.nextafter(middle, -np.inf), middle)
    middle = np.where(below == _LARGEST, _ROUNDS_TO_LARGEST, middle)
    middle = np.where(below == -np.inf, -np.nextafter(_ROUNDS_TO_LARGEST, np.inf), middle)
    return np.where(below == np.inf, np.inf, middle)


def next_above(values: np.ndarray) -> np.ndarray:
    """Return the next finite float32: ``x <= value`` becomes ``x < next_above(value)``."""
    with np.errstate(all="ignore"):
        above = np.nextafter(np.asarray(values, dtype=np.float32), np.float32(np.inf))
    return np.minimum(above, _LARGEST)


@dataclass(frozen=True)
class SingleThresholds:
    """Thresholds of all nodes in float32, and how far each may move.

    Thresholds from ``lowest`` to ``highest`` give the same decisions on the known values, or on all
    float32 numbers if no values are known.
    """

    wanted: np.ndarray  # (nodes,): ``x <= wanted`` is the decision of the model
    lowest: np.ndarray  # (nodes,)
    highest: np.ndarray  # (nodes,)
    # Node, and values on different sides of its threshold that float32 cannot distinguish.
    clashes: list[tuple[int, float, float]]


def single_thresholds(trees: TreeEnsemble, X: np.ndarray | None = None) -> SingleThresholds:
    """Choose thresholds for rows that an engine rounds to float32.

    Without data, the thresholds are correct for all float32 numbers, except that positive ones up
    to 1e-35 may count as 0. Values of ``X`` (rows, features), which may have more digits, stay on
    the same side if float32 can distinguish them.
    """
    if trees.cuts_at_values:
        with np.errstate(all="ignore"):
            wanted = trees.threshold.astype(np.float32)
    else:
        wanted = round_down(trees.threshold)
    wanted = np.clip(wanted, -_LARGEST, _LARGEST)
    if X is None:
        _refuse_huge(trees)
        at_zero = (wanted > 0) & (wanted <= _AS_ZERO)
        return SingleThresholds(wanted, np.where(at_zero, np.float32(0), wanted), wanted, [])
    lowest, highest = wanted.copy(), wanted.copy()
    clashes: list[tuple[int, float, float]] = []
    splits = trees.splits
    for feature in trees.used.tolist():
        nodes = splits[trees.feature[splits] == feature]
        below, above = _neighbors(X[:, feature], trees.threshold[nodes])
        with np.errstate(all="ignore"):
            low, after = below.astype(np.float32), above.astype(np.float32)
            before = np.nextafter(after, np.float32(-np.inf))
        alike = (low >= after) & np.isfinite(below) & np.isfinite(above)
        values = below[alike].tolist(), above[alike].tolist()
        clashes += zip(nodes[alike].tolist(), *values, strict=True)
        low = np.clip(low, -_LARGEST, _LARGEST)
        lowest[nodes], highest[nodes] = low, np.clip(before, low, _LARGEST)
    return SingleThresholds(np.clip(wanted, lowest, highest), lowest, highest, clashes)


def _refuse_huge(trees: TreeEnsemble) -> None:
    """Raise DataError if a threshold separates values that are infinite in float32."""
    cuts = trees.threshold[trees.splits]
    huge = (np.abs(cuts) > _LARGEST) & (np.abs(cuts) < _NO_CUT)
    for cut in cuts[huge][:1].tolist():
        raise DataError(
            f"a threshold is {cut!r}, but the target computes in float32, whose largest number is "
            f"{_LARGEST:.3g}: scale the feature"
        )


def _neighbors(column: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest value up to each threshold and the smallest above it, or infinity."""
    known = np.unique(column[~np.isnan(column)]).astype(np.float64)
    bounded = np.concatenate([[-np.inf], known, [np.inf]])
    n_below = np.searchsorted(known, thresholds, side="right")
    return bounded[n_below], bounded[n_below + 1]


def add_in_single(values: Any, slack: np.float32) -> np.ndarray:
    """Add a slack to values in float32, as an engine does with thresholds."""
    return np.asarray(values, dtype=np.float32) + slack


def subtract_slack(
    thresholds: SingleThresholds, slack: np.float32
) -> tuple[np.ndarray, np.ndarray]:
    """Find thresholds to write for an engine that adds a slack to them in float32.

    Returns float32 numbers T such that ``T + slack``, rounded to float32, gives the same decisions,
    and for each threshold whether such a T exists.
    """
    exact = thresholds.wanted.astype(np.float64) - float(slack)
    nearest = exact.astype(np.float32)
    best = nearest.copy()
    solved = np.zeros(len(nearest), dtype=bool)
    for step in (0, -1, 1, -2, 2):
        tried = nearest.copy()
        with np.errstate(all="ignore"):
            for _ in range(abs(step)):
                tried = np.nextafter(tried, np.float32(np.inf if step > 0 else -np.inf))
        reached = add_in_single(tried, slack)
        fits = (reached >= thresholds.lowest) & (reached <= thresholds.highest) & ~solved
        best = np.where(fits, tried, best)
        solved |= fits
    return best, solved
