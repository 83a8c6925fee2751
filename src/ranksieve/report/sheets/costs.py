"""Table of costs that were measured."""

from __future__ import annotations

from ranksieve.costs import MeasuredCost, MeasuredCosts, cost_heading, format_cost
from ranksieve.recommendation.claim import confidence
from ranksieve.report.sheets.sheet import Column, Entry, Fields, Sheet, name_column
from ranksieve.text import quantity


def measured_sheet(found: MeasuredCosts) -> Sheet:
    """Costs of groups and features in a request, the largest first, with their intervals."""
    own = set(map(id, found.groups))

    def group_of(one: MeasuredCost) -> Entry:
        return Entry(one.name if id(one) in own else one.group)

    fields: Fields[MeasuredCost] = {
        name_column("feature"): lambda one: Entry("" if id(one) in own else one.name),
        Column("group", align="left", is_name=True): group_of,
        Column("cost", cost_heading(found.unit), importance=4): lambda one: Entry(one.cost, ".3g"),
        Column("lower", "from", importance=3): lambda one: Entry(one.lower, ".3g"),
        Column("upper", "to", importance=3): lambda one: Entry(one.upper, ".3g"),
        Column("share", "computed", importance=2): lambda one: Entry(one.share, ".0%"),
    }
    rows = [
        sorted(some, key=lambda one: -one.cost) for some in (found.groups, found.features) if some
    ]
    base = found.base
    notes = [
        f"from, to: interval of each cost, with {confidence(found.level)} confidence; computed: "
        "share of the requests. Rows without a feature are groups, which are paid once.",
        f"A request without any of them takes {format_cost(base.cost, found.unit)} "
        f"({base.lower:.4g} to {base.upper:.4g}). The costs explain {found.explained:.0%} of the "
        "variance of the times.",
        *found.notes,
    ]
    title = f"Costs measured from {quantity(found.n_requests, 'request')}"
    return Sheet.of_items("costs", title, "", fields, rows, notes)
