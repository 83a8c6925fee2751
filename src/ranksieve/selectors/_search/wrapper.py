"""Selectors that train a given ranker: their base, values of subsets, and a file to resume from."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, Predictor
from ranksieve.base.estimator import RankEstimator
from ranksieve.data import RankingData
from ranksieve.data.ranking_data import fingerprint
from ranksieve.engine import Source, in_memory, whole_block
from ranksieve.io.files import check_replaceable
from ranksieve.io.record_log import RecordLog
from ranksieve.io.records import Finite, PathLike, convert_record
from ranksieve.metrics import Convention, Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, FeatureCount, NotNegative, Seed, Ties
from ranksieve.progress import track
from ranksieve.rankers import RankRLS, as_ranker
from ranksieve.rankers.base import Ranker, is_repeatable
from ranksieve.selectors._search.held_out import Fold, HeldOutSelector, QueryPart, make_folds
from ranksieve.sums.held_out import Measured, check_any_value
from ranksieve.sums.varying import varying_columns
from ranksieve.threads import are_few_rows, limit_blas_threads, limit_threads, ordered_map

Subset = tuple[int, ...]
Key = tuple[int, ...]  # of a result; see Checkpoint


@dataclass(eq=False, repr=False)
class WrapperSelector(Predictor, HeldOutSelector):
    """Base of selectors that train a ranker on subsets of the features.

    ``predict`` takes all features and returns the predictions of ``ranker_``.
    """

    with_include = "A forward search starts with them, and no search removes them."
    with_groups = "The features of a group are added or removed together."

    works_on_shards = False

    ranker: Any = None
    n_features_to_select: FeatureCount | Literal["best", "one-se", "tolerance"] = 10
    _: KW_ONLY
    measure: str | Measure = "ndcg@10"
    cv: Annotated[
        Any, Interval(Integral, 2, None, closed="left"), StrOptions({"leave-query-out"}), list
    ] = 5
    tol: NotNegative = 0.001
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    checkpoint: Annotated[Any, str, os.PathLike, None] = None
    random_state: Seed = 0

    @property
    def is_nested(self) -> bool:
        """True without groups, and with a ranker whose training can be repeated."""
        return is_repeatable(self.ranker) and super().is_nested

    @property
    def _name_in_errors(self) -> str:
        return f"{type(self).__name__} around {type(self._ranker()).__name__}"

    @property
    def steps_in_python(self) -> bool:  # type: ignore[override]
        """Whether the ranker takes many short steps with Python between them."""
        return self._ranker().steps_in_python

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the ranker takes missing values."""
        return self._ranker().takes_missing

    @property
    def takes_categories(self) -> bool:  # type: ignore[override]
        """Whether the ranker takes categories."""
        return self._ranker().takes_categories

    @property
    def no_row_weights(self) -> str:  # type: ignore[override]
        """Why the ranker takes no weights of rows; empty if it does."""
        return self._ranker().no_row_weights

    @property
    def no_positions(self) -> str:  # type: ignore[override]
        """Why the ranker takes no positions; empty if it does."""
        return self._ranker().no_positions

    def _scores(self, X: Any) -> np.ndarray:
        return self.ranker_._scores(X[:, np.flatnonzero(self.support_)])

    def reasons(self) -> list[str]:
        """For each selected feature, the change of the mean value if it was measured."""
        check_is_fitted(self)
        scores = [step.score for step in self.path_]
        changes = np.diff(scores, prepend=np.nan)
        return [f"{change:+.4f}" if np.isfinite(change) else "" for change in changes]

    def _ranker(self) -> Ranker:
        return RankRLS() if self.ranker is None else clone(as_ranker(self.ranker))

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        ranker = choices.cut_ranker(self._ranker())
        data = in_memory(source)
        if not ranker.takes_missing:
            data.check_finite()
        fold = None
        if vali is not None:
            fold = Fold(QueryPart(data), QueryPart(in_memory(vali)))
        chosen = self._search(data, fold, ranker, choices)
        kept = data.take_features(np.sort(chosen))
        ranker = ranker._for_features(np.sort(chosen).tolist(), data.n_features)
        if not hasattr(self, "feature_names_in_"):
            kept = kept._replace(feature_names=None)
        self.ranker_ = ranker.fit(kept)
        return chosen

    @abstractmethod
    def _search(
        self, data: RankingData, fold: Fold | None, ranker: Ranker, choices: Choices
    ) -> list[int]:
        """Search for features, and return them in the order of selection.

        ``fold`` has the queries of the ``eval_set`` as held-out ones, if there is one.
        """

    def _folds(self, data: RankingData, fold: Fold | None) -> list[Fold]:
        return make_folds(data, self.cv, self.random_state) if fold is None else [fold]

    def _held_out(
        self, data: RankingData, folds: list[Fold], ranker: Ranker, n_judged: int | None = None
    ) -> HeldOutValues:
        """Make the evaluation of subsets; only the first ``n_judged`` folds are evaluated."""
        measure = parse_measure(self.measure)
        search = {}
        if self.checkpoint is not None:
            parameters = {name: repr(value) for name, value in sorted(ranker.get_params().items())}
            search = {
                "method": type(self).__name__,
                "data": _fingerprint_folds(data, folds),
                "ranker": f"{type(ranker).__name__} {parameters}",
                "measure": f"{measure.name}, {self.convention}, {self.ties}",
            } | self._search_settings()
        n_queries = [fold.test.n_queries for fold in folds[:n_judged]]
        n_queries += [0] * (len(folds) - len(n_queries))
        known = Checkpoint(self.checkpoint, search, n_queries)
        convention = get_convention(self.convention, self.ties)
        return HeldOutValues(ranker, folds, measure, convention, known)

    def _search_settings(self) -> dict[str, str]:
        """Settings that results depend on, besides data, ranker and measure."""
        return {}

    @property
    def _by_value(self) -> bool:
        """Whether the number of features is chosen by the values of subsets."""
        return isinstance(self.n_features_to_select, str)


