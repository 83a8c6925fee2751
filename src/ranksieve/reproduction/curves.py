"""Check statements of papers about measures by the number of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ranksieve.reproduction.bests import LEVEL
from ranksieve.significance import holm, paired_t_test, relative_improvement
from ranksieve.study import StudyResult
from ranksieve.study.results import BASE


class Curves:
    """A measure of a study's first ranker, by selector and number of features.

    Attributes
    ----------
    of : dict of str to dict of int to float
        Selector -> number of features -> mean over folds and seeds.
    all : float
        Mean with all features.
    """

    def __init__(self, study: StudyResult, measure: str = "MAP") -> None:
        ranker = study.rankers[0]
        self._tested = {run.selector: run.by_k for run in study.of_ranker(ranker)}
        self._measure = measure
        self.of = {
            name: {k: tested.mean(measure) for k, tested in by_k.items()}
            for name, by_k in self._tested.items()
        }
        self.all = study.run(BASE, ranker).chosen.mean(measure)

    def best(self, selectors: Sequence[str], most: int | None = None) -> float:
        """Return the largest value of some selectors with at most ``most`` features."""
        return max(
            value
            for name in selectors
            for k, value in self.of[name].items()
            if most is None or k <= most
        )

    def gain(self, value: float, base: float | None = None) -> float:
        """Return the relative gain over a base in percent; by default over all features."""
        return float(relative_improvement(value, self.all if base is None else base))

    def gain_at(self, selector: str, k: int) -> float:
        """Return the gain of a selector with ``k`` features over all features, in percent."""
        return self.gain(self.of[selector][k])

    def p_values(self, selector: str, other: str) -> list[float]:
        """Return p-values of paired t-tests, one per number of features, adjusted by Holm."""
        pairs = zip(self._tested[selector].values(), self._tested[other].values(), strict=True)
        tests = [
            paired_t_test(own.per_query(self._measure), theirs.per_query(self._measure))
            for own, theirs in pairs
        ]
        return [float(p) for p in holm([test.p_value for test in tests])]


class Finding(NamedTuple):
    """Our numbers for a statement of a paper, and whether the statement holds for them."""

    text: str
    holds: bool


Find = Callable[[Curves], Finding]


def values_at(k: int, printed: Mapping[str, float], at_least: Sequence[str], near: float) -> Find:
    """Check that with ``k`` features, some selectors reach printed values and others are near."""

    def find(curves: Curves) -> Finding:
        ours = {name: curves.of[name][k] for name in printed}
        holds = all(
            ours[name] >= value if name in at_least else abs(ours[name] - value) <= near
            for name, value in printed.items()
        )
        return Finding(", ".join(f"{name} {value:.3f}" for name, value in ours.items()), holds)

    return find


def gains_at(
    k: int, selectors: Sequence[str], of: Sequence[str], least: float, most: float = np.inf
) -> Find:
    """Check that with ``k`` features, the gains of the selectors in ``of`` are within bounds."""

    def find(curves: Curves) -> Finding:
        gains = {name: curves.gain_at(name, k) for name in selectors}
        return Finding(_percent(gains), all(least <= gains[name] <= most for name in of))

    return find


def no_more_gain(after: int, selectors: Sequence[str], by: float) -> Find:
    """Check that more than ``after`` features gain at most ``by`` percent."""

    def find(curves: Curves) -> Finding:
        gains = {
            name: curves.gain(
                max(value for k, value in curves.of[name].items() if k > after),
                curves.of[name][after],
            )
            for name in selectors
        }
        return Finding(_percent(gains), all(gain <= by for gain in gains.values()))

    return find


def best_gains(most: int, selectors: Sequence[str], least: float) -> Find:
    """Check that each selector's best with at most ``most`` features gains enough."""

    def find(curves: Curves) -> Finding:
        gains = {name: curves.gain(curves.best([name], most)) for name in selectors}
        return Finding(_percent(gains), all(gain >= least for gain in gains.values()))

    return find


def gains_of_best(selectors: Sequence[str], other: str, least: float, most: float) -> Find:
    """Check the gains of the best selector over the best of another and over all features."""

    def find(curves: Curves) -> Finding:
        best = curves.best(selectors)
        gains = {other: curves.gain(best, curves.best([other])), "all": curves.gain(best)}
        return Finding(_percent(gains), all(least <= gain <= most for gain in gains.values()))

    return find


def reaches(selector: str, other: str) -> Find:
    """Check that a selector mostly reaches another, without any significant difference."""

    def find(curves: Curves) -> Finding:
        own, theirs = curves.of[selector], curves.of[other]
        n_reached = sum(own[k] >= value for k, value in theirs.items())
        n_apart = sum(p_value < LEVEL for p_value in curves.p_values(selector, other))
        text = (
            f"with {n_reached} of {len(theirs)} numbers of features; "
            f"{n_apart or 'none'} of the differences significant"
        )
        return Finding(text, n_reached > len(theirs) / 2 and n_apart == 0)

    return find


def below_all(selector: str, fewer_than: int) -> Find:
    """Check that a selector with fewer features than a limit is always below all features."""

    def find(curves: Curves) -> Finding:
        few = [value < curves.all for k, value in curves.of[selector].items() if k < fewer_than]
        return Finding(f"below with {sum(few)} of {len(few)} numbers of features", all(few))

    return find


def _percent(gains: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {gain:+.1f} %" for name, gain in gains.items())
