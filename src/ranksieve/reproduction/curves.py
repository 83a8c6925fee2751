"""Curves of a study, and the sentences that papers say about such curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ranksieve.significance import relative_improvement
from ranksieve.study import StudyResult
from ranksieve.study.results import BASE


class Curves:
    """A measure of a study's first ranker, by selector and number of features.

    Attributes
    ----------
    of : dict of str to dict of int to float
        Selector -> number of features -> mean over folds and seeds.
    all : float
        That of all features.
    """

    def __init__(self, study: StudyResult, measure: str = "MAP") -> None:
        ranker = study.rankers[0]
        self.of = {
            run.selector: {k: tested.mean(measure) for k, tested in run.by_k.items()}
            for run in study.of_ranker(ranker)
        }
        self.all = study.run(BASE, ranker).chosen.mean(measure)

    def best(self, selectors: Sequence[str], most: int | None = None) -> float:
        """Largest value of some selectors with at most so many features."""
        return max(
            value
            for name in selectors
            for k, value in self.of[name].items()
            if most is None or k <= most
        )

    def gain(self, value: float, base: float | None = None) -> str:
        """By how much a value is above another, which is that of all features by default."""
        return f"{relative_improvement(value, self.all if base is None else base):+.1f} %"


Find = Callable[[Curves], str]


def values_at(k: int, selectors: Sequence[str]) -> Find:
    """Values with ``k`` features."""
    return lambda curves: ", ".join(f"{name} {curves.of[name][k]:.3f}" for name in selectors)


def gains_at(k: int, selectors: Sequence[str]) -> Find:
    """Gains over all features with ``k`` features."""
    return lambda curves: ", ".join(
        f"{name} {curves.gain(curves.of[name][k])}" for name in selectors
    )


def best_gains(most: int, selectors: Sequence[str]) -> Find:
    """Gains over all features of the best with at most so many features."""
    return lambda curves: ", ".join(
        f"{name} {curves.gain(curves.best([name], most))}" for name in selectors
    )


def gains_of_best(selectors: Sequence[str], other: str) -> Find:
    """Gains of the best of some selectors over the best of another, and over all features."""

    def find(curves: Curves) -> str:
        best = curves.best(selectors)
        return f"{curves.gain(best, curves.best([other]))}, {curves.gain(best)}"

    return find


def reaches(selector: str, other: str) -> Find:
    """With how many numbers of features a selector is at least as good as another."""

    def find(curves: Curves) -> str:
        own, theirs = curves.of[selector], curves.of[other]
        n_reached = sum(own[k] >= value for k, value in theirs.items())
        return f"with {n_reached} of {len(theirs)} numbers of features"

    return find


def below_all(selector: str, fewer_than: int) -> Find:
    """With how many numbers of features, of the small ones, a selector is below all features."""

    def find(curves: Curves) -> str:
        few = [value < curves.all for k, value in curves.of[selector].items() if k < fewer_than]
        return f"below with {sum(few)} of {len(few)} numbers of features"

    return find
