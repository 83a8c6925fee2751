"""Check statements of papers about measures by the number of features, and about features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.data import RankingData
from ranksieve.reproduction.outcomes import LEVEL
from ranksieve.selectors import Hierarchical, Importance
from ranksieve.significance import holm, paired_t_test, relative_improvement
from ranksieve.study import StudyResult
from ranksieve.study.results import BASE


class Finding(NamedTuple):
    """Our numbers for a statement of a paper, and whether the statement holds for them."""

    text: str
    holds: bool


class Curves:
    """A measure of a study's first ranker, by selector and number of features.

    ``means`` has the means over folds and seeds, and ``all`` is the mean with all features.
    """

    def __init__(self, study: StudyResult, measure: str = "MAP") -> None:
        ranker = study.rankers[0]
        self._tested = {run.selector: run.by_k for run in study.runs_with(ranker)}
        self._measure = measure
        self.means = {
            name: {k: tested.mean(measure) for k, tested in by_k.items()}
            for name, by_k in self._tested.items()
        }
        self.all = study.run(BASE, ranker).chosen.mean(measure)

    def best(self, selectors: Sequence[str], most: int | None = None) -> float:
        """Return the largest value of some selectors with at most ``most`` features."""
        return max(
            value
            for name in selectors
            for k, value in self.means[name].items()
            if most is None or k <= most
        )

    def gain(self, value: float, base: float | None = None) -> float:
        """Return the relative gain over a base in percent; by default over all features."""
        return float(relative_improvement(value, self.all if base is None else base))

    def n_better(self, selector: str, other: str) -> int:
        """Count the numbers of features with which a selector is significantly better than another.

        By paired t-tests over queries whose alternative is that the selector is better, adjusted
        for all numbers of features (Holm).
        """
        pairs = zip(self._tested[selector].values(), self._tested[other].values(), strict=True)
        tests = [
            paired_t_test(a.per_query(self._measure), b.per_query(self._measure), "greater")
            for a, b in pairs
        ]
        return int(sum(holm([test.p_value for test in tests]) < LEVEL))


class Features(NamedTuple):
    """How well features rank alone, and how similar features cluster."""

    alone: np.ndarray  # (features,): MAP of each feature in its better direction
    # Sizes of clusters of similar features (fraction of concordant pairs, average linkage), largest
    # first; the number of clusters has the largest silhouette.
    blocks: list[int]

    @classmethod
    def measure(cls, data: RankingData, convention: str) -> Features:
        """Measure and cluster the features of some data."""
        importance = Importance("map", convention=convention)
        selector = Hierarchical("silhouette", importance=importance, similarity="concordance")
        clusters = selector.fit(data).clusters_
        sizes = np.bincount(clusters[clusters >= 0])
        return cls(selector.importance_, sorted(sizes.tolist(), reverse=True))


def values_at(
    curves: Curves, k: int, printed: Mapping[str, float], at_least: Sequence[str], near: float
) -> Finding:
    """Check that with ``k`` features, some selectors reach printed values and others are near."""
    ours = {name: curves.means[name][k] for name in printed}
    holds = all(
        ours[name] >= value if name in at_least else abs(ours[name] - value) <= near
        for name, value in printed.items()
    )
    return Finding(", ".join(f"{name} {value:.3f}" for name, value in ours.items()), holds)


def gains_at(
    curves: Curves,
    k: int,
    selectors: Sequence[str],
    bounded: Sequence[str],
    least: float,
    most: float = np.inf,
) -> Finding:
    """Check that with ``k`` features, the gains of ``bounded`` selectors are within bounds."""
    gains = {name: curves.gain(curves.means[name][k]) for name in selectors}
    return Finding(_describe_gains(gains), all(least <= gains[name] <= most for name in bounded))


def no_more_gain(curves: Curves, after: int, selectors: Sequence[str], by: float) -> Finding:
    """Check that more than ``after`` features gain at most ``by`` percent."""
    gains = {}
    for name in selectors:
        by_k = curves.means[name]
        gains[name] = curves.gain(max(v for k, v in by_k.items() if k > after), by_k[after])
    return Finding(_describe_gains(gains), all(gain <= by for gain in gains.values()))


def best_gains(
    curves: Curves, selectors: Sequence[str], least: float, most_features: int | None = None
) -> Finding:
    """Check that the best of each selector, with at most so many features, gains enough."""
    gains = {name: curves.gain(curves.best([name], most_features)) for name in selectors}
    return Finding(_describe_gains(gains), all(gain >= least for gain in gains.values()))


def gains_of_best(
    curves: Curves, selectors: Sequence[str], other: str, least: float, most: float
) -> Finding:
    """Check the gains of the best selector over the best of another and over all features."""
    best = curves.best(selectors)
    gains = {other: curves.gain(best, curves.best([other])), "all": curves.gain(best)}
    return Finding(_describe_gains(gains), all(least <= gain <= most for gain in gains.values()))


def reaches(curves: Curves, selector: str, other: str) -> Finding:
    """Check that a selector reaches another in most cases, but is never significantly better.

    A case is a number of features, and the selector reaches the other one if its mean is at least
    as large. A number of features with which it is significantly worse counts against the first
    half of the statement only.
    """
    ours, others = curves.means[selector], curves.means[other]
    n_reached = sum(ours[k] >= value for k, value in others.items())
    n_better = curves.n_better(selector, other)
    text = (
        f"reached with {n_reached} of {len(others)} numbers of features, significantly better "
        f"with {n_better or 'none'}"
    )
    return Finding(text, n_reached > len(others) / 2 and n_better == 0)


def below_all(curves: Curves, selector: str, fewer_than: int) -> Finding:
    """Check that a selector with fewer features than a limit is always below all features."""
    few = [value < curves.all for k, value in curves.means[selector].items() if k < fewer_than]
    return Finding(f"below with {sum(few)} of {len(few)} numbers of features", all(few))


def _describe_gains(gains: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {gain:+.1f} %" for name, gain in gains.items())


def weak_alone(features: Features, below: float, more_than: int) -> Finding:
    """Check that more than ``more_than`` features have a MAP below ``below`` alone."""
    n_weak = int((features.alone < below).sum())
    return Finding(f"{n_weak} of {len(features.alone)} features", n_weak > more_than)


def blocks_at_least(features: Features, least: int) -> Finding:
    """Check that features form at least ``least`` blocks."""
    return Finding(_describe_blocks(features), len(features.blocks) >= least)


def two_blocks_hold(features: Features, share: float) -> Finding:
    """Check that two blocks have at least a given share of the features that vary."""
    held = sum(features.blocks[:2])
    return Finding(_describe_blocks(features), held >= share * sum(features.blocks))


def _describe_blocks(features: Features) -> str:
    largest = ", ".join(map(str, features.blocks[:3]))
    return f"{len(features.blocks)} blocks, the largest of {largest} features"
