"""Drop what a set of features can do without, the dearest first."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import NamedTuple

from ranksieve.choosing import ROUNDING
from ranksieve.costs import AlignedCosts

Subset = tuple[int, ...]


class Pruned(NamedTuple):
    """What is left of a set of features.

    Attributes
    ----------
    features : tuple of int
        Features that are kept, in the order of the start.
    value : float
        Their value.
    cost : float
        Their cost.
    drops : list of tuples of int
        What was dropped at a time, in order.
    n_evaluations : int
        Number of sets whose value was asked for, the start among them.
    is_complete : bool
        Whether nothing more can be dropped; false if the number of evaluations ended it.
    """

    features: Subset
    value: float
    cost: float
    drops: list[Subset]
    n_evaluations: int
    is_complete: bool


def prune(
    start: Sequence[int],
    costs: AlignedCosts,
    value: Callable[[Subset], float],
    limit: float,
    *,
    keep: Iterable[int] = (),
    max_evaluations: int | None = None,
) -> Pruned:
    """Drop single features and whole groups while the value stays at the limit or above.

    What saves most is tried first: a feature, or all features of a group of costs, which saves the
    cost of the group, too. Each is tried once on the way through all; if anything was dropped, the
    way begins again, until nothing can be dropped or evaluations run out. At least one feature
    stays, and so does what costs nothing.

    Parameters
    ----------
    start : sequence of int
        Features to begin with, the most important first: of equal savings, the last is tried first.
    costs : AlignedCosts
    value : callable
        Value of a set of features, in the order of the start; larger is better. It is asked once
        for each set.
    limit : float
        Smallest value that is good enough. If that of the start is not, nothing is dropped.
    keep : iterable of int
        Features that are never dropped.
    max_evaluations : int, optional
        Largest number of sets to ask the value of, at least 1; by default as many as it takes.

    Returns
    -------
    Pruned

    Notes
    -----
    A way through n features in g groups asks for at most n + g values. There are as many ways as
    it takes, usually two. Values need not be monotone; the result is a set from which no feature
    and no group can be dropped, not the cheapest set of all.

    Examples
    --------
    >>> from ranksieve import FeatureCosts
    >>> from ranksieve.recommendation.pruning import prune
    >>> names = ["bm25", "cosine", "dot", "clicks"]
    >>> groups = {"cosine": "model", "dot": "model"}
    >>> costs = FeatureCosts({n: 1 for n in names}, groups, {"model": 20}).aligned(names)
    >>> gains = [0.3, 0.004, 0.004, 0.1]
    >>> pruned = prune(range(4), costs, lambda features: sum(gains[f] for f in features), 0.4)
    >>> pruned.features, pruned.cost, pruned.drops
    ((0, 3), 2.0, [(1, 2)])
    """
    if max_evaluations is not None and max_evaluations < 1:
        raise ValueError(f"max_evaluations must be at least 1, got {max_evaluations}")
    search = pruning(start, costs, limit, keep, max_evaluations)
    asked = next(search)
    while True:
        try:
            asked = search.send(float(value(asked)))
        except StopIteration as end:
            pruned: Pruned = end.value
            return pruned


def pruning(
    start: Sequence[int],
    costs: AlignedCosts,
    limit: float,
    keep: Iterable[int] = (),
    max_evaluations: int | None = None,
) -> Generator[Subset, float, Pruned]:
    """The search of :func:`prune`: yields sets, each once, and is sent their values."""
    current, fixed = tuple(start), frozenset(keep)
    known = {current: (yield current)}
    drops: list[Subset] = []
    lowest = limit - ROUNDING * abs(limit)
    changed = known[current] >= lowest
    while changed:
        changed = False
        tried: set[Subset] = set()
        while dropped := _dearest_part(current, costs, fixed, tried):
            smaller = tuple(feature for feature in current if feature not in dropped)
            if smaller not in known and len(known) == max_evaluations:
                return _pruned(current, costs, drops, known, is_complete=False)
            tried.add(dropped)
            if smaller not in known:
                known[smaller] = yield smaller
            if known[smaller] >= lowest:
                current, changed = smaller, True
                drops.append(dropped)
    return _pruned(current, costs, drops, known, is_complete=True)


def _pruned(
    features: Subset,
    costs: AlignedCosts,
    drops: list[Subset],
    known: Mapping[Subset, float],
    is_complete: bool,
) -> Pruned:
    cost = costs.total(features)
    return Pruned(features, known[features], cost, drops, len(known), is_complete)


def _dearest_part(
    features: Subset, costs: AlignedCosts, fixed: frozenset[int], tried: set[Subset]
) -> Subset:
    """What saves most of all that can be dropped and was not tried; nothing if nothing saves."""
    best: Subset = ()
    cheapest = costs.total(features)
    for part in _parts(features, costs):
        if part in tried or len(part) == len(features) or not fixed.isdisjoint(part):
            continue
        rest = costs.total(set(features).difference(part))
        if rest < cheapest:
            best, cheapest = part, rest
    return best


def _parts(features: Subset, costs: AlignedCosts) -> list[Subset]:
    """Single features, the last first, and the features of each group of costs."""
    by_group: dict[int, list[int]] = {}
    for feature in features:
        by_group.setdefault(int(costs.group_of[feature]), []).append(feature)
    groups = [tuple(part) for group, part in sorted(by_group.items()) if group >= 0]
    return [(feature,) for feature in features[::-1]] + groups
