"""Train a ranker repeatedly, on subsets of the features of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ranksieve.data import RankingData


class Refits:
    """Copies of an untrained ranker, each trained on some features of the same data."""

    # Whether removing features that a trained ranker does not use leaves its model unchanged.
    ignores_unused = False

    def __init__(self, ranker: Any, data: RankingData) -> None:
        self.ranker = ranker
        self.data = data

    def fit(self, features: Sequence[int]) -> Any:
        """Train a copy of the ranker on some features."""
        copy = self.ranker._for_features(features, self.data.n_features)
        return copy.fit(self.data.take_features(list(features)))
