"""Bisecting k-means for the few rows of a spectral embedding: many starts, all at once."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from ranksieve.choosing import ROUNDING
from ranksieve.selectors._search.clustering import dense_ranks
from ranksieve.threads import limit_blas_threads

SAME_ROW = 1e-6  # distance up to which rows of unit length count as identical
_MOST_ROUNDS = 300  # of k-means; rounding might let it go round in circles

Seed = int | np.random.RandomState | None


def bisecting_kmeans(
    Y: np.ndarray,
    k: int,
    *,
    split: Literal["sse", "size"] = "sse",
    n_init: int = 2016,
    random_state: Seed = 0,
) -> np.ndarray:
    """Split clusters of rows in two until there are ``k``; return labels 0 .. k - 1.

    There are always ``k`` clusters: among identical rows, the first is split off from the others.

    Each bisection is the best of ``n_init`` starts: a start is a pair of rows, to the nearer of
    which the others go. If there are no more pairs than that, each is a start, so that k-means++,
    which starts from pairs of rows, too, cannot find anything better, and the seed does not
    matter; otherwise pairs are drawn as in k-means++. k-means proceeds from there, and then single
    rows move as long as that makes the halves tighter [1]_: in many dimensions k-means alone gets
    stuck nearly everywhere. Of equally good bisections the same one is taken whatever the starts.

    Takes O(n d) time for each start and round, for n rows of d columns, and O(n) for each move.

    References
    ----------
    .. [1] M. Telgarsky, A. Vattani. Hartigan's method: k-means clustering without Voronoi.
       AISTATS 2010.
    """
    clusters = [np.arange(len(Y))]
    with limit_blas_threads(1):  # there are few rows, one per feature
        while len(clusters) < k:
            members = clusters.pop(_to_split(Y, clusters, split))
            first = _first_half(Y[members], n_init, random_state)
            clusters += [members[first], members[~first]]
    labels = np.empty(len(Y), dtype=np.intp)
    for label, members in enumerate(clusters):
        labels[members] = label
    return labels


def _to_split(Y: np.ndarray, clusters: list[np.ndarray], split: str) -> int:
    """The cluster with the largest scatter, or size; ties by the other, then by first member."""
    scatter = dense_ranks(np.array([_sum_of_squares(Y[members]) for members in clusters]))

    def priority(position: int) -> tuple[int, int, int, int]:
        size = len(clusters[position])
        spread = int(scatter[position])
        keys = (size, spread) if split == "size" else (spread, size)
        return (min(size, 2), *keys, -int(clusters[position][0]))  # one member cannot be split

    return max(range(len(clusters)), key=priority)


def _sum_of_squares(rows: np.ndarray) -> float:
    """Squared distances from the mean; 0 if the rows are identical up to rounding."""
    total = float(((rows - rows.mean(axis=0)) ** 2).sum())
    return total if total > SAME_ROW**2 else 0.0


def _first_half(rows: np.ndarray, n_init: int, random_state: Seed) -> np.ndarray:
    """Mask of the rows that the best bisection puts into the same half as the first row."""
    if len(rows) == 2 or _sum_of_squares(rows) == 0.0:
        return np.arange(len(rows)) == 0
    rows = rows - rows.mean(axis=0)
    products = rows @ rows.T
    halves = _start(products, n_init, random_state)
    halves = _distinct(_exchange(products, _kmeans(rows, halves)))
    return halves[np.argmax(dense_ranks(_tightness(products, halves)))]


# Below, ``halves`` (starts, rows) are masks of the first half of each bisection. Rows have mean 0,
# so that both halves follow from the sum of the first one.


def _start(products: np.ndarray, n_init: int, random_state: Seed) -> np.ndarray:
    """Halves of the rows that are nearer to one of two rows, for all pairs or some of them."""
    n, squares = len(products), products.diagonal()
    one, other = np.triu_indices(n, 1)
    if len(one) > n_init:
        distances = np.maximum(0.0, squares[:, None] + squares - 2 * products)
        chances = distances / distances.sum(axis=1, keepdims=True) / n
        drawn = check_random_state(random_state).choice(n * n, n_init, p=chances.ravel())
        one, other = np.divmod(drawn, n)
    halves = products[one] - products[other] > (squares[one] - squares[other])[:, None] / 2
    starts = np.arange(len(one))
    halves[starts, one], halves[starts, other] = True, False
    return halves


def _distinct(halves: np.ndarray) -> np.ndarray:
    """Different bisections in a fixed order, each with the first row in its first half."""
    packed = np.packbits(np.where(halves[:, :1], halves, ~halves), axis=1)
    found = np.unpackbits(np.unique(packed, axis=0), axis=1, count=halves.shape[1])
    return found[found.min(axis=1) == 0].astype(bool)  # not those without a second half


def _kmeans(rows: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Assign rows to the nearer mean until nothing changes."""
    for _ in range(_MOST_ROUNDS):
        halves = _distinct(halves)
        n_first = halves.sum(axis=1)
        n_second = len(rows) - n_first
        sums = halves @ rows
        middle = (sums**2).sum(axis=1) * (n_second - n_first) / (2 * n_first * n_second)
        moved = sums @ rows.T > middle[:, None]
        if (moved == halves).all():
            break
        halves = moved
    return _distinct(halves)


def _tightness(products: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Sum of squared distances from the mean of all rows, minus that from the means of halves."""
    size = halves.sum(axis=1)
    return (halves @ products * halves).sum(axis=1) * _scale(len(products), size)


def _scale(n: int, size: np.ndarray) -> np.ndarray:
    """Factor from the squared sum of ``size`` of ``n`` rows to tightness; 0 for an empty half."""
    return np.where((size > 0) & (size < n), n / np.maximum(1, size * (n - size)), 0.0)


def _exchange(products: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Move single rows to the other half, the best one first, until no move pays; in place."""
    n, squares = len(products), products.diagonal()
    least = ROUNDING * squares.sum()
    size = halves.sum(axis=1)
    inner = halves @ products  # of the sum of the first half with each row
    total = (inner * halves).sum(axis=1)  # its squared norm
    active = np.arange(len(halves))
    while len(active):
        sign = np.where(halves[active], -1, 1)
        totals = total[active, None] + 2 * sign * inner[active] + squares
        gains = totals * _scale(n, size[active, None] + sign)
        best = gains.argmax(axis=1)
        before = total[active] * _scale(n, size[active])
        pays = np.flatnonzero(gains[np.arange(len(active)), best] > before + least)
        active, best = active[pays], best[pays]
        total[active] = totals[pays, best]
        size[active] += sign[pays, best]
        inner[active] += sign[pays, best, None] * products[best]
        halves[active, best] = ~halves[active, best]
    return halves
