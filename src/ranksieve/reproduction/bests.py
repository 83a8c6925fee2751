"""How many features rank best, found on validation queries and on test queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ranksieve.study import Outcomes, StudyResult
from ranksieve.study.comparison import compare_pairs
from ranksieve.study.results import BASE

LEVEL = 0.05  # of the marks, as in the papers


class Against(NamedTuple):
    """Difference to another selector, and its p-value: of the paired t-test, and by Holm."""

    difference: float
    p_value: float
    adjusted: float


@dataclass(frozen=True)
class Peak:
    """A selector with the number of features at which it is best.

    Attributes
    ----------
    k : int
    value : float
        Test value of the study's first measure, mean over folds.
    against : dict of str to Against
        Comparison with every other selector at its own best number of features, by tests over
        test queries; p-values are adjusted for all pairs of selectors with all rankers.
    """

    k: int
    value: float
    against: dict[str, Against] = field(default_factory=dict)

    @property
    def better_than(self) -> list[str]:
        """Selectors, of which all features are one, that are shown to be worse."""
        return [
            name
            for name, own in self.against.items()
            if own.adjusted < LEVEL and own.difference > 0
        ]


@dataclass(frozen=True)
class Best:
    """Where a selector with a ranker is at its best.

    Attributes
    ----------
    selector, ranker : str
    published : int or None
        Number of features that the paper prints.
    base : float
        Test value with all features.
    by_validation : Peak
        With the largest mean over folds on validation queries, the fewest of equals.
    by_test : Peak
        The same on test queries: what nobody can choose who has not seen them.
    """

    selector: str
    ranker: str
    published: int | None
    base: float
    by_validation: Peak
    by_test: Peak

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def find_bests(
    study: StudyResult, published: Mapping[tuple[str, str], Mapping[str, int]], collection: str
) -> list[Best]:
    """Best numbers of features, for each selector but all features, and each ranker.

    Parameters
    ----------
    study : StudyResult
        With all features as one of the selectors.
    published : mapping
        Selector and ranker -> collection -> number of features.
    collection : str
        Its name in the paper; empty if it is not known.
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
    """Where each selector with each ranker has the largest quality, compared with the others."""
    measure = study.measures[0]
    peaks, runs = {}, {}
    for ranker in study.rankers:
        for run in study.of_ranker(ranker):
            k = _first_best({k: quality(tested) for k, tested in run.by_k.items()})
            peaks[run.selector, ranker] = Peak(k, run.by_k[k].mean(measure))
            runs[run.selector, ranker] = replace(run, chosen=run.by_k[k])
    for pair in compare_pairs(replace(study, runs=runs), measure):
        one, other = peaks[pair.selector, pair.ranker], peaks[pair.base, pair.ranker]
        one.against[pair.base] = Against(pair.difference, pair.p_value, pair.adjusted)
        other.against[pair.selector] = Against(-pair.difference, pair.p_value, pair.adjusted)
    return peaks


def validation_mean(tested: Outcomes) -> float:
    """Mean over folds and seeds of the value of the validation queries."""
    return float(np.mean([outcome.validation for seed in tested.outcomes for outcome in seed]))


def _first_best(values: Mapping[int, float]) -> int:
    """The number of features with the largest value, the fewest of equals."""
    return min(values, key=lambda k: (-round(values[k], 12), k))
