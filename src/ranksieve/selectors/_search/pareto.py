"""Base of the selectors that search for a front of subsets by RankRLS on held-out queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices
from ranksieve.engine import Workers
from ranksieve.metrics import parse_measure
from ranksieve.parameters import AtLeastTwo, Count, Positive
from ranksieve.selectors._search.nsga2 import DIGITS, Members, evolve
from ranksieve.selectors._search.parts import SubsetSelector
from ranksieve.solvers.rankrls.model import Products, ridge
from ranksieve.sums.measured import orient

Point = TypeVar("Point")


_PARAMETERS = """
    lam : float
        Regularization of RankRLS. Scale features first if their ranges differ
        (:class:`ranksieve.preprocessing.QueryMinMaxScaler`).
    population_size : int
        Number of subsets in a generation of NSGA-II.
    n_generations : int
        Number of generations after the first.
    {validation}
    random_state : int, RandomState or None
        Random seed of the search and of the choice of held-out queries.
    {choices}
    {verbose}
"""


@dataclass(eq=False, repr=False)
class ParetoSelector(SubsetSelector):
    """Base of selectors by NSGA-II over subsets."""

    given = "All subsets contain them."
    grouped = "A subset contains all features of a group or none."

    _shared_docs: ClassVar[dict[str, str]] = {"parameters": _PARAMETERS}

    _: KW_ONLY
    lam: Positive = 1.0
    population_size: AtLeastTwo = 50
    n_generations: Count = 40

    def _front(
        self,
        products: Products,
        objectives: Callable[[np.ndarray, np.ndarray], np.ndarray],
        rng: np.random.RandomState,
        choices: Choices,
    ) -> Members:
        """Search for a front of masks of all features.

        ``objectives`` gets masks and the weights (features, masks) of RankRLS on them. Groups whose
        features are constant within every query are in no mask, unless all features are constant;
        included groups are in every mask.
        """
        varies = np.diag(products.xx) > 0
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

    def _weights(self, products: Products, masks: np.ndarray) -> np.ndarray:
        """Weights (features, masks) of RankRLS on the features of each mask."""
        coefs = np.zeros(masks.shape[::-1])
        for number, mask in enumerate(masks):
            chosen = np.flatnonzero(mask)
            coefs[chosen, number] = ridge(products, chosen.tolist(), self.lam)
        return coefs

    def _means(self, workers: Workers, coefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean over held-out queries of each model's value, and of its loss against the first.

        Larger values are better, as in :class:`ranksieve.sums.measured.Measured`.
        """
        n_queries, values, losses = workers.sum("losses", coefs)
        return np.round(values / n_queries, DIGITS), np.round(losses / n_queries, DIGITS)

    def _points(self, kind: Callable[..., Point], masks: np.ndarray, *columns: Any) -> list[Point]:
        """Make a record of each subset: features, value of the measure, other objectives."""
        values, *others = columns
        values = orient(values, parse_measure(self.measure))
        features = [tuple(np.flatnonzero(mask).tolist()) for mask in masks]
        rows = zip(features, values.tolist(), *(c.tolist() for c in others), strict=True)
        return [kind(*row) for row in rows]

    def _order(self, masks: np.ndarray, products: Products) -> np.ndarray:
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
