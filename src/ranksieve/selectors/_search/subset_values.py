"""Values of subsets of features on held-out queries, and a file of them to resume a search from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ranksieve.base.estimator import RankEstimator
from ranksieve.engine import whole_block
from ranksieve.io.files import check_replaceable
from ranksieve.io.record_log import RecordLog
from ranksieve.io.records import Finite, PathLike, convert_record
from ranksieve.metrics import Convention, Measure
from ranksieve.progress import track
from ranksieve.rankers.base import Ranker
from ranksieve.selectors._search.held_out import Fold
from ranksieve.sums.held_out import Measured, check_any_value
from ranksieve.threads import are_few_rows, limit_blas_threads, limit_threads, ordered_map

Subset = tuple[int, ...]
Key = tuple[int, ...]  # of a result; see Checkpoint


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

    def _checked(self, cell: Any, result: Any, where: str) -> None:
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
