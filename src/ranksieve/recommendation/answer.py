"""The answer of a recommendation: features, claim, and facts about each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Any, Literal, NamedTuple, TypedDict

from ranksieve.costs import format_cost
from ranksieve.costs.units import check_unit
from ranksieve.data import DataError
from ranksieve.data.columns import Columns
from ranksieve.data.missing import Missing
from ranksieve.frames import Library, make_frame
from ranksieve.io.model import TrainedOn
from ranksieve.io.records import convert_record, to_json
from ranksieve.recommendation.claim import Claim, loss_in_words, percent
from ranksieve.recommendation.evidence import Evidence
from ranksieve.recommendation.tables import Table, columns_of
from ranksieve.reported import Reported
from ranksieve.significance.claims import check_margin
from ranksieve.sums.drift import FeatureValues
from ranksieve.sums.suspicions import Suspicion
from ranksieve.text import quantity

_INFINITE = {"lower": -inf, "upper": inf, "bound": -inf, "queries_needed": inf}
OFFERED_MARGINS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
"""Margins for which the cheapest set is offered, besides the one that is asked for."""


@dataclass(frozen=True)
class Substitute:
    """A feature that orders documents almost as another one does."""

    feature: int  # 0-based index
    name: str
    similarity: float
    cost: float


@dataclass(frozen=True)
class KeptFeature:
    """A recommended feature.

    Attributes
    ----------
    feature : int
        0-based index.
    name : str
    cost : float
        Cost of the feature, excluding the cost of its group.
    loss, lower, upper : float or None
        Loss without the feature, relative to the mean with all features, and the ends of its
        confidence interval.
    stability, cluster_stability : float or None
        Share of the paths of the cross-fitting that have the feature in their set of the
        recommended cost, and share of those that have it or a near-copy.
    substitutes : sequence of Substitute
    """

    feature: int
    name: str
    cost: float
    loss: float | None = None
    lower: float | None = None
    upper: float | None = None
    stability: float | None = None
    cluster_stability: float | None = None
    substitutes: Sequence[Substitute] = ()


@dataclass(frozen=True)
class KeptGroup:
    """A group, such as a call, that recommended features need and that is paid once for them.

    Attributes
    ----------
    name : str
    cost : float
        Cost of the group, excluding the costs of its features.
    features : list of int
        The recommended features of the group, 0-based.
    saving : float
        What leaving out all of these saves: the cost of the group and their own.
    loss, lower, upper : float or None
        Loss without all of these, as that of :class:`KeptFeature`.
    """

    name: str
    cost: float
    features: list[int]
    saving: float
    loss: float | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class DroppedGroup:
    """A group that no recommended feature needs, the features of it, and what that saves."""

    name: str
    cost: float  # excluding the costs of its features
    features: list[int]
    saving: float  # including them


@dataclass(frozen=True)
class DroppedFeature:
    """A feature that is not recommended, and the reason."""

    feature: int  # 0-based index
    name: str
    cost: float
    reason: str


@dataclass(frozen=True)
class Reference:
    """A kept feature at the time of the recommendation, for comparison with later data.

    Attributes
    ----------
    alone, error : float
        Mean over queries of the measure if the feature alone ranks, and its standard error.
    direction : int
        1 if large values are good, -1 if small ones are.
    values : FeatureValues or None
        Its values in the data as it was given; None for indicators of missing values.
    categories : sequence of str
        Names of its categories, in the order of their codes; empty for numbers.
    """

    alone: float
    error: float
    direction: Literal[1, -1]
    values: FeatureValues | None
    categories: Sequence[str] = ()


@dataclass(frozen=True, repr=False)
class CurvePoint:
    """A set of features, what it costs, and what it loses at most.

    Attributes
    ----------
    features : list of int
        0-based indices, most important first.
    cost : float
    change : float
        Change of the measure relative to all features: the mean over the judging queries, smoothed
        over neighboring sets.
    error : float
        Standard error of the change, over queries and paths.
    bound : float
        Lower bound of the change that holds for all sets of the curve at once.
    """

    features: list[int]
    cost: float
    change: float
    error: float
    bound: float

    def __repr__(self) -> str:
        return (
            f"<CurvePoint: {quantity(self.size, 'feature')}, cost {self.cost:.4g}, change "
            f"{self.change:+.2%}, bound {self.bound:+.2%}>"
        )

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.features)


class Offer(NamedTuple):
    """The cheapest set that is shown to lose less than a margin."""

    margin: float
    point: CurvePoint


class Settings(TypedDict):
    """What a recommendation was asked for, by whom it can be repeated and checked."""

    ranksieve: str
    fingerprint: str
    division: str
    measure: str
    convention: str
    scale: str
    missing: str
    ranker: str
    ranker_parameters: dict[str, Any]
    path: str
    margin: float
    budget: float | None
    level: float
    seed: int
    include: list[str]
    exclude: list[str]
    treated: Missing | None
    columns: Columns | None  # of the table; None if it was no table
    costs: dict[str, dict[str, Any]]
    cost_unit: str  # empty if it is not known


@dataclass(frozen=True, repr=False)
class Recommendation(Reported):
    """The recommended features, what they lose at most, what else can be had, and the evidence.

    Attributes
    ----------
    title : str
        Name of the data.
    feature_names : list of str
        All features of the data.
    features : list of int
        The features to keep, 0-based, most important first. All that are not excluded if no smaller
        set is shown to be enough.
    claim : Claim
        What cross-fitting shows of them.
    cost, cost_of_all : float
    has_costs : bool
        Whether costs were given; otherwise every feature costs 1.
    curve : list of CurvePoint
        Sets of rising cost with bounds that hold together, so any of them may be picked.
    kept, dropped : list
        Facts about each feature.
    kept_groups, dropped_groups : list
        Facts about each group of features that is paid once, the largest saving first. The costs of
        ``kept`` and of these add up to ``cost``, those of all to ``cost_of_all``.
    settings : dict
        Measure, convention, ranker, margin and more, for readers and for :func:`check`.
    suspicions : list of Suspicion
        Why features should perhaps not be used: leaks, outcomes, positions, copies, constants.
    warnings : list of str
        What changes the meaning of the answer, such as a time limit that was reached.
    notes : list of str
        What else was left out, and why.
    reference : dict
        How well each kept feature ranks alone and its values, by name, for :func:`check`.
    confirmed : Claim or None
        Claim about the features, from queries that had no part in the recommendation: the test
        queries of a split, or those to confirm by.
    models : dict
        Checksum of each model file, by name; empty if there are none.
    trained_on : TrainedOn or None
        The queries that trained these models; None if there are none.
    evidence : Evidence or None
        The evidence, for the report; None if it was not stored.
    """

    title: str
    feature_names: list[str]
    features: list[int]
    claim: Claim
    cost: float
    cost_of_all: float
    has_costs: bool
    curve: list[CurvePoint]
    kept: list[KeptFeature]
    dropped: list[DroppedFeature]
    settings: Settings
    kept_groups: list[KeptGroup] = field(default_factory=list)
    dropped_groups: list[DroppedGroup] = field(default_factory=list)
    suspicions: list[Suspicion] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reference: dict[str, Reference] = field(default_factory=dict)
    confirmed: Claim | None = None
    models: dict[str, str] = field(default_factory=dict)
    trained_on: TrainedOn | None = None
    evidence: Evidence | None = None

    _figure = "curve"

    @property
    def names(self) -> list[str]:
        """Names of the features to keep."""
        return [self.feature_names[feature] for feature in self.features]

    @property
    def n_all(self) -> int:
        """Number of features that are not excluded."""
        return len(self.kept) + len(self.dropped)

    @property
    def recommended(self) -> CurvePoint | None:
        """The point of the curve that is recommended; None if all features are."""
        return next((one for one in self.curve if one.features == self.features), None)

    @property
    def whole(self) -> CurvePoint:
        """The set of all features that are not excluded; nothing is claimed about it."""
        every = [*self.features, *(one.feature for one in self.dropped)]
        return CurvePoint(every, self.cost_of_all, 0.0, 0.0, -inf)

    @property
    def offers(self) -> list[Offer]:
        """What can be had: the asked margin, if its set is shown, then larger and smaller ones.

        Each offer is the cheapest set that is shown to lose less than its margin, and each set is
        offered for the smallest such margin. All offers hold together.
        """
        asked = self.settings["margin"]
        margins = [asked, *(margin for margin in OFFERED_MARGINS if margin != asked)]
        offers: list[Offer] = []
        for margin in [asked, *sorted(margins[1:])]:
            point = cheapest_within(self.curve, margin)
            if point is not None and all(point != other.point for other in offers):
                offers.append(Offer(margin, point))
        return offers

    @property
    def is_shown(self) -> bool:
        """Whether the features are shown to be enough, by test queries or by cross-fitting.

        Test queries that are too few to show it do not contradict cross-fitting unless their mean
        loss is as large as the margin.
        """
        test = self.confirmed
        if test is None:
            return self.claim.is_shown
        return test.is_shown or (self.claim.is_shown and test.change > -test.margin)

    @property
    def budget_that_binds(self) -> float | None:
        """The budget, unless all features together are within it."""
        budget = self.settings["budget"]
        return None if budget is None or self.cost_of_all <= budget else budget

    @property
    def risk(self) -> CurvePoint | None:
        """A set to keep at a risk, if no smaller one is shown to be enough; None if there is none.

        It is the named one that was not confirmed or, if all features are recommended, the cheapest
        whose mean loss is at most half the margin.
        """
        if self.is_shown or self.budget_that_binds is not None:
            return None
        return self.recommended or likely_within(self.curve, self.settings["margin"])

    @property
    def advice(self) -> str:
        """The advice in one sentence."""
        budget = self.budget_that_binds
        every = "the only feature" if self.n_all == 1 else f"all {self.n_all} features"
        if self.risk is not None:
            return f"Keep {every}, or take a risk: {self._in_words(self.risk)}."
        if len(self.features) == self.n_all:
            return f"Keep {every}."
        if not self.features:
            if budget is not None:
                return f"Keep no feature: nothing helps within the budget of {self.price(budget)}."
            return "No feature helps: with none of them, documents rank as well as with all."
        advice = f"Keep {len(self.features)} of {quantity(self.n_all, 'feature')}"
        if self.has_costs:
            advice += f", which cost {self.price(self.cost)} instead of "
            advice += self.price(self.cost_of_all)
        if budget is not None:
            advice += f", the best within the budget of {self.price(budget)}"
        return f"{advice}."

    def price(self, cost: float) -> str:
        """A cost with its unit, for readers."""
        return format_cost(cost, self.settings["cost_unit"])

    def _in_words(self, point: CurvePoint) -> str:
        """Say what a set costs, loses on average and may lose, if it was tested on the test."""
        test = self.confirmed
        change, bound, where = point.change, point.bound, ""
        if test is not None:
            change, bound, where = test.change, test.bound, " on the test queries"
        most = loss_in_words(bound) if isfinite(bound) else "more than these queries can tell"
        ending = "s" if point.size == 1 else ""
        costs = f"cost{ending} {self.price(point.cost)}, " if self.has_costs else ""
        return (
            f"{quantity(point.size, 'feature')}, which {costs}lose{ending} "
            f"{loss_in_words(change)} on average{where}, and may lose {most}"
        )

    @property
    def claims(self) -> list[Claim]:
        """The claim and, if there is one, that of the confirming queries."""
        return [self.claim, *([self.confirmed] if self.confirmed else [])]

    @property
    def sentence(self) -> str:
        """The advice and the claims, in a few sentences."""
        return " ".join([self.advice, *(claim.sentence for claim in self.claims)])

    @property
    def protocol(self) -> str:
        """The settings that are needed to reproduce the recommendation, in one sentence."""
        used = self.settings
        values = ", ".join(f"{n}={v}" for n, v in used["ranker_parameters"].items())
        ranker = used["ranker"] + (f" ({values})" if values else "")
        budget = "" if used["budget"] is None else f", budget {self.price(used['budget'])}"
        models = (
            "" if self.trained_on is None else f"; models trained on {self.trained_on.in_words}"
        )
        return (
            f"Ranker {ranker}; {used['measure']} ({used['convention']}); queries: "
            f"{used['division']}; path: {used['path']}; margin {percent(used['margin'])}"
            f"{budget}{models}; seed {used['seed']}; ranksieve {used['ranksieve']}; "
            f"data {used['fingerprint']:.12}."
        )

    @property
    def in_short(self) -> str:
        """The advice and what is claimed of it, in one sentence."""
        claimed = self.claims[-1].headline
        return f"{self.advice.removesuffix('.')}; {claimed[:1].lower()}{claimed[1:]}"

    def to_frame(self, table: Table = "features", *, library: Library | None = None) -> Any:
        """Return a table of the answer as a frame of pandas or polars.

        Parameters
        ----------
        table : {"features", "groups", "curve", "offers"}
            The features that are not excluded, those to keep first, with the attributes of
            :class:`KeptFeature` and the reason to drop the others; the groups that are paid once,
            likewise; the sets of the curve, with the attributes of :class:`CurvePoint`; or what can
            be had for other margins.
        library : {"pandas", "polars"}, optional
            See :func:`ranksieve.frames.make_frame`.
        """
        return make_frame(columns_of(self, table), library)

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values, without the evidence; :meth:`from_record` is the inverse."""
        record = to_json(replace(self, evidence=None))
        del record["evidence"]
        return record

    @classmethod
    def from_record(cls, record: Any) -> Recommendation:
        """Restore what :meth:`to_record` returned; raises DataError unless its parts fit."""
        if isinstance(record, dict):  # JSON has no infinities
            claims = {n: restore_infinities(record.get(n)) for n in ("claim", "confirmed")}
            record = record | claims
        answer = convert_record(record, cls)
        known = range(len(answer.feature_names))
        described = [kept.feature for kept in answer.kept]
        substitutes = [one for kept in answer.kept for one in kept.substitutes]
        single: list[KeptFeature | DroppedFeature | Substitute] = [
            *answer.kept,
            *answer.dropped,
            *substitutes,
        ]
        others = [one.feature for one in single]
        others += [feature for point in answer.curve for feature in point.features]
        groups: list[KeptGroup | DroppedGroup] = [*answer.kept_groups, *answer.dropped_groups]
        others += [feature for group in groups for feature in group.features]
        treated = answer.settings["treated"]
        others += [] if treated is None else list(treated.indicated)
        if not all(feature in known for feature in [*answer.features, *described, *others]):
            raise DataError("it lists features that the data does not have")
        for one in single:
            if one.name != answer.feature_names[one.feature]:
                raise DataError(f"feature {one.feature} is not {one.name!r:.60}")
        if described != answer.features:
            raise DataError("'kept' does not describe the features to keep")
        named = answer.recommended or answer.whole
        if named.cost != answer.cost or sorted(named.features) != sorted(answer.features):
            raise DataError("'curve' does not have the features to keep at their 'cost'")
        if not set(answer.reference) <= set(answer.names):
            raise DataError("'reference' has features that are not kept")
        if (answer.trained_on is None) != (not answer.models):
            raise DataError("'trained_on' should say which queries trained the models")
        try:
            check_margin(answer.settings["margin"], answer.settings["level"])
            check_unit(answer.settings["cost_unit"])
            assert answer.sentence  # texts can be made, also of the costs
            assert answer.protocol
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"settings: {error}") from None
        return answer


def cheapest_within(curve: Sequence[CurvePoint], margin: float) -> CurvePoint | None:
    """The cheapest set whose bound is above minus the margin; of equally cheap ones the surest."""
    enough = [point for point in curve if point.bound > -margin]
    return min(enough, key=lambda point: (point.cost, -point.bound), default=None)


def likely_within(curve: Sequence[CurvePoint], margin: float) -> CurvePoint | None:
    """The cheapest set whose mean loss is at most half the margin."""
    likely = [point for point in curve if point.change >= -margin / 2]
    return min(likely, key=lambda point: (point.cost, -point.bound), default=None)


def restore_infinities(record: Any) -> Any:
    """Replace None by the infinity that it stands for in JSON."""
    if not isinstance(record, dict):
        return record
    return {n: _INFINITE.get(n) if value is None else value for n, value in record.items()}
