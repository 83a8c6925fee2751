"""Time: which work may still start before a limit, and how much each method has used."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from math import fsum, inf
from time import monotonic, perf_counter
from typing import Any

from ranksieve.recommendation.cells import PlannedCell, RecommendationLog
from ranksieve.recommendation.evidence import Spent
from ranksieve.study.files import Record

_TO_SEARCH = 0.7  # share of a run's time; the rest is for selecting and judging the choice


class OutOfTimeError(Exception):
    """Raised if there is no time left for the cells that a procedure requests."""


class TimeLimit:
    """A deadline some seconds from now; None means no limit.

    A running cell is not interrupted, but a cell that is not expected to finish in time is not
    started. It is expected to take as long as the longest earlier cell of the same method with at
    most as many features.
    """

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"the time limit must be at least 0 seconds, got {seconds}")
        self.is_set = seconds is not None
        self.was_short = False  # whether a search ended because its share of the time was used up
        self._end = inf if seconds is None else monotonic() + seconds
        self._known: dict[str, dict[int, float]] = {}

    @property
    def left(self) -> float:
        """Seconds that are left; negative if time is up."""
        return self._end - monotonic()

    def reserve(self, seconds: float) -> None:
        """Set some time aside for later."""
        self._end -= seconds

    def check(self, cell: PlannedCell) -> None:
        """Raise OutOfTimeError if a cell is not expected to finish in time."""
        if self.left < self.expected(cell):
            raise OutOfTimeError

    def expected(self, cell: PlannedCell) -> float:
        """Estimate the seconds that a cell takes; 0 if no cell of its method has run."""
        kind, size = _kind_and_size(cell)
        known = self._known.get(kind, {})
        return max((seconds for n, seconds in known.items() if n <= size), default=0.0)

    def learn(self, cell: PlannedCell, result: Record) -> None:
        """Record how long a cell has taken."""
        kind, size = _kind_and_size(cell)
        known = self._known.setdefault(kind, {})
        known[size] = max(result["seconds"], known.get(size, 0.0))

    def share(self, n_runs: int) -> Callable[[], bool]:
        """Return a function that says whether the first of ``n_runs`` should end its search."""
        end = monotonic() + _TO_SEARCH * self.left / n_runs

        def is_over() -> bool:
            ended = monotonic() > end
            self.was_short |= ended
            return ended

        return is_over


class Effort:
    """Counts the fits of a recommendation, each once, and adds up their time."""

    def __init__(self, command: Sequence[str] = ()) -> None:
        self.command, self.started = list(command), perf_counter()
        self._seconds: dict[str, tuple[str, float]] = {}
        self._computed: set[str] = set()

    def note(self, cells: Sequence[PlannedCell], new: Set[str], ledger: RecommendationLog) -> None:
        """Count cells of the ledger; those with keys in ``new`` were computed by this run."""
        for cell in cells:
            key, seconds = str(cell.key()), float(ledger.get(cell.key())["seconds"])
            self._seconds[key] = (cell.cell.method.name, seconds)
            if key in new:
                self._computed.add(key)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return perf_counter() - self.started

    @property
    def n_resumed(self) -> int:
        """Number of fits that an earlier run had finished."""
        return len(self._seconds) - len(self._computed)

    @property
    def spent(self) -> list[Spent]:
        """Fits and seconds by method, the longest first."""
        by_method: dict[str, list[float]] = {}
        for method, seconds in self._seconds.values():
            by_method.setdefault(method, []).append(seconds)
        spent = [Spent(name, len(times), fsum(times)) for name, times in by_method.items()]
        return sorted(spent, key=lambda item: (-item.seconds, item.method))


def notes_about_time(seconds: float | None, choices: Sequence[Any], limit: TimeLimit) -> list[str]:
    """Describe the work that was left out because of the time limit."""
    lacking = []
    if choices[-1] is None:
        lacking.append("no smaller set of features was tried")
    elif limit.was_short:
        lacking.append("fewer sizes were tried")
    n_unused = sum(choice is None for choice in choices[:-1])
    if n_unused:
        lacking.append(f"{n_unused} of {len(choices) - 1} parts of the queries were not tested")
    if not lacking:
        return []
    return [f"The time limit of {seconds:.4g} s was reached: {'; '.join(lacking)}."]


def _kind_and_size(cell: PlannedCell) -> tuple[str, int]:
    key = cell.key()
    if "selector" in key:
        return str(key["selector"]), int(key["k"])
    return str(key["ranker"]), len(key["features"])
