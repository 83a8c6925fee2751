"""The result of a recommendation: features, claim, and facts about each feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from ranksieve.costs import FeatureCosts
from ranksieve.io.model import TrainedOn
from ranksieve.io.records import convert_record
from ranksieve.io.typed import to_json_values
from ranksieve.recommendation.evidence import Evidence
from ranksieve.recommendation.verdict import Verdict, percent
from ranksieve.study.results import BASE
from ranksieve.text import quantity


class Substitute(NamedTuple):
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


class DroppedFeature(NamedTuple):
    """A feature that is not recommended, and the reason."""

    feature: int
    cost: float
    reason: str


class FrontPoint(NamedTuple):
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
    is_shown: bool | None
    is_front: bool


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
    claim : Verdict
        Verdict about the procedure, or about the features if the data came with test queries.
    confirmed : Verdict or None
        Verdict about the features, from queries that had no part in the recommendation.
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
    claim: Verdict
    cost: float
    cost_of_all: float
    has_costs: bool
    front: list[FrontPoint]
    kept: list[KeptFeature]
    dropped: list[DroppedFeature]
    settings: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    reference: dict[str, list[float]] = field(default_factory=dict)
    confirmed: Verdict | None = None
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
    def claims(self) -> list[Verdict]:
        """The claim and, if there is one, the verdict of the confirming queries."""
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
        """Convert to JSON values, without the evidence; :meth:`of_record` is the inverse."""
        record: dict[str, Any] = to_json_values(replace(self, evidence=None))
        del record["evidence"]
        return record

    @classmethod
    def of_record(
        cls, record: Mapping[str, Any], evidence: Evidence | None = None
    ) -> Recommendation:
        """Restore what :meth:`to_record` wrote; raises KeyError or TypeError if it is invalid."""
        parts = {f.name: record[f.name] for f in fields(cls) if f.name != "evidence"}
        for name in ("claim", "confirmed"):
            parts[name] = parts[name] and Verdict.of_record(parts[name])
        if parts["trained_on"] is not None:
            parts["trained_on"] = convert_record(parts["trained_on"], TrainedOn)
        parts["dropped"] = [DroppedFeature(**dropped) for dropped in parts["dropped"]]
        parts["kept"] = [
            KeptFeature(
                **kept | {"substitutes": tuple(Substitute(**s) for s in kept["substitutes"])}
            )
            for kept in parts["kept"]
        ]
        parts["front"] = [
            FrontPoint(**point | {"lower": -np.inf if point["lower"] is None else point["lower"]})
            for point in parts["front"]
        ]
        return cls(**parts, evidence=evidence)
