"""Make a set of features cheaper by dropping or replacing some, largest saving first."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ranksieve.choosing import ROUNDING
from ranksieve.costs import AlignedCosts

Subset = tuple[int, ...]


class Step(NamedTuple):
    """The features that are dropped in one step, and the one that replaces them, if any."""

    dropped: Subset
    added: Subset = ()


class Pruned(NamedTuple):
    """Result of :func:`pruning`.

    Attributes
    ----------
    features : tuple of int
        The remaining features, in the order of the start; a substitute has the position of the
        feature that it replaces.
    value : float
        Value of the features.
    cost : float
        Total cost of the features.
    steps : list of Step
        What was dropped or replaced, in order.
    n_evaluations : int
        Number of sets that were evaluated, including the start.
    is_complete : bool
        Whether no possible saving is left; False if the limit of evaluations was reached.
    """

    features: Subset
    value: float
    cost: float
    steps: list[Step]
    n_evaluations: int
    is_complete: bool


def pruning(
    start: Sequence[int],
    costs: AlignedCosts,
    limit: float,
    keep: Iterable[int] = (),
    substitutes: Mapping[int, Sequence[int]] | None = None,
    max_evaluations: int | None = None,
) -> Generator[Subset, float, Pruned]:
    """Drop or replace features to save costs, while the value stays at or above the limit.

    This is a generator: it yields sets of features and is sent the value of each, and a set is
    evaluated once. A step drops one feature; or drops all features of a cost group, which also
    saves the cost of the group; or replaces a feature with a substitute that adds less to the cost,
    such as a cheaper near-copy or a feature of a group that is already paid for. The step that
    saves most is tried first. Each pass tries every step once; passes are repeated until nothing
    changes or evaluations run out. At least one feature stays, and features that cost nothing stay.

    Parameters
    ----------
    start : sequence of int
        Initial features, most important first. If savings are equal, the last one is tried first.
    costs : AlignedCosts
    limit : float
        Smallest value that is good enough. If the start is not good enough, nothing is changed.
    keep : iterable of int
        Features that are never dropped.
    substitutes : mapping of int to sequence of int, optional
        Features that may replace a feature, best first.
    max_evaluations : int, optional
        Largest number of sets to evaluate, at least 1. By default there is no limit.

    Notes
    -----
    A pass over n features in g groups, with s substitutes each, evaluates at most n (1 + s) + g
    sets. Usually there are two passes. Values need not be monotone. The result is a set that no
    single step makes cheaper, not necessarily the cheapest set of all.
    """
    current, moves = tuple(start), _Moves(costs, frozenset(keep), substitutes or {})
    known = {frozenset(current): (yield current)}
    steps: list[Step] = []
    lowest = limit - ROUNDING * abs(limit)
    changed = known[frozenset(current)] >= lowest
    is_complete = True
    while changed and is_complete:
        changed = False
        tried: set[Step] = set()
        while step := moves.largest_saving(current, tried):
            cheaper = _after(current, step)
            if frozenset(cheaper) not in known and len(known) == max_evaluations:
                is_complete = False
                break
            tried.add(step)
            if frozenset(cheaper) not in known:
                known[frozenset(cheaper)] = yield cheaper
            if known[frozenset(cheaper)] >= lowest:
                current, changed = cheaper, True
                steps.append(step)
    value, cost = known[frozenset(current)], costs.total(current)
    return Pruned(current, value, cost, steps, len(known), is_complete)


def _after(features: Subset, step: Step) -> Subset:
    """Return the features after a step; an added feature gets the position of the dropped one."""
    first, *_ = step.dropped
    result: list[int] = []
    for feature in features:
        if feature == first:
            result += step.added
        elif feature not in step.dropped:
            result.append(feature)
    return tuple(result)


class _Moves(NamedTuple):
    """Finds the steps that save costs."""

    costs: AlignedCosts
    fixed: frozenset[int]
    substitutes: Mapping[int, Sequence[int]]

    def largest_saving(self, features: Subset, tried: set[Step]) -> Step | None:
        """Return the untried step that saves most; None if none saves anything."""
        best, cost = None, self.costs.total(features)
        cheapest = cost - ROUNDING * cost
        for step in self._steps(features):
            if step not in tried and self.fixed.isdisjoint(step.dropped):
                after = _after(features, step)
                total = self.costs.total(after)
                if after and total < cheapest:
                    best, cheapest = step, total
        return best

    def _steps(self, features: Subset) -> Iterator[Step]:
        """Yield steps that drop a feature (last first), drop a cost group, or replace a feature."""
        for feature in features[::-1]:
            yield Step((feature,))
        groups = self.costs.group_of[list(features)].tolist()
        for group in sorted(set(groups) - {-1}):
            yield Step(tuple(f for f, g in zip(features, groups, strict=True) if g == group))
        for feature in features[::-1]:
            for other in self.substitutes.get(feature, ()):
                if other not in features:
                    yield Step((feature,), (other,))
