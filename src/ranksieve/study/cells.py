"""The two kinds of work in a study, selections and trainings on a fold, and how they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.data.missing import has_missing
from ranksieve.engine.clock import work_seconds
from ranksieve.engine.memo import Memo, sharing
from ranksieve.metrics import evaluate
from ranksieve.progress import listen
from ranksieve.registry import Method
from ranksieve.significance.samples import Sample
from ranksieve.study.files import Record
from ranksieve.study.plan import Plan, make_study_selector
from ranksieve.study.protocols import StudyFold
from ranksieve.text import describe, quantity
from ranksieve.threads import are_few_rows, limit_blas_threads, limit_threads, thread_count

_KEPT = "Finished work is kept; run the same command again to resume it."


class Cell(Protocol):
    """A unit of work on a fold whose result goes into the ledger."""

    @property
    def method(self) -> Method:
        """The method that works."""

    def key(self, fold: str) -> Record:
        """Everything except the data that the result depends on, as JSON values."""

    def run(self, fold: StudyFold) -> Record:
        """Compute the result, as JSON values."""


@dataclass(frozen=True)
class SelectionCell:
    """Select features on the training queries of a fold."""

    method: Method
    settings: dict[str, Any]  # fixed parameters
    parameters: dict[str, Any]  # those from the grid
    seed: int | None
    k: int  # number of features
    inside: Mapping[str, Method] = field(default_factory=dict)  # rankers that selectors train

    def key(self, fold: str) -> Record:
        """Everything except the data that the result depends on."""
        parameters = dict(self.method.preset) | self.settings | self.parameters
        within = self.inside.get(parameters.get("ranker", "")) if self.method.is_ours else None
        if within is not None and not within.is_ours:
            parameters["ranker"] = {"class": within.key, "parameters": dict(within.preset)}
        return {
            "fold": fold,
            "selector": self.method.key,
            "parameters": parameters,
            "seed": self.seed,
            "k": self.k,
        }

    def run(self, fold: StudyFold) -> Record:
        """Select features in order, and measure the seconds that the selection takes alone."""
        seeds = dict.fromkeys(self.method.seeds, self.seed)
        where = f"{fold.name}, {describe(self.method.name, self.parameters)}"
        with (
            locate_errors(where, self.method, *self.inside.values()),
            sharing(fold.memo) as borrowed,
        ):
            parameters = self.settings | self.parameters | seeds
            selector = make_study_selector(self.method, self.k, parameters, self.inside)
            has_vali = self.method.uses_held_out_data and fold.vali is not None
            beside = {"eval_set": fold.vali} if has_vali else {}
            start = work_seconds()
            selector.fit(fold.train, **beside)
            seconds = work_seconds() - start
            features = np.asarray(selector.selected_).tolist()
            if len(features) > self.k:
                raise DataError(f"selected {len(features)} features instead of {self.k}")
        alone = max(0.0, seconds + borrowed.seconds)
        return {"features": features, "seconds": alone}


@dataclass(frozen=True)
class TrainingCell:
    """Train a ranker on some features, choose its parameters, and test it."""

    method: Method
    settings: dict[str, Any]  # fixed parameters
    grid: Sequence[dict[str, Any]]  # parameters from which the validation queries choose
    seed: int | None
    features: tuple[int, ...]  # ascending
    tune: str  # measure by which to choose
    convention: str
    measures: tuple[str, ...]  # of the test queries

    def key(self, fold: str) -> Record:
        """Everything that the result depends on, except the data and the head of the ledger."""
        return {
            "fold": fold,
            "ranker": self.method.key,
            "parameters": dict(self.method.preset) | self.settings,
            "grid": list(self.grid),
            "seed": self.seed,
            "features": list(self.features),
        }

    def run(self, fold: StudyFold) -> Record:
        """Find the parameters with the best validation value, and compute the test values."""
        columns = list(self.features)
        train, vali = fold.train.take_features(columns), fold.vali.take_features(columns)
        best: tuple[float, float, dict[str, Any], float, Any] | None = None
        where = f"{fold.name}, {self.method.name} on {quantity(len(columns), 'feature')}"
        # Models of a grid may share what depends on the data alone.
        with locate_errors(where, self.method), sharing(Memo()) as borrowed:
            for point in self.grid:
                # The first ranker also imports its module.
                ranker = self._ranker(point)._for_features(columns, fold.train.n_features)
                start = work_seconds() + borrowed.seconds
                ranker.fit(train, eval_set=vali)
                seconds = max(0.0, work_seconds() + borrowed.seconds - start)
                values = query_values(vali, ranker.predict(vali), [self.tune], self.convention)
                sample = Sample.of(values[self.tune], vali.query_weights)
                if best is None or sample.mean > best[0]:
                    best = sample.mean, sample.error, point, seconds, ranker
            assert best is not None  # a grid has at least one point
            validation, error, point, seconds, ranker = best
            test = fold.test.take_features(columns)
            tested = query_values(test, ranker.predict(test), self.measures, self.convention)
        return {
            "parameters": point,
            "validation": validation,
            "validation_error": error,
            "test": {measure: tested[measure].tolist() for measure in self.measures},
            "seconds": seconds,
        }

    def _ranker(self, point: dict[str, Any]) -> Any:
        seeds = dict.fromkeys(self.method.seeds, self.seed)
        return self.method.make(**self.settings | point | seeds)


def query_values(
    data: RankingData, scores: np.ndarray, measures: Sequence[str], convention: str
) -> dict[str, np.ndarray]:
    """Value of each query of the data, ranked by scores, by measure."""
    return evaluate(data.y, scores, data.qid, measures, convention, doc_ids=data.doc_ids).per_query


def check_takes_missing(fold: StudyFold, plan: Plan) -> None:
    """Raise a DataError with the methods that cannot use the missing values of a fold."""
    if not fold.train.keeps_missing or not any(has_missing(part.X) for part in fold.parts):
        return
    unable = [
        *(name for name in plan.selectors if not plan.make_selector(name).takes_missing),
        *(name for name in plan.rankers if not plan.method(name).takes_missing),
    ]
    if unable:
        raise DataError(
            f"{fold.name}: there are missing values, which these methods cannot use: "
            f"{', '.join(unable)}; fill them in with missing query-min, query-median or zero, or "
            "leave these methods out"
        )


@contextmanager
def locate_errors(where: str, *methods: Method) -> Iterator[None]:
    """Context manager that adds the place in the study to errors, also those of users' code."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    except MemoryError:
        raise
    except Exception as error:
        if all(method.is_ours for method in methods):
            raise
        raise DataError(f"{where}: {type(error).__name__}: {error}") from error


