"""Selectors on MQ2008 with RankSVM on what they select, beside the results that were published."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from ranksieve.data import RankingData
from ranksieve.progress import listen, track
from ranksieve.rankers.ranksvm import ranksvm_path
from ranksieve.rankers.registry import RANKERS
from ranksieve.reproduction.baselines import SELECTED
from ranksieve.reproduction.mq2008 import CONVENTION, N_FOLDS, TIES, measured, read_mq2008
from ranksieve.reproduction.rankers import Number
from ranksieve.scoring import linear_scores
from ranksieve.selectors.fsmrank import fsmrank_path
from ranksieve.selectors.heldout import in_parallel
from ranksieve.selectors.registry import METHODS, make_selector

MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")
NEAR = 0.006  # MAP this near to what is published is the aim
SIZES = (*range(5, 46, 5), 46)
N_SEEDS = 10

Subset = tuple[int, ...]


class Tuned(NamedTuple):
    """A model that validation queries have chosen.

    Attributes
    ----------
    validation : float
        Their MAP.
    features : tuple of int
        In ascending order.
    coef : array
        Weights of ``features``.
    """

    validation: float
    features: Subset
    coef: np.ndarray


class Fold:
    """A fold of MQ2008, on which no subset of features is trained twice."""

    def __init__(self, train: RankingData, vali: RankingData, test: RankingData) -> None:
        self.train, self.vali, self.test = train, vali, test
        self._known: dict[Subset, Tuned] = {}

    def best_of(self, subsets: Iterable[Sequence[int]]) -> Tuned:
        """RankSVM on the subset, and with the C, of the largest validation MAP; first of equals."""
        wanted = list(dict.fromkeys(tuple(sorted(int(f) for f in subset)) for subset in subsets))
        missing = [subset for subset in wanted if subset not in self._known]
        for subset, tuned in zip(missing, in_parallel(self._ranksvm, missing), strict=True):
            self._known[subset] = tuned
        return first_best(self._known[subset] for subset in wanted)

    def _ranksvm(self, subset: Subset) -> Tuned:
        train = self.train.take_features(list(subset))
        solutions = ranksvm_path(train, RANKERS["ranksvm"].grid["C"])
        return first_best(self.tuned(subset, solution.coef) for solution in solutions)

    def tuned(self, subset: Subset, coef: np.ndarray) -> Tuned:
        """A linear model with its validation MAP."""
        value = measured(self.vali, self._scores(self.vali, subset, coef), ["MAP"])["MAP"]
        return Tuned(value, subset, coef)

    def tested(self, model: Tuned) -> dict[str, float]:
        """Measures of the test queries."""
        return measured(self.test, self._scores(self.test, model.features, model.coef), MEASURES)

    @staticmethod
    def _scores(data: RankingData, subset: Subset, coef: np.ndarray) -> np.ndarray:
        return linear_scores(data.X[:, list(subset)], coef)


def first_best(models: Iterable[Tuned]) -> Tuned:
    """The largest validation MAP, the first of equals."""
    return max(models, key=lambda model: model.validation)


def _orders(name: str, fold: Fold, seed: int | None) -> Iterator[Sequence[int]]:
    """Selections of all sizes, for all parameters of the grid of a method."""
    own = {} if seed is None else {"random_state": seed}
    for point in ParameterGrid(dict(METHODS[name].grid)):
        order = make_selector(name, SIZES[-1], **point, **own).fit(fold.train).selected_
        yield from (order[:size] for size in SIZES)


def _clusters(name: str, fold: Fold, seed: int | None) -> Iterator[Sequence[int]]:
    """Selections of all sizes, each of as many clusters."""
    for size in SIZES:
        yield make_selector(name, size, random_state=seed).fit(fold.train).selected_


def _by_selection(subsets: Callable[..., Iterator[Sequence[int]]]) -> Callable[..., Tuned]:
    return lambda name, fold, seed: fold.best_of(subsets(name, fold, seed))


def _fsmrank(name: str, fold: Fold, seed: int | None) -> Tuned:
    everything = tuple(range(fold.train.n_features))
    return first_best(fold.tuned(everything, fit.coef) for fit in _fsmrank_fits(fold))


def _fsmsvm(name: str, fold: Fold, seed: int | None) -> Tuned:
    subsets: list[Sequence[int]] = []
    for fit in _fsmrank_fits(fold):
        order = np.argsort(-np.abs(fit.coef), kind="stable").tolist()
        kept = np.count_nonzero(fit.coef)
        subsets += [order[:size] for size in (*SIZES, kept) if 0 < size <= kept]
    return fold.best_of(subsets)


def _fsmrank_fits(fold: Fold) -> Iterator[Any]:
    grid = METHODS["fsmrank"].grid
    return fsmrank_path(fold.train, grid["lambda1"], grid["lambda2"])


def _all(name: str, fold: Fold, seed: int | None) -> Tuned:
    return fold.best_of([range(fold.train.n_features)])


@dataclass(frozen=True)
class Row:
    """How a method is tuned; ``is_seeded`` if it draws random numbers."""

    note: str
    tune: Callable[[str, Fold, int | None], Tuned]
    is_seeded: bool = False


ROWS: Mapping[str, Row] = {
    "all": Row("no selection", _all),
    "gas-e": Row("c of its grid", _by_selection(_orders)),
    "fs-scpr": Row("as many clusters as features", _by_selection(_clusters), True),
    "fsmrank": Row("25 pairs of penalties; its own weights", _fsmrank),
    "fsmsvm": Row("25 pairs of penalties; largest weights", _fsmsvm),
    "random": Row("a random order: the one to beat", _by_selection(_orders), True),
}
"""Methods that are compared; the last is the baseline."""


@dataclass(frozen=True)
class SelectorResult:
    """What came out for one method.

    Attributes
    ----------
    values : mapping of str to sequence of float
        Measure -> mean of the five folds, for each seed; one number if nothing is random.
    n_features : sequence of float
        Mean over the folds of the number of features, for each seed.
    """

    values: Mapping[str, Sequence[float]]
    n_features: Sequence[float]


@dataclass(frozen=True)
class SelectorsReproduction:
    """Selectors on the five folds of MQ2008.

    Attributes
    ----------
    results : mapping of str to SelectorResult
        By names of ``ROWS``.
    """

    results: Mapping[str, SelectorResult]

    def mean(self, name: str, measure: str) -> float:
        """Mean over seeds."""
        return float(np.mean(self.results[name].values[measure]))

    def spread(self, name: str, measure: str) -> float | None:
        """Standard deviation over seeds, if there are any."""
        values = self.results[name].values[measure]
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def number(self, name: str, measure: str) -> Number:
        """The mean beside what is published; MAP is asked to be near."""
        published = SELECTED.get(name, {}).get(measure)
        return Number(self.mean(name, measure), published, NEAR if measure == "MAP" else None)

    def random_below(self, name: str) -> float | None:
        """Share of the random orders with a smaller MAP; None without these."""
        if "random" not in self.results or name == "random":
            return None
        return float(
            np.mean(np.array(self.results["random"].values["MAP"]) < self.mean(name, "MAP"))
        )

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "collection": "MQ2008",
            "convention": CONVENTION,
            "ties": TIES,
            "ranker": "ranksvm",
            "methods": {
                name: {
                    "note": ROWS[name].note,
                    "n_features": list(result.n_features),
                    "random_below": self.random_below(name),
                    "values": {
                        measure: {
                            **self.number(name, measure).as_dict(),
                            "spread": self.spread(name, measure),
                            "seeds": list(result.values[measure]),
                        }
                        for measure in MEASURES
                    },
                }
                for name, result in self.results.items()
            },
        }


def reproduce_selectors(
    directory: str | os.PathLike[str],
    methods: Iterable[str] | None = None,
    n_seeds: int = N_SEEDS,
) -> SelectorsReproduction:
    """Select features on the official folds of MQ2008 and train RankSVM on them.

    Features are selected, and RankSVM (squared hinge) trained, on the training queries; parameters
    of the method, the number of features in steps of five and C are chosen by the MAP of the
    validation queries; measures are those of LETOR 4.0. Random orders are tuned in the same way:
    what does not beat them has found nothing.

    Parameters
    ----------
    directory : path
        LETOR 4.0 MQ2008: ``S1.txt`` to ``S5.txt``, or ``Fold1`` to ``Fold5``.
    methods : iterable of str, optional
        Some of ``ROWS``; by default all.
    n_seeds : int
        Of methods that draw random numbers.

    Returns
    -------
    SelectorsReproduction

    References
    ----------
    J.-Y. Yeh, C.-J. Tsai. A graph-based feature selection method for learning to rank using
    spectral clustering for redundancy minimization and biased PageRank for relevance analysis.
    Computer Science and Information Systems 19, 2022.
    """
    names = list(ROWS if methods is None else methods)
    for name in names:
        if name not in ROWS:
            raise ValueError(f"method {name!r} is not compared; those are {', '.join(ROWS)}")
    runs = [
        (name, seed)
        for name in names
        for seed in (range(n_seeds) if ROWS[name].is_seeded else [None])
    ]
    advance = track("Selectors", N_FOLDS * len(runs))
    found: dict[tuple[str, int | None], list[tuple[dict[str, float], int]]]
    found = {run: [] for run in runs}
    for parts in read_mq2008(directory):
        fold = Fold(*parts)
        for name, seed in runs:
            with listen(None):  # bars within it would only flicker
                model = ROWS[name].tune(name, fold, seed)
            kept = int(np.count_nonzero(model.coef))
            found[name, seed].append((fold.tested(model), kept))
            advance(1)
    return SelectorsReproduction({name: _result(name, found) for name in names})


def _result(name: str, found: Mapping[tuple[str, int | None], Any]) -> SelectorResult:
    own = [folds for (method, _), folds in found.items() if method == name]
    values = {
        measure: [float(np.mean([tested[measure] for tested, _ in folds])) for folds in own]
        for measure in MEASURES
    }
    return SelectorResult(values, [float(np.mean([kept for _, kept in folds])) for folds in own])
