"""Recommend the smallest or cheapest set of features that is shown to be enough."""

from ranksieve.recommendation.answer import (
    CurvePoint,
    DroppedFeature,
    KeptFeature,
    Offer,
    Recommendation,
    Reference,
    Substitute,
)
from ranksieve.recommendation.checked import (
    Check,
    CheckHistory,
    Drift,
    Helpful,
    load_check,
    load_checks,
)
from ranksieve.recommendation.checking import check
from ranksieve.recommendation.claim import Claim
from ranksieve.recommendation.directory import load_recommendation
from ranksieve.recommendation.evidence import Evidence
from ranksieve.recommendation.procedure import recommend

__all__ = [
    "Check",
    "CheckHistory",
    "Claim",
    "Drift",
    "Helpful",
    "check",
    "load_check",
    "load_checks",
    "CurvePoint",
    "DroppedFeature",
    "Evidence",
    "KeptFeature",
    "Offer",
    "Recommendation",
    "Reference",
    "Substitute",
    "load_recommendation",
    "recommend",
]
