"""The task of a recommendation: the rule that chooses, the selectors, the ranker and costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from ranksieve._version import __version__
from ranksieve.base.choices import feature_indices, listed_features
from ranksieve.choosing import ROUNDING
from ranksieve.costs import FeatureCosts
from ranksieve.data import DataError
from ranksieve.data.missing import has_missing
from ranksieve.data.ranking_data import fingerprint
from ranksieve.metrics import get_convention
from ranksieve.rankers.base import LinearRanker
from ranksieve.rankers.gradient import GradientRanker
from ranksieve.recommendation.cells import PlannedCell, Procedure, RankingCell
from ranksieve.recommendation.division import Division, TrainingSet
from ranksieve.registry import Method
from ranksieve.significance.samples import Sample
from ranksieve.study.cells import SelectionCell
from ranksieve.study.plan import Plan, make_study_selector

ALL, NONE = "all", "none"
"""Names of the candidates that need no selector: all features, and no features."""
RuleName = Literal["half-margin", "safe", "one-se", "best"]
RULES = ("half-margin", "safe", "one-se", "best")

_FIRST = 60  # number of features first requested from a selector
_STEP = 1.5  # factor between sizes
_BY_COST = ", by cost"  # ends the names of selectors that weigh costs


class Candidate(NamedTuple):
    """The first ``size`` features of a selector, selected in each of the choosing folds."""

    selector: str
    size: int
    cost: float  # mean over the folds
    values: np.ndarray  # (queries,): value of each choosing query


@dataclass(frozen=True)
class Rule:
    """Chooses a candidate from the values of the choosing queries.

    Three rules choose the cheapest candidate that is enough: its mean loss is at most half the
    margin (``"half-margin"``), its loss plus one standard error is within the margin (``"safe"``),
    or its loss is within one standard error (``"one-se"``). ``"best"`` chooses the best mean.
    """

    name: RuleName = "half-margin"
    margin: float = 0.01  # largest acceptable loss, relative to the mean with all features
    budget: float | None = None  # largest cost; with one, the best candidate within it is chosen

    def __post_init__(self) -> None:
        if self.name not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {self.name!r:.60}")
        if not (isinstance(self.margin, Real) and 0 < self.margin < 1):
            raise ValueError(f"margin must lie between 0 and 1, got {self.margin!r:.60}")
        if self.budget is not None and not (
            isinstance(self.budget, Real) and 0 <= self.budget < np.inf
        ):
            raise ValueError(
                f"budget must be a finite number of at least 0, got {self.budget!r:.60}"
            )
        # Numbers of numpy cannot all be written as JSON.
        object.__setattr__(self, "margin", float(self.margin))
        object.__setattr__(self, "budget", None if self.budget is None else float(self.budget))

    def is_enough(self, values: np.ndarray, base: np.ndarray, weights: np.ndarray | None) -> bool:
        """Whether values are nearly as good as those with all features."""
        loss = Sample.of(base - values, weights)
        allowed = self.margin * Sample.of(base, weights).mean
        if self.name == "half-margin":
            return loss.mean <= allowed / 2 + ROUNDING
        if self.name == "safe":
            return loss.mean + loss.error <= allowed + ROUNDING
        return self.name == "one-se" and loss.mean <= loss.error + ROUNDING

    def is_affordable(self, cost: float) -> bool:
        """Whether a cost is within the budget."""
        return self.budget is None or cost <= self.budget * (1 + ROUNDING)

    def choose(
        self, candidates: Sequence[Candidate], base: np.ndarray, weights: np.ndarray | None
    ) -> Candidate:
        """Choose the cheapest affordable candidate that is enough, or else the best one.

        With a budget, always choose the best. Of equally cheap candidates, the better one wins.
        """
        affordable = [one for one in candidates if self.is_affordable(one.cost)]
        enough = [one for one in affordable if self.is_enough(one.values, base, weights)]

        def mean(one: Candidate) -> float:
            return Sample.of(one.values, weights).mean

        if enough and self.budget is None:
            return min(enough, key=lambda one: (round(one.cost, 9), -mean(one), one.size))
        return max(affordable, key=lambda one: (round(mean(one), 12), -one.cost, -one.size))


class Task:
    """What to recommend: data, selectors, a ranker, costs, the rule that chooses, and a level.

    ``costs`` are those that the user gave, in any form; None if there are none.
    """

    def __init__(
        self, plan: Plan, division: Division, rule: Rule, level: float, costs: Any
    ) -> None:
        self.plan, self.division, self.rule, self.level = plan, division, rule, level
        self.names = [str(name) for name in division.whole.feature_names]
        self.named_costs = FeatureCosts.make(costs, self.names)
        self.has_costs = costs is not None and self.named_costs.total(self.names) > 0
        if not self.has_costs:
            self.named_costs = FeatureCosts.make(None, self.names)
        self.costs = self.named_costs.aligned(self.names)
        feature_indices("keep", plan.include, self.names)  # by the name that users know
        listed = listed_features(plan.include, plan.exclude, {}, self.names)
        self.include = tuple(listed.include)  # features that are always chosen
        excluded = set(listed.exclude)
        # All features that may be chosen.
        self.allowed = tuple(f for f in range(len(self.names)) if f not in excluded)
        self.notes: list[str] = []  # what was left out, and why
        self.members = self._find_members()
        if costs is not None and not self.has_costs:
            self.notes.append("No feature costs anything: the fewest features are recommended.")
        if not self.members:
            raise DataError("none of the selectors accepts missing values: fill them in")
        (self.ranker,) = plan.rankers
        # Whether an empty set of features is a candidate.
        self.allows_none = get_convention(plan.convention).averages_ties
        # Returns whether time is up; then only work that a choice requires is done.
        self.is_over: Callable[[], bool] = lambda: False
        least = self.costs.total(self.include)
        if rule.budget is not None and least > rule.budget:
            raise DataError(
                f"the features to keep cost {least:.4g}, which is more than the budget of "
                f"{rule.budget:.4g}"
            )

    def _find_members(self) -> dict[str, SelectionCell]:
        """Selectors by name, with costs if they use any: cells that select one feature."""
        whole, members = self.division.whole, {}
        keeps_missing = whole.keeps_missing and has_missing(whole.X)
        for name in self.plan.selectors:
            method, settings = self.plan.method(name), self.plan.settings(name)
            if keeps_missing and not self.plan.make_selector(name).takes_missing:
                self.notes.append(f"{name} was left out: it takes no missing values.")
                continue
            shown = name
            if self.has_costs and method.takes_costs and "costs" not in settings:
                shown = name + _BY_COST
                settings = settings | {"costs": self.named_costs.to_record()}
            make_study_selector(method, 1, settings, self.plan.inside)  # fail early
            seed = self.plan.seed if method.is_seeded else None
            members[shown] = SelectionCell(method, settings, {}, seed, 1, self.plan.inside)
        return members

    def head(self) -> dict[str, Any]:
        """Return the settings that all results depend on, for the head of the ledger."""
        return {
            "ranksieve": __version__,
            "fingerprint": fingerprint(self.division.whole),
            "n_features": len(self.names),
            "parts": {name: len(part) for name, part in self.division.parts.items()},
            "division": self.division.in_words,
            "measure": self.plan.tune,
            "convention": self.plan.convention,
            "scale": self.plan.scale,
            "missing": self.plan.missing,
        }

    @property
    def least(self) -> int:
        """Smallest number of features to request from a selector."""
        return max(1, len(self.include))

    def sizes(self) -> list[int]:
        """Return the sizes that are fixed in advance, ascending and smaller than all features."""
        sizes, size = [], self.least
        while size < len(self.allowed):
            sizes.append(size)
            size = max(size + 1, round(size * _STEP))
        return sizes

    def ranking(self, features: Sequence[int]) -> RankingCell:
        """Return the cell that trains the ranker on some features, in any order."""
        plan, method = self.plan, self.plan.method(self.ranker)
        seed, settings = plan.seed if method.is_seeded else None, plan.settings(self.ranker)
        columns = tuple(sorted(features))
        return RankingCell(method, settings, seed, columns, plan.tune, plan.convention)

    def path(self, member: str, training: TrainingSet, size: int) -> Procedure[list[int]]:
        """Order at least ``size`` features by a selector, on the queries of a training set.

        Features that would exceed the budget, given the features before them, are skipped.
        """
        most = len(self.allowed) - 1
        for k in dict.fromkeys((min(most, _FIRST), most)):
            selection = replace(self.members[member], k=k)
            cell = PlannedCell(self.division.to_select(training), selection)
            lookup = yield [cell]
            path = self._within_budget(lookup(cell)["features"])
            if len(path) >= size:
                break
        return path

    def _within_budget(self, path: Sequence[int]) -> list[int]:
        if self.rule.budget is None:
            return list(path)
        within: list[int] = []
        for feature in path:
            if self.rule.is_affordable(self.costs.total([*within, feature])):
                within.append(feature)
        return within

    def judged(
        self, folds: Sequence[tuple[TrainingSet, str]], features: Sequence[Sequence[int]]
    ) -> Procedure[np.ndarray]:
        """Train the ranker for each fold and rank its part; return the values of the queries.

        ``features`` lists the features to train on in each fold.
        """
        cells = [
            PlannedCell(training, self.ranking(subset))
            for (training, _), subset in zip(folds, features, strict=True)
        ]
        lookup = yield cells
        parts = [part for _, part in folds]
        values = [lookup(cell)["values"][part] for cell, part in zip(cells, parts, strict=True)]
        return np.concatenate([np.asarray(of_part) for of_part in values])


def default_selectors(ranker: Method, with_costs: bool) -> list[str]:
    """Return the names of the default selectors for a ranker.

    The best selector comes first; later ones are only tried with sets that cost less. Linear
    rankers and networks get methods that judge a feature given the others; all other rankers get
    methods that suit trees, and one that weighs costs if there are any. docs/recommend.md gives the
    reasons and measurements.
    """
    if issubclass(ranker.kind, (LinearRanker, GradientRanker)):
        return ["greedy-rankrls", "elimination", "gas-e"]
    if with_costs:
        return ["cegb", "sized-trees", "greedy-rankrls"]
    return ["sized-trees", "bt-influence", "greedy-rankrls"]
