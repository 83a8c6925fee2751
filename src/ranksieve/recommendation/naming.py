"""Name the sets of the curve, and say which is recommended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ranksieve.experiments import OutOfTimeError, Runner
from ranksieve.recommendation.answer import CurvePoint, cheapest_within, likely_within
from ranksieve.recommendation.claim import Claim
from ranksieve.recommendation.crossfit import POWER, Curve, distance
from ranksieve.recommendation.path import Subset
from ranksieve.recommendation.task import Task
from ranksieve.significance.band import Band


class Named(NamedTuple):
    """Sets with their bounds, each set once, by rising cost."""

    points: list[CurvePoint]
    places: list[int]  # of each on the curve
    paths: Sequence[Sequence[Subset]]  # the sets of each path, at all places
    band: Band | None  # None if there are no points

    def by_path(self, number: int) -> list[Subset]:
        """What each path has in the place of a point."""
        return [sets[self.places[number]] for sets in self.paths]

    def shares(self, number: int) -> dict[int, float]:
        """Share of the paths that have each feature in the place of a point."""
        own = self.by_path(number)
        known = sorted(set().union(*own))
        return {one: float(np.mean([one in features for features in own])) for one in known}


async def name_sets(task: Task, run: Runner, curve: Curve) -> Named:
    """Name a set for each place: the one that is most like those of all paths.

    The paths are those of the cross-fitting, and one of all queries.
    """
    if curve.band(task) is None:
        return Named([], [], [], None)
    paths = [*curve.paths]
    try:
        paths.append(await task.path.build(run, task.queries.to_deploy))
    except OutOfTimeError:
        task.notes.append("There was no time to build the sets of all queries together.")
    sets = [_name(task, own) for own in zip(*paths, strict=True)]
    band = curve.band(task, sets)
    assert band is not None
    of_paths = [*zip(*paths, strict=True)]
    apart = [distance(one, own) for one, own in zip(sets, of_paths, strict=True)]
    best: dict[frozenset[int], int] = {}  # the place whose paths are most like the set
    for place, own in enumerate(sets):
        known = best.get(frozenset(own), place)
        if len(own) < len(task.allowed):
            best[frozenset(own)] = known if apart[known] <= apart[place] else place
    cost = [task.costs.total(own) for own in sets]
    places = sorted(best.values(), key=lambda place: (cost[place], place))
    numbers = np.transpose([band.change, band.error, band.lower])[places].tolist()
    points = [
        CurvePoint(list(sets[place]), cost[place], *own)
        for place, own in zip(places, numbers, strict=True)
    ]
    return Named(points, places, paths, band)


def _name(task: Task, sets: Sequence[Subset]) -> Subset:
    """The set to name for those that paths have in one place."""
    candidates = task.path.candidates
    cost = float(np.median([candidates.costs.total(own) for own in sets]))
    return medoid(sets, candidates.within(cost, most_frequent(sets)))


def medoid(sets: Sequence[Subset], *others: Subset) -> Subset:
    """Of these sets and others, the one with the largest mean similarity (Jaccard) to these.

    What the band says of a cost is a mean over the sets of paths, so the set to name should be like
    them: one that combines them otherwise may lose more than any. The last of equals is taken.

    Examples
    --------
    >>> medoid([(1, 2), (3, 1), (1, 3), (4, 5)], (1, 4))
    (1, 3)
    """
    members, candidates = [frozenset(one) for one in sets], [*others, *sets]
    likeness = [
        sum(len(own & other) / max(1, len(own | other)) for other in members)
        for own in map(frozenset, candidates)
    ]
    last = max(reversed(range(len(candidates))), key=lambda place: round(likeness[place], 9))
    return candidates[last]


def most_frequent(sets: Sequence[Subset]) -> list[int]:
    """Features by the number of sets that have them, then as in the last set, then by index."""
    counts = Counter(feature for own in sets for feature in own)
    place = {feature: place for place, feature in enumerate(sets[-1])}
    return sorted(counts, key=lambda f: (-counts[f], place.get(f, len(place)), f))


def choose_point(
    points: Sequence[CurvePoint], margin: float, budget: float | None, *, tested: bool
) -> int | None:
    """Position of the point to recommend; None for all features.

    With a budget, that is the point with the highest bound; without one, the cheapest whose bound
    is above minus the margin. If there is none but other queries will test it, it is the cheapest
    whose mean loss is at most half the margin.
    """
    if not points:
        return None
    if budget is not None:
        return max(range(len(points)), key=lambda i: (round(points[i].bound, 12), -points[i].cost))
    found = cheapest_within(points, margin)
    if found is None and tested:
        found = likely_within(points, margin)
    return None if found is None else points.index(found)


def claim_of(task: Task, curve: Curve, named: Named, chosen: int | None) -> Claim:
    """What the band says of the chosen point, or of the one that comes nearest."""
    asked: Any = dict(measure=task.plan.tune, margin=task.margin, level=task.level)
    band, points, n = named.band, named.points, len(curve.queries)
    if band is None or not points:
        is_all = band is not None or not task.has_smaller_sets
        return Claim(about="all" if is_all else "none", **asked)
    point = points[chosen] if chosen is not None else max(points, key=lambda one: one.bound)
    half = float(special.stdtrit(n - 1, (1 + task.level) / 2)) * point.error
    reach = (band.quantile + float(special.ndtri(POWER))) * point.error / task.margin
    return Claim(
        about="none" if chosen is None else "set",
        **asked,
        n_queries=n,
        with_all=band.base,
        with_chosen=band.base * (1 + point.change),
        change=point.change,
        lower=point.change - half,
        upper=point.change + half,
        bound=point.bound,
        is_shown=chosen is not None and point.bound > -task.margin,
        queries_needed=n * reach * reach,  # infinite if it is too large a number
    )
