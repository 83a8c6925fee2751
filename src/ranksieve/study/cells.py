"""The two kinds of work in a study: select features on a fold, and train a ranker on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.missing import has_missing
from ranksieve.engine.clock import work_seconds
from ranksieve.engine.memo import Memo, sharing
from ranksieve.metrics import evaluate
from ranksieve.registry import Method, OwnMethod
from ranksieve.significance.samples import Sample
from ranksieve.study.ledger import Record
from ranksieve.study.plan import Plan, make_study_selector
from ranksieve.study.protocols import StudyFold
from ranksieve.text import describe, quantity


class Cell(Protocol):
    """A unit of work on a fold whose result goes into the ledger."""

    @property
    def method(self) -> Method:
        """The method that works."""

    def key(self, fold: str) -> Record:
        """Everything except the data that the result depends on, as JSON values."""

    def run(self, fold: StudyFold) -> Record:
        """Compute the result, as JSON values."""


@dataclass(frozen=True)
class SelectionCell:
    """Select features on the training queries of a fold.

    Attributes
    ----------
    method : Method
    settings, parameters : dict
        Fixed parameters, and those from the grid.
    seed : int or None
    k : int
        Number of features.
    inside : mapping of str to Method
        Rankers that selectors train, by name.
    """

    method: Method
    settings: dict[str, Any]
    parameters: dict[str, Any]
    seed: int | None
    k: int
    inside: Mapping[str, Method] = field(default_factory=dict)

    def key(self, fold: str) -> Record:
        """Everything except the data that the result depends on."""
        parameters = dict(self.method.preset) | self.settings | self.parameters
        within = self.inside.get(parameters.get("ranker", "")) if self.method.is_ours else None
        if isinstance(within, OwnMethod):
            parameters["ranker"] = {"class": within.key, "parameters": dict(within.preset)}
        return {
            "fold": fold,
            "selector": self.method.key,
            "parameters": parameters,
            "seed": self.seed,
            "k": self.k,
        }

    def run(self, fold: StudyFold) -> Record:
        """Select features in order, and measure the seconds that the selection takes alone."""
        seeds = dict.fromkeys(self.method.seeds, self.seed)
        where = f"{fold.name}, {describe(self.method.name, self.parameters)}"
        with (
            locate_errors(where, self.method, *self.inside.values()),
            sharing(fold.memo) as borrowed,
        ):
            parameters = self.settings | self.parameters | seeds
            selector = make_study_selector(self.method, self.k, parameters, self.inside)
            has_vali = self.method.uses_held_out_data and fold.vali is not None
            beside = {"eval_set": fold.vali} if has_vali else {}
            start = work_seconds()
            selector.fit(fold.train, **beside)
            seconds = work_seconds() - start
            features = np.asarray(selector.selected_).tolist()
            if len(features) > self.k:
                raise DataError(f"selected {len(features)} features instead of {self.k}")
        alone = max(0.0, seconds + borrowed.seconds)
        return {"features": features, "seconds": alone}


@dataclass(frozen=True)
class TrainingCell:
    """Train a ranker on some features, choose its parameters, and test it.

    Attributes
    ----------
    method : Method
    settings : dict
        Fixed parameters.
    grid : sequence of dict
        Parameters from which the validation queries choose.
    seed : int or None
    features : tuple of int
        Features to train on, ascending.
    tune, convention : str
        Measure and convention by which to choose.
    measures : tuple of str
        Measures of the test queries.
    """

    method: Method
    settings: dict[str, Any]
    grid: Sequence[dict[str, Any]]
    seed: int | None
    features: tuple[int, ...]
    tune: str
    convention: str
    measures: tuple[str, ...]

    def key(self, fold: str) -> Record:
        """Everything that the result depends on, except the data and the head of the ledger."""
        return {
            "fold": fold,
            "ranker": self.method.key,
            "parameters": dict(self.method.preset) | self.settings,
            "grid": list(self.grid),
            "seed": self.seed,
            "features": list(self.features),
        }

    def run(self, fold: StudyFold) -> Record:
        """Find the parameters with the best validation value, and compute the test values."""
        columns = list(self.features)
        train, vali = fold.train.take_features(columns), fold.vali.take_features(columns)
        best: tuple[float, float, dict[str, Any], float, Any] | None = None
        where = f"{fold.name}, {self.method.name} on {quantity(len(columns), 'feature')}"
        # Models of a grid may share what depends on the data alone.
        with locate_errors(where, self.method), sharing(Memo()) as borrowed:
            for point in self.grid:
                # The first ranker also imports its module.
                ranker = self._ranker(point)._for_features(columns, fold.train.n_features)
                start = work_seconds() + borrowed.seconds
                ranker.fit(train, eval_set=vali)
                seconds = max(0.0, work_seconds() + borrowed.seconds - start)
                values = self._values(vali, ranker, [self.tune])[self.tune]
                sample = Sample.of(values, vali.query_weights)
                if best is None or sample.mean > best[0]:
                    best = sample.mean, sample.error, point, seconds, ranker
            assert best is not None  # a grid has at least one point
            validation, error, point, seconds, ranker = best
            tested = self._values(fold.test.take_features(columns), ranker, self.measures)
        return {
            "parameters": point,
            "validation": validation,
            "validation_error": error,
            "test": {measure: tested[measure].tolist() for measure in self.measures},
            "seconds": seconds,
        }

    def _ranker(self, point: dict[str, Any]) -> Any:
        seeds = dict.fromkeys(self.method.seeds, self.seed)
        return self.method.make(**self.settings | point | seeds)

    def _values(
        self, data: RankingData, ranker: Any, measures: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Value of each query of the data, by measure."""
        scores = ranker.predict(data)
        return evaluate(
            data.y, scores, data.qid, measures, self.convention, doc_ids=data.doc_ids
        ).per_query


def check_takes_missing(fold: StudyFold, plan: Plan) -> None:
    """Raise a DataError with the methods that cannot use the missing values of a fold."""
    if not fold.train.keeps_missing or not any(has_missing(part.X) for part in fold.parts):
        return
    unable = [
        *(name for name in plan.selectors if not plan.make_selector(name).takes_missing),
        *(name for name in plan.rankers if not plan.method(name).takes_missing),
    ]
    if unable:
        raise DataError(
            f"{fold.name}: there are missing values, which these methods cannot use: "
            f"{', '.join(unable)}; fill them in with missing query-min, query-median or zero, or "
            "leave these methods out"
        )


@contextmanager
def locate_errors(where: str, *methods: Method) -> Iterator[None]:
    """Context manager that adds the place in the study to errors, also those of users' code."""
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
