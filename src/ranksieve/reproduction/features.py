"""Check statements of papers about the features of a collection."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranksieve.data import RankingData
from ranksieve.reproduction.curves import Finding
from ranksieve.selectors import Hierarchical, Importance


class Features(NamedTuple):
    """How well features rank alone, and how similar features cluster.

    Attributes
    ----------
    alone : array of shape (features,)
        MAP of each feature in its better direction.
    blocks : list of int
        Sizes of clusters of similar features (fraction of concordant pairs, average linkage),
        largest first; the number of clusters has the largest silhouette.
    """

    alone: np.ndarray
    blocks: list[int]

    @classmethod
    def of(cls, data: RankingData, convention: str) -> Features:
        """Measure and cluster the features of some data."""
        importance = Importance("map", convention=convention)
        selector = Hierarchical("silhouette", importance=importance, similarity="concordance")
        clusters = selector.fit(data).clusters_
        sizes = np.bincount(clusters[clusters >= 0])
        return cls(selector.importance_, sorted(sizes.tolist(), reverse=True))


def weak_alone(features: Features, below: float, more_than: int) -> Finding:
    """Check that more than ``more_than`` features have a MAP below ``below`` alone."""
    n_weak = int((features.alone < below).sum())
    return Finding(f"{n_weak} of {len(features.alone)} features", n_weak > more_than)


def blocks_at_least(features: Features, least: int) -> Finding:
    """Check that features form at least ``least`` blocks."""
    return Finding(_describe(features), len(features.blocks) >= least)


def two_blocks_hold(features: Features, share: float) -> Finding:
    """Check that two blocks have at least a given share of the features that vary."""
    held = sum(features.blocks[:2])
    return Finding(_describe(features), held >= share * sum(features.blocks))


def _describe(features: Features) -> str:
    largest = ", ".join(map(str, features.blocks[:3]))
    return f"{len(features.blocks)} blocks, the largest of {largest} features"