Runner = Callable[[Iterable[Cell]], Iterator[tuple[Cell, Record]]]
"""Maps cells of a fold to pairs of a cell and its result, in the order of completion."""


@contextmanager
def run_on_threads(fold: StudyFold) -> Iterator[Runner]:
    """Run cells on the threads of this process, one thread per cell.

    Cells that would only hold each other up have one thread together. An interruption does not wait
    for running cells.
    """
    pools = [ThreadPoolExecutor(thread_count()), ThreadPoolExecutor(1)]

    def submit(cell: Cell) -> Future[Record]:
        is_alone = cell.method.steps_in_python and are_few_rows(fold.n_rows)
        return pools[is_alone].submit(_run, fold, cell)

    with limit_blas_threads(1):  # cells run in parallel
        try:
            yield partial(_results, submit, wait, 2 * thread_count())
        except BaseException as error:
            is_interrupted = isinstance(error, KeyboardInterrupt)
            for pool in pools:
                pool.shutdown(wait=not is_interrupted, cancel_futures=True)
            raise
        for pool in pools:
            pool.shutdown()


@contextmanager
def run_on_cluster(client: Any, fold: StudyFold) -> Iterator[Runner]:
    """Run cells on the workers of a Dask client; raises a DataError if the cluster is lost."""
    from distributed import KilledWorker
    from distributed import wait as wait_on_cluster

    try:
        there = client.scatter(fold, broadcast=True, hash=False)
        # Twice as many as can run at a time, so that no worker waits for us.
        most = max(1, 2 * sum(client.nthreads().values()))
        submit = partial(client.submit, _run_on_worker, there, pure=False)
        yield partial(_results, submit, wait_on_cluster, most)
    except KilledWorker as error:
        raise DataError(
            f"{fold.name}: a cell was tried several times, and each time its Dask worker died; "
            f"see the cluster's logs (it may have run out of memory). {_KEPT}"
        ) from error
    except DataError:
        raise
    except Exception as error:
        is_closed = client.status != "running"  # any call may then fail, in its own way
        if not is_closed and not isinstance(error, (CancelledError, OSError)):
            raise
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
        reason = "its client is closed" if is_closed else reason
        raise DataError(f"{fold.name}: the Dask cluster was lost ({reason}). {_KEPT}") from error


def _results(
    submit: Callable[[Cell], Any], wait: Callable[..., Any], most: int, cells: Iterable[Cell]
) -> Iterator[tuple[Cell, Record]]:
    """Submit cells, at most ``most`` at a time, and yield their results.

    Those that finish together are in the order of submission.
    """
    waiting = iter(cells)
    pending: dict[Any, Cell] = {}
    try:
        while True:
            for cell in waiting:
                pending[submit(cell)] = cell
                if len(pending) >= most:
                    break
            if not pending:
                return
            done = wait(list(pending), return_when=FIRST_COMPLETED).done
            for future in [future for future in pending if future in done]:
                yield pending.pop(future), future.result()
    finally:
        for future in pending:
            future.cancel()


def _run(fold: StudyFold, cell: Cell) -> Record:
    with limit_threads(1), listen(None):  # no progress bars within a cell
        return cell.run(fold)


def _run_on_worker(fold: StudyFold, cell: Cell) -> Record:
    with limit_blas_threads(1):
        return _run(fold, cell)
