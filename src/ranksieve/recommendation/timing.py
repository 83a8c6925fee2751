"""A time limit: what may still begin, and how much of the time each run of the procedure gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import Any

from ranksieve.recommendation.asking import Placed
from ranksieve.study.records import Record

_TO_SEARCH = 0.7  # of the time of a run; the rest is to select and to judge what was chosen


class OutOfTimeError(Exception):
    """There is no time left for the cells that a procedure has asked for."""


class TimeLimit:
    """Seconds from now on; without any, there is no limit.

    A cell that runs is not interrupted. None begins that is expected not to end in time: it takes
    as long as the longest of its kind so far with no more features.

    Attributes
    ----------
    is_set : bool
    was_short : bool
        Whether a search ended because its share of the time was used up.
    """

    def __init__(self, seconds: float | None) -> None:
        self.is_set, self.was_short = seconds is not None, False
        self._end = inf if seconds is None else monotonic() + seconds
        self._known: dict[str, dict[int, float]] = {}

    @property
    def left(self) -> float:
        """Seconds that are left; negative if the time is up."""
        return self._end - monotonic()

    def reserve(self, seconds: float) -> None:
        """Keep some of the time for later."""
        self._end -= seconds

    def check(self, cell: Placed) -> None:
        """Raise OutOfTimeError if a cell cannot be expected to end in time."""
        if self.left < self.expected(cell):
            raise OutOfTimeError

    def expected(self, cell: Placed) -> float:
        """Seconds that a cell may take; 0 if none of its kind has run."""
        kind, size = _kind_and_size(cell)
        known = self._known.get(kind, {})
        return max((seconds for n, seconds in known.items() if n <= size), default=0.0)

    def learn(self, cell: Placed, result: Record) -> None:
        """Remember how long a cell has taken."""
        kind, size = _kind_and_size(cell)
        known = self._known.setdefault(kind, {})
        known[size] = max(result["seconds"], known.get(size, 0.0))

    def share(self, n_runs: int) -> Callable[[], bool]:
        """Tells whether the first of so many runs should end its search."""
        end = monotonic() + _TO_SEARCH * self.left / n_runs

        def is_over() -> bool:
            ended = monotonic() > end
            self.was_short |= ended
            return ended

        return is_over


def notes_about_time(seconds: float | None, choices: Sequence[Any], limit: TimeLimit) -> list[str]:
    """What the limit has left out."""
    lacking = []
    if choices[-1] is None:
        lacking.append("no smaller set of features was tried")
    elif limit.was_short:
        lacking.append("fewer sizes were tried")
    unasked = sum(one is None for one in choices[:-1])
    if unasked:
        lacking.append(f"{unasked} of {len(choices) - 1} parts of the queries have not judged")
    return (
        [f"The time limit of {seconds:.4g} s was reached: {'; '.join(lacking)}."] if lacking else []
    )


def _kind_and_size(cell: Placed) -> tuple[str, int]:
    key = cell.key()
    if "selector" in key:
        return str(key["selector"]), int(key["k"])
    return str(key["ranker"]), len(key["features"])
