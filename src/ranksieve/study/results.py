"""Results of a study: test values per query, selected features and times of every method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.experiments.cells import Facts
from ranksieve.experiments.ledger import TrialFacts
from ranksieve.frames import Library, make_frame
from ranksieve.reported import Reported
from ranksieve.sums.file_order import FileOrder, compare_with_chance
from ranksieve.text import on_one_line, quantity, shorten

if TYPE_CHECKING:
    from ranksieve.study.first_fold import FirstFold

BASE, RANDOM = "all", "random"
"""Names of the baselines: all features, and a random order."""


@dataclass(frozen=True, repr=False)
class Outcome:
    """Result of one ranker on the features of one selector, on one fold.

    Attributes
    ----------
    k : int
        Number of features asked for.
    features : tuple of int
        Selected features, 0-based, in the order of selection; a method may find fewer than ``k``.
    selector_parameters, ranker_parameters : mapping of str to value
        Parameters that the validation queries chose from the grids.
    validation : float
        Mean of the tuning measure over the validation queries; larger is better.
    validation_error : float
        Its standard error over the validation queries.
    per_query : mapping of str to array of shape (test queries,)
        Measure -> test values.
    selection_seconds, training_seconds : float
        Time of one selection and one training with these parameters, on one thread, without the
        time to compile kernels.
    ignored : tuple of str
        Which of ``row_weights`` and ``positions`` the selector could not use.
    """

    k: int
    features: tuple[int, ...]
    selector_parameters: Mapping[str, Any]
    ranker_parameters: Mapping[str, Any]
    validation: float
    validation_error: float
    per_query: Mapping[str, np.ndarray]
    selection_seconds: float
    training_seconds: float
    ignored: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n = quantity(len(self.features), "feature")
        means = (f"{name} {np.mean(values):.4f}" for name, values in self.per_query.items())
        return f"<Outcome: {n}, {', '.join(means)}>"


@dataclass(frozen=True, repr=False)
class FoldSummary:
    """A fold of a study.

    Attributes
    ----------
    name : str
        Such as ``"Fold1"``.
    n_train, n_vali : int
        Numbers of queries to train on and to tune on.
    query_ids : sequence
        Test queries, in the order of the values.
    file_order : mapping of str to array of shape (2, test queries)
        Measure -> test values of the order of the data, and those expected by chance; empty if
        the convention does not break ties by that order.
    query_weights : sequence of float, or None
        Weights of the test queries; None if each counts once.
    fingerprint : str
        Fingerprint of the data of the fold, which is the same for the same data.
    """

    name: str
    n_train: int
    n_vali: int
    query_ids: Sequence[Any]
    file_order: Mapping[str, Any] = field(default_factory=dict)
    query_weights: Sequence[float] | None = None
    fingerprint: str = ""

    def __repr__(self) -> str:
        tested = quantity(len(self.query_ids), "test query", "test queries")
        return f"<FoldSummary {self.name!r:.80}: {tested}>"

    @classmethod
    def of(cls, name: str, trial: TrialFacts, facts: Facts) -> FoldSummary:
        """Make a fold from what the ledger has on it."""
        own = facts.queries, facts.file_order, facts.weights, trial.fingerprint
        return cls(name, trial.train, trial.vali, *own)


def are_resamples(folds: Sequence[FoldSummary]) -> bool:
    """Whether folds differ only in their training queries, and all test the same queries."""
    tested = [list(fold.query_ids) for fold in folds]
    return len(tested) > 1 and all(queries == tested[0] for queries in tested)


@dataclass(frozen=True, repr=False)
class Outcomes:
    """One outcome for each seed and fold.

    Attributes
    ----------
    outcomes : sequence of sequences of Outcome
        ``outcomes[seed][fold]``; one seed if nothing is random.
    folds : sequence of FoldSummary
    """

    outcomes: Sequence[Sequence[Outcome]]
    folds: Sequence[FoldSummary]

    def __repr__(self) -> str:
        seeds, folds = quantity(self.n_seeds, "seed"), quantity(len(self.folds), "fold")
        return f"<Outcomes: {seeds} on {folds}>"

    @property
    def n_seeds(self) -> int:
        """Number of seeds; 1 if nothing is random."""
        return len(self.outcomes)

    def values(self, measure: str) -> np.ndarray:
        """Mean over the test queries of each fold, for each seed: shape (seeds, folds).

        It is weighted if the queries have weights.
        """
        weights = [fold.query_weights for fold in self.folds]

        def means(seed: Sequence[Outcome]) -> list[float]:
            values = [outcome.per_query[measure] for outcome in seed]
            return [np.average(v, weights=w) for v, w in zip(values, weights, strict=True)]

        return np.array([means(seed) for seed in self.outcomes])

    def on_folds(self, measure: str) -> np.ndarray:
        """Mean over seeds, for each fold."""
        return self.values(measure).mean(axis=0)

    def mean(self, measure: str) -> float:
        """Mean over folds and seeds, which papers report as the average."""
        return float(self.values(measure).mean())

    def spread(self, measure: str) -> float | None:
        """Standard deviation over seeds of the mean over folds; None with one seed.

        If folds are resamples, that of the mean over seeds, over resamples.
        """
        if are_resamples(self.folds):
            return float(self.on_folds(measure).std(ddof=1))
        if self.n_seeds < 2:
            return None
        return float(self.values(measure).mean(axis=1).std(ddof=1))

    def per_query(self, measure: str) -> np.ndarray:
        """Value of every test query of the study, averaged over seeds.

        Queries are in order of first appearance over the folds. A query that is tested in several
        folds, as in the six trials of GAS, has the mean of its values.
        """
        values = np.mean(
            [np.concatenate([o.per_query[measure] for o in seed]) for seed in self.outcomes], axis=0
        )
        return _by_query(self.folds, values)

    @property
    def query_weights(self) -> np.ndarray | None:
        """Weights of the queries of :meth:`per_query`; None if each counts once."""
        return weights_of_queries(self.folds)

    @property
    def selections(self) -> list[tuple[int, ...]]:
        """Selected features of each fold of the first seed, then of the next."""
        return [outcome.features for seed in self.outcomes for outcome in seed]

    def shares(self, n_features: int) -> np.ndarray:
        """Share of the selections that have each of the features of the data."""
        counts = np.zeros(n_features)
        for features in self.selections:
            counts[list(features)] += 1
        return counts / len(self.selections)

    @property
    def n_features(self) -> float:
        """Mean number of features."""
        return self._mean(lambda outcome: len(outcome.features))

    @property
    def selection_seconds(self) -> float:
        """Mean over folds and seeds of one selection."""
        return self._mean(lambda outcome: outcome.selection_seconds)

    @property
    def training_seconds(self) -> float:
        """Mean over folds and seeds of one training."""
        return self._mean(lambda outcome: outcome.training_seconds)

    def _mean(self, of: Callable[[Outcome], float]) -> float:
        return float(np.mean([[of(outcome) for outcome in seed] for seed in self.outcomes]))


def _by_query(folds: Sequence[FoldSummary], values: np.ndarray) -> np.ndarray:
    """Mean of each query's values, given those of all test queries of all folds."""
    index_of: dict[Any, int] = {}
    queries = [
        index_of.setdefault(query, len(index_of)) for fold in folds for query in fold.query_ids
    ]
    return np.bincount(queries, values) / np.bincount(queries)


