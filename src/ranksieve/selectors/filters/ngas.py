"""NGAS and XGAS: walk from each feature to one that is dissimilar."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Annotated

import numpy as np
from sklearn.utils._param_validation import Interval

from ranksieve.base import Choices
from ranksieve.parameters import FeatureCount
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import (
    GroupStep,
    ImportanceChoice,
    SimilarityChoice,
    SimilarityFilter,
    choose_in_turn,
    scored_groups,
)
from ranksieve.sums.importance import Importance, Quality
from ranksieve.sums.similarity import Similarity


@dataclass(eq=False, repr=False)
class NGAS(SimilarityFilter):
    r"""Naive greedy search (NGAS): walk from each feature to a dissimilar one.

    Start with the most important feature. Then repeat: let a be the remaining feature least similar
    to the last one taken, and b the remaining feature most similar to a; take the more important of
    the two (a if they are equal).

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    importance, similarity
        As in :class:`GAS`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_, scores_, importance_, directions_, similarity_
        As in :class:`GAS`; the scores of the path are importances.

    Notes
    -----
    Takes O(n k) time after importance and similarity. The authors' program uses \|Spearman\| over a
    sample of all rows, and the NDCG of a LambdaMART trained on one feature; here both are per
    query, and the feature itself is the ranking. Features constant within every query come last.

    References
    ----------
    A. Gigli, C. Lucchese, F. M. Nardini, R. Perego. Fast feature selection for learning to rank.
    ICTIR 2016.
    """

    with_include = "The walk continues from the last of them."

    methods = (Method("ngas", "naive greedy walk from each feature to a dissimilar one"),)

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    importance: ImportanceChoice = Importance("ndcg@10")
    similarity: SimilarityChoice = Similarity("spearman", absolute=True)

    _is_nested = True

    def _choose_groups(
        self, quality: Quality, similarity: np.ndarray, choices: Choices
    ) -> list[GroupStep]:
        def score(chosen: list[int]) -> np.ndarray:
            """Importance, but infinite for the next feature of a walk that has begun."""
            walk = [group for group in chosen if quality.varies[group]]
            free = np.setdiff1d(np.flatnonzero(quality.varies), chosen)
            scores = quality.values.copy()
            if walk and len(free):
                scores[self._next(free, walk[-1], quality, similarity)] = np.inf
            return scores

        steps = choose_in_turn(choices, quality.varies, score)
        return scored_groups([step.group for step in steps], quality.values)

    def _next(self, free: np.ndarray, last: int, quality: Quality, similarity: np.ndarray) -> int:
        """The next of the ``free`` (remaining) features, of which there is at least one."""
        unlike = free[np.argmin(similarity[last, free])]
        others = free[free != unlike]
        if len(others) == 0:
            return int(unlike)
        alike = others[np.argmax(similarity[unlike, others])]
        return int(alike if quality.values[alike] > quality.values[unlike] else unlike)


@dataclass(eq=False, repr=False)
class XGAS(NGAS):
    r"""Extended greedy search: the most important of the features least like the last one.

    Start with the most important feature. Then repeat: of the :math:`\max(1, round(p \cdot r))`
    features least similar to the last one taken, of r remaining ones, take the most important.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    p : float
        Fraction of the remaining features to consider.
    importance, similarity
        As in :class:`GAS`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Notes
    -----
    Takes O(n k log n) time after importance and similarity. Attributes, the reference and the
    differences from the authors' program are those of :class:`NGAS`.
    """

    methods = (Method("xgas", "extended greedy walk: the best of the least similar"),)

    _: KW_ONLY
    p: Annotated[float, Interval(Real, 0, 1, closed="right")] = 0.05

    def _next(self, free: np.ndarray, last: int, quality: Quality, similarity: np.ndarray) -> int:
        n_near = max(1, round(self.p * len(free)))
        unlike = free[np.argsort(similarity[last, free], kind="stable")[:n_near]]
        return int(np.sort(unlike)[np.argmax(quality.values[np.sort(unlike)])])
