"""What is asked of a recommendation: queries in parts, a ranker, selectors, costs, and a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from ranksieve._version import __version__
from ranksieve.base.choices import listed_features
from ranksieve.choosing import ROUNDING
from ranksieve.costs import FeatureCosts
from ranksieve.data import DataError, RankingData
from ranksieve.data.joining import concatenate
from ranksieve.data.missing import has_missing
from ranksieve.data.ranking_data import fingerprint
from ranksieve.datasets import Collection
from ranksieve.datasets.fold_files import Fold
from ranksieve.datasets.split_rules import DividedData
from ranksieve.experiments import (
    Head,
    QuerySets,
    Runner,
    Select,
    Source,
    Train,
    Trial,
    gather,
)
from ranksieve.experiments.cells import make_selector
from ranksieve.experiments.trials import check_distinct
from ranksieve.metrics import get_convention
from ranksieve.preprocessing import scaled_within_queries
from ranksieve.rankers.base import LinearRanker
from ranksieve.rankers.gradient import GradientRanker
from ranksieve.recommendation.answer import FrontPoint, JudgedPart, Settings
from ranksieve.registry import Method
from ranksieve.significance.samples import Sample
from ranksieve.splits import query_parts
from ranksieve.study.plan import Plan

ALL, NONE = "all", "none"
"""Names of the candidates that need no selector: all features, and no features."""
RuleName = Literal["half-margin", "safe", "one-se", "best"]
RULES = ("half-margin", "safe", "one-se", "best")

_MANY_ROWS = 50_000  # with so many rows, much of the work uses only some of them
ROWS_TO_SELECT = 20_000  # sample size for selectors, if there are many rows
_FIRST = 60  # number of features first requested from a selector
_BY_COST = ", by cost"  # ends the names of selectors that weigh costs
_TEST, _VALI = "test", "vali"


@dataclass(frozen=True, eq=False)
class Queries:
    """Data whose queries are divided into parts, and the trials that leave some parts out."""

    whole: RankingData
    parts: Mapping[str, np.ndarray]  # positions of the queries of each part
    in_words: str  # how queries are divided, for readers
    seed: int = 0  # of halves and samples

    @cached_property
    def source(self) -> Source:
        """The data of all trials."""
        return Source.of(self.whole)

    @property
    def is_split(self) -> bool:
        """Whether the data came with test queries, which judge."""
        return _TEST in self.parts

    @property
    def is_large(self) -> bool:
        """Whether there are so many rows that much of the work uses only some of them."""
        return self.whole.n_rows >= _MANY_ROWS

    def without(self, *parts: str) -> Trial:
        """Make the trial that trains on all queries except some parts, which judge."""
        left_out = [part for part in self.parts if part in parts]
        trains = np.ones(self.whole.n_queries, dtype=bool)
        for part in left_out:
            trains[self.parts[part]] = False
        judged = {part: self.parts[part] for part in left_out}
        name = "without " + ", ".join(left_out) if left_out else "all"
        return Trial(name, self.source, QuerySets(np.flatnonzero(trains), judged=judged))

    @property
    def to_deploy(self) -> Trial:
        """The trial that trains the rankers to write: on all but the test queries of a split."""
        return self.without(_TEST) if self.is_split else self.without()

    @property
    def deployed_in_words(self) -> str:
        """The queries that train :attr:`to_deploy`, for readers."""
        if not self.is_split:
            return "all queries"
        return f"the training {'and validation queries' if _VALI in self.parts else 'queries'}"

    @property
    def judged(self) -> list[tuple[Trial, str]]:
        """Trials whose judging parts together are all judging queries, once each."""
        judges = [_TEST] if self.is_split else list(self.parts)
        return [(self.without(part), part) for part in judges]

    def half(self, trial: Trial, number: int, side: int) -> Trial:
        """Make a trial of one half (0 or 1) of the queries of another, divided at random."""
        drawn = np.random.default_rng([self.seed, number]).permutation(trial.sets.train)
        half = np.sort(np.array_split(drawn, 2)[side])
        return Trial(f"{trial.name}; half {number}{'ab'[side]}", self.source, QuerySets(half))

    def to_select(self, trial: Trial) -> Trial:
        """Make the trial that selectors use: of a sample of the queries if data is large."""
        if not self.is_large:
            return trial
        positions = trial.sets.train
        drawn = np.random.default_rng([self.seed, len(positions)]).permutation(positions)
        rows = np.cumsum(self.whole.group_counts[drawn])
        sample = np.sort(drawn[: max(1, np.searchsorted(rows, ROWS_TO_SELECT, side="right"))])
        return Trial(f"{trial.name}; {ROWS_TO_SELECT} rows", self.source, QuerySets(sample))

    def positions(self, parts: Sequence[str]) -> np.ndarray:
        """Return the positions of the queries of some parts, one part after the other."""
        return np.concatenate([self.parts[part] for part in parts])

    def weights(self, parts: Sequence[str]) -> np.ndarray | None:
        """Return the weights of the queries of some parts; None if queries have no weights."""
        weights = self.whole.query_weights
        return None if weights is None else weights[self.positions(parts)]


def divide(
    source: RankingData | Collection | DividedData,
    n_folds: int,
    seed: int,
    missing: str = "none",
    scale: str = "none",
    **read_options: Any,
) -> Queries:
    """Divide queries into parts: those that come with the data, or ``n_folds`` at random.

    Missing values are treated and features scaled within queries. The other options are those for
    reading the files of a collection.
    """
    if isinstance(source, RankingData):
        drawn = query_parts(source.n_queries, n_folds, random_state=seed)
        words = f"{n_folds} parts of the queries, divided at random (seed {seed})"
        whole, parts = source, _numbered(drawn)
    else:
        readers = source.readers if isinstance(source, DividedData) else None
        folds = [read() for read in readers or source.fold_readers(**read_options)]  # type: ignore[union-attr]
        if len(folds) == 1:
            whole, parts, words = _join_split(folds[0], n_folds, seed)
        else:
            whole, parts = _join_folds(folds)
            words = f"the {len(folds)} folds of the data"
    if _TEST not in parts and len(parts) < 3:
        raise DataError(f"a recommendation needs at least 3 parts of queries, got {len(parts)}")
    if missing != "none" and (whole.missing is None or whole.missing.name != missing):
        whole = whole.with_missing(missing)
    return Queries(scaled_within_queries(whole, scale), parts, words, seed)


def _numbered(parts: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    return {str(number): part for number, part in enumerate(parts, start=1)}


def _join_folds(folds: Sequence[Fold]) -> tuple[RankingData, dict[str, np.ndarray]]:
    """Make a part of each fold's test queries; every query must be in one of them."""
    tests = [test for _, _, test in folds]
    _check_apart({f"test in fold {number}": test for number, test in enumerate(tests, start=1)})
    known = {str(query) for test in tests for query in test.query_ids.tolist()}
    for number, (train, _, _) in enumerate(folds, start=1):
        lacking = [q for q in train.query_ids.tolist() if str(q) not in known]
        if lacking:
            raise DataError(
                f"fold {number} trains on query {lacking[0]!r}, which no fold tests: a "
                "recommendation needs folds in rotation, or one split into train and test"
            )
    whole = concatenate(tests)
    ends = np.cumsum([test.n_queries for test in tests])
    return whole, _numbered(np.split(np.arange(whole.n_queries), ends[:-1]))


