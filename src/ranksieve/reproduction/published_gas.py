"""What the paper about GAS says of its figures, beside what a study finds.

X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007. The collections of the
paper are .gov (TD2004) with 44 features and OHSUMED with 26, of which later releases have 45.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ranksieve.significance import relative_improvement
from ranksieve.study import StudyResult

MAP = "MAP"
ALL = "all"
GAS = ("gas-e", "gas-l")


class Finding(NamedTuple):
    """A statement of the paper about test MAP with RankSVM, and what is found."""

    paper: str
    ours: str


class _Curves:
    """Test MAP of a study by selector and number of features."""

    def __init__(self, study: StudyResult, ranker: str) -> None:
        self.of = {
            run.selector: {k: tested.mean(MAP) for k, tested in run.by_k.items()}
            for run in study.of_ranker(ranker)
        }
        self.all = study.run(ALL, ranker).chosen.mean(MAP)

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


def _at(k: int) -> Callable[[_Curves], str]:
    def tell(curves: _Curves) -> str:
        return ", ".join(f"{name} {curves.of[name][k]:.3f}" for name in (*GAS, "ig", "chi"))

    return tell


def _gains_at(k: int) -> Callable[[_Curves], str]:
    def tell(curves: _Curves) -> str:
        names = (*GAS, "ig", "chi")
        return ", ".join(f"{name} {curves.gain(curves.of[name][k])}" for name in names)

    return tell


def _loss_against_measure(curves: _Curves) -> str:
    by_measure, by_loss = (curves.of[name] for name in GAS)
    n_reached = sum(by_loss[k] >= value for k, value in by_measure.items())
    return f"with {n_reached} of {len(by_measure)} numbers of features"


def _chi_below(curves: _Curves) -> str:
    below = [value < curves.all for k, value in curves.of["chi"].items() if k < 15]
    return f"below with {sum(below)} of {len(below)} numbers of features"


def _few(curves: _Curves) -> str:
    names = ("ig", *GAS)
    return ", ".join(f"{name} {curves.gain(curves.best([name], 4))}" for name in names)


def _gas_gains(curves: _Curves) -> str:
    best = curves.best(GAS)
    return f"{curves.gain(best, curves.best(['ig']))}, {curves.gain(best)}"


_LOSS = ("GAS-L is at least as good as GAS-E in most cases", _loss_against_measure)
_STATEMENTS: Mapping[str, Sequence[tuple[str, Callable[[_Curves], str]]]] = {
    "TD2004": (
        ("with 4 features, GAS-L and GAS-E are above 0.30, IG has 0.28, CHI 0.25", _at(4)),
        ("with 6 features, GAS is as good as all features or better", _gains_at(6)),
        ("with 18 features, GAS is about 15 % above all features", _gains_at(18)),
        ("with more than 18 features there is no further gain", _gains_at(40)),
        _LOSS,
    ),
    "OHSUMED": (
        ("CHI is below all features with fewer than 15", _chi_below),
        ("IG and GAS are good with fewer than 5: best of these against all features", _few),
        ("GAS is above IG and above all features by 1 to 2 %: best of each", _gas_gains),
        _LOSS,
    ),
}


def findings(collection: str | None, study: StudyResult, ranker: str) -> list[Finding]:
    """Statements about a collection, if the paper has it, beside what a study of it finds."""
    statements = _STATEMENTS.get(collection or "", ())
    if not statements:
        return []
    curves = _Curves(study, ranker)
    return [Finding(paper, tell(curves)) for paper, tell in statements]
