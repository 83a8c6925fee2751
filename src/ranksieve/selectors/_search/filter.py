"""Base of the filters that use importance and similarity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import RankSelector
from ranksieve.engine import Source
from ranksieve.metrics import Measure
from ranksieve.selectors._search.greedy import Step
from ranksieve.sums.importance import Importance, Quality
from ranksieve.sums.similarity import SIMILARITIES, Similarity

ImportanceChoice = str | Measure | Importance
SimilarityChoice = Annotated[str | Callable[[Any], Any], StrOptions(set(SIMILARITIES)), callable]


class ImportanceFilter(RankSelector):
    """A filter that scores each feature alone.

    After ``fit``, ``importance_`` has the quality of each feature and ``directions_`` 1 or -1, the
    direction in which it was found.
    """

    importance: ImportanceChoice
    takes_missing = True

    def _quality(self, source: Source, queries: np.ndarray | None = None) -> Quality:
        """Quality of each feature, over all queries or those where ``queries`` is true."""
        quality = Importance.given_to(self)(source, queries)
        self.importance_ = self.scores_ = quality.values
        self.directions_ = quality.directions
        return quality

    def _take(self, steps: list[Step]) -> list[int]:
        """Remember the steps of the choice, and return its features."""
        self.path_ = steps
        return [step.feature for step in steps]


class SimilarityFilter(ImportanceFilter):
    """A filter that weighs the importance of features against their similarity.

    After ``fit``, ``similarity_`` has the similarity of each pair of features.
    """

    similarity: SimilarityChoice

    def _choose(self, source: Source, k: int, **held_out: Any) -> list[int]:
        quality = self._quality(source)
        self.similarity_ = Similarity.given_to(self)(source, quality.directions)
        return self._take(self._weigh(quality, self.similarity_, k))

    def reasons(self) -> list[str]:
        """For each selected feature, the most similar one that was selected before it."""
        check_is_fitted(self)
        told = [""] * min(1, len(self.selected_))
        for place in range(1, len(self.selected_)):
            before = self.selected_[:place]
            alike = self.similarity_[self.selected_[place], before]
            nearest = int(np.argmax(alike))
            told.append(f"{alike[nearest]:.2f} like {self._name_of(before[nearest])}")
        return told

    @abstractmethod
    def _weigh(self, quality: Quality, similarity: np.ndarray, k: int) -> list[Step]:
        """Choose ``k`` features, given their importance and similarity."""
