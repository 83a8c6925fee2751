"""The answer of a recommendation: features, claim, facts about each feature, and evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, TypedDict

import msgspec
import numpy as np

from ranksieve.costs import FeatureCosts
from ranksieve.data import DataError
from ranksieve.data.missing import Missing
from ranksieve.io.model import TrainedOn
from ranksieve.io.records import convert_record
from ranksieve.recommendation.claim import Claim, percent
from ranksieve.significance.claims import check_margin
from ranksieve.study.results import BASE
from ranksieve.text import quantity

_INFINITE = {"lower": -inf, "upper": inf, "bound": -inf, "queries_needed": inf}
_REFERENCE = 4  # number of values in ``reference`` for each feature


@dataclass(frozen=True)
class Substitute:
    """A feature that orders documents almost as another one does."""

    feature: int
    similarity: float
    cost: float


@dataclass(frozen=True)
class KeptFeature:
    """A recommended feature.

    Attributes
    ----------
    feature : int
        0-based index.
    cost : float
        Cost of the feature, excluding the cost of its group.
    loss, lower, upper : float or None
        Loss without the feature, relative to the mean with all features, and the ends of its
        confidence interval.
    stability, cluster_stability : float or None
        Share of random halves of the queries on which the feature is selected, and on which it or
        a near-copy is selected.
    substitutes : sequence of Substitute
    """

    feature: int
    cost: float
    loss: float | None = None
    lower: float | None = None
    upper: float | None = None
    stability: float | None = None
    cluster_stability: float | None = None
    substitutes: Sequence[Substitute] = ()


@dataclass(frozen=True)
class DroppedFeature:
    """A feature that is not recommended, and the reason."""

    feature: int
    cost: float
    reason: str


@dataclass(frozen=True)
class FrontPoint:
    """A candidate set of features, with its cost and quality.

    Attributes
    ----------
    selector : str
    size : int
    cost : float
    value, change : float
        Mean of the measure, and its change relative to all features.
    lower : float
        One-sided lower confidence bound of the change, for the candidate alone.
    is_shown : bool or None
        Whether it is shown to lose less than the margin, corrected for multiple tests. None if it
        was not tested, because its size was not fixed in advance or the judging queries were not
        used.
    is_front : bool
        Whether the candidate is on the Pareto front: no cheaper one is as good.
    """

    selector: str
    size: int
    cost: float
    value: float
    change: float
    lower: float
    is_shown: bool | None = None
    is_front: bool = False


@dataclass(frozen=True)
class JudgedPart:
    """A part of the queries: what the procedure chose without it, and the values of its queries."""

    part: str  # name of the part of the queries
    selector: str
    size: int  # number of features requested from the selector
    cost: float
    features: list[int]
    queries: list[str]  # ids of the judging queries
    with_all: list[float]  # value of each query with all features
    with_chosen: list[float]  # value of each query with the chosen features
    weights: list[float] | None  # of the queries


@dataclass(frozen=True)
class Likeness:
    """How similarly features order documents: mean over queries of abs(tau_b).

    At most 150 features are compared: the recommended ones and their near-copies take precedence,
    then those that rank best alone.
    """

    features: list[int]
    values: list[list[float]]  # row i has the similarities of features[i] to features[:i]

    @property
    def matrix(self) -> np.ndarray:
        """Symmetric matrix of the similarities of all pairs."""
        full = np.eye(len(self.features))
        for i, row in enumerate(self.values):
            full[i, :i] = full[:i, i] = row
        return full


@dataclass(frozen=True)
class Alone:
    """How well each feature ranks alone, in the better direction (1, or -1 if small is good)."""

    values: list[float]
    directions: list[int]


@dataclass(frozen=True)
class Spent:
    """Number of fits of a selector or ranker, and their total time in seconds over all threads."""

    method: str
    fits: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of a recommendation, for its report; fields are in the order of the file."""

    elapsed: float  # duration of the last run in seconds
    n_resumed: int  # number of fits that the last run took from the ledger
    versions: dict[str, str]  # of Python and of packages
    command: list[str] = field(default_factory=list)  # the command line, if there was one
    alone: Alone  # values of all features, on all queries
    likeness: Likeness
    outcomes: list[JudgedPart]  # one for each judging part of the queries
    spent: list[Spent]

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return to_json(self)

    @classmethod
    def from_record(cls, record: Any, n_features: int) -> Evidence:
        """Restore what :meth:`to_record` returned; raises DataError if it does not fit the data."""
        evidence = convert_record(record, cls)
        alone, likeness = evidence.alone, evidence.likeness
        for features in (likeness.features, *(part.features for part in evidence.outcomes)):
            if not set(features) <= set(range(n_features)) or len(set(features)) < len(features):
                raise DataError("it lists features that the data does not have, or a feature twice")
        if not len(alone.values) == len(alone.directions) == n_features:
            raise DataError(f"'alone' should have numbers for {n_features} features")
        if [len(row) for row in likeness.values] != list(range(len(likeness.features))):
            raise DataError("'likeness' should have a row for each feature")
        if not all(0 <= value <= 1 for row in likeness.values for value in row):
            raise DataError("'likeness' should have similarities between 0 and 1")
        for part in evidence.outcomes:
            values = part.with_all, part.with_chosen, part.weights
            if any(v is not None and len(v) != len(part.queries) for v in values):
                raise DataError("'outcomes' should have a value for each query")
        return evidence


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
    selectors: list[str]
    rule: str
    margin: float
    budget: float | None
    level: float
    seed: int
    include: list[str]
    exclude: list[str]
    treated: Missing | None
    costs: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Recommendation:
    """The recommended features, the claim about them, and the evidence.

    Attributes
    ----------
    title : str
        Name of the data.
    feature_names : list of str
        All features of the data.
    features : list of int
        The features to keep, 0-based, in the order of the selector.
    selector : str
        The winning selector; ``"all"`` if no selection is enough, ``"none"`` if no feature helps.
    size : int
        Number of features requested from the selector. To save costs, some of them may have been
        removed or replaced, see :attr:`is_pruned`.
    claim : Claim
        Claim about the procedure, or about the features if the data came with test queries.
    cost, cost_of_all : float
    has_costs : bool
        Whether costs were given; otherwise every feature costs 1.
    front : list of FrontPoint
    kept, dropped : list
        Facts about each feature.
    settings : dict
        Measure, convention, ranker, margin and more, for readers and for :func:`check`.
    notes : list of str
        What was left out, and why.
    reference : dict
        How well each kept feature ranks alone, for :func:`check`.
    confirmed : Claim or None
        Claim about the features, from queries that had no part in the recommendation.
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
    selector: str
    size: int
    claim: Claim
    cost: float
    cost_of_all: float
    has_costs: bool
    front: list[FrontPoint]
    kept: list[KeptFeature]
    dropped: list[DroppedFeature]
    settings: Settings
    notes: list[str] = field(default_factory=list)
    reference: dict[str, list[float]] = field(default_factory=dict)
    confirmed: Claim | None = None
    models: dict[str, str] = field(default_factory=dict)
    trained_on: TrainedOn | None = None
    evidence: Evidence | None = None

    @property
    def names(self) -> list[str]:
        """Names of the features to keep."""
        return [self.feature_names[feature] for feature in self.features]

    @property
    def selected_points(self) -> list[FrontPoint]:
        """Candidates that a selector chose, without all features and no features."""
        return [point for point in self.front if point.selector not in (BASE, "none")]

    @property
    def selectors(self) -> list[str]:
        """Selectors of the candidates, in order."""
        return list(dict.fromkeys(point.selector for point in self.selected_points))

    @property
    def point_of_all(self) -> FrontPoint:
        """The candidate with all features."""
        return next(point for point in self.front if point.selector == BASE)

    def is_recommended(self, point: FrontPoint) -> bool:
        """Whether a candidate is the recommended one."""
        return (point.selector, point.size) == (self.selector, self.size)

    @property
    def is_pruned(self) -> bool:
        """Whether expensive features were removed or replaced where the others are enough."""
        costs = FeatureCosts.make(self.settings["costs"], self.feature_names)
        return costs.aligned(self.feature_names).vary and self.settings["rule"] != "best"

    @property
    def advice(self) -> str:
        """The advice in one sentence."""
        n_all = len(self.kept) + len(self.dropped)
        advice = f"Keep {len(self.features)} of {quantity(n_all, 'feature')}"
        if self.selector == "none":
            advice = "No feature helps: with none of them, documents rank as well as with all"
            if self.settings["budget"] is not None:
                budget = f"{self.settings['budget']:.4g}"
                advice = f"Keep no feature: nothing helps within the budget of {budget}"
        elif self.selector == "all" and not self.dropped:
            every = "the only feature" if n_all == 1 else f"all {n_all} features"
            advice = f"Keep {every}: no cheaper set that was tried is enough"
        elif self.has_costs:
            advice += f", which cost {self.cost:.4g} instead of {self.cost_of_all:.4g}"
        return f"{advice}."

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
        budget = "" if used["budget"] is None else f", budget {used['budget']:.4g}"
        models = (
            "" if self.trained_on is None else f"; models trained on {self.trained_on.in_words}"
        )
        return (
            f"Ranker {ranker}; {used['measure']} ({used['convention']}); queries: "
            f"{used['division']}; selectors: {'; '.join(used['selectors'])}; rule {used['rule']}, "
            f"margin {percent(used['margin'])}{budget}{models}; seed {used['seed']}; ranksieve "
            f"{used['ranksieve']}; data {used['fingerprint']:.12}."
        )

    def to_record(self) -> dict[str, Any]:
        """Convert to JSON values, without the evidence; :meth:`from_record` is the inverse."""
        record = to_json(replace(self, evidence=None))
        del record["evidence"]
        return record

    @classmethod
    def from_record(cls, record: Any) -> Recommendation:
        """Restore what :meth:`to_record` returned; raises DataError unless its parts fit."""
        if isinstance(record, dict):  # JSON has no infinities
            claims = {n: _restore_infinities(record.get(n)) for n in ("claim", "confirmed")}
            front = record.get("front")
            front = [*map(_restore_infinities, front)] if isinstance(front, list) else front
            record = record | claims | {"front": front}
        answer = convert_record(record, cls)
        known = range(len(answer.feature_names))
        described = [kept.feature for kept in answer.kept]
        others = [dropped.feature for dropped in answer.dropped]
        others += [substitute.feature for kept in answer.kept for substitute in kept.substitutes]
        treated = answer.settings["treated"]
        others += [] if treated is None else list(treated.indicated)
        if not all(feature in known for feature in [*answer.features, *described, *others]):
            raise DataError("it lists features that the data does not have")
        if described != answer.features:
            raise DataError("'kept' does not describe the features to keep")
        # Without time, nothing was tried or tested.
        was_tried = bool(answer.front) or answer.claim.n_queries > 0
        if was_tried and BASE not in {point.selector for point in answer.front}:
            raise DataError("the candidates in 'front' do not include all features")
        if not all(len(row) == _REFERENCE for row in answer.reference.values()):
            raise DataError(f"'reference' should have {_REFERENCE} numbers for each feature")
        if (answer.trained_on is None) != (not answer.models):
            raise DataError("'trained_on' should say which queries trained the models")
        try:
            check_margin(answer.settings["margin"], answer.settings["level"])
            assert answer.sentence  # texts can be made, also of the costs
            assert answer.protocol
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"settings: {error}") from None
        return answer


def to_json(value: Any) -> dict[str, Any]:
    """Convert a record to JSON values; numbers that are not finite become None."""
    text = json.dumps(msgspec.to_builtins(value, str_keys=True))  # as ASCII: names may be no UTF-8
    record: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)
    return record


def _restore_infinities(record: Any) -> Any:
    """Replace None by the infinity that it stands for in JSON."""
    if not isinstance(record, dict):
        return record
    return {n: _INFINITE.get(n) if value is None else value for n, value in record.items()}
