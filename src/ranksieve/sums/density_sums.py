"""Sums of kernels over the documents of a class, on grids or exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ranksieve._kernels.classes import add_kernel_sums, add_to_grids
from ranksieve.data import Block
from ranksieve.engine import Source, Workers, engine_of
from ranksieve.sums.chunks import chunks, row_weights_of
from ranksieve.sums.grades import Classes, Totals, totals

NODES_PER_BANDWIDTH = 8
MARGIN = 4.0  # bandwidths by which a grid extends beyond the data
MOST_NODES = 2**20  # of one feature's grid; larger grids are replaced by exact sums
MOST_QUADRATURE = 2**14  # nodes of an integral whose densities are exact sums
BATCH = 2**20  # numbers in the result of a round


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

        def start(part: Part) -> Workers:
            engine = engine_of(part.source)
            return stack.enter_context(engine.start(ClassDensities, grades, part.queries))

        self.train = start(train)
        self.found = totals(self.train)
        self.held_out = None if held_out is None else start(held_out)
        self.found_held_out = _empty_totals(self.found)
        if self.held_out is not None:
            self.found_held_out = totals(self.held_out)
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
        trained = self.train.sum("on_grids", *where)
        held = (
            np.zeros_like(trained)
            if self.held_out is None
            else self.held_out.sum("on_grids", *where)
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
        point_sets = [_Points(*held) for held in self._held_out_values(features)]
        if integral:
            for j, feature in enumerate(features):
                grid = grids[feature]
                assert grid is not None
                point_sets[j] = point_sets[j].with_grid(grid.coarser(MOST_QUADRATURE))
        starts = np.concatenate([[0], np.cumsum([len(own.points) for own in point_sets])])
        points = np.concatenate([own.points for own in point_sets])
        sums = self.train.sum("kernel_sums", features, points, starts, widths[:, features])
        with np.errstate(invalid="ignore"):
            sums = np.where(self.found.counts[:, None] > 0, sums, np.nan)
            sums /= self.found.counts[:, None]
        for j, own in enumerate(point_sets):
            values = sums[:, starts[j] : starts[j + 1]]
            yield partial(Densities, values, own.held_out, own.quadrature)

    def _held_out_values(self, features: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Distinct held-out values of each feature, and the weight of rows at each by class."""
        if self.held_out is None:
            yield from [(np.empty(0), np.zeros((self.n_classes, 0)))] * len(features)
            return
        parts = self.held_out.collect("values", features)
        X, classes, weights = map(np.concatenate, zip(*parts, strict=True))
        for column in X.T:
            values, inverse = np.unique(column, return_inverse=True)
            cell_of_row = classes * len(values) + inverse
            cells = np.bincount(cell_of_row, weights, minlength=self.n_classes * len(values))
            yield values.astype(float), cells.reshape(self.n_classes, -1)


def _empty_totals(like: Totals) -> Totals:
    """Totals of no rows."""
    none = np.zeros(len(like.low))
    return Totals(like.counts * 0, like.sums * 0, none + np.inf, none - np.inf, none > 0, none)


class _Points:
    """Points at which densities of a feature are computed, with held-out rows and quadrature."""

    def __init__(
        self, points: np.ndarray, held_out: np.ndarray, quadrature: np.ndarray | None = None
    ) -> None:
        self.points = points
        self.held_out = held_out
        self.quadrature = np.zeros(len(points)) if quadrature is None else quadrature

    def with_grid(self, grid: DensityGrid) -> _Points:
        """These points, and the nodes of a grid for an integral."""
        return _Points(
            np.concatenate([self.points, grid.nodes]),
            np.pad(self.held_out, ((0, 0), (0, grid.n_nodes))),
            np.concatenate([self.quadrature, grid.quadrature]),
        )


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


def feature_batches(
    wanted: list[bool], n_points: list[int], n_classes: int
) -> Iterator[np.ndarray]:
    """Batches of the wanted features, each with about ``BATCH`` numbers in its result."""
    batch: list[int] = []
    size = 0
    for feature in np.flatnonzero(wanted).tolist():
        if batch and size + n_points[feature] * n_classes > BATCH:
            yield np.array(batch)
            batch, size = [], 0
        batch.append(feature)
        size += n_points[feature] * n_classes
    if batch:
        yield np.array(batch)
