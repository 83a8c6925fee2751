"""Drop what a set of features can do without or exchange it, the largest saving first."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ranksieve.choosing import ROUNDING
from ranksieve.costs import AlignedCosts

Subset = tuple[int, ...]


class Step(NamedTuple):
    """What is dropped at a time, and the feature that takes its place, if any."""

    dropped: Subset
    added: Subset = ()


class Pruned(NamedTuple):
    """What is left of a set of features.

    Attributes
    ----------
    features : tuple of int
        Features that are kept, in the order of the start; a new one stands where the old one was.
    value : float
        Their value.
    cost : float
        Their cost.
    steps : list of Step
        What was dropped or exchanged, in order.
    n_evaluations : int
        Number of sets whose value was asked for, the start among them.
    is_complete : bool
        Whether no step is left that saves; false if the number of evaluations ended it.
    """

    features: Subset
    value: float
    cost: float
    steps: list[Step]
    n_evaluations: int
    is_complete: bool


def prune(
    start: Sequence[int],
    costs: AlignedCosts,
    value: Callable[[Subset], float],
    limit: float,
    *,
    keep: Iterable[int] = (),
    substitutes: Mapping[int, Sequence[int]] | None = None,
    max_evaluations: int | None = None,
) -> Pruned:
    """Drop features and groups, and exchange features, while the value stays at the limit or above.

    What saves most is tried first: to drop a feature, or all features of a group of costs, which
    saves the cost of the group, too, or to exchange a feature for a substitute that adds less to
    the cost, such as a cheaper near-copy or one of a group that is paid for already. Each step is
    tried once on the way through all; if anything was changed, the way begins again, until nothing
    saves or evaluations run out. At least one feature stays, and so does what costs nothing.

    Parameters
    ----------
    start : sequence of int
        Features to begin with, the most important first: of equal savings, the last is tried first.
    costs : AlignedCosts
    value : callable
        Value of a set of features, in the order of the start; larger is better. It is asked once
        for each set.
    limit : float
        Smallest value that is good enough. If that of the start is not, nothing is changed.
    keep : iterable of int
        Features that are never dropped.
    substitutes : mapping of int to sequence of int, optional
        Features that may take the place of a feature, the best first.
    max_evaluations : int, optional
        Largest number of sets to ask the value of, at least 1; by default as many as it takes.

    Returns
    -------
    Pruned

    Notes
    -----
    A way through n features in g groups, with s substitutes each, asks for at most n (1 + s) + g
    values. There are as many ways as it takes, usually two. Values need not be monotone; the result
    is a set that no step makes cheaper, not the cheapest set of all.

    Examples
    --------
    >>> from ranksieve import FeatureCosts
    >>> from ranksieve.recommendation.pruning import prune
    >>> names = ["bm25", "cosine", "dot", "clicks"]
    >>> groups = {"cosine": "model", "dot": "model"}
    >>> costs = FeatureCosts({n: 1 for n in names}, groups, {"model": 20}).aligned(names)
    >>> gains = [0.3, 0.004, 0.004, 0.1]
    >>> pruned = prune(range(4), costs, lambda features: sum(gains[f] for f in features), 0.4)
    >>> pruned.features, pruned.cost, pruned.steps
    ((0, 3), 2.0, [Step(dropped=(1, 2), added=())])
    """
    if max_evaluations is not None and max_evaluations < 1:
        raise ValueError(f"max_evaluations must be at least 1, got {max_evaluations}")
    search = pruning(start, costs, limit, keep, substitutes, max_evaluations)
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
    substitutes: Mapping[int, Sequence[int]] | None = None,
    max_evaluations: int | None = None,
) -> Generator[Subset, float, Pruned]:
    """The search of :func:`prune`: yields sets, each once, and is sent their values."""
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
    """The features after a step: what is added takes the place of what is dropped."""
    places = {step.dropped[0]: step.added}
    gone = frozenset(step.dropped)
    return tuple(
        new for old in features for new in (places.get(old, ()) if old in gone else (old,))
    )


class _Moves(NamedTuple):
    """Steps that may be made."""

    costs: AlignedCosts
    fixed: frozenset[int]
    substitutes: Mapping[int, Sequence[int]]

    def largest_saving(self, features: Subset, tried: set[Step]) -> Step | None:
        """The step that saves most of those that were not tried; None if none saves anything."""
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
        """Single features, the last first, groups of costs, and exchanges, the last first."""
        for feature in features[::-1]:
            yield Step((feature,))
        groups = self.costs.group_of[list(features)].tolist()
        for group in sorted(set(groups) - {-1}):
            yield Step(tuple(f for f, own in zip(features, groups, strict=True) if own == group))
        for feature in features[::-1]:
            for other in self.substitutes.get(feature, ()):
                if other not in features:
                    yield Step((feature,), (other,))
