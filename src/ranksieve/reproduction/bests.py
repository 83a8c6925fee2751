"""How many features rank best, found on validation queries and on test queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ranksieve.significance import holm, paired_t_test
from ranksieve.study import Outcomes, Run, StudyResult
from ranksieve.study.results import BASE


@dataclass(frozen=True)
class Best:
    """Where a selector with a ranker is at its best.

    Attributes
    ----------
    selector, ranker : str
    published : int or None
        Number of features that the paper prints.
    by_validation : int
        Number with the largest mean over folds on validation queries, the fewest of equals.
    by_test : int
        The same on test queries: what nobody can choose who has not seen them.
    value : float
        Test value of the study's first measure with ``by_validation`` features, mean over folds.
    value_by_test : float
        The same with ``by_test`` features.
    base : float
        The same with all features.
    p_value, adjusted : float
        Of the paired t-test of ``value`` against ``base`` over test queries; and by Holm's method,
        over all selectors and rankers.
    """

    selector: str
    ranker: str
    published: int | None
    by_validation: int
    by_test: int
    value: float
    value_by_test: float
    base: float
    p_value: float
    adjusted: float


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
    found = []
    for ranker in study.rankers:
        base = study.run(BASE, ranker)
        for run in study.of_ranker(ranker):
            if run.selector != BASE:
                printed = published.get((run.selector, ranker), {}).get(collection)
                found.append(_find_best(run, base, study.measures[0], printed))
    adjusted = holm([best.p_value for best in found])
    return [replace(best, adjusted=float(p)) for best, p in zip(found, adjusted, strict=True)]


def _find_best(run: Run, base: Run, measure: str, published: int | None) -> Best:
    by_validation = _first_best({k: validation_mean(tested) for k, tested in run.by_k.items()})
    by_test = _first_best({k: tested.mean(measure) for k, tested in run.by_k.items()})
    chosen = run.by_k[by_validation]
    p_value = paired_t_test(chosen.per_query(measure), base.chosen.per_query(measure)).p_value
    return Best(
        run.selector,
        run.ranker,
        published,
        by_validation,
        by_test,
        chosen.mean(measure),
        run.by_k[by_test].mean(measure),
        base.chosen.mean(measure),
        p_value,
        p_value,
    )


def validation_mean(tested: Outcomes) -> float:
    """Mean over folds and seeds of the value of the validation queries."""
    return float(np.mean([outcome.validation for seed in tested.outcomes for outcome in seed]))


def _first_best(values: Mapping[int, float]) -> int:
    """The number of features with the largest value, the fewest of equals."""
    return min(values, key=lambda k: (-round(values[k], 12), k))
