"""Cells: units of work on a trial, as values, and the records of their results.

The result of a cell depends on its key, on the queries of its trial, and on what the head of the
ledger says (measures, convention, treatment of the data), and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from msgspec import Meta, Struct

from ranksieve.base import RankSelector
from ranksieve.data import DataError, RankingData
from ranksieve.engine.clock import work_seconds
from ranksieve.engine.memo import Memo, sharing
from ranksieve.experiments.trials import TrialData
from ranksieve.io.records import Count, Finite
from ranksieve.metrics import evaluate, get_convention, parse_measure
from ranksieve.registry import Method
from ranksieve.selectors.registry import make_method
from ranksieve.significance.samples import Sample
from ranksieve.sums.file_order import order_values
from ranksieve.text import describe, quantity

CHOICES = ("include", "exclude", "groups")
"""Settings that constrain the features of all selectors."""

_FAR = 1.7e308  # what is larger in JSON is infinite as a float
Seconds = Annotated[float, Meta(ge=0, le=_FAR)]
Features = list[Count]
Seed = Count | None
Values = dict[str, dict[str, list[Finite]]]
"""Judging set -> measure -> value of each query."""


class Record(Struct, forbid_unknown_fields=True):
    """A part of a ledger, whose fields have the types that they are annotated with."""


class Key(Record, tag_field="kind"):
    """Everything except the data and the head of the ledger that a result depends on."""

    trial: str
    Result: ClassVar[type[Record]] = Record


class Cell(Protocol):
    """A unit of work on a trial."""

    @property
    def method(self) -> Method | None:
        """The method that works, if there is one."""

    def key(self, trial: str) -> Key:
        """Everything except the data and the head of the ledger that the result depends on."""

    def run(self, trial: TrialData) -> Any:
        """Compute the result, a record of the type that the key names."""


class Selected(Record):
    """Result of a selection."""

    features: Annotated[Features, Meta(min_length=1)]  # in the order of choice
    seconds: Seconds  # that it takes alone
    ignored: list[str] = []  # what the rows have that the selector cannot use


class SelectKey(Key, tag="select"):
    """Key of a selection."""

    selector: str
    parameters: dict[str, Any]
    seed: Seed
    k: Annotated[int, Meta(ge=1)]
    Result: ClassVar[type[Record]] = Selected


@dataclass(frozen=True)
class Select:
    """Select features on the training queries of a trial."""

    method: Method
    settings: Mapping[str, Any]  # fixed parameters
    point: Mapping[str, Any]  # those from a grid
    seed: int | None
    k: int  # number of features
    inside: Mapping[str, Method] = field(default_factory=dict)  # rankers that selectors train

    def key(self, trial: str) -> SelectKey:
        """Everything except the data that the result depends on."""
        parameters = {**self.method.preset, **self.settings, **self.point}
        within = self.inside.get(parameters.get("ranker", "")) if self.method.is_ours else None
        if within is not None and not within.is_ours:
            parameters["ranker"] = {"class": within.key, "parameters": dict(within.preset)}
        return SelectKey(trial, self.method.key, parameters, self.seed, self.k)

    def run(self, trial: TrialData) -> Selected:
        """Select features in order, and measure the seconds that the selection takes alone."""
        where = f"{trial.name}, {describe(self.method.name, self.point)}"
        with (
            locate_errors(where, self.method, *self.inside.values()),
            sharing(trial.memo) as borrowed,
        ):
            seeds = dict.fromkeys(self.method.seeds, self.seed)
            parameters = {**self.settings, **self.point, **seeds}
            selector = make_selector(self.method, self.k, parameters, self.inside)
            ignored = list(selector.not_taken(trial.train))
            usable = trial.without(ignored)
            has_vali = self.method.uses_held_out_data and trial.vali is not None
            beside = {"eval_set": usable.vali} if has_vali else {}
            start = work_seconds()
            selector.fit(usable.train, **beside)
            seconds = work_seconds() - start
            features = np.asarray(selector.selected_).tolist()
            if len(features) > self.k:
                raise DataError(f"selected {len(features)} features instead of {self.k}")
        return Selected(features, max(0.0, seconds + borrowed.seconds), ignored)


def make_selector(
    method: Method, k: int | None, parameters: Mapping[str, Any], inside: Mapping[str, Method]
) -> RankSelector:
    """Make a selector; the ranker that it trains is given by name, as in files."""
    own = dict(parameters)
    if method.is_ours and "ranker" in own:
        own["ranker"] = inside[own["ranker"]].make()
    # Adapters of other estimators have these parameters themselves.
    choices = {name: own.pop(name) for name in CHOICES if name in own}
    return make_method(method, k, **own).set_params(**choices)


class Trained(Record):
    """Result of a training."""

    parameters: dict[str, Any]  # point of the grid
    validation: Finite | None  # mean of the tuning measure; None without validation queries
    validation_error: Seconds | None  # its standard error
    values: Values
    seconds: Seconds


class TrainKey(Key, tag="train"):
    """Key of a training."""

    ranker: str
    parameters: dict[str, Any]
    grid: list[dict[str, Any]]
    seed: Seed
    features: Features
    Result: ClassVar[type[Record]] = Trained


@dataclass(frozen=True)
class Train:
    """Train a ranker on some features, choose its parameters, and judge it.

    The validation queries choose from the grid. Without them it has one point.
    """

    method: Method
    settings: Mapping[str, Any]  # fixed parameters
    seed: int | None
    features: tuple[int, ...]  # ascending; if empty, all documents of a query get the same score
    tune: str  # measure by which to choose
    measures: Sequence[str]  # of the judging queries
    convention: str
    grid: Sequence[Mapping[str, Any]] = ({},)

    def key(self, trial: str) -> TrainKey:
        """Everything except the data and the head of the ledger that the result depends on."""
        parameters, grid = {**self.method.preset, **self.settings}, [dict(p) for p in self.grid]
        return TrainKey(trial, self.method.key, parameters, grid, self.seed, list(self.features))

    def run(self, trial: TrialData) -> Trained:
        """Find the parameters with the best validation value, and rank the judging queries."""
        where = f"{trial.name}, {self.method.name} on {quantity(len(self.features), 'feature')}"
        # Models of a grid may share what depends on the data alone.
        with locate_errors(where, self.method), sharing(Memo()) as borrowed:
            train, vali = self._take(trial.train), None
            if trial.vali is not None:
                vali = self._take(trial.vali)
            best: tuple[Sample | None, dict[str, Any], float, Any] | None = None
            for point in self.grid:
                ranker = self.make(point, trial.train.n_features)
                start = work_seconds() + borrowed.seconds
                if self.features:
                    ranker.fit(train, **({} if vali is None else {"eval_set": vali}))
                seconds = max(0.0, work_seconds() + borrowed.seconds - start)
                tuned = None if vali is None else self._tuning_values(vali, ranker)
                if best is None or (tuned and best[0] and tuned.mean > best[0].mean):
                    best = tuned, dict(point), seconds, ranker
            assert best is not None  # a grid has at least one point
            tuned, point, seconds, ranker = best
            values = {}
            for name, part in trial.judged.items():
                found = self._query_values(self._take(part), ranker, self.measures)
                values[name] = {measure: own.tolist() for measure, own in found.items()}
        validation, error = (None, None) if tuned is None else (tuned.mean, tuned.error)
        return Trained(point, validation, error, values, seconds)

    def train(self, data: RankingData) -> Any:
        """Train the ranker with the first point of the grid."""
        return self.make(self.grid[0], data.n_features).fit(self._take(data))

    def make(self, point: Mapping[str, Any], n_features: int) -> Any:
        """Make the untrained ranker with a point of the grid, for data with all features."""
        seeds = dict.fromkeys(self.method.seeds, self.seed)
        ranker = self.method.make(**{**self.settings, **point, **seeds})
        return ranker._for_features(list(self.features), n_features) if self.features else ranker

    def _take(self, data: RankingData) -> RankingData:
        return data.take_features(list(self.features)) if self.features else data

    def _tuning_values(self, vali: RankingData, ranker: Any) -> Sample:
        values = self._query_values(vali, ranker, [self.tune])
        return Sample.of(values[self.tune], vali.query_weights)

    def _query_values(
        self, data: RankingData, ranker: Any, measures: Sequence[str]
    ) -> dict[str, np.ndarray]:
        scores = ranker.predict(data) if self.features else np.zeros(data.n_rows)
        return query_values(data, scores, measures, self.convention)


class Facts(Record):
    """What a result needs to know of the data of a trial, apart from values."""

    features: Annotated[list[str], Meta(min_length=1)]  # their names
    queries: Annotated[list[int | str], Meta(min_length=1)]  # that judge
    weights: list[Annotated[float, Meta(gt=0, le=_FAR)]] | None  # of the queries that judge
    # Measure -> values of the judging queries in the order of the data, and expected by chance;
    # empty if the convention does not break ties by that order.
    file_order: dict[str, tuple[list[Finite], list[Finite]]]
    has_missing: bool
    of_rows: list[str] = []  # which of ``row_weights`` and ``positions`` the rows have

    def __post_init__(self) -> None:
        lengths = {measure: list(map(len, values)) for measure, values in self.file_order.items()}
        for what, own in {"weights": [len(self.weights or self.queries)], **lengths}.items():
            if set(own) != {len(self.queries)}:
                raise ValueError(f"{what}: not one for each of {len(self.queries)} queries")


class DescribeKey(Key, tag="describe"):
    """Key of a description."""

    Result: ClassVar[type[Record]] = Facts


@dataclass(frozen=True)
class Describe:
    """Check the queries of a trial, and describe those of its one judging set."""

    measures: Sequence[str]
    convention: str
    method: ClassVar[None] = None

    def key(self, trial: str) -> DescribeKey:
        """The trial: the rest is in the head of the ledger."""
        return DescribeKey(trial)

    def run(self, trial: TrialData) -> Facts:
        """Return names, query weights, and the values of the order of the data."""
        trial.check()
        judged = trial.test
        file_order = {}
        if get_convention(self.convention).ties == "stable":
            for name in self.measures:
                measure = parse_measure(name)
                values = order_values(judged, measure, self.convention)
                file_order[name] = (values[0].tolist(), values[1].tolist())
        return Facts(
            [str(name) for name in trial.train.feature_names],
            [q if isinstance(q, int) else str(q) for q in judged.query_ids.tolist()],
            None if judged.query_weights is None else judged.query_weights.tolist(),
            file_order,
            trial.train.keeps_missing and any(part.lacks_numbers for part in trial.parts),
            sorted(frozenset().union(*(part.of_rows for part in trial.parts))),
        )


def query_values(
    data: RankingData, scores: np.ndarray, measures: Sequence[str], convention: str
) -> dict[str, np.ndarray]:
    """Value of each query of the data, ranked by scores, by measure."""
    found = evaluate(
        data.y,
        scores,
        data.qid,
        measures,
        convention,
        doc_ids=data.doc_ids,
        row_weights=data.row_weights,
    )
    return found.per_query


@contextmanager
def locate_errors(where: str, *methods: Method) -> Iterator[None]:
    """Context manager that adds the trial and the method to errors, also those of users' code."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    except MemoryError:
        raise
    except Exception as error:
        if all(method.is_ours for method in methods):
            raise
        raise DataError(f"{where}: {type(error).__name__}: {error}") from error
