"""Our numbers next to published ones, the results of a method, and best numbers of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ranksieve.study import Outcomes, StudyResult
from ranksieve.study.comparison import compare_pairs
from ranksieve.study.results import BASE

if TYPE_CHECKING:
    from ranksieve.reproduction.training import FoldPaths

LEVEL = 0.05  # significance level, as in the papers


class Number(NamedTuple):
    """Our number, the published one, and how they are compared; each is None if there is none."""

    ours: float | None
    published: float | None
    tolerance: float | None = None
    # Number of the ranker on all features, published if there is one: a method that cannot be told
    # apart from it has reproduced nothing.
    rival: float | None = None

    @property
    def difference(self) -> float | None:
        """Our number minus the published one; None if either is missing."""
        return None if None in self[:2] else self.ours - self.published  # type: ignore[operator]

    @property
    def is_within(self) -> bool | None:
        """Whether ours is within the tolerance; None if there is none, or if undecided."""
        if self.difference is None or self.tolerance is None or self.is_undecided:
            return None
        return abs(self.difference) <= self.tolerance

    @property
    def is_undecided(self) -> bool:
        """Whether ours is within the tolerance, but the rival would be, too.

        Either the published numbers of the method and of its rival are no further apart than the
        tolerance, or ours is within the tolerance of both.
        """
        ours, published, tolerance, rival = self
        if ours is None or published is None or tolerance is None or rival is None:
            return False
        is_near = abs(ours - published) <= tolerance
        return is_near and min(abs(ours - rival), abs(published - rival)) <= tolerance

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return {
            "published": self.published,
            "ours": self.ours,
            "difference": self.difference,
            "tolerance": self.tolerance,
            "within": self.is_within,
            "undecided": self.is_undecided,
        }


@dataclass(frozen=True)
class MethodOutcome:
    """Results of one method."""

    # Measure -> [seed][fold]: means over test queries; one seed if the method is not random.
    values: Mapping[str, Sequence[Sequence[float]]]
    n_features: Sequence[float]  # mean over the folds, for each seed
    chosen: Sequence[Mapping[str, Any]] = ()  # parameters by fold; empty for selectors of a study
    paths: Sequence[FoldPaths] = ()  # by fold, for figures, if there are any
    # Measure -> [fold]: values of the test queries, averaged over seeds.
    per_query: Mapping[str, Sequence[np.ndarray]] = field(default_factory=dict)


class Against(NamedTuple):
    """Difference to another selector, its p-value (paired t-test), and that adjusted by Holm."""

    difference: float
    p_value: float
    adjusted: float


@dataclass(frozen=True)
class Peak:
    """The number of features at which a selector is best, and its value there."""

    k: int
    value: float  # mean test value over folds of the study's first measure
    # Comparison with every other selector, each at its best number of features, on the test
    # queries; p-values are adjusted for all pairs of selectors with all rankers.
    against: dict[str, Against] = field(default_factory=dict)

    @property
    def better_than(self) -> list[str]:
        """Selectors (including all features) that are significantly worse."""
        return [
            name
            for name, other in self.against.items()
            if other.adjusted < LEVEL and other.difference > 0
        ]


@dataclass(frozen=True)
class Best:
    """The best numbers of features of a selector with a ranker."""

    selector: str
    ranker: str
    published: int | None  # number of features that the paper prints
    base: float  # test value with all features
    by_validation: Peak  # largest mean over folds on validation queries; the fewest if tied
    by_test: Peak  # the same on test queries, which cannot be used for a choice in practice


def find_bests(
    study: StudyResult, published: Mapping[tuple[str, str], Mapping[str, int]], collection: str
) -> list[Best]:
    """Find the best numbers of features of each selector, by ranker.

    All features must be one of the selectors of the study, but have no such number. ``published``
    has the numbers of the paper by selector and ranker, then by collection.
    """
    measure = study.measures[0]
    by_validation = _find_peaks(study, validation_mean)
    by_test = _find_peaks(study, lambda tested: tested.mean(measure))
    return [
        Best(
            selector,
            ranker,
            published.get((selector, ranker), {}).get(collection),
            study.run(BASE, ranker).chosen.mean(measure),
            peak,
            by_test[selector, ranker],
        )
        for (selector, ranker), peak in by_validation.items()
        if selector != BASE
    ]


def _find_peaks(
    study: StudyResult, quality: Callable[[Outcomes], float]
) -> dict[tuple[str, str], Peak]:
    """Find where the quality of each selector is largest, and compare the selectors there."""
    measure = study.measures[0]
    peaks, runs = {}, {}
    for ranker in study.rankers:
        for run in study.runs_with(ranker):
            k = _first_best({k: quality(tested) for k, tested in run.by_k.items()})
            peaks[run.selector, ranker] = Peak(k, run.by_k[k].mean(measure))
            runs[run.selector, ranker] = replace(run, chosen=run.by_k[k])
    for pair in compare_pairs(replace(study, runs=runs), measure):
        one, other = peaks[pair.selector, pair.ranker], peaks[pair.base, pair.ranker]
        one.against[pair.base] = Against(pair.difference, pair.p_value, pair.adjusted)
        other.against[pair.selector] = Against(-pair.difference, pair.p_value, pair.adjusted)
    return peaks


def validation_mean(tested: Outcomes) -> float:
    """Return the mean validation value over folds and seeds."""
    return float(np.mean([outcome.validation for seed in tested.outcomes for outcome in seed]))


def _first_best(values: Mapping[int, float]) -> int:
    """Return the number of features with the largest value; the smallest if tied."""
    return min(values, key=lambda k: (-round(values[k], 12), k))
