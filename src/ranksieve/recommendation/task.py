"""What is asked of a recommendation: queries, a ranker, how to build the path, costs, a margin."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ranksieve._version import __version__
from ranksieve.base.choices import listed_features
from ranksieve.costs import FeatureCosts, format_cost
from ranksieve.data import DataError, RankingData
from ranksieve.data.categories import export_remark
from ranksieve.data.ranking_data import fingerprint
from ranksieve.experiments import Head, Runner, Select, Train, Trial
from ranksieve.experiments.cells import make_selector
from ranksieve.experiments.of_rows import caution_of_rows, describe_of_rows
from ranksieve.metrics import get_convention, parse_measure
from ranksieve.rankers.base import LinearRanker
from ranksieve.rankers.gradient import GradientRanker
from ranksieve.recommendation.answer import Settings
from ranksieve.recommendation.cheap_sets import Basis
from ranksieve.recommendation.path import (
    Candidates,
    CheapSets,
    Consensus,
    Path,
    cost_levels,
    is_within,
    leave_out,
    worth_shares,
)
from ranksieve.recommendation.queries import Queries
from ranksieve.registry import Method
from ranksieve.significance.claims import check_margin
from ranksieve.study.plan import Plan
from ranksieve.sums.suspicions import Suspicion, find_suspicions, warnings_of
from ranksieve.sums.varying import varying_features
from ranksieve.text import on_one_line

_SEED = "random_state"
_log = logging.getLogger("ranksieve")


class Effort(NamedTuple):
    """How much is trained at most."""

    parts: int  # of a division, that judge
    divisions: int
    extra: int  # further divisions that train on all features alone, for each of these


class Task:
    """What is asked. ``costs`` are those that the user gave, in any form; None if there are none.

    ``uses_default`` says that the user has named no selectors. Without a ``cost_unit``, it is that
    of the costs.
    """

    def __init__(
        self,
        plan: Plan,
        queries: Queries,
        margin: float,
        budget: float | None,
        level: float,
        costs: Any,
        *,
        uses_default: bool,
        cost_unit: str | None = None,
    ) -> None:
        check_request(margin, budget, level)
        self.plan, self.queries, self.level = plan, queries, float(level)
        # Numbers of numpy cannot all be written as JSON.
        self.margin, self.budget = float(margin), None if budget is None else float(budget)
        self.names = [str(name) for name in queries.whole.feature_names]
        given = FeatureCosts.convert(costs, self.names)
        self.named_costs = given.only(self.names).with_unit(cost_unit)
        self.has_costs = costs is not None and self.named_costs.total(self.names) > 0
        if not self.has_costs:
            self.named_costs = FeatureCosts.make(None, self.names)
        self.costs = self.named_costs.aligned(self.names)
        listed = listed_features(plan.include, plan.exclude, {}, self.names)
        self.include = tuple(listed.include)  # features that are always chosen
        excluded = set(listed.exclude)
        # All features that may be chosen.
        self.allowed = tuple(f for f in range(len(self.names)) if f not in excluded)
        self.warnings: list[str] = []  # what changes the meaning of the answer
        self.notes: list[str] = []  # what else was left out, and why
        self.effort = Effort(queries.n_parts, 1, 0)  # until it is planned
        self.ran_out_of_time = False
        (self.ranker,) = plan.rankers
        self.uses_default = uses_default
        # Whether an empty set of features is a candidate.
        self.allows_none = get_convention(plan.convention).averages_ties and not self.include
        if others := given.describe_others(self.names):
            self.notes.append(others)
        if costs is not None and not self.has_costs:
            self.warnings.append("No feature costs anything: the fewest features are recommended.")
        least = self.costs.total(self.include)
        if self.budget is not None and least > self.budget:
            raise DataError(
                f"the features to include cost {self.price(least)}, which is more than the budget "
                f"of {self.price(self.budget)}"
            )
        for name in plan.selectors:  # fail early
            make_selector(plan.method(name), 1, plan.settings(name), plan.inside)

    def groups_of(self, features: Sequence[int]) -> dict[str, list[int]]:
        """The groups that some features need, each with these features."""
        groups: dict[str, list[int]] = {}
        for feature in features:
            if group := self.named_costs.groups.get(self.names[feature]):
                groups.setdefault(group, []).append(feature)
        return groups

    def price(self, cost: float) -> str:
        """A cost with its unit, for readers."""
        return format_cost(cost, self.named_costs.unit)

    def check_of_rows(self, others: RankingData | None) -> None:
        """Check that ranker and measure take weights of rows and positions; note what does not.

        ``others`` are the data to confirm by.
        """
        whole, plan = self.queries.whole, self.plan
        plan.method(self.ranker).make(**plan.settings(self.ranker)).check_of_rows(whole)
        if any("row_weights" in part.of_rows for part in (whole, others) if part is not None):
            parse_measure(plan.tune).check_weighted()
        without: dict[str, list[str]] = {name: [] for name in sorted(whole.of_rows)}
        if isinstance(self.path, CheapSets):
            without = {name: ["least squares"] for name in without}
        else:
            for selector in plan.selectors:
                for name in plan.make_selector(selector).not_taken(whole):
                    without[name].append(selector)
        self.notes += describe_of_rows(whole.of_rows, without)
        self.warnings += caution_of_rows(whole.of_rows, [plan.tune])

    @property
    def is_for_trees(self) -> bool:
        """Whether the ranker may use more than sums of multiples of features."""
        kind = self.plan.method(self.ranker).kind
        return not issubclass(kind, (LinearRanker, GradientRanker))

    @property
    def budget_that_binds(self) -> float | None:
        """The budget, unless all features together are within it."""
        if self.budget is None or is_within(self.costs.total(self.allowed), self.budget):
            return None
        return self.budget

    @property
    def has_smaller_sets(self) -> bool:
        """Whether any feature may be left out."""
        if not self.allows_none and len(self.allowed) == 1:
            return False
        return set(self.include) != set(self.allowed)

    @property
    def first_smoothed(self) -> int:
        """Position of the smallest set that has features."""
        return int(self.allows_none)

    @cached_property
    def copies(self) -> dict[int, int]:
        """Exact copies of other features, which are left out: copy -> the one that stays."""
        return self._left[1]

    @cached_property
    def suspicions(self) -> list[Suspicion]:
        """What is suspicious about the features that may be chosen."""
        whole, varies = self.queries.whole, varying_features(self.queries.whole)
        return find_suspicions(
            whole.take_features(list(self.allowed)),
            Counter(whole.y.tolist()),
            [self.names[feature] for feature in self.allowed if not varies[feature]],
            {self.names[copy]: self.names[other] for copy, other in self.copies.items()},
            times=self.queries.times,
        )

    def tell_suspicions(self) -> None:
        """Log what is suspicious, and note what is left out, before anything is trained."""
        for sentence in warnings_of(self.suspicions):
            _log.warning("%s", on_one_line(sentence))
        left_out = [
            f"{', '.join(names)} ({one.what.partition(':')[0]})"
            for one in self.suspicions
            if not one.is_warning and (names := self._outside(one.features))
        ]
        if left_out:
            reasons = "; ".join(left_out)
            self.notes.append(f"Left out of all smaller sets before any training: {reasons}.")
            _log.info("%s", on_one_line(self.notes[-1]))
        if remark := export_remark(self.queries.whole.take_features([*self.allowed]).categories):
            _log.info("%s", on_one_line(remark))

    def tell_all_are_kept(self, *, tested: bool) -> None:
        """Say why there is nothing to compare, and what is not used because of that."""
        why = "it is the only one" if len(self.allowed) == 1 else "all are to be included"
        self.warnings.append(f"No feature may be left out: {why}.")
        if tested:
            self.notes.append("There is no smaller set to test: the queries to test by are unused.")

    def _outside(self, names: Sequence[str]) -> list[str]:
        """Those of some features that may not be chosen."""
        inside = {self.names[feature] for feature in self._left[0]}
        return [name for name in names if name not in inside]

    @cached_property
    def _left(self) -> tuple[tuple[int, ...], dict[int, int]]:
        data = self.queries.whole if self.is_for_trees else self.queries.as_numbers
        where = data, self.allowed, self.include, self.costs
        return leave_out(*where, for_trees=self.is_for_trees)

    @cached_property
    def path(self) -> Path:
        """How training queries become sets."""
        features, budget = self._left[0], self.budget_that_binds
        is_large = self.queries.is_large
        candidates = Candidates(features, self.include, self.costs)
        if self.has_costs and self.costs.vary and self.uses_default:
            shares = worth_shares(allows_none=self.allows_none, is_large=is_large)
            basis: Basis = "bins" if self.is_for_trees else "linear"
            return CheapSets(self.queries, candidates, shares, budget, basis)
        n_all = len(self.allowed)
        levels = cost_levels(features, self.include, self.costs, n_all, budget, is_large=is_large)
        if self.allows_none:
            levels = sorted({0.0, *levels})
        selections, takes_missing = [], []
        excluded = [f for f in range(len(self.names)) if f not in features]
        for name in self.plan.selectors:
            method, settings = self.plan.method(name), self.plan.settings(name)
            if self.has_costs and method.takes_costs and "costs" not in settings:
                settings = settings | {"costs": self.named_costs.to_record()}
            if excluded:
                settings = settings | {"exclude": excluded}
            seed = self.plan.seed if method.is_seeded else None
            selections.append(Select(method, settings, {}, seed, 1, self.plan.inside))
            takes_missing.append(self.plan.make_selector(name).takes_missing)
        return Consensus(self.queries, candidates, levels, selections, takes_missing)

    @property
    def path_in_words(self) -> str:
        """How training queries become sets, for readers."""
        if isinstance(self.path, CheapSets):
            how = "bins of features" if self.path.basis == "bins" else "features"
            return f"the cheapest sets by least squares on {how}"
        names = list(self.plan.selectors)
        return names[0] if len(names) == 1 else f"sum of ranks of {', '.join(names)}"

    def head(self) -> Head:
        """Return what all results depend on, for the ledger."""
        plan = self.plan
        return Head(
            purpose="recommendation",
            protocol=self.queries.in_words,
            measures=[plan.tune],
            tune=plan.tune,
            convention=plan.convention,
            scale=plan.scale,
            missing=plan.missing,
        )

    def settings(self) -> Settings:
        """Return the settings of the answer."""
        plan, queries = self.plan, self.queries
        return Settings(
            ranksieve=__version__,
            fingerprint=fingerprint(queries.whole),
            division=queries.in_words,
            measure=plan.tune,
            convention=plan.convention,
            scale=plan.scale,
            missing=plan.missing,
            ranker=self.ranker,
            ranker_parameters=plan.settings(self.ranker),
            path=self.path_in_words,
            margin=self.margin,
            budget=self.budget,
            level=self.level,
            seed=plan.seed,
            include=[self.names[feature] for feature in self.include],
            exclude=[name for f, name in enumerate(self.names) if f not in self.allowed],
            treated=queries.whole.missing,
            columns=queries.whole.table_columns,
            costs=self.named_costs.to_record(),
            cost_unit=self.named_costs.unit,
        )

    def training(self, features: Sequence[int], repeat: int = 0) -> Train:
        """Return the cell that trains the ranker on some features, in any order.

        A further ``repeat`` has another seed, if the ranker draws random numbers.
        """
        plan, method = self.plan, self.plan.method(self.ranker)
        settings, seed = plan.settings(self.ranker), None
        if method.is_seeded:
            seed = plan.seed + repeat
        elif repeat and method.accepts(_SEED) and _SEED not in settings:
            settings = settings | {_SEED: plan.seed + repeat}
        columns = tuple(sorted(features))
        return Train(method, settings, seed, columns, plan.tune, [plan.tune], plan.convention)

    async def values(
        self, run: Runner, trial: Trial, features: Sequence[int], repeat: int = 0
    ) -> np.ndarray:
        """Train the ranker on some features, and return the values of the queries that judge."""
        trained = await run(self.training(features, repeat), trial)
        (values,) = trained.values.values()
        return np.array(values[self.plan.tune])

    def weights(self, queries: np.ndarray) -> np.ndarray | None:
        """Return the weights of some queries; None if queries have no weights."""
        weights = self.queries.whole.query_weights
        return None if weights is None else weights[queries]


def check_request(margin: Any, budget: Any, level: float) -> None:
    """Raise a ValueError unless margin, budget and level are numbers of the right size."""
    if not (isinstance(margin, Real) and 0 < float(margin) < 1):
        raise ValueError(f"margin must lie between 0 and 1, got {margin!r:.60}")
    if budget is not None and not (isinstance(budget, Real) and 0 <= float(budget) < np.inf):
        raise ValueError(f"budget must be a finite number of at least 0, got {budget!r:.60}")
    check_margin(float(margin), level)


def default_selectors(ranker: Method) -> list[str]:
    """Return the names of the selectors whose ranks order features for a ranker by default.

    docs/which-selector.md has measurements.
    """
    if issubclass(ranker.kind, (LinearRanker, GradientRanker)):
        return ["greedy-rankrls"]
    return ["bt-influence", "greedy-rankrls"]
