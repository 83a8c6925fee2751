"""The smallest or cheapest features that are shown to be enough."""

from ranksieve.recommendation.answer import (
    DroppedFeature,
    FrontPoint,
    KeptFeature,
    Recommendation,
    Substitute,
)
from ranksieve.recommendation.claims import Claim
from ranksieve.recommendation.recommend import recommend

__all__ = [
    "Claim",
    "DroppedFeature",
    "FrontPoint",
    "KeptFeature",
    "Recommendation",
    "Substitute",
    "recommend",
]
