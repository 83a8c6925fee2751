"""Candidates of a recommendation, as figures and pages show them."""

from __future__ import annotations

from ranksieve.recommendation.answer import FrontPoint, Recommendation
from ranksieve.study.results import BASE

_BASELINES = (BASE, "none")


def selected_points(answer: Recommendation) -> list[FrontPoint]:
    """Candidates that a selector chose, without all features and no features."""
    return [point for point in answer.front if point.selector not in _BASELINES]


def selectors_of(answer: Recommendation) -> list[str]:
    """Selectors of the candidates, in order."""
    return list(dict.fromkeys(point.selector for point in selected_points(answer)))


def all_features(answer: Recommendation) -> FrontPoint:
    """The candidate with all features."""
    return next(point for point in answer.front if point.selector == BASE)


def is_recommended(point: FrontPoint, answer: Recommendation) -> bool:
    """Whether a candidate is the recommended one."""
    return (point.selector, point.size) == (answer.selector, answer.size)
