"""Compare the selectors of a study: which is better, by how much, and with what significance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import TypeVar

import numpy as np

from ranksieve.data import DataError
from ranksieve.significance import (
    Claim,
    Interval,
    NonInferiority,
    WinTieLoss,
    bootstrap_interval,
    claim_non_inferiority,
    claim_sequence,
    effect_size,
    holm,
    jaccard,
    nogueira,
    non_inferiority,
    paired_t_test,
    randomization_test,
    relative_improvement,
    student_interval,
    unified_rank,
    wilcoxon_test,
    win_tie_loss,
)
from ranksieve.study.results import BASE, RANDOM, Outcomes, Run, StudyResult
from ranksieve.text import quantity

MARGIN = 0.01  # largest loss of a selection, relative to the mean of all features
LEVEL = 0.95
_DIGITS = 12  # decimals of means to compare; later ones differ by rounding


@dataclass(frozen=True)
class Pair:
    """A selector compared with another, with the same ranker, on the same test queries.

    If queries have weights, they count in all means and tests.
    """

    selector: str
    base: str
    ranker: str
    measure: str
    difference: float  # mean over queries of selector minus base
    interval: Interval  # of the difference, for this pair alone: Student's, or of the bootstrap
    p_value: float  # of the paired two-sided t-test
    adjusted: float  # p-value after Holm's correction for all comparisons made together
    counts: WinTieLoss  # queries won, tied and lost, each counted once


@dataclass(frozen=True)
class Versus(Pair):
    """A selector compared with another by all tests.

    Attributes
    ----------
    selector, base, ranker, measure, difference, interval, p_value, adjusted, counts
        As in :class:`Pair`; the interval is that of the bootstrap.
    randomization_p, wilcoxon_p : float
        p-values of Fisher's and Wilcoxon's tests, not adjusted.
    effect : float
        Mean difference in units of its standard deviation.
    improvement : float or None
        Improvement of the mean in percent; None if the base has a mean of zero.
    not_worse : NonInferiority or None
        Test of whether the mean is less than ``MARGIN`` (relative) below that of the base, for
        this comparison alone.
    not_worse_adjusted : float or None
        Its p-value after Holm's correction for all comparisons made together.
    """

    randomization_p: float
    wilcoxon_p: float
    effect: float
    improvement: float | None
    not_worse: NonInferiority | None
    not_worse_adjusted: float | None = None

    @property
    def is_not_worse(self) -> bool | None:
        """Whether it is shown to lose less than ``MARGIN``, corrected; None if not tested."""
        return None if self.not_worse_adjusted is None else self.not_worse_adjusted < 1 - LEVEL


P = TypeVar("P", bound=Pair)


def compare_with(
    result: StudyResult, base: str = BASE, measures: Sequence[str] | None = None
) -> list[Versus]:
    """Compare all selectors with one of them, ranker by ranker and measure by measure.

    The p-values of the paired t-tests are adjusted for all of these comparisons together, and so
    are those of the non-inferiority tests.

    Parameters
    ----------
    result : StudyResult
    base : str
        Selector to compare with.
    measures : sequence of str, optional
        By default all measures of the study.
    """
    return list(_compare(result, base, tuple(result.measures if measures is None else measures)))


@lru_cache(maxsize=8)  # several tables need the same comparisons
def _compare(result: StudyResult, base: str, measures: tuple[str, ...]) -> tuple[Versus, ...]:
    found = [
        _versus(run, result.run(base, ranker), measure)
        for measure in measures
        for ranker in result.rankers
        for run in result.runs_with(ranker)
        if run.selector != base
    ]
    return tuple(_adjust_not_worse(_adjust(found)))


def compare_pairs(
    result: StudyResult, measure: str | None = None, rankers: Sequence[str] | None = None
) -> list[Pair]:
    """Compare every selector with every other, ranker by ranker; baselines are among them.

    The p-values are adjusted for all of these comparisons together. By default, the measure is the
    main one of the study, and the rankers are all of them.
    """
    name = result.main_measure if measure is None else measure
    pairs = [
        _pair(one, other, name)
        for ranker in (result.rankers if rankers is None else rankers)
        for one, other in combinations(result.runs_with(ranker), 2)
    ]
    return _adjust(pairs)


def _pair(run: Run, base: Run, measure: str) -> Pair:
    a, b = run.chosen.per_query(measure), base.chosen.per_query(measure)
    weights = run.chosen.query_weights
    test = paired_t_test(a, b, weights=weights)
    return Pair(
        run.selector,
        base.selector,
        run.ranker,
        measure,
        test.difference,
        student_interval(a, b, LEVEL, weights),
        test.p_value,
        test.p_value,
        win_tie_loss(a, b),
    )


def _versus(run: Run, base: Run, measure: str) -> Versus:
    a, b = run.chosen.per_query(measure), base.chosen.per_query(measure)
    weights = run.chosen.query_weights
    means = np.average(a, weights=weights), np.average(b, weights=weights)
    interval = bootstrap_interval(a, b, LEVEL, weights=weights)
    return Versus(
        **vars(replace(_pair(run, base, measure), interval=interval)),
        randomization_p=randomization_test(a, b, weights=weights).p_value,
        wilcoxon_p=wilcoxon_test(a, b, weights=weights).p_value,
        effect=effect_size(a, b, weights),
        improvement=relative_improvement(*means) if means[1] > 0 else None,
        not_worse=non_inferiority(a, b, MARGIN, weights=weights) if means[1] > 0 else None,
    )


def _adjust(pairs: Sequence[P]) -> list[P]:
    """Comparisons with p-values after Holm's correction for all of them."""
    adjusted = holm([pair.p_value for pair in pairs]).tolist() if pairs else []
    return [replace(pair, adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)]


