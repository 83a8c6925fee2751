"""Procedures as generators that request results and resume once they are computed.

A procedure yields the cells whose results it needs, is sent a function that looks up results, and
returns its answer. Several procedures run together, so that their next requests are computed in
parallel, and a result that two of them need is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ranksieve.recommendation.division import Division, Place
from ranksieve.study.records import Record

T = TypeVar("T")


@dataclass(frozen=True)
class Placed:
    """A cell (a selection, or the training of a ranker) and the queries that it runs on."""

    place: Place
    cell: Any

    def key(self, fold: str = "") -> Record:
        """Everything except the data that the result depends on."""
        key: Record = self.cell.key(self.place.name)
        return key

    def run(self, division: Division) -> Record:
        """Compute the result."""
        result: Record = self.cell.run(division.trial(self.place))
        return result


Lookup = Callable[[Placed], Record]
Procedure = Generator[Sequence[Placed], Lookup, T]


def together(procedures: Iterable[Procedure[T]]) -> Procedure[list[T]]:
    """Run procedures side by side and return the answer of each."""
    running = list(procedures)
    found: list[Any] = [None] * len(running)
    asked: dict[int, Sequence[Placed]] = {}
    lookup: Lookup | None = None
    todo = set(range(len(running)))
    while todo:
        for place in sorted(todo):
            try:
                asked[place] = running[place].send(lookup)  # type: ignore[arg-type]
            except StopIteration as end:
                found[place] = end.value
                asked.pop(place, None)
                todo.remove(place)
        if asked:
            lookup = yield [cell for cells in asked.values() for cell in cells]
    return found


def drive(procedure: Procedure[T], compute: Callable[[Sequence[Placed]], Lookup]) -> T:
    """Run a procedure to its end, computing the results that it requests."""
    lookup: Any = None
    while True:
        try:
            cells = procedure.send(lookup)
        except StopIteration as end:
            found: T = end.value
            return found
        lookup = compute(cells)
