"""Run the cells of a fold in parallel: on threads, or on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any

from ranksieve.data import DataError
from ranksieve.progress import listen
from ranksieve.study.cells import Cell
from ranksieve.study.ledger import Record
from ranksieve.study.protocols import StudyFold
from ranksieve.threads import are_few_rows, limit_blas_threads, limit_threads, thread_count

_KEPT = "Finished work is kept; run the same command again to resume it."


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
            yield partial(_results, submit, 2 * thread_count())
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

    try:
        there = client.scatter(fold, broadcast=True, hash=False)
        # Twice as many as can run at a time, so that no worker waits for us.
        most = max(1, 2 * sum(client.nthreads().values()))
        yield partial(_results, partial(client.submit, _run_on_worker, there, pure=False), most)
    except KilledWorker as error:
        raise DataError(
            f"{fold.name}: a cell was tried several times, and each time its Dask worker died; "
            f"see the cluster's logs (it may have run out of memory). {_KEPT}"
        ) from error
    except (CancelledError, OSError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
        raise DataError(f"{fold.name}: the Dask cluster was lost ({reason}). {_KEPT}") from error


def _results(
    submit: Callable[[Cell], Any], most: int, cells: Iterable[Cell]
) -> Iterator[tuple[Cell, Record]]:
    """Submit cells, at most ``most`` at a time, and yield their results."""
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
            for future in _first_done(pending):
                yield pending.pop(future), future.result()
    finally:
        for future in pending:
            future.cancel()


def _first_done(pending: dict[Any, Cell]) -> list[Any]:
    """Wait for the first finished futures; return them in the order of submission."""
    futures = list(pending)
    if isinstance(futures[0], Future):
        done = wait(futures, return_when=FIRST_COMPLETED).done
    else:
        import distributed

        done = distributed.wait(futures, return_when=FIRST_COMPLETED).done
    return [future for future in futures if future in done]


def _run(fold: StudyFold, cell: Cell) -> Record:
    with limit_threads(1), listen(None):  # no progress bars within a cell
        return cell.run(fold)


def _run_on_worker(fold: StudyFold, cell: Cell) -> Record:
    with limit_blas_threads(1):
        return _run(fold, cell)
