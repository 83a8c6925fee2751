"""Make a set of features cheaper by dropping or replacing some, largest saving first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ranksieve.choosing import ROUNDING
from ranksieve.costs import AlignedCosts

Subset = tuple[int, ...]
Enough = Callable[[Sequence[int]], Awaitable[bool]]
"""Finds out whether a set of features is enough."""


class Replacement(NamedTuple):
    """The features that are dropped in one step, and the one that replaces them, if any."""

    dropped: Subset
    added: Subset = ()


async def prune(
    start: Sequence[int],
    costs: AlignedCosts,
    is_enough: Enough,
    include: Iterable[int] = (),
    substitutes: Mapping[int, Sequence[int]] | None = None,
    max_evaluations: int | None = None,
) -> Subset:
    """Drop or replace features to save costs, while the remaining ones are enough.

    A step drops one feature; or drops all features of a cost group, which also saves the cost of
    the group; or replaces a feature with a substitute that adds less to the cost, such as a cheaper
    near-copy or a feature of a group that is already paid for. The step that saves most is tried
    first. Each pass tries every step once; passes are repeated until nothing changes or evaluations
    run out. At least one feature stays, and features that cost nothing stay.

    ``start`` has the most important feature first: if savings are equal, the last one is tried
    first. If the start is not enough, nothing is changed. Features in ``include`` always stay;
    ``substitutes`` lists those that may replace a feature, best first. ``is_enough`` is called once
    for each set, and at most ``max_evaluations`` times. The result is in the order of the start,
    and a substitute has the position of the feature that it replaces.

    A pass over n features in g groups, with s substitutes each, evaluates at most n (1 + s) + g
    sets. Usually there are two passes. A set may be enough although a larger one is not. The result
    is a set that no single step makes cheaper, not necessarily the cheapest set of all.
    """
    current, moves = tuple(start), _Moves(costs, frozenset(include), substitutes or {})
    changed = await is_enough(current)
    known = {frozenset(current): changed}
    while changed:
        changed = False
        tried: set[Replacement] = set()
        while step := moves.largest_saving(current, tried):
            cheaper = _after(current, step)
            if frozenset(cheaper) not in known:
                if len(known) == max_evaluations:
                    return current
                known[frozenset(cheaper)] = await is_enough(cheaper)
            tried.add(step)
            if known[frozenset(cheaper)]:
                current, changed = cheaper, True
    return current


def _after(features: Subset, step: Replacement) -> Subset:
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

    def largest_saving(self, features: Subset, tried: set[Replacement]) -> Replacement | None:
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

    def _steps(self, features: Subset) -> Iterator[Replacement]:
        """Yield steps that drop a feature (last first), drop a cost group, or replace a feature."""
        for feature in features[::-1]:
            yield Replacement((feature,))
        groups = self.costs.group_of[list(features)].tolist()
        for group in sorted(set(groups) - {-1}):
            yield Replacement(tuple(f for f, g in zip(features, groups, strict=True) if g == group))
        for feature in features[::-1]:
            for other in self.substitutes.get(feature, ()):
                if other not in features:
                    yield Replacement((feature,), (other,))
