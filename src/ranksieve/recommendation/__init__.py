"""Recommend the smallest or cheapest set of features that is shown to be enough."""

from ranksieve.recommendation.answer import (
    DroppedFeature,
    FrontPoint,
    KeptFeature,
    Recommendation,
    Substitute,
)
from ranksieve.recommendation.checking import Check, Drift, Helpful, check
from ranksieve.recommendation.deciding import recommend
from ranksieve.recommendation.evidence import Evidence
from ranksieve.recommendation.files import load_recommendation
from ranksieve.recommendation.verdict import Verdict

__all__ = [
    "Check",
    "Drift",
    "Helpful",
    "check",
    "DroppedFeature",
    "Evidence",
    "FrontPoint",
    "KeptFeature",
    "Recommendation",
    "Substitute",
    "Verdict",
    "load_recommendation",
    "recommend",
]
