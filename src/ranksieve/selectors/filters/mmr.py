"""Filters that trade off importance and similarity in other ways than GAS."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np

from ranksieve.base import Choices
from ranksieve.parameters import FeatureCount, Weight
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

TRADE_OFF_GRID = {"trade_off": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}

_REFERENCE = """
    References
    ----------
    K. D. Naini, I. S. Altingovde. Exploiting result diversification methods for feature selection
    in learning to rank. ECIR 2014.
"""


@dataclass(eq=False, repr=False)
class _Diverse(SimilarityFilter):
    """Parameters of filters that trade off importance and similarity.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features, or a fraction of them if below 1.
    importance : str, Measure or Importance
        Quality r of a feature alone; see :class:`GAS`, also for missing values.
    trade_off : float
        From 0 (importance only) to 1 (diversity only).
    similarity
        As in :class:`GAS`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_, scores_, importance_, directions_, similarity_
        As in :class:`GAS`.
    """

    _shared_docs: ClassVar[dict[str, str]] = {"reference": _REFERENCE}

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    importance: ImportanceChoice = Importance("map")
    trade_off: Weight = 0.5
    similarity: SimilarityChoice = Similarity("concordance")


class OneByOne(_Diverse):
    """Takes the most important feature first, then one feature at a time by :meth:`_score`."""

    _is_nested = True

    def _choose_groups(
        self, quality: Quality, similarity: np.ndarray, choices: Choices
    ) -> list[GroupStep]:
        def score(chosen: list[int]) -> np.ndarray:
            return self._score(quality, similarity, chosen) if chosen else quality.values

        return choose_in_turn(choices, quality.varies, score)

    @abstractmethod
    def _score(self, quality: Quality, similarity: np.ndarray, chosen: list[int]) -> np.ndarray:
        """Score of each group, given those chosen so far, of which there is at least one."""


class MMR(OneByOne):
    r"""Maximal marginal relevance: take features that are important and unlike those already taken.

    .. math:: \arg\max_j\; (1 - \lambda) r_j + \frac{\lambda}{|S|} \sum_{i \in S} (1 - s_{ij})

    with :math:`\lambda` = ``trade_off``; the first feature is the most important one.

    Parameters
    ----------
    n_features_to_select, importance, trade_off, similarity
        As in :class:`_Diverse`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_, scores_, importance_, directions_, similarity_
        As in :class:`_Diverse`.

    Notes
    -----
    Takes O(n k) time after importance and similarity. With the same similarity and trade-off it
    takes the same features as :class:`MRMR`: the scores differ by a constant.

    {reference}
    """

    methods = (Method("mmr", "maximal marginal relevance", grid=TRADE_OFF_GRID),)

    def _score(self, quality: Quality, similarity: np.ndarray, chosen: list[int]) -> np.ndarray:
        dissimilarity = 1 - similarity[chosen].mean(axis=0)
        return (1 - self.trade_off) * quality.values + self.trade_off * dissimilarity


class MPT(OneByOne):
    r"""Modern portfolio theory: a feature's risk is the variance of its quality over queries.

    .. math:: \arg\max_j\; r_j - b\, \sigma_j^2 - 2 b\, \sigma_j \sum_{i \in S} \sigma_i s_{ij}

    with b = ``trade_off``; the first feature is the most important one.

    Parameters
    ----------
    n_features_to_select, importance, trade_off, similarity
        As in :class:`_Diverse`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_, scores_, importance_, directions_, similarity_
        As in :class:`_Diverse`.

    Notes
    -----
    Takes O(n k) time after importance and similarity. Variances are sample variances, over queries,
    of the measure of importance.

    {reference}
    """

    methods = (
        Method("mpt", "modern portfolio theory: importance minus risk", grid=TRADE_OFF_GRID),
    )

    def _score(self, quality: Quality, similarity: np.ndarray, chosen: list[int]) -> np.ndarray:
        deviation = np.sqrt(quality.variance)
        shared = deviation[chosen] @ similarity[chosen]
        return quality.values - self.trade_off * (quality.variance + 2 * deviation * shared)


class MSD(_Diverse):
    r"""Maximum sum dispersion: take pairs of features that are important and unlike each other.

    .. math:: \arg\max_{i < j}\; (1 - \lambda)(r_i + r_j) + 2 \lambda (1 - s_{ij})

    with :math:`\lambda` = ``trade_off``, over pairs of features not yet taken. For an odd number
    the last feature is the most important one left.

    Parameters
    ----------
    n_features_to_select, importance, trade_off, similarity
        As in :class:`_Diverse`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_, scores_, importance_, directions_, similarity_
        As in :class:`_Diverse`.

    Notes
    -----
    Takes O(n^2 k) time after importance and similarity. Within a pair, the more important feature
    comes first.

    {reference}
    """

    with_include = (
        "Pairs of the others follow; pairs do not depend on the features selected before."
    )

    methods = (Method("msd", "maximum sum dispersion: dissimilar pairs", grid=TRADE_OFF_GRID),)

    def _choose_groups(
        self, quality: Quality, similarity: np.ndarray, choices: Choices
    ) -> list[GroupStep]:
        r = quality.values
        value = (1 - self.trade_off) * np.add.outer(r, r) + 2 * self.trade_off * (1 - similarity)
        both_vary = np.outer(quality.varies, quality.varies)
        value = np.where(np.triu(both_vary, k=1), value, -np.inf)
        steps = scored_groups(choices.start, r)
        value[choices.start] = value[:, choices.start] = -np.inf
        while np.isfinite(value.max()):
            pair = sorted(np.unravel_index(np.argmax(value), value.shape), key=lambda f: (-r[f], f))
            best = float(value.max())
            value[pair] = value[:, pair] = -np.inf
            steps += [GroupStep(int(f), best) for f in pair]
            if not choices.fits([step.group for step in steps]):
                del steps[-2:]
                break
        beginning = replace(choices, start=[step.group for step in steps])
        return steps + choose_in_turn(beginning, quality.varies, lambda chosen: r)[len(steps) :]
