"""Kernel densities of each feature within each class of documents, on grids or exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from ranksieve._kernels.classes import add_kernel_sums, add_to_grids
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.sums.chunks import chunks, row_weights_of
from ranksieve.sums.grades import Classes, Totals, order_statistics, totals
from ranksieve.threads import ordered_map

# Number of pairs of a training and a held-out row up to which "auto" is exact. Seconds for 60
# features and 5 grades, exact / binned: 0.06 / 0.06 for 40,000 pairs, 0.10 / 0.07 for 160,000,
# 2.3 / 0.1 for 10 million.
_MOST_EXACT = 2**16
NODES_PER_BANDWIDTH = 8
MARGIN = 4.0  # bandwidths by which a grid extends beyond the data
MOST_NODES = 2**20  # of one feature's grid; larger grids are replaced by exact sums
MOST_QUADRATURE = 2**14  # nodes of an integral whose densities are exact sums
BATCH = 2**20  # numbers in the result of a round

Bandwidth = Literal["silverman", "normal", "spread"]


class Part(NamedTuple):
    """Some queries of a source: those where ``queries`` is true, or all."""

    source: Source
    queries: np.ndarray | None = None


class Densities(NamedTuple):
    """Densities of a feature within each class, at some points."""

    values: np.ndarray  # (classes, points): NaN for classes without rows
    # (classes, points): weight of held-out rows; rows between points are divided among them.
    held_out: np.ndarray
    quadrature: np.ndarray  # (points,): weights with which a sum over points is an integral


class ClassDensities(Classes):
    """Statistic: sums of which kernel densities within classes consist.

    ``features`` are indices of features in all methods. Missing values have no density, so they are
    refused.
    """

    title = "Densities"

    def __init__(self, block: Block, grades: np.ndarray, queries: np.ndarray | None = None) -> None:
        super().__init__(replace(block, keeps_missing=False), grades, queries)

    def on_grids(
        self, features: np.ndarray, origin: np.ndarray, step: np.ndarray, starts: np.ndarray
    ) -> np.ndarray:
        """Rows near the nodes of each feature's grid, (classes, nodes)."""
        grids = np.zeros((self.n_classes, starts[-1]))
        for chunk in chunks(self.block):
            add_to_grids(*self._part(chunk), features, origin, step, starts, grids)
        return grids

    def values(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values of some features, (rows, features), and the class and weight of each row."""
        wanted = self.classes >= 0
        X = self.block.X[:, features][wanted]
        weights = row_weights_of(self.block, self.weights)[wanted]
        return X.toarray() if self.block.is_sparse else X, self.classes[wanted], weights

    def kernel_sums(
        self, features: np.ndarray, points: np.ndarray, starts: np.ndarray, bandwidths: np.ndarray
    ) -> np.ndarray:
        """Sums of Gaussians at each feature's points, (classes, points)."""
        sums = np.zeros((self.n_classes, len(points)))
        for chunk in chunks(self.block):
            add_kernel_sums(*self._part(chunk), features, points, starts, bandwidths, sums)
        return sums


class DensityGrid(NamedTuple):
    """Nodes from ``origin`` in steps of ``step``, around all values of a feature."""

    origin: float
    step: float
    n_nodes: int

    @property
    def nodes(self) -> np.ndarray:
        """Positions of all nodes."""
        return self.origin + self.step * np.arange(self.n_nodes)

    @property
    def quadrature(self) -> np.ndarray:
        """Weights of the trapezoidal rule."""
        weights = np.full(self.n_nodes, self.step)
        weights[[0, -1]] /= 2
        return weights

    def coarser(self, most: int) -> DensityGrid:
        """Grid over the same range with at most ``most`` nodes."""
        if self.n_nodes <= most:
            return self
        return DensityGrid(self.origin, self.step * (self.n_nodes - 1) / (most - 1), most)


class KernelSums:
    """Sums over the training rows and over the held-out rows."""

    def __init__(
        self, train: Part, held_out: Part | None, grades: np.ndarray, stack: ExitStack
    ) -> None:
        self.n_classes = len(grades)

        def start(part: Part) -> Workers[ClassDensities]:
            engine = engine_of(part.source)
            return stack.enter_context(engine.start(ClassDensities, grades, part.queries))

        self.train = start(train)
        self.found = totals(self.train)
        self.held_out = None if held_out is None else start(held_out)
        self.found_held_out = totals(self.held_out) if self.held_out else _no_rows(self.found)
        self.n_held_out = float(self.found_held_out.counts.sum())
        self.most_points = 0 if held_out is None else held_out.source.n_rows

    def grids(self, widths: np.ndarray) -> list[DensityGrid | None]:
        """Grid of each feature; None where there are no densities."""
        low = np.minimum(self.found.low, self.found_held_out.low)
        high = np.maximum(self.found.high, self.found_held_out.high)
        grids: list[DensityGrid | None] = []
        for feature, column in enumerate(widths.T):
            known = column[np.isfinite(column)]
            if len(known) == 0:
                grids.append(None)
                continue
            margin, step = MARGIN * known.max(), known.min() / NODES_PER_BANDWIDTH
            length = (high[feature] - low[feature] + 2 * margin) / step
            grids.append(DensityGrid(low[feature] - margin, step, int(np.ceil(length)) + 2))
        return grids

    def on_grids(
        self, features: np.ndarray, grids: list[DensityGrid | None], widths: np.ndarray
    ) -> Iterator[Callable[[], Densities]]:
        """For each feature, a function that computes its densities at the nodes of its grid."""
        chosen = [grid for grid in (grids[feature] for feature in features) if grid is not None]
        starts = np.concatenate([[0], np.cumsum([grid.n_nodes for grid in chosen])])
        where = (
            features,
            np.array([grid.origin for grid in chosen]),
            np.array([grid.step for grid in chosen]),
            starts,
        )
        trained = self.train.sum(ClassDensities.on_grids, *where)
        held = (
            self.held_out.sum(ClassDensities.on_grids, *where)
            if self.held_out
            else np.zeros_like(trained)
        )
        for j, (feature, grid) in enumerate(zip(features, chosen, strict=True)):
            nodes = slice(starts[j], starts[j + 1])
            yield partial(_smooth, trained[:, nodes], held[:, nodes], grid, widths[:, feature])

    def exact_densities(
        self,
        features: np.ndarray,
        grids: list[DensityGrid | None],
        widths: np.ndarray,
        integral: bool,
    ) -> Iterator[Callable[[], Densities]]:
        """For each feature, a function that computes exact densities at its held-out values."""
        at, held_out = map(list, zip(*self._held_out_values(features), strict=True))
        quadrature = [np.zeros(len(own)) for own in at]
        if integral:
            for j, feature in enumerate(features):
                grid = grids[feature]
                assert grid is not None
                grid = grid.coarser(MOST_QUADRATURE)
                at[j] = np.concatenate([at[j], grid.nodes])
                held_out[j] = np.pad(held_out[j], ((0, 0), (0, grid.n_nodes)))
                quadrature[j] = np.concatenate([quadrature[j], grid.quadrature])
        starts = np.concatenate([[0], np.cumsum([len(own) for own in at])])
        points = np.concatenate(at)
        sums = self.train.sum(
            ClassDensities.kernel_sums, features, points, starts, widths[:, features]
        )
        with np.errstate(invalid="ignore"):
            sums = np.where(self.found.counts[:, None] > 0, sums, np.nan)
            sums /= self.found.counts[:, None]
        for j in range(len(features)):
            values = sums[:, starts[j] : starts[j + 1]]
            yield partial(Densities, values, held_out[j], quadrature[j])

    def _held_out_values(self, features: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Distinct held-out values of each feature, and the weight of rows at each by class."""
        if self.held_out is None:
            yield from [(np.empty(0), np.zeros((self.n_classes, 0)))] * len(features)
            return
        parts = self.held_out.collect(ClassDensities.values, features)
        X, classes, weights = map(np.concatenate, zip(*parts, strict=True))
        for column in X.T:
            values, inverse = np.unique(column, return_inverse=True)
            cell_of_row = classes * len(values) + inverse
            cells = np.bincount(cell_of_row, weights, minlength=self.n_classes * len(values))
            yield values.astype(float), cells.reshape(self.n_classes, -1)


def _no_rows(like: Totals) -> Totals:
    """Totals of no rows."""
    none = np.zeros(len(like.low))
    return Totals(like.counts * 0, like.sums * 0, none + np.inf, none - np.inf, none > 0, none)


def _smooth(
    trained: np.ndarray, held_out: np.ndarray, grid: DensityGrid, widths: np.ndarray
) -> Densities:
    """Densities at the nodes of a grid, given the rows near them.

    The sum of Gaussians is a convolution by Fourier transforms, for which the grid is periodic:
    padding keeps every node eight bandwidths from the values beyond the other end. The result is
    exact up to about 1e-14 of the largest density.
    """
    from scipy.fft import irfft, next_fast_len, rfft, rfftfreq  # slow to import

    margin = int(np.ceil(MARGIN * np.nanmax(widths) / grid.step))
    length = next_fast_len(grid.n_nodes + margin, real=True)
    frequency = 2 * np.pi * rfftfreq(length, grid.step)
    with np.errstate(invalid="ignore", under="ignore"):
        gaussian = np.exp(-0.5 * (widths[:, None] * frequency) ** 2)
        values = irfft(rfft(trained, length, axis=1) * gaussian, length, axis=1)
        values = values[:, : grid.n_nodes] / (trained.sum(axis=1, keepdims=True) * grid.step)
    return Densities(values, held_out, grid.quadrature)


def _feature_batches(
    wanted: np.ndarray, n_points: np.ndarray, n_classes: int
) -> Iterator[np.ndarray]:
    """Batches of the wanted features, each with about ``BATCH`` numbers in its result."""
    batch: list[int] = []
    size = 0
    for feature in np.flatnonzero(wanted).tolist():
        if batch and size + n_points[feature] * n_classes > BATCH:
            yield np.array(batch)
            batch, size = [], 0
        batch.append(feature)
        size += int(n_points[feature]) * n_classes
    if batch:
        yield np.array(batch)


def bandwidths_of(
    workers: Workers[ClassDensities], found: Totals, rule: Bandwidth = "silverman"
) -> np.ndarray:
    r"""Bandwidth of each class and feature, (classes, features).

    ``"silverman"``: :math:`0.9 \min(s, IQR / 1.34)\, M^{-1/5}` for M values of standard deviation
    s; ``"normal"``: :math:`1.06\, s\, M^{-1/5}`. If the interquartile range is 0, s is used alone;
    if s is 0 as well, 0.9 times that of all classes together. ``"spread"``: :math:`1.06\, s`, NaN
    if s is 0. NaN for classes without rows and for constant features. Values count by the weights
    of their queries, also in M.
    """
    counts = found.counts[:, None].astype(float)
    if not counts.sum() > 1:
        raise DataError(
            f"the weights of all documents add up to only {counts.sum():.2g}: scale the weights "
            "of queries so that a typical query has weight 1"
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, found.sums / counts, 0.0)
        squares = workers.sum(ClassDensities.squares, means)
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
        if rule == "spread":
            bandwidth = 1.06 * spread
    useless = (counts == 0) | (found.low == found.high) | ~(bandwidth > 0)
    return np.where(useless, np.nan, bandwidth)


def _interquartile_range(workers: Workers[ClassDensities], found: Totals) -> np.ndarray:
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

    Densities are estimated from the rows of ``train``, and evaluated at points where the rows of
    ``held_out`` are counted: exactly at their values, or on a grid; ``"auto"`` is exact up to a
    number of pairs of rows. ``grades`` are the labels of the classes. With ``integral``, exact sums
    are also computed at the nodes of a grid, to integrate over them; always if a class has no
    held-out rows. Returns the function's number for each feature, NaN for those that are constant,
    and the bandwidths (classes, features).

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
        n_nodes = np.array([0 if grid is None else grid.n_nodes for grid in grids])
        on_grid = (n_nodes > 0) & (n_nodes <= MOST_NODES) & (evaluation == "binned")
        for features in _feature_batches(on_grid, n_nodes, len(grades)):
            makers = sums.on_grids(features, grids, widths)
            numbers[features] = list(ordered_map(lambda make: function(make()), makers))
        n_points = np.full(len(grids), sums.most_points + MOST_QUADRATURE * integral)
        for features in _feature_batches((n_nodes > 0) & ~on_grid, n_points, len(grades)):
            makers = sums.exact_densities(features, grids, widths, integral)
            numbers[features] = list(ordered_map(lambda make: function(make()), makers))
    return numbers, widths
