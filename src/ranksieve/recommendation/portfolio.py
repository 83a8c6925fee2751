"""Choose the selectors that a recommendation tries, depending on the ranker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ranksieve.costs import FeatureCosts
from ranksieve.rankers.gradient_descent import GradientRanker
from ranksieve.rankers.linear import LinearRanker
from ranksieve.recommendation.task import Member
from ranksieve.registry import Method
from ranksieve.study.cells import SelectionCell
from ranksieve.study.plan import Plan, make_study_selector

_BY_COST = ", by cost"


def default_selectors(ranker: Method, with_costs: bool) -> dict[str, dict[str, Any]]:
    """Return the default selectors for a ranker: name -> parameters.

    The best selector comes first; later ones are only tried with sets that cost less. Linear
    rankers and networks get methods that judge a feature given the others; all other rankers get
    methods that suit trees, and one that weighs costs if there are any. docs/recommend.md gives the
    reasons and measurements.
    """
    if issubclass(ranker.kind, (LinearRanker, GradientRanker)):
        return {"greedy-rankrls": {}, "elimination": {}, "gas-e": {}}
    if with_costs:
        return {"cegb": {}, "sized-trees": {}, "greedy-rankrls": {}}
    return {"sized-trees": {}, "bt-influence": {}, "greedy-rankrls": {}}


def members_of(
    plan: Plan, costs: FeatureCosts | None, keeps_missing: bool
) -> tuple[list[Member], list[str]]:
    """Return the selectors of a plan, with costs if they use any, and notes on omitted ones."""
    members, notes = [], []
    for name in plan.selectors:
        method, settings = plan.method(name), plan.settings(name)
        if keeps_missing and not plan.make_selector(name).takes_missing:
            notes.append(f"{name} was left out: it takes no missing values.")
            continue
        shown = name
        if costs is not None and method.takes_costs and "costs" not in settings:
            shown, settings = name + _BY_COST, settings | {"costs": costs.to_record()}
        members.append(_member(plan, shown, method, settings))
    return members, notes


def _member(plan: Plan, name: str, method: Method, settings: Mapping[str, Any]) -> Member:
    seed = plan.seed if method.is_seeded else None

    def make(k: int) -> SelectionCell:
        return SelectionCell(method, dict(settings), {}, seed, k, plan.inside)

    make_study_selector(method, 1, dict(settings), plan.inside)  # fail early
    return Member(name, make)
