"""Search for the best trade-offs between several objectives over bit masks (NSGA-II).

Masks are rows of a bool array with one column per feature. All objectives are minimized. A mask
*dominates* another one if none of its objectives is larger and at least one is smaller. The *front*
of some masks consists of those that none of them dominates.

References
----------
K. Deb, A. Pratap, S. Agarwal, T. Meyarivan. A fast and elitist multiobjective genetic algorithm:
NSGA-II. IEEE Transactions on Evolutionary Computation 6(2), 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ranksieve.progress import track

DIGITS = 10  # decimals of objectives; later ones depend on the order of summation


class Members(NamedTuple):
    """Masks (members, bits) and their objectives (members, objectives)."""

    masks: np.ndarray
    objectives: np.ndarray

    def take(self, positions: np.ndarray) -> Members:
        return Members(self.masks[positions], self.objectives[positions])

    def join(self, others: Members) -> Members:
        return Members(*(np.concatenate(both) for both in zip(self, others, strict=True)))


def evolve(
    objectives: Callable[[np.ndarray], np.ndarray],
    n_bits: int,
    size: int,
    n_generations: int,
    rng: np.random.RandomState,
) -> Members:
    """Return the front of all masks that a genetic algorithm has seen; none is empty.

    Its members are sorted by their objectives, and ties by the masks.

    Parameters
    ----------
    objectives : callable
        Maps masks (masks, bits) to values to minimize (masks, objectives). It gets no mask twice.
    n_bits, size : int
        Number of bits in a mask, and of members in a generation.
    n_generations : int
        Number of generations after the first, which has random masks, the mask of all bits, and
        one with a single bit.
    rng : RandomState
    """
    seen: set[bytes] = set()

    def judge(masks: np.ndarray) -> Members:
        return Members(masks, np.round(objectives(masks), DIGITS))

    front = judge(_unseen(_first_masks(n_bits, size, rng), seen))
    members = front.take(_best_first(front.objectives))
    advance = track("Generations", n_generations)
    for _ in range(n_generations):
        new = _unseen(_children(members.masks, size, rng), seen)
        if len(new):
            children = judge(new)
            members, front = members.join(children), front.join(children)
            members = members.take(_best_first(members.objectives)[:size])
        front = front.take(np.flatnonzero(front_numbers(front.objectives) == 0))
        advance(1)
    return front.take(np.lexsort((*~front.masks.T[::-1], *front.objectives.T[::-1])))


def front_numbers(objectives: np.ndarray) -> np.ndarray:
    """Front of each row: 0 if no row dominates it, 1 if only rows of front 0 do, and so on."""
    not_above = np.less_equal(objectives[:, None], objectives).all(axis=2)
    dominates = not_above & ~not_above.T
    n_above = dominates.sum(axis=0)
    numbers = np.full(len(objectives), -1)
    while (numbers < 0).any():
        free = (numbers < 0) & (n_above == 0)
        numbers[free] = numbers.max() + 1
        n_above -= dominates[free].sum(axis=0)
    return numbers


def crowding(objectives: np.ndarray) -> np.ndarray:
    """Distance between the neighbors of each row of a front; infinite at both ends.

    It is the sum over objectives of the neighbors' difference relative to the range of the front.
    """
    distances = np.zeros(len(objectives))
    for values in objectives.T:
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        spread = ordered[-1] - ordered[0]
        if spread > 0:
            distances[order[1:-1]] += (ordered[2:] - ordered[:-2]) / spread
            distances[order[[0, -1]]] = np.inf
    return distances


def _best_first(objectives: np.ndarray) -> np.ndarray:
    """Sort rows by front, then by descending crowding distance, then by position."""
    numbers = front_numbers(objectives)
    distances = np.empty(len(objectives))
    for number in range(numbers.max(initial=-1) + 1):
        own = numbers == number
        distances[own] = crowding(objectives[own])
    return np.lexsort((-distances, numbers))


def _unseen(masks: np.ndarray, seen: set[bytes]) -> np.ndarray:
    """Return the masks that are not in ``seen``, and add them to ``seen``."""
    n_seen = [len(seen)]
    for mask in masks:
        seen.add(mask.tobytes())
        n_seen.append(len(seen))
    return masks[np.diff(n_seen) > 0]


def _first_masks(n_bits: int, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Return a mask of all bits, random masks with log-uniform sizes, and one of a single bit."""
    n_set = np.round(n_bits ** rng.random_sample(size))
    n_set[0], n_set[-1] = n_bits, 1
    positions = rng.random_sample((size, n_bits)).argsort(axis=1).argsort(axis=1)
    return positions < n_set[:, None]


def _children(masks: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Cross winners of tournaments and flip bits; ``masks`` are sorted, the best first.

    Each bit comes from either parent. Then one bit flips on average. Flips set and clear bits with
    equal probability, so that small masks do not grow by mutation alone.
    """
    n_bits = masks.shape[1]
    winners = rng.randint(len(masks), size=(2, 2, size)).min(axis=0)
    children = np.where(rng.randint(2, size=(size, n_bits)), *masks[winners])
    n_set = children.sum(axis=1, keepdims=True)
    chance = np.where(children, 0.5 / np.maximum(n_set, 1), 0.5 / np.maximum(n_bits - n_set, 1))
    children ^= rng.random_sample((size, n_bits)) < chance
    empty = ~children.any(axis=1)
    children[empty, rng.randint(n_bits, size=size)[empty]] = True
    return children