def _fingerprint_folds(data: RankingData, folds: list[Fold]) -> str:
    """Short text that identifies data, held-out data of its own, and the queries of each fold."""
    others = {id(part.data): part.data for fold in folds for part in fold if part.data is not data}
    digest = hashlib.sha256(fingerprint(data, *others.values()).encode())
    for part in chain.from_iterable(folds):
        digest.update(np.append(part.positions, -1).data)
    return digest.hexdigest()[:16]


def varying_groups(data: RankingData, choices: Choices) -> np.ndarray:
    """Mask of groups with a feature that varies in a query of weight above 0; NaN is a value."""
    block = replace(whole_block(data), keeps_missing=True)
    return choices.any_of(varying_columns(block))


class HeldOutValues:
    """Values of a measure on held-out queries, for rankers trained on subsets of the features.

    Copies of the untrained ranker are trained, each with its own random numbers. Results are added
    to ``known``, so that no subset is trained twice.
    """

    def __init__(
        self,
        ranker: Ranker,
        folds: Sequence[Fold],
        measure: Measure,
        convention: Convention | str,
        known: Checkpoint | None = None,
    ) -> None:
        self.ranker = ranker
        self.folds = list(folds)
        self.known = Checkpoint() if known is None else known
        self.n_trained = 0
        self.measure = measure
        tests = (whole_block(fold.test.take().take_features([])) for fold in self.folds)
        self._measured = [Measured(test, measure, convention) for test in tests]
        check_any_value(float(self.weights.sum()))

    @cached_property
    def n_rows(self) -> int:
        """Number of rows to train on, in the largest fold."""
        return max(fold.train.n_rows for fold in self.folds)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the held-out queries of all folds."""
        return np.concatenate([measured.weights for measured in self._measured])

    @property
    def is_defined(self) -> np.ndarray:
        """Whether each held-out query has a value; the others are 0, with weight 0."""
        return np.concatenate([measured.prepared.is_defined for measured in self._measured])

    def values(self, subsets: Sequence[Subset]) -> list[np.ndarray]:
        """Value of each held-out query, for each subset of features."""
        keys = [tuple(sorted(subset)) for subset in subsets]
        missing = [key for key in dict.fromkeys(keys) if key not in self.known]
        advance = track("Subsets", len(missing))
        tasks = [(key, number) for key in missing for number in range(len(self.folds))]
        parts: list[np.ndarray] = []
        results = in_parallel(self._train_and_judge, tasks, self.ranker, self.n_rows)
        for (key, number), part in zip(tasks, results, strict=True):
            parts.append(part)
            if number == len(self.folds) - 1:
                self.known.add(key, [np.concatenate(parts)])
                self.n_trained += 1
                parts = []
                advance(1)
        return [self.known[key][0] for key in keys]

    def _train_and_judge(self, task: tuple[Subset, int]) -> np.ndarray:
        """Train on a subset of the features of a fold, and evaluate on its held-out queries."""
        subset, number = task
        fold = self.folds[number]
        ranker = self.ranker._for_features(subset, fold.train.data.n_features)
        train, test = fold.take(subset)
        return self.judge(ranker.fit(train).predict(test), number)

    def judge(self, scores: np.ndarray, number: int) -> np.ndarray:
        """Value of the measure for each held-out query of a fold, given scores."""
        measured = self._measured[number]
        return measured.prepared.per_query(measured.ranking(scores))


def in_parallel(
    function: Callable[[Any], Any], items: Iterable[Any], method: RankEstimator, n_rows: int
) -> Iterable[Any]:
    """Apply a function to items in parallel, each on one thread; yield results in order.

    One after the other if it fits a method on so few rows that threads would take longer.
    """

    def on_one_thread(item: Any) -> Any:
        with limit_threads(1):
            return function(item)

    is_one_by_one = method.steps_in_python and are_few_rows(n_rows)
    with limit_blas_threads(1):
        yield from (map if is_one_by_one else ordered_map)(on_one_thread, items)


class Checkpoint(dict[Key, list[np.ndarray]]):
    """Results of a search by key, in memory and, if there is a path, in a file.

    A key that lists features stands for the values of all held-out queries. The key -1 - f followed
    by features stands for their importances on fold f and the values of its held-out queries.

    An existing file is read; the file of another search is refused. ``search`` has everything that
    the results depend on, and ``n_queries`` the number of held-out queries of each fold.
    """

    def __init__(
        self,
        path: PathLike | None = None,
        search: Mapping[str, str] | None = None,
        n_queries: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self._log = None if path is None else _SearchLog(Path(path), search or {}, n_queries, self)

    def add(self, key: Key, arrays: Iterable[np.ndarray]) -> None:
        """Keep a result, and write it to the file."""
        found = list(arrays)
        if self._log is not None:
            self._log.add(key, [array.tolist() for array in found])
        self.setdefault(key, found)


class _SearchLog(RecordLog):
    """The file of a checkpoint; its records are added to ``results``."""

    FORMAT = "ranksieve-results"
    VERSION = 3
    WHAT = "the results of a search"
    INSTEAD = "remove the file, or name another"

    def __init__(
        self,
        path: Path,
        search: Mapping[str, str],
        n_queries: Sequence[int],
        results: Checkpoint,
    ) -> None:
        check_replaceable(path)
        self._n_queries, self._arrays = n_queries, results
        super().__init__(path, search)

    def _check_result(self, cell: Any, result: Any, where: str) -> None:
        key, arrays = convert_record(cell, list[int]), convert_record(result, list[list[Finite]])
        if [len(values) for values in arrays] != self._lengths(key):
            raise ValueError(f"there should be {self._lengths(key)} values")
        self._arrays[tuple(key)] = [np.array(values, dtype=np.float64) for values in arrays]

    def _lengths(self, cell: list[int]) -> list[int]:
        if not cell or cell[0] >= 0:
            return [sum(self._n_queries)]
        fold = -1 - cell[0]
        if fold >= len(self._n_queries):
            raise ValueError(f"there is no fold {fold}")
        return [len(cell) - 1, self._n_queries[fold]]