def _adjust_not_worse(found: Sequence[Versus]) -> list[Versus]:
    """Comparisons with p-values of non-inferiority after Holm's correction for all of them."""
    tested = [versus.not_worse.p_value for versus in found if versus.not_worse is not None]
    adjusted = iter(holm(tested).tolist() if tested else [])
    return [
        versus if versus.not_worse is None else replace(versus, not_worse_adjusted=next(adjusted))
        for versus in found
    ]


def enough_candidates(result: StudyResult) -> list[tuple[str, str]]:
    """Selectors and rankers of which "enough features" is tested: all but the baselines."""
    return [
        (selector, ranker)
        for selector, ranker in result.runs
        if selector in result.selecting and (BASE, ranker) in result.runs
    ]


def corrected_level(result: StudyResult) -> float:
    """Level of each selector with each ranker, so that ``LEVEL`` holds for all together."""
    return 1 - (1 - LEVEL) / max(1, len(enough_candidates(result)))


def describe_enough(result: StudyResult, measure: str) -> str:
    """What is meant by "enough features", wherever it is said."""
    n_tested = quantity(len(enough_candidates(result)), "combination")
    return (
        f"Enough features: the smallest number, below that of all, shown to lose less than "
        f"{MARGIN:.0%} of the mean {measure} of all features, as is every larger number tried. "
        f"Non-inferiority tests over queries, at the {1 - LEVEL:.0%} level after Bonferroni's "
        f"correction for {n_tested} of a selector and a ranker."
    )


def enough_features(
    result: StudyResult, selector: str, ranker: str, measure: str, level: float | None = None
) -> int | None:
    """Find the fewest features that are shown to lose less than ``MARGIN`` against all features.

    Numbers of features are tested from the largest down, each at the full level, until one is
    not shown to be as good. Since the order is fixed beforehand, the level holds for all of them
    together. By default it is corrected for the number of selectors and rankers of the study
    (Bonferroni), because the best of them are reported. Returns None if the largest number fails,
    or if nothing less than all features is shown.
    """
    level = corrected_level(result) if level is None else level
    base = result.run(BASE, ranker).chosen
    b, weights = base.per_query(measure), base.query_weights
    tested = sorted(result.run(selector, ranker).by_k.items(), reverse=True)
    values = [tested_k.per_query(measure) for _, tested_k in tested]
    claims = claim_sequence(values, b, MARGIN, level, weights)
    shown = [k for (k, _), claim in zip(tested, claims, strict=True) if claim.shown]
    return min((k for k in shown if k < len(result.feature_names)), default=None)


def claim_enough(result: StudyResult, tested: Outcomes, ranker: str, measure: str) -> Claim:
    """Test that some features lose less than ``MARGIN``, at the level of ``enough_features``."""
    level = corrected_level(result)
    base = result.run(BASE, ranker).chosen.per_query(measure)
    weights = tested.query_weights
    return claim_non_inferiority(tested.per_query(measure), base, MARGIN, level, weights)


@dataclass(frozen=True)
class Stability:
    """How much the selections of the folds agree.

    Attributes
    ----------
    nogueira : Interval or None
        None if all features are always selected.
    jaccard : float
    """

    nogueira: Interval | None
    jaccard: float


def stability_of(
    tested: Outcomes, n_features: int, fixed: Collection[int] = ()
) -> Stability | None:
    """Stability of the selected features over folds, averaged over seeds; None with one fold.

    Features that are ``fixed``, in every selection or in none, are ignored.
    """
    free = [feature for feature in range(n_features) if feature not in fixed]
    column_of = {feature: column for column, feature in enumerate(free)}
    by_seed = [
        [[column_of[f] for f in outcome.features if f in column_of] for outcome in seed]
        for seed in tested.outcomes
    ]
    if len(by_seed[0]) < 2:
        return None
    try:
        found = np.array([nogueira(folds, len(free)) for folds in by_seed])
        index = Interval(*found.mean(axis=0).tolist())
    except DataError:  # all features on all folds, where stability is not defined
        index = None
    return Stability(index, float(np.mean([jaccard(folds) for folds in by_seed])))


def unified_ranks(result: StudyResult, ranker: str) -> dict[str, float]:
    """Unified rank (FS-SCPR paper) of each selector over the measures of the study."""
    runs = result.runs_with(ranker)
    table = [[run.chosen.mean(measure) for measure in result.measures] for run in runs]
    ranks = unified_rank(np.round(table, _DIGITS)).tolist()
    return dict(zip((run.selector for run in runs), ranks, strict=True))


def share_of_random_below(result: StudyResult, run: Run, measure: str) -> float | None:
    """Fraction of the random orders with a worse mean; None if the study has none."""
    if run.selector == RANDOM or (RANDOM, run.ranker) not in result.runs:
        return None
    orders = result.run(RANDOM, run.ranker).chosen.values(measure).mean(axis=1)
    return float(np.mean(np.round(orders, _DIGITS) < round(run.chosen.mean(measure), _DIGITS)))
