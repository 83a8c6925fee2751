"""What features and groups of features cost, by name and as arrays, given or measured."""

from ranksieve.costs.feature_costs import AlignedCosts, FeatureCosts
from ranksieve.costs.measured import MeasuredCost, MeasuredCosts, estimate_costs
from ranksieve.costs.units import cost_heading, format_cost

__all__ = [
    "AlignedCosts",
    "FeatureCosts",
    "MeasuredCost",
    "MeasuredCosts",
    "cost_heading",
    "estimate_costs",
    "format_cost",
]
