"""Recommend the smallest or cheapest set of features that is shown to be enough."""

from ranksieve.recommendation.answer import (
    CurvePoint,
    DroppedFeature,
    Evidence,
    KeptFeature,
    Offer,
    Recommendation,
    Substitute,
)
from ranksieve.recommendation.checking import Check, Drift, Helpful, check
from ranksieve.recommendation.claim import Claim
from ranksieve.recommendation.directory import load_recommendation
from ranksieve.recommendation.procedure import recommend

__all__ = [
    "Check",
    "Claim",
    "Drift",
    "Helpful",
    "check",
    "CurvePoint",
    "DroppedFeature",
    "Evidence",
    "KeptFeature",
    "Offer",
    "Recommendation",
    "Substitute",
    "load_recommendation",
    "recommend",
]
