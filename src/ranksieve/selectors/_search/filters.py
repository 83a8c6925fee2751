"""Filters: choices by scores, one feature at a time, and the bases of importance and similarity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, RankSelector
from ranksieve.engine import Source
from ranksieve.metrics import Measure
from ranksieve.selectors._search.searches import Step
from ranksieve.sums.importance import Importance, Quality
from ranksieve.sums.similarity import SIMILARITIES, Similarity

ImportanceChoice = str | Measure | Importance
SimilarityChoice = Annotated[str | Callable[[Any], Any], StrOptions(set(SIMILARITIES)), callable]


class GroupStep(NamedTuple):
    """A step of a selection of groups: the chosen one, and its score when it was chosen.

    Without groups, each feature is a group by itself, and has the same number.
    """

    group: int
    score: float


def choose_in_turn(
    choices: Choices, varies: np.ndarray, score: Callable[[list[int]], np.ndarray | None]
) -> list[GroupStep]:
    """Choose groups one at a time, each the best by ``score(groups chosen so far)``.

    ``score`` returns one number per group, or None to end the search, and ``varies`` has one entry
    per group. Included groups come first. Ties go to the lowest number. Groups whose features are
    constant within every query come last, whatever their scores.
    """
    steps: list[GroupStep] = []
    chosen: list[int] = []
    free = np.ones(len(varies), dtype=bool)
    for number in range(len(varies)):
        if choices.is_full(chosen):
            break
        scores = score(chosen)
        if scores is None:
            break
        if number < len(choices.start):
            best = choices.start[number]
        else:
            candidates = free & varies if np.any(free & varies) else free
            best = int(np.argmax(np.where(candidates, scores, -np.inf)))
        steps.append(GroupStep(best, float(scores[best])))
        chosen.append(best)
        free[best] = False
    taken = choices.take(chosen)
    return steps[: len(taken)]


def scored_steps(features: Iterable[int], scores: np.ndarray) -> list[Step]:
    """Steps that choose these features in this order."""
    return [Step(feature, float(scores[feature])) for feature in features]


def scored_groups(groups: Iterable[int], scores: np.ndarray) -> list[GroupStep]:
    """Steps that choose these groups in this order."""
    return [GroupStep(group, float(scores[group])) for group in groups]


def spread_steps(steps: Iterable[GroupStep], choices: Choices) -> list[Step]:
    """Replace steps of groups by steps of their features, each with the score of its group."""
    return [Step(f, step.score) for step in steps for f in choices.features_of([step.group])]


def best_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose the features with the largest scores; a group has the score of its best feature."""
    leaders = choices.leaders(scores, varies)
    return _largest_first(choices, varies[leaders], scores[leaders])


def best_sum_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose the features with the largest scores; a group has the sum over its features."""
    return _largest_first(choices, choices.any_of(varies), choices.total(scores))


def _largest_first(choices: Choices, varies: np.ndarray, scores: np.ndarray) -> list[Step]:
    """Choose groups by their scores, which do not depend on the groups chosen before."""
    return spread_steps(choose_in_turn(choices, varies, lambda chosen: scores), choices)


class ImportanceFilter(RankSelector):
    """A filter that scores each feature alone.

    After ``fit``, ``importance_`` has the quality of each feature, and ``directions_`` is 1 where
    large values are good and -1 where small values are.
    """

    importance: ImportanceChoice
    takes_missing = True

    def _quality(
        self, source: Source, choices: Choices, queries: np.ndarray | None = None
    ) -> Quality:
        """Quality of each feature, over all queries or those where ``queries`` is true."""
        quality = Importance.from_estimator(self)(source, queries)
        self.importance_ = self.scores_ = quality.values
        self.directions_ = quality.directions
        return quality


class SimilarityFilter(ImportanceFilter):
    """A filter that weighs the importance of features against their similarity.

    After ``fit``, ``similarity_`` has the similarity of each pair of features.
    """

    with_include = (
        "They count as selected first: similarity to them lowers the scores of the others."
    )
    with_groups = (
        "A group is as important as its best feature, and as similar to another group as "
        "their most similar features."
    )

    similarity: SimilarityChoice

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        quality = self._quality(source, choices)
        self.similarity_ = Similarity.from_estimator(self)(source, quality.directions)
        alike = choices.most_similar(self.similarity_)
        steps = self._choose_groups(self._group_quality(quality, choices), alike, choices)
        return self._record_path(spread_steps(steps, choices))

    def _group_quality(self, quality: Quality, choices: Choices) -> Quality:
        """Quality of each group, which is that of its best feature."""
        return quality.take(choices.leaders(quality.values, quality.varies))

    def reasons(self) -> list[str]:
        """For each selected feature, the most similar one that was selected before it."""
        check_is_fitted(self)
        texts = [""] * min(1, len(self.selected_))
        for position in range(1, len(self.selected_)):
            before = self.selected_[:position]
            alike = self.similarity_[self.selected_[position], before]
            nearest = int(np.argmax(alike))
            texts.append(f"{alike[nearest]:.2f} like {self._name_of(before[nearest])}")
        return texts

    @abstractmethod
    def _choose_groups(
        self, quality: Quality, similarity: np.ndarray, choices: Choices
    ) -> list[GroupStep]:
        """Choose features or groups, given their importance and similarity.

        Two groups are as similar as their most similar features.
        """
