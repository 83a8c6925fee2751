"""The cells of a recommendation (its units of work), what requests them, and their ledger.

A procedure is a generator that yields the cells whose results it needs, is sent a function that
looks up results, and returns its answer. Several procedures run together, so that their next
requests are computed in parallel, and a result that two of them need is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ranksieve.data import RankingData
from ranksieve.engine.memo import work_seconds
from ranksieve.io.record_log import RecordLog
from ranksieve.io.records import check_kinds
from ranksieve.recommendation.division import Division, TrainingSet, Trial
from ranksieve.recommendation.evidence import are_features
from ranksieve.registry import Method
from ranksieve.study.cells import SelectionCell, locate_errors, query_values
from ranksieve.study.files import OF_SELECTION, SELECTION, Record
from ranksieve.text import quantity

T = TypeVar("T")

# Keys of cells and of their results in the ledger, with their types; those of selections are the
# same as in studies.
_RANKING_KEY = dict(fold=str, ranker=str, parameters=dict, seed=object, features=list)
_RANKING_RESULT = dict(values=dict, seconds=float)


@dataclass(frozen=True)
class RankingCell:
    """Train a ranker on some features and evaluate it on held-out queries."""

    method: Method
    settings: Mapping[str, Any]  # parameters of the ranker
    seed: int | None
    features: tuple[int, ...]  # ascending; if empty, all documents of a query get the same score
    measure: str
    convention: str

    def key(self, fold: str) -> Record:
        """Everything that the result depends on, except the data and the head of the ledger."""
        return {
            "fold": fold,
            "ranker": self.method.key,
            "parameters": dict(self.method.preset) | dict(self.settings),
            "seed": self.seed,
            "features": list(self.features),
        }

    def run(self, trial: Trial) -> Record:
        """Return the value of each held-out query, by part, and the training time in seconds."""
        columns = list(self.features)
        where = f"{trial.name}, {self.method.name} on {quantity(len(columns), 'feature')}"
        ranker, seconds = None, 0.0
        with locate_errors(where, self.method):
            if columns:
                start = work_seconds()
                ranker = self.train(trial.train)
                seconds = work_seconds() - start
            values = {}
            for part, data in trial.held_out.items():
                scores = np.zeros(data.n_rows)
                if ranker is not None:
                    scores = ranker.predict(data.take_features(columns))
                by_query = query_values(data, scores, [self.measure], self.convention)
                values[part] = by_query[self.measure].tolist()
        return {"values": values, "seconds": seconds}

    def train(self, data: RankingData) -> Any:
        """Train the ranker on the features of this cell."""
        columns = list(self.features)
        ranker = self.make()._for_features(columns, data.n_features)
        return ranker.fit(data.take_features(columns))

    def make(self) -> Any:
        """Make the untrained ranker, for all features."""
        return self.method.make(**self.settings, **dict.fromkeys(self.method.seeds, self.seed))


@dataclass(frozen=True)
class PlannedCell:
    """A cell (a selection, or the training of a ranker) and the queries that it runs on."""

    training: TrainingSet
    cell: SelectionCell | RankingCell

    @property
    def method(self) -> Method:
        """The method that works."""
        return self.cell.method

    def key(self, fold: str = "") -> Record:
        """Everything except the data that the result depends on."""
        return self.cell.key(self.training.name)

    def run(self, division: Division) -> Record:
        """Compute the result."""
        return self.cell.run(division.trial(self.training))  # type: ignore[arg-type]


Lookup = Callable[[PlannedCell], Record]
Procedure = Generator[Sequence[PlannedCell], Lookup, T]


def together(procedures: Iterable[Procedure[T]]) -> Procedure[list[T]]:
    """Run procedures side by side and return the answer of each."""
    running = dict(enumerate(procedures))
    answers: list[Any] = [None] * len(running)
    requests: dict[int, Sequence[PlannedCell]] = {}
    lookup: Lookup | None = None
    while running:
        for number, procedure in list(running.items()):
            try:
                requests[number] = procedure.send(lookup)  # type: ignore[arg-type]
            except StopIteration as end:
                answers[number] = end.value
                requests.pop(number, None)
                del running[number]
        if requests:
            lookup = yield [cell for cells in requests.values() for cell in cells]
    return answers


def drive(procedure: Procedure[T], compute: Callable[[Sequence[PlannedCell]], Lookup]) -> T:
    """Run a procedure to its end, computing the results that it requests."""
    lookup: Any = None
    while True:
        try:
            cells = procedure.send(lookup)
        except StopIteration as end:
            answer: T = end.value
            return answer
        lookup = compute(cells)


class RecommendationLog(RecordLog):
    """The ledger of a recommendation: a file of selections and values that survives a crash."""

    FORMAT = "ranksieve-recommendation"
    VERSION = 1
    WHAT = "the results of a recommendation"
    INSTEAD = "name another directory"

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self._sizes: Mapping[str, int] = head["parts"]
        self._n_features = head["n_features"]
        super().__init__(path, head)

    def _differs(self, name: str, found: Any, wanted: Any) -> str:
        if name in ("fingerprint", "parts", "n_features"):
            return f"these are results of other data; {self.INSTEAD}"
        return (
            f"these are results with {name} {found!r:.80}, not {wanted!r:.80}; {self.INSTEAD}, or "
            "use the same setting"
        )

    def _checked(self, cell: Any, result: Any, where: str) -> Record:
        if not isinstance(cell, dict):
            raise ValueError("a cell should be an object")
        if "selector" in cell:
            check_kinds(cell, OF_SELECTION)
            check_kinds(result, SELECTION)
            self._check_features(result["features"])
        else:
            check_kinds(cell, _RANKING_KEY)
            check_kinds(result, _RANKING_RESULT)
            self._check_features(cell["features"])
            self._check_values(result["values"])
        return dict(result)

    def _check_features(self, features: list[Any]) -> None:
        if not are_features(features, self._n_features):
            raise ValueError("not a list of features of the data")

    def _check_values(self, values: dict[str, Any]) -> None:
        for part, by_query in values.items():
            size = self._sizes.get(part)
            if not isinstance(by_query, list) or len(by_query) != size:
                raise ValueError(f"part {part!r} should have {size} values")
            if not all(type(value) is float and isfinite(value) for value in by_query):
                raise ValueError("a value is not a finite number")
