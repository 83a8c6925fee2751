"""The two kinds of work in a study: select features on a fold, and train a ranker on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ranksieve.base import RankSelector
from ranksieve.data import DataError, RankingData
from ranksieve.engine.clock import work_seconds
from ranksieve.engine.memo import sharing
from ranksieve.metrics import evaluate
from ranksieve.rankers.registry import make_ranker
from ranksieve.registry import describe
from ranksieve.selectors.registry import SELECTORS, make_selector
from ranksieve.significance.samples import Sample
from ranksieve.study.protocols import StudyFold
from ranksieve.study.records import Record
from ranksieve.text import quantity


class Cell(Protocol):
    """A unit of work on a fold whose result goes into the ledger."""

    def key(self, fold: str) -> Record:
        """Everything except the data that the result depends on, as JSON values."""

    def run(self, fold: StudyFold) -> Record:
        """Compute the result, as JSON values."""


@dataclass(frozen=True)
class SelectionCell:
    """Select features on the training queries of a fold.

    Attributes
    ----------
    selector : str
    settings, parameters : dict
        Fixed parameters, and those from the grid.
    seed : int or None
    k : int
        Number of features.
    """

    selector: str
    settings: dict[str, Any]
    parameters: dict[str, Any]
    seed: int | None
    k: int

    def key(self, fold: str) -> Record:
        """Everything except the data that the result depends on."""
        return {
            "fold": fold,
            "selector": self.selector,
            "parameters": self.settings | self.parameters,
            "seed": self.seed,
            "k": self.k,
        }

    def run(self, fold: StudyFold) -> Record:
        """Select features in order, and measure the seconds that the selection takes alone."""
        seed = {} if self.seed is None else {"random_state": self.seed}
        selector = make_study_selector(
            self.selector, self.k, self.settings | self.parameters | seed
        )
        beside = {"eval_set": fold.vali} if SELECTORS[self.selector].uses_held_out_data else {}
        with (
            _locate_errors(f"{fold.name}, {describe(self.selector, self.parameters)}"),
            sharing(fold.memo) as borrowed,
        ):
            start = work_seconds()
            selector.fit(fold.train, **beside)
            seconds = work_seconds() - start
        alone = max(0.0, seconds + borrowed.seconds)
        return {"features": selector.selected_.tolist(), "seconds": alone}


@dataclass(frozen=True)
class TrainingCell:
    """Train a ranker on some features, choose its parameters, and test it.

    Attributes
    ----------
    ranker : str
    settings : dict
        Fixed parameters.
    grid : sequence of dict
        Parameters from which the validation queries choose.
    seed : int or None
    features : tuple of int
        Ascending.
    tune, convention : str
        Measure and convention by which to choose.
    measures : tuple of str
        Measures of the test queries.
    """

    ranker: str
    settings: dict[str, Any]
    grid: Sequence[dict[str, Any]]
    seed: int | None
    features: tuple[int, ...]
    tune: str
    convention: str
    measures: tuple[str, ...]

    def key(self, fold: str) -> Record:
        """What the result depends on, except for the data and the head of the ledger."""
        return {
            "fold": fold,
            "ranker": self.ranker,
            "parameters": self.settings,
            "grid": list(self.grid),
            "seed": self.seed,
            "features": list(self.features),
        }

    def run(self, fold: StudyFold) -> Record:
        """Find the parameters with the best validation value, and compute the test values."""
        columns = list(self.features)
        train, vali = fold.train.take_features(columns), fold.vali.take_features(columns)
        best: tuple[float, float, dict[str, Any], float, Any] | None = None
        with _locate_errors(f"{fold.name}, {self.ranker} on {quantity(len(columns), 'feature')}"):
            for point in self.grid:
                ranker = self._ranker(point)  # imports its module the first time
                start = work_seconds()
                ranker.fit(train, eval_set=vali)
                seconds = work_seconds() - start
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
        own = self.settings | point
        if self.seed is not None:
            own["random_state"] = self.seed
        return make_ranker(self.ranker, **own)

    def _values(
        self, data: RankingData, ranker: Any, measures: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Value of each query of the data, by measure."""
        scores = ranker.predict(data)
        return evaluate(
            data.y, scores, data.qid, measures, self.convention, doc_ids=data.doc_ids
        ).per_query


def make_study_selector(name: str, k: int, parameters: dict[str, Any]) -> RankSelector:
    """Make a selector; a ranker inside it is given by name, as in files."""
    named = parameters.get("ranker")
    own = parameters | ({"ranker": make_ranker(named)} if isinstance(named, str) else {})
    return make_selector(name, k, **own)


@contextmanager
def _locate_errors(place: str) -> Iterator[None]:
    """Add to an error where in the study it happened."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{place}: {error}") from error