def _join_split(
    fold: Fold, n_folds: int, seed: int
) -> tuple[RankingData, dict[str, np.ndarray], str]:
    """Make parts of the validation and test queries, or of the training queries without them."""
    train, vali, test = fold
    given = {"train on": train, **({"tune by": vali} if vali is not None else {}), "test on": test}
    _check_apart(given)
    whole = concatenate(list(given.values()))
    n_before = whole.n_queries - test.n_queries
    words = "the split that comes with the data"
    if vali is not None:
        parts = {_VALI: np.arange(train.n_queries, n_before)}
    else:
        parts = _numbered(query_parts(train.n_queries, n_folds, random_state=seed))
    return whole, parts | {_TEST: np.arange(n_before, whole.n_queries)}, words


def _check_apart(parts: Mapping[str, RankingData]) -> None:
    for role, part in parts.items():
        if part.n_queries == 0:
            raise DataError(f"there is no query to {role}")
    check_distinct("the data", dict(parts))


@dataclass(frozen=True)
class Rule:
    """Says which sets of features are enough, by the values of the choosing queries.

    A set is enough if its mean loss is at most half the margin (``"half-margin"``), its loss plus
    one standard error is within the margin (``"safe"``), or its loss is within one standard error
    (``"one-se"``). With ``"best"``, no set is: the best one is chosen.
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


class Task:
    """What is asked: queries, a ranker, selectors, costs, the rule that chooses, and a level.

    ``costs`` are those that the user gave, in any form; None if there are none.
    """

    def __init__(self, plan: Plan, queries: Queries, rule: Rule, level: float, costs: Any) -> None:
        self.plan, self.queries, self.rule, self.level = plan, queries, rule, level
        self.names = [str(name) for name in queries.whole.feature_names]
        self.named_costs = FeatureCosts.make(costs, self.names)
        self.has_costs = costs is not None and self.named_costs.total(self.names) > 0
        if not self.has_costs:
            self.named_costs = FeatureCosts.make(None, self.names)
        self.costs = self.named_costs.aligned(self.names)
        listed = listed_features(plan.include, plan.exclude, {}, self.names)
        self.include = tuple(listed.include)  # features that are always chosen
        excluded = set(listed.exclude)
        # All features that may be chosen.
        self.allowed = tuple(f for f in range(len(self.names)) if f not in excluded)
        self.notes: list[str] = []  # what was left out, and why
        self.selections = self._find_selections()
        if costs is not None and not self.has_costs:
            self.notes.append("No feature costs anything: the fewest features are recommended.")
        if not self.selections:
            raise DataError("none of the selectors accepts missing values: fill them in")
        (self.ranker,) = plan.rankers
        # Whether an empty set of features is a candidate.
        self.allows_none = get_convention(plan.convention).averages_ties
        least = self.costs.total(self.include)
        if rule.budget is not None and least > rule.budget:
            raise DataError(
                f"the features to include cost {least:.4g}, which is more than the budget of "
                f"{rule.budget:.4g}"
            )

    def _find_selections(self) -> dict[str, Select]:
        """Selectors by name, with costs if they use any: cells that select one feature."""
        whole, selections = self.queries.whole, {}
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
            make_selector(method, 1, settings, self.plan.inside)  # fail early
            seed = self.plan.seed if method.is_seeded else None
            selections[shown] = Select(method, settings, {}, seed, 1, self.plan.inside)
        return selections

    def head(self, division: str) -> Head:
        """Return what all results depend on, for the ledger."""
        plan = self.plan
        return Head(
            purpose="recommendation",
            protocol=division,
            measures=[plan.tune],
            tune=plan.tune,
            convention=plan.convention,
            scale=plan.scale,
            missing=plan.missing,
        )

    def settings(self, division: str) -> Settings:
        """Return the settings of the answer."""
        plan, queries, rule = self.plan, self.queries, self.rule
        return Settings(
            ranksieve=__version__,
            fingerprint=fingerprint(queries.whole),
            division=division,
            measure=plan.tune,
            convention=plan.convention,
            scale=plan.scale,
            missing=plan.missing,
            ranker=self.ranker,
            ranker_parameters=plan.settings(self.ranker),
            selectors=list(self.selections),
            rule=rule.name,
            margin=rule.margin,
            budget=rule.budget,
            level=self.level,
            seed=plan.seed,
            include=[self.names[feature] for feature in self.include],
            exclude=[name for f, name in enumerate(self.names) if f not in self.allowed],
            treated=queries.whole.missing,
            costs=self.named_costs.to_record(),
        )

    def training(self, features: Sequence[int]) -> Train:
        """Return the cell that trains the ranker on some features, in any order."""
        plan, method = self.plan, self.plan.method(self.ranker)
        seed, settings = plan.seed if method.is_seeded else None, plan.settings(self.ranker)
        columns = tuple(sorted(features))
        return Train(method, settings, seed, columns, plan.tune, [plan.tune], plan.convention)

    async def path(self, run: Runner, selector: str, trial: Trial, size: int) -> list[int]:
        """Order at least ``size`` features by a selector, on the training queries of a trial.

        Features that would exceed the budget, given the features before them, are skipped.
        """
        most = len(self.allowed) - 1
        path: list[int] = []
        for k in dict.fromkeys((min(most, _FIRST), most)):
            cell = replace(self.selections[selector], k=k)
            selected = await run(cell, self.queries.to_select(trial))
            path = []
            for feature in selected.features:
                if self.rule.is_affordable(self.costs.total([*path, feature])):
                    path.append(feature)
            if len(path) >= size:
                break
        return path

    async def values(
        self, run: Runner, folds: Sequence[tuple[Trial, str]], *features: Sequence[int]
    ) -> np.ndarray:
        """Train the ranker for each fold and rank its part; return the values of the queries.

        ``features`` are those of all folds, or of each fold.
        """
        own = features if len(features) == len(folds) else features * len(folds)
        trained = await gather(
            *(run(self.training(f), trial) for (trial, _), f in zip(folds, own, strict=True))
        )
        judged = zip(trained, folds, strict=True)
        return np.concatenate([one.values[part][self.plan.tune] for one, (_, part) in judged])


class Found(NamedTuple):
    """What the procedure has found: the features to recommend, and how parts of queries judge."""

    selector: str
    size: int  # number of features requested from the selector
    features: tuple[int, ...]  # in the order of the selector
    front: list[FrontPoint]  # all candidates; empty if there was no time to try any
    parts: list[JudgedPart]


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
