"""MRMR: importance of a feature minus its mean similarity to those already taken."""

from __future__ import annotations

import numpy as np

from ranksieve.registry import Method
from ranksieve.selectors.filters.mmr import TRADE_OFF_GRID, OneByOne
from ranksieve.sums.importance import Quality


class MRMR(OneByOne):
    r"""Minimal redundancy, maximal relevance.

    .. math:: \arg\max_j\; (1 - \beta) r_j - \frac{\beta}{|S|} \sum_{i \in S} s_{ij}

    with :math:`\beta` = ``trade_off``; the first feature is the most important one.

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
    Takes O(n k) time after importance and similarity. Only the abstract of the paper by Shirzad and
    Keyvanpour was available to us; this is our reading of it.

    References
    ----------
    M. B. Shirzad, M. R. Keyvanpour. A feature selection method based on minimum redundancy maximum
    relevance for learning to rank. AI & Robotics 2015.
    """

    methods = (Method("mrmr", "minimal redundancy, maximal relevance", grid=TRADE_OFF_GRID),)

    def _score(self, quality: Quality, similarity: np.ndarray, chosen: list[int]) -> np.ndarray:
        redundancy = similarity[chosen].mean(axis=0)
        return (1 - self.trade_off) * quality.values - self.trade_off * redundancy
