"""Run the cells of a fold in parallel: on threads, or on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from ranksieve.data import DataError
from ranksieve.progress import listen
from ranksieve.study.cells import Cell
from ranksieve.study.protocols import StudyFold
from ranksieve.study.records import Record
from ranksieve.threads import limit_blas_threads, limit_threads, thread_count

_KEPT = "Finished work is kept; run the same command again to resume it."


class LocalRunner:
    """Runs cells on the threads of this process, one thread each."""

    @contextmanager
    def on(self, fold: StudyFold) -> Iterator[_Started]:
        """Prepare to run cells of a fold; an interruption does not wait for running cells."""
        pool = ThreadPoolExecutor(thread_count())
        with limit_blas_threads(1):  # the cells are the parallel part
            try:
                yield _Started(lambda cell: pool.submit(_run, fold, cell), 2 * thread_count())
            except BaseException as error:
                is_interrupted = isinstance(error, KeyboardInterrupt)
                pool.shutdown(wait=not is_interrupted, cancel_futures=True)
                raise
            pool.shutdown()


class DaskRunner:
    """Runs cells on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @contextmanager
    def on(self, fold: StudyFold) -> Iterator[_Started]:
        """Send a fold to the workers; raise a DataError if the cluster is lost."""
        from distributed import KilledWorker

        try:
            there = self.client.scatter(fold, broadcast=True, hash=False)
            # Twice as many as can run at a time, so that no worker waits for us.
            most = 2 * sum(self.client.nthreads().values())
            yield _Started(
                lambda cell: self.client.submit(_run_on_worker, there, cell, pure=False), most
            )
        except KilledWorker as error:
            raise DataError(
                f"{fold.name}: a cell was tried several times, and each time its Dask worker died; "
                f"the logs of the cluster say why (too little memory?). {_KEPT}"
            ) from error
        except (CancelledError, OSError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
            raise DataError(
                f"{fold.name}: the Dask cluster was lost ({reason}). {_KEPT}"
            ) from error


class _Started:
    """A pool that takes cells and returns futures, a limited number at a time."""

    def __init__(self, submit: Any, most: int) -> None:
        self._submit = submit
        self._most = max(1, most)

    def results(self, cells: Iterable[Cell]) -> Iterator[tuple[Cell, Record]]:
        """Yield cells with their results as they finish; start others as there is room."""
        waiting = iter(cells)
        pending: dict[Any, Cell] = {}
        try:
            while True:
                for cell in waiting:
                    pending[self._submit(cell)] = cell
                    if len(pending) >= self._most:
                        break
                if not pending:
                    return
                for future in _first_done(pending):
                    yield pending.pop(future), future.result()
        finally:
            for future in pending:
                future.cancel()


def _first_done(pending: dict[Any, Cell]) -> list[Any]:
    futures = list(pending)
    if isinstance(futures[0], Future):
        return list(wait(futures, return_when=FIRST_COMPLETED).done)
    import distributed

    return list(distributed.wait(futures, return_when=FIRST_COMPLETED).done)


def _run(fold: StudyFold, cell: Cell) -> Record:
    with limit_threads(1), listen(None):  # bars within a cell would only flicker
        return cell.run(fold)


def _run_on_worker(fold: StudyFold, cell: Cell) -> Record:
    with limit_blas_threads(1):
        return _run(fold, cell)
