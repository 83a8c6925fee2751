"""Base of the selectors that search for trade-offs between objectives over subsets, and NSGA-II.

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
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve._kernels.rows import score_models
from ranksieve.base import Choices
from ranksieve.engine import Workers
from ranksieve.metrics import parse_measure
from ranksieve.parameters import AtLeastTwo, Count, Positive
from ranksieve.progress import track
from ranksieve.selectors.related.subsets import SubsetSelector, fit_subset
from ranksieve.sums.chunks import chunks
from ranksieve.sums.gram import GramSums
from ranksieve.sums.held_out import Measured, check_any_value, orient

DIGITS = 10  # decimals of objectives; later ones depend on the order of summation

Point = TypeVar("Point")


class ModelLosses(Measured):
    """Statistic: values of queries ranked by linear models, and losses against the first model."""

    def losses(self, coefs: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Weight of queries; sums of each model's value and of its loss against the first model.

        ``coefs`` (features, models) are weights of all features. The loss is 0 where a model is
        better than the first.
        """
        if self.is_empty:
            return 0.0, np.zeros(coefs.shape[1]), np.zeros(coefs.shape[1])
        scores = np.empty((len(self.block.y), coefs.shape[1]))
        for chunk in chunks(self.block):
            score_models(chunk.X, np.arange(len(coefs)), coefs, scores[chunk.rows])
        if not np.isfinite(scores).all():
            self.block.check_finite()
        columns = np.ascontiguousarray(scores.T)
        values = np.array([self.values(self.ranking(column)) for column in columns])
        lost = np.maximum(values[0] - values, 0.0)
        weights = self.weights
        return float(weights.sum()), (weights * values).sum(axis=1), (weights * lost).sum(axis=1)


class Members(NamedTuple):
    """Masks (members, bits) and their objectives (members, objectives)."""

    masks: np.ndarray
    objectives: np.ndarray

    def take(self, positions: np.ndarray) -> Members:
        """Members at some positions."""
        return Members(self.masks[positions], self.objectives[positions])

    def join(self, others: Members) -> Members:
        """These members, followed by others."""
        return Members(*(np.concatenate(both) for both in zip(self, others, strict=True)))


@dataclass(eq=False, repr=False)
class ParetoSelector(SubsetSelector):
    """Base of selectors by NSGA-II over subsets.

    Parameters
    ----------
    lam : float
        Regularization of RankRLS. Scale features first if their ranges differ
        (:class:`ranksieve.preprocessing.QueryMinMaxScaler`).
    population_size : int
        Number of subsets in a generation of NSGA-II.
    n_generations : int
        Number of generations after the first.
    measure, validation_fraction, convention, ties
        As in :class:`SubsetSelector`.
    random_state : int, RandomState or None
        Random seed of the search and of the choice of held-out queries.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.
    """

    with_include = "All subsets contain them."
    with_groups = "A subset contains all features of a group or none."

    _: KW_ONLY
    lam: Positive = 1.0
    population_size: AtLeastTwo = 50
    n_generations: Count = 40

    def _front(
        self,
        products: GramSums,
        objectives: Callable[[np.ndarray, np.ndarray], np.ndarray],
        rng: np.random.RandomState,
        choices: Choices,
    ) -> Members:
        """Search for a front of masks of all features.

        ``objectives`` gets masks and the weights (features, masks) of RankRLS on them. Groups whose
        features are constant within every query are in no mask, unless all features are constant;
        included groups are in every mask.
        """
        varies = products.varies
        eligible = choices.any_of(varies | (not varies.any()))
        eligible[choices.start] = False
        free = np.flatnonzero(eligible).tolist()
        column_of = np.zeros((len(free), len(varies)), dtype=bool)
        for position, group in enumerate(free):
            column_of[position, choices.features_of([group])] = True

        def widen(masks: np.ndarray) -> np.ndarray:
            wide = masks @ column_of
            wide[:, choices.include] = True
            return wide

        def judge(masks: np.ndarray) -> np.ndarray:
            return objectives(widen(masks), self._weights(products, widen(masks)))

        if not free:
            nothing = np.zeros((1, 0), dtype=bool)
            return Members(widen(nothing), judge(nothing))
        front = evolve(judge, len(free), self.population_size, self.n_generations, rng)
        return Members(widen(front.masks), front.objectives)

    def _weights(self, products: GramSums, masks: np.ndarray) -> np.ndarray:
        """Weights (features, masks) of RankRLS on the features of each mask."""
        coefs = np.zeros(masks.shape[::-1])
        for number, mask in enumerate(masks):
            chosen = np.flatnonzero(mask)
            coefs[chosen, number] = fit_subset(products, chosen.tolist(), self.lam)
        return coefs

    def _means(
        self, workers: Workers[ModelLosses], coefs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean over held-out queries of each model's value, and of its loss against the first.

        Larger values are better, as in :class:`ranksieve.sums.held_out.Measured`.
        """
        n_queries, values, losses = workers.sum(ModelLosses.losses, coefs)
        check_any_value(n_queries)
        return np.round(values / n_queries, DIGITS), np.round(losses / n_queries, DIGITS)

    def _points(self, kind: Callable[..., Point], masks: np.ndarray, *columns: Any) -> list[Point]:
        """Make a record of each subset: features, value of the measure, other objectives."""
        values, *others = columns
        values = orient(values, parse_measure(self.measure))
        features = [tuple(np.flatnonzero(mask).tolist()) for mask in masks]
        rows = zip(features, values.tolist(), *(c.tolist() for c in others), strict=True)
        return [kind(*row) for row in rows]

    def _order(self, masks: np.ndarray, products: GramSums) -> np.ndarray:
        """Sort features by the fraction of the front that contains them, stored as ``scores_``.

        Ties are sorted by weight times spread in the model of all features. Features that are
        constant within every query come last.
        """
        spread = np.sqrt(np.diag(products.xx))
        every = np.ones((1, len(spread)), dtype=bool)
        strength = np.abs(self._weights(products, every)[:, 0]) * spread
        strength = np.round(strength / (strength.max() or 1.0), DIGITS)
        self.scores_ = masks.sum(axis=0) / max(1, len(masks))
        return np.lexsort((-strength, -self.scores_, spread == 0))

    def reasons(self) -> list[str]:
        """For each selected feature, the fraction of the front's subsets that contain it."""
        check_is_fitted(self)
        shares = [f"{share:.0%}" if share else "no subset" for share in self.scores_.tolist()]
        return [f"in {shares[feature]} of the front" for feature in self.selected_]


def evolve(
    objectives: Callable[[np.ndarray], np.ndarray],
    n_bits: int,
    size: int,
    n_generations: int,
    rng: np.random.RandomState,
) -> Members:
    """Return the front of all masks that a genetic algorithm has seen; none is empty.

    Its members are sorted by their objectives, and ties by the masks.

    ``objectives`` maps masks (masks, bits) to values to minimize (masks, objectives), and gets no
    mask twice. A generation has ``size`` members. The first one has random masks, the mask of all
    bits, and one with a single bit; ``n_generations`` follow.
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