def weights_of_queries(folds: Sequence[FoldSummary]) -> np.ndarray | None:
    """Weight of every test query of some folds, each once; None if each counts once."""
    if all(fold.query_weights is None for fold in folds):
        return None
    weights = [
        np.ones(len(fold.query_ids)) if fold.query_weights is None else fold.query_weights
        for fold in folds
    ]
    return _by_query(folds, np.concatenate(weights))


@dataclass(frozen=True, repr=False)
class Run:
    """Results of a selector with a ranker.

    Attributes
    ----------
    selector, ranker : str
    chosen : Outcomes
        Results with the number of features that the validation queries of each fold chose.
    by_k : mapping of int to Outcomes
        Results with each number of features, ascending; all other parameters are tuned.
    """

    selector: str
    ranker: str
    chosen: Outcomes
    by_k: Mapping[int, Outcomes]

    def __repr__(self) -> str:
        sizes = shorten(", ".join(map(str, self.by_k)), 80)
        return f"<Run: {on_one_line(f'{self.selector} with {self.ranker}')}, sizes {sizes}>"


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult(Reported):
    """Results of a finished study.

    Attributes
    ----------
    title : str
        Name of the data in tables.
    protocol : str
        Description of the training, validation and test queries.
    convention : str
    tune : str
        Measure by which everything was chosen on validation queries.
    measures : sequence of str
        Names of the measures of the test queries; larger is better.
    folds : sequence of FoldSummary
    feature_names : sequence of str
    runs : mapping of (str, str) to Run
        By selector and ranker, in the order of the plan.
    missing : str
        Treatment of missing values; ``"none"`` if nothing was declared.
    included, excluded : sequences of int
        Features that all selectors had to start with, and to leave out.
    of_rows : sequence of str
        Which of ``row_weights`` and ``positions`` the rows have.
    settings : mapping of str to value
        Further settings of the study: the version of ranksieve, seeds, scaling and the
        rule that chose the numbers of features.
    seen : FirstFold or None
        Facts about the training queries of the first fold, for reports, if they are known: see
        :func:`ranksieve.study.first_fold.describe_first_fold`.
    """

    title: str
    protocol: str
    convention: str
    tune: str
    measures: Sequence[str]
    folds: Sequence[FoldSummary]
    feature_names: Sequence[str]
    runs: Mapping[tuple[str, str], Run]
    missing: str = "none"
    included: Sequence[int] = ()
    excluded: Sequence[int] = ()
    of_rows: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    seen: FirstFold | None = None

    _figure = "curves"

    @property
    def in_short(self) -> str:
        """What was compared with which result, in one sentence."""
        best = max(self.runs.values(), key=self._mean_of)
        by = best.selector if len(self.rankers) == 1 else f"{best.selector} with {best.ranker}"
        return (
            f"{self.title}: {quantity(len(self.selecting), 'selector')} with "
            f"{', '.join(self.rankers)} on {quantity(self.n_queries, 'test query', 'test queries')}"
            f"; best mean {self.main_measure} {self._mean_of(best):.4f}, by {by}"
        )

    def _mean_of(self, run: Run) -> float:
        return run.chosen.mean(self.main_measure)

    def to_frame(self, *, library: Library | None = None) -> Any:
        """Return the means of all runs as a frame of pandas or polars.

        There is a row for each selector, ranker and size. ``size`` is the number of features that
        was asked for, ``features`` the mean number of those found, and ``chosen`` the share of
        folds and seeds whose validation queries chose this size; then follows the mean of each
        measure.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            See :func:`ranksieve.frames.make_frame`.
        """
        rows = [(run, size, own) for run in self.runs.values() for size, own in run.by_k.items()]
        chosen = [[one.k for seed in run.chosen.outcomes for one in seed] for run, _, _ in rows]
        columns: dict[str, list[Any]] = {
            "selector": [run.selector for run, _, _ in rows],
            "ranker": [run.ranker for run, _, _ in rows],
            "size": [size for _, size, _ in rows],
            "features": [own.n_features for _, _, own in rows],
            "chosen": [
                sizes.count(size) / len(sizes)
                for (_, size, _), sizes in zip(rows, chosen, strict=True)
            ],
        }
        columns |= {name: [own.mean(name) for _, _, own in rows] for name in self.measures}
        return make_frame(columns, library)

    @cached_property
    def selectors(self) -> list[str]:
        """Names of the selectors, in order."""
        return list(dict.fromkeys(selector for selector, _ in self.runs))

    @cached_property
    def without_of_rows(self) -> dict[str, list[str]]:
        """What of ``of_rows`` selectors could not use -> these selectors."""
        found: dict[str, list[str]] = {}
        for selector, run in ((run.selector, run) for run in self.runs.values()):
            outcomes = (own for by_k in run.by_k.values() for seed in by_k.outcomes for own in seed)
            for name in sorted({name for outcome in outcomes for name in outcome.ignored}):
                found.setdefault(name, []).append(selector)
        return {name: list(dict.fromkeys(own)) for name, own in found.items()}

    @cached_property
    def selecting(self) -> list[str]:
        """Names of the selectors without the baselines of all features and of random orders."""
        return [name for name in self.selectors if name not in (BASE, RANDOM)]

    @cached_property
    def rankers(self) -> list[str]:
        """Names of the rankers, in order."""
        return list(dict.fromkeys(ranker for _, ranker in self.runs))

    @property
    def main_measure(self) -> str:
        """The tuning measure if it is among the measures, or else the first measure."""
        return self.tune if self.tune in self.measures else self.measures[0]

    @cached_property
    def query_ids(self) -> list[Any]:
        """Test queries, each once, in the order of :meth:`Outcomes.per_query`."""
        return list(dict.fromkeys(query for fold in self.folds for query in fold.query_ids))

    @property
    def n_queries(self) -> int:
        """Number of test queries, each counted once."""
        return len(self.query_ids)

    @cached_property
    def query_weights(self) -> np.ndarray | None:
        """Weights of the test queries, each once; None if each counts once."""
        return weights_of_queries(self.folds)

    @cached_property
    def leaks(self) -> dict[str, FileOrder]:
        """Measures by which the order of the data beats chance, if it breaks ties."""
        judgments = {}
        for measure in self.folds[0].file_order:
            values = np.concatenate([fold.file_order[measure] for fold in self.folds], axis=1)
            in_order, by_chance = (_by_query(self.folds, row) for row in values)
            judgments[measure] = compare_with_chance(in_order, by_chance, self.query_weights)
        return {name: order for name, order in judgments.items() if order.better_than_chance}

    def run(self, selector: str, ranker: str) -> Run:
        """Return the results of a selector with a ranker; raise a DataError if there are none."""
        if (selector, ranker) not in self.runs:
            raise DataError(
                f"{selector!r} with {ranker!r} is not in the study; it has the selectors "
                f"{', '.join(self.selectors)} and the rankers {', '.join(self.rankers)}"
            )
        return self.runs[selector, ranker]

    def runs_with(self, ranker: str) -> list[Run]:
        """Runs of all selectors with a ranker, in order; raises a DataError if it is unknown."""
        if ranker not in self.rankers:
            raise DataError(
                f"ranker {ranker!r} is not in the study; it has {', '.join(self.rankers)}"
            )
        return [self.run(selector, ranker) for selector in self.selectors]
