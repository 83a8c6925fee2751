"""Procedures as generators that request results and resume once they are computed.

A procedure yields the cells whose results it needs, is sent a function that looks up results, and
returns its answer. Several procedures run together, so that their next requests are computed in
parallel, and a result that two of them need is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ranksieve.recommendation.division import Division, TrainingSet
from ranksieve.registry import Method
from ranksieve.study.records import Record

T = TypeVar("T")


@dataclass(frozen=True)
class PlannedCell:
    """A cell (a selection, or the training of a ranker) and the queries that it runs on."""

    training: TrainingSet
    cell: Any

    @property
    def method(self) -> Method:
        """The method that works."""
        method: Method = self.cell.method
        return method

    def key(self, fold: str = "") -> Record:
        """Everything except the data that the result depends on."""
        key: Record = self.cell.key(self.training.name)
        return key

    def run(self, division: Division) -> Record:
        """Compute the result."""
        result: Record = self.cell.run(division.trial(self.training))
        return result


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
