"""Kernel densities of each feature within each class of documents."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Literal

import numpy as np

from ranksieve.data import DataError
from ranksieve.engine import Workers
from ranksieve.sums.density_sums import (
    MOST_NODES,
    MOST_QUADRATURE,
    Densities,
    KernelSums,
    Part,
    feature_batches,
)
from ranksieve.sums.grades import Totals, order_statistics
from ranksieve.threads import ordered_map

# Number of pairs of a training and a held-out row up to which "auto" is exact. Seconds for 60
# features and 5 grades, exact / binned: 0.06 / 0.06 for 40,000 pairs, 0.10 / 0.07 for 160,000,
# 2.3 / 0.1 for 10 million.
_MOST_EXACT = 2**16


Bandwidth = Literal["silverman", "normal"]


def bandwidths_of(workers: Workers, found: Totals, rule: Bandwidth = "silverman") -> np.ndarray:
    r"""Bandwidth of each class and feature, (classes, features).

    ``"silverman"``: :math:`0.9 \min(s, IQR / 1.34)\, M^{-1/5}` for M values of standard deviation
    s; ``"normal"``: :math:`1.06\, s\, M^{-1/5}`. If the interquartile range is 0, s is used alone;
    if s is 0 as well, 0.9 times that of all classes together. NaN for classes without rows and for
    constant features. Values count by the weights of their queries, also in M.
    """
    counts = found.counts[:, None].astype(float)
    if not counts.sum() > 1:
        raise DataError(
            f"the weights of all documents add up to only {counts.sum():.2g}: scale the weights "
            "of queries so that a typical query has weight 1"
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, found.sums / counts, 0.0)
        squares = workers.sum("squares", means)
        spread = np.sqrt(squares / (counts - 1))
        overall = found.sums.sum(axis=0) / counts.sum()
        between = (counts * (means - overall) ** 2).sum(axis=0)
        whole = np.sqrt((squares.sum(axis=0) + between) / (counts.sum() - 1))
        spread[~(counts[:, 0] > 1)] = 0.0
        width, factor = spread, 1.06
        if rule == "silverman":
            quartiles = _interquartile_range(workers, found)
            width = np.where(quartiles > 0, np.minimum(spread, quartiles / 1.34), spread)
            factor = 0.9
        bandwidth = np.where(width > 0, factor * width, 0.9 * whole) * counts**-0.2
    useless = (counts == 0) | (found.low == found.high) | ~(bandwidth > 0)
    return np.where(useless, np.nan, bandwidth)


def _interquartile_range(workers: Workers, found: Totals) -> np.ndarray:
    """Difference of the quartiles, interpolated as numpy does, (classes, features)."""
    last = np.maximum(found.counts - 1, 0)[:, None]
    positions = last * np.array([0.25, 0.75])
    lower = np.floor(positions).astype(np.int64)
    share = (positions - lower)[:, None, :]
    ranks = np.sort(np.concatenate([lower, np.minimum(lower + 1, last)], axis=1), axis=1)
    values = order_statistics(workers, ranks, len(found.low))

    def at(rank: np.ndarray) -> np.ndarray:
        column = np.argmax(ranks[:, None, :] == rank[:, :, None], axis=2)
        return np.take_along_axis(values, column[:, None, :], axis=2)

    quartiles = at(lower) * (1 - share) + at(np.minimum(lower + 1, last)) * share
    return quartiles[:, :, 1] - quartiles[:, :, 0]


def map_densities(
    function: Callable[[Densities], float],
    train: Part,
    held_out: Part | None,
    grades: np.ndarray,
    *,
    bandwidth: Bandwidth = "silverman",
    evaluation: Literal["auto", "exact", "binned"] = "auto",
    integral: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Apply a function to the densities of each feature within the classes.

    .. math:: \hat f^a(x) = \frac{1}{M_a h_a} \sum_{j: y_j = a} \varphi((x - x_j) / h_a)

    with a Gaussian :math:`\varphi`, over the :math:`M_a` training rows of class a.

    Parameters
    ----------
    function : callable
        Maps :class:`Densities` to a number.
    train : Part
        Rows from which densities are estimated.
    held_out : Part or None
        Rows that are counted at the points where densities are evaluated.
    grades : array
        Labels of the classes.
    bandwidth : {"silverman", "normal"}
        See :func:`bandwidths_of`.
    evaluation : {"auto", "exact", "binned"}
        Exact sums at the held-out values, or sums on a grid. ``"auto"`` is exact up to a number of
        pairs of rows.
    integral : bool
        Whether to also compute exact sums at the nodes of a grid, to integrate over them; always
        true if a class has no held-out rows.

    Returns
    -------
    numbers : array of shape (features,)
        NaN for features that are constant.
    bandwidths : array of shape (classes, features)

    Notes
    -----
    A grid has 8 nodes in the smallest bandwidth h of a feature's classes. Each training value is
    shared between the four nodes around it, so that a density is off by at most
    :math:`(9 / 128) (\delta / h)^4 < 0.00002` of a kernel's peak for node distance :math:`\delta`.
    Takes O(m n) time for m rows and n features, and O(n g) for grids of g nodes, compared with
    O(n m_1 m_2) for exact sums. Features whose smallest bandwidth is below about 1/130,000 of their
    range would need a grid of over a million nodes; their sums are always exact.
    """
    with ExitStack() as stack:
        sums = KernelSums(train, held_out, grades, stack)
        integral |= bool(np.any(sums.found.counts[sums.found_held_out.counts == 0]))
        if evaluation == "auto":
            n_pairs = float(sums.found.counts.sum()) * sums.n_held_out
            evaluation = "exact" if n_pairs <= _MOST_EXACT and not integral else "binned"
        widths = bandwidths_of(sums.train, sums.found, bandwidth)
        grids = sums.grids(widths)
        numbers = np.full(len(grids), np.nan)
        on_grid = [
            grid is not None and evaluation == "binned" and grid.n_nodes <= MOST_NODES
            for grid in grids
        ]
        is_exact = [grid is not None and not on for grid, on in zip(grids, on_grid, strict=True)]
        n_points = [grid.n_nodes if grid else 0 for grid in grids]
        for features in feature_batches(on_grid, n_points, len(grades)):
            makers = sums.on_grids(features, grids, widths)
            numbers[features] = list(ordered_map(lambda make: function(make()), makers))
        n_points = [sums.most_points + MOST_QUADRATURE * integral] * len(grids)
        for features in feature_batches(is_exact, n_points, len(grades)):
            makers = sums.exact_densities(features, grids, widths, integral)
            numbers[features] = list(ordered_map(lambda make: function(make()), makers))
    return numbers, widths
