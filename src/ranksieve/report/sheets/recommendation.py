"""Tables of a recommendation: what can be had, features to keep and to drop, evidence, checks.

The evidence is about the sets of the curve, single queries, features alone, and work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from ranksieve.costs import cost_heading
from ranksieve.recommendation.answer import (
    OFFERED_MARGINS,
    CurvePoint,
    DroppedFeature,
    DroppedGroup,
    KeptFeature,
    KeptGroup,
    Recommendation,
    cheapest_within,
)
from ranksieve.recommendation.claim import confidence, percent
from ranksieve.recommendation.evidence import Alone, Evidence, Spent
from ranksieve.report.sheets.sheet import (
    Column,
    Entry,
    Fields,
    Sheet,
    losses_and_gains,
    name_column,
    text_column,
)
from ranksieve.text import quantity

_SUBSTITUTES = 3  # most substitutes to name
_DIFFERENT = 3  # most features to name by which two sets differ
_Described = KeptFeature | KeptGroup | DroppedFeature | DroppedGroup


class _Offered(NamedTuple):
    """A set to choose from, and what it is offered for; no set if none is good enough."""

    margin: str
    point: CurvePoint | None


def offers_sheet(answer: Recommendation) -> Sheet:
    """What can be had: what was asked for first, then the other offers, and all features."""
    rows = _offers(answer)
    base = next(row.point for group in rows for row in group if row.point is not None)

    def show(entry: Callable[[CurvePoint], Entry]) -> Callable[[_Offered], Entry]:
        return lambda row: Entry(None) if row.point is None else entry(row.point)

    def difference(row: _Offered) -> Entry:
        if row.point is None:
            where = "smaller set" if answer.budget_that_binds is None else "set within the budget"
            return Entry(f"no {where} is shown to lose less than {percent(answer.claim.margin)}")
        return Entry(_difference(row.point, base, answer.feature_names))

    fields: Fields[_Offered] = {
        name_column("margin"): lambda row: Entry(row.margin),
        Column("features", importance=4): show(lambda point: Entry(point.size, ",")),
    }
    if answer.has_costs:
        fields[_cost_column(answer, importance=4)] = show(lambda point: Entry(point.cost, ".4g"))
    fields |= {
        Column("bound", "loses less than", importance=4): show(_bound),
        Column("change", "mean change", importance=3): show(_change),
        text_column("difference", importance=2): difference,
    }
    notes = [
        f"loses less than, mean change: of {answer.claim.measure}, relative to all features. All "
        f"bounds hold at once, with {confidence(answer.claim.level)} confidence, so any row may "
        "be picked.",
        "difference: from the set of the first row that has one.",
    ]
    title = "Sets of features to choose from"
    return Sheet.of_items("offers", title, "", fields, rows, notes)


def _offers(answer: Recommendation) -> list[list[_Offered]]:
    """Sets to choose from, in groups: what was asked for, the other offers, all features."""
    asked, budget, chosen = answer.claim.margin, answer.settings["budget"], answer.recommended
    enough = cheapest_within(answer.curve, asked)
    first = [_Offered(f"{percent(asked)}, as asked", enough)]
    if budget is not None and chosen not in (None, enough):
        first.insert(0, _Offered(f"budget {answer.price(budget)}", chosen))
    if answer.risk not in (None, enough):
        first.append(_Offered("at a risk", answer.risk))
    known = [row.point for row in first]
    others = [
        _Offered(percent(margin), point) for margin, point in answer.offers if point not in known
    ]
    whole = [_Offered("all features", answer.whole)]
    return [group for group in (first, others, whole) if group]


def _difference(point: CurvePoint, base: CurvePoint, names: Sequence[str]) -> str:
    """Which features a set lacks and has besides those of another, or how many."""
    lacks = [names[f] for f in base.features if f not in point.features]
    others = [names[f] for f in point.features if f not in base.features]
    parts = [
        f"{word} {', '.join(own) if len(own) <= _DIFFERENT else quantity(len(own), 'feature')}"
        for word, own in (("without", lacks), ("with", others))
        if own
    ]
    return "; ".join(parts)


def curve_sheet(answer: Recommendation) -> Sheet:
    """All sets of the curve, with what they cost and lose, and their features."""
    margins = sorted({answer.claim.margin, *OFFERED_MARGINS})

    def shown_at(point: CurvePoint) -> str | None:
        return next((percent(margin) for margin in margins if point.bound > -margin), None)

    def names(point: CurvePoint) -> str:
        return ", ".join(answer.feature_names[feature] for feature in point.features)

    chosen = answer.recommended
    fields: Fields[CurvePoint] = {
        Column("features", is_name=True): lambda point: Entry(
            point.size, ",", mark="<" * (point == chosen)
        )
    }
    if answer.has_costs:
        fields[_cost_column(answer, importance=3)] = lambda point: Entry(point.cost, ".4g")
    fields |= {
        Column("change", "mean change", importance=3): _change,
        Column("error", "standard error"): lambda point: _percent(point.error),
        Column("bound", "loses less than", importance=3): _bound,
        Column("shown", "shown at", importance=2): lambda point: Entry(shown_at(point)),
        Column("recommended", only_csv=True): lambda point: Entry.yes(point == chosen),
        text_column("names", importance=0): lambda point: Entry(names(point)),
    }
    notes = [
        f"mean change, loses less than: of {answer.claim.measure}, relative to all features; the "
        f"bounds of all sets hold at once, with {confidence(answer.claim.level)} confidence.",
        "shown at: the smallest of the usual margins that the bound is within.",
        *(["<: recommended."] if chosen is not None else []),
    ]
    title = "All sets of the curve"
    return Sheet.of_items("curve", title, answer.protocol, fields, [answer.curve], notes)


def _change(point: CurvePoint) -> Entry:
    """How the measure changes on average."""
    return Entry(point.change, "+z.2%")


def _bound(point: CurvePoint) -> Entry:
    """What a set loses at most."""
    return _percent(max(0.0, -point.bound) if isfinite(point.bound) else None)


def kept_sheet(answer: Recommendation, alone: Alone | None = None) -> Sheet:
    """The features to keep, the most important first, then the groups that they need.

    With ``alone``, it also shows how well each feature ranks alone.
    """
    rank_of = {kept.feature: rank for rank, kept in enumerate(answer.kept, start=1)}
    fields: Fields[KeptFeature | KeptGroup] = {
        Column("rank", is_name=True): _of_feature(lambda kept: Entry(rank_of[kept.feature])),
        name_column("feature"): lambda kept: Entry(name_of(kept, answer)),
        Column("kind", only_csv=True): _kind,
    }
    notes = []
    if answer.has_costs:
        fields[_cost_column(answer, importance=3)] = lambda kept: Entry(kept.cost, ".4g")
    if answer.kept_groups:
        notes.append(note_on_groups("kept", answer.price(answer.cost)))
    if any(kept.loss is not None for kept in answer.kept):
        fields[Column("loss without it", importance=3)] = lambda kept: _percent(kept.loss)
        fields[Column("interval", align="left")] = _interval
        notes.append(
            f"loss without it: of {answer.claim.measure}, relative to all features, with its 95% "
            "interval, if the ranker is trained on the other features that are kept. Measured on "
            "queries that were left out of the training, but not of the choice."
        )
    if any(kept.stability is not None for kept in answer.kept):
        fields[Column("stability", importance=0)] = _of_feature(
            lambda kept: Entry(kept.stability, ".2f")
        )
        fields[Column("with copies", importance=0)] = _of_feature(
            lambda kept: Entry(kept.cluster_stability, ".2f")
        )
        notes.append(
            "stability: share of the paths of sets, each built on other queries, that have it in "
            "their set of this cost; with copies: it or one of its substitutes."
        )
    if alone is not None:
        values = alone.values
        fields[Column("alone", importance=0)] = _of_feature(
            lambda kept: Entry(values[kept.feature], ".4f")
        )
        notes.append(_alone_note(answer, alone))
    if any(kept.substitutes for kept in answer.kept):
        fields[text_column("substitutes", importance=2)] = _of_feature(
            lambda kept: Entry(substitutes_text(kept, answer))
        )
        notes.append(
            "substitutes: features that order documents nearly the same (|tau_b| of at least 0.9)"
            + (", with their costs." if answer.has_costs else ".")
        )
    title = f"{heading_of_kept(answer)}: {len(answer.kept)} of {answer.n_all}"
    rows: list[Sequence[KeptFeature | KeptGroup]] = [answer.kept, answer.kept_groups]
    return Sheet.of_items("kept", title, how_found(answer), fields, filter(None, rows), notes)


def name_of(row: _Described, answer: Recommendation) -> str:
    """Name of a feature or, with the number of its features in the table, of a group."""
    if isinstance(row, KeptGroup | DroppedGroup):
        what = "kept" if isinstance(row, KeptGroup) else "dropped"
        return f"{row.name} ({len(row.features)} {what})"
    return answer.feature_names[row.feature]


def note_on_groups(what: str, total: str) -> str:
    """Explain the rows of groups in a table or a figure of features."""
    return (
        f"Rows with a number, as in 'call (3 {what})', are groups of features that are paid once, "
        f"with their number of features that are {what}. The costs of all rows add up to {total}."
    )


def _kind(row: _Described) -> Entry:
    return Entry("group" if isinstance(row, KeptGroup | DroppedGroup) else "feature")


def _of_feature(show: Callable[[Any], Entry]) -> Callable[[_Described], Entry]:
    """Function that makes the entry of a feature, and an empty one of a group."""
    return lambda row: show(row) if isinstance(row, KeptFeature | DroppedFeature) else Entry("")


def groups_sheet(answer: Recommendation) -> Sheet:
    """What leaving out all features of a group, such as a call, would save and lose."""
    names, unit = answer.feature_names, answer.settings["cost_unit"]
    fields: Fields[KeptGroup] = {
        name_column("group"): lambda group: Entry(group.name),
        Column("features", importance=3): lambda group: Entry(len(group.features), ","),
        Column("cost", cost_heading(unit)): lambda group: Entry(group.cost, ".4g"),
        Column("saving", cost_heading(unit, "saves"), importance=4): (
            lambda group: Entry(group.saving, ".4g")
        ),
    }
    notes = ["saves: the cost of the group, and those of its features that are kept."]
    title = "What leaving out a whole group would save"
    if any(group.loss is not None for group in answer.kept_groups):
        title += " and lose"
        fields[Column("loss", "loses", importance=4)] = lambda group: _percent(group.loss)
        fields[Column("interval", align="left", importance=3)] = _interval
        notes.append(
            f"loses: of {answer.claim.measure}, relative to all features, with its 95% interval, "
            "if the ranker is trained on the features that are kept without those of the group. "
            "Measured as the loss without single features; other features may make up for some."
        )
    fields[text_column("names", importance=0)] = lambda group: Entry(
        ", ".join(names[feature] for feature in group.features)
    )
    return Sheet.of_items("groups", title, "", fields, [answer.kept_groups], notes)


def worth_of_kept(answer: Recommendation) -> str:
    """What the set to keep is worth if it is not shown, without the final period."""
    if not answer.dropped:
        return "All features: no smaller set is shown to be enough"
    risk = "" if answer.risk is None else "They are a risk: they are not shown to be enough. "
    return f"{risk}Most important first"


def how_found(answer: Recommendation) -> str:
    """What the set to keep is worth if it is not shown, and how the sets of features were found."""
    path = f", found by this path of sets: {answer.settings['path']}" if answer.dropped else ""
    return f"{worth_of_kept(answer)}{path}."


def dropped_sheet(answer: Recommendation, alone: Alone | None = None) -> Sheet:
    """The features to drop, with the reason; with ``alone``, also how well each ranks alone.

    Before them are the groups that no kept feature needs.
    """
    fields: Fields[DroppedFeature | DroppedGroup] = {
        name_column("feature"): lambda one: Entry(name_of(one, answer)),
        Column("kind", only_csv=True): _kind,
    }
    notes = []
    if answer.dropped_groups:
        saving = answer.price(answer.cost_of_all - answer.cost)
        notes.append(note_on_groups("dropped", f"the saving of {saving}"))
    if answer.has_costs:
        fields[_cost_column(answer)] = lambda one: Entry(one.cost, ".4g")
    if alone is not None:
        values = alone.values
        fields[Column("alone")] = _of_feature(lambda one: Entry(values[one.feature], ".4f"))
        notes.append(_alone_note(answer, alone))
    fields[text_column("reason", importance=2)] = lambda one: Entry(_reason(one, answer))
    title = f"Features to drop: {len(answer.dropped)}"
    rows: list[Sequence[DroppedFeature | DroppedGroup]] = [answer.dropped_groups, answer.dropped]
    return Sheet.of_items("dropped", title, "", fields, filter(None, rows), notes)


def _reason(one: DroppedFeature | DroppedGroup, answer: Recommendation) -> str:
    if isinstance(one, DroppedFeature):
        return one.reason
    return f"not needed at all: saves {answer.price(one.saving)} with its features"


def _alone_note(answer: Recommendation, alone: Alone) -> str:
    return (
        f"alone: {answer.claim.measure} if the feature alone ranks; documents in random order "
        f"reach {alone.chance:.4f}, where bars start."
    )


def heading_of_kept(answer: Recommendation) -> str:
    """What the named features are: to keep, or named without being shown to be enough."""
    return "Features to keep" if answer.risk is None or not answer.dropped else "Features at a risk"


def _cost_column(answer: Recommendation, **more: Any) -> Column:
    """Column of costs in their unit."""
    return Column("cost", cost_heading(answer.settings["cost_unit"]), **more)


def _percent(share: float | None, form: str = ".2%") -> Entry:
    return Entry(share, form)


def _interval(kept: KeptFeature | KeptGroup) -> Entry:
    if kept.lower is None or kept.upper is None:
        return Entry(None)
    return Entry(f"{100 * kept.lower:.2f} to {100 * kept.upper:.2f}%")


def substitutes_text(kept: KeptFeature, answer: Recommendation) -> str:
    """Near-copies of a feature, with similarity and cost; only the first few."""
    shown = []
    for one in kept.substitutes[:_SUBSTITUTES]:
        cost = f", cost {answer.price(one.cost)}" if answer.has_costs else ""
        shown.append(f"{one.name} ({one.similarity:.2f}{cost})")
    more = len(kept.substitutes) - _SUBSTITUTES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def shares_sheet(answer: Recommendation, evidence: Evidence, features: Sequence[int]) -> Sheet:
    """Share of the paths that have each of some features in their set, for each set."""
    kept = set(answer.features)
    fields: Fields[int] = {
        name_column("feature"): lambda feature: Entry(answer.feature_names[feature]),
        Column("recommended", align="left", importance=2): (
            lambda feature: Entry.yes(feature in kept)
        ),
    }
    for name, shares in zip(names_of_sets(answer), evidence.shares, strict=False):
        fields[Column(name)] = _share_of(shares)
    kind = "number of features"
    if answer.has_costs:
        kind = f"{cost_heading(answer.settings['cost_unit'])}, with the number of features"
    notes = [
        f"columns: {kind} of the sets of the curve; values: share of the paths, each built on "
        "other queries, that have the feature in their set."
    ]
    title = "Features in the sets of each path"
    return Sheet.of_items("shares", title, "", fields, [features], notes)


def _share_of(shares: Mapping[int, float]) -> Callable[[int], Entry]:
    return lambda feature: Entry(shares.get(feature, 0.0), ".2f")


def names_of_sets(answer: Recommendation) -> list[str]:
    """A short name for each set of the curve: its size, with costs also its cost."""
    names = [
        f"{point.cost:.4g} ({point.size})" if answer.has_costs else f"{point.size}"
        for point in answer.curve
    ]
    return [
        name if names.count(name) == 1 else f"{name}, set {place}"
        for place, name in enumerate(names, start=1)
    ]


def queries_sheet(answer: Recommendation, evidence: Evidence, n_shown: int = 20) -> Sheet:
    """The queries that lose and gain most with the recommended features."""
    judges = evidence.judges
    values = list(zip(judges.queries, judges.with_chosen, judges.with_all, strict=True))
    changes = [chosen - whole for _, chosen, whole in values]
    groups = [
        [
            [
                Entry(values[index][0]),
                Entry(changes[index], "+.4f"),
                *(Entry(value, ".4f") for value in values[index][1:]),
            ]
            for index in found
        ]
        for found in losses_and_gains(changes, n_shown)
    ]
    columns = [
        name_column("query"),
        *map(Column, ("change", "with recommended features", "with all features")),
    ]
    measure = answer.claim.measure
    title = f"Queries that lose and gain most {measure}"
    notes = [
        f"change: {measure} with the sets of the recommended cost that were found without the "
        "query, minus that with all features, each the mean over the repeats; at most "
        f"{n_shown} losses and {n_shown} gains."
    ]
    return Sheet("queries", title, "", columns, [group for group in groups if group], notes)


def spent_sheet(evidence: Evidence) -> Sheet:
    """Fits and seconds of each method."""
    fields: Fields[Spent] = {
        name_column("method"): lambda one: Entry(one.method),
        Column("fits"): lambda one: Entry(one.fits, ","),
        Column("seconds", "seconds in all"): lambda one: Entry(one.seconds, ".3g"),
    }
    again = f", {quantity(evidence.n_resumed, 'fit')} of an earlier run among them"
    again = again if evidence.n_resumed > 0 else ""
    notes = [f"The last run took {evidence.elapsed:.3g} s from the start to the answer{again}."]
    if evidence.repeats:
        times = quantity(evidence.repeats, "time")
        notes.append(f"Each query judged up to {times}. {noise_in_words(evidence)}")
    return Sheet.of_items("work", "Work of each method", "", fields, [evidence.spent], notes)


def noise_in_words(evidence: Evidence) -> str:
    """How much of what is seen is the luck of single trainings."""
    if evidence.repeats < 2:
        return "Nothing was repeated, so the noise of training is not known apart."
    return (
        f"Of the variance between queries, {percent(evidence.noise)} is the noise of training, "
        "which more repeats would lower."
    )
