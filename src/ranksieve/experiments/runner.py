"""Run cells on threads or on a Dask cluster, for procedures that are plain coroutines.

A procedure awaits the results that it needs, and gathers what can be computed side by side::

    async def choose(run, trial):
        selected = await run(selection, trial)
        return await gather(*(run(training(selected.features[:k]), trial) for k in (1, 2, 5)))

    with Runner(ledger) as run:
        results = run.finish(choose(run, trial))

A finished cell comes from the ledger, and equal cells of several procedures run once. The runner
resumes procedures itself, in the thread that calls it: there is no event loop, so it works in a
notebook and an interruption arrives where the user waits.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from time import monotonic, perf_counter
from typing import Any, TypeVar

from ranksieve.data import DataError
from ranksieve.experiments.cells import Cell, Key
from ranksieve.experiments.ledger import Ledger, key_of
from ranksieve.experiments.trials import QuerySets, Trial, TrialData, TrialSource
from ranksieve.io.files import hold_directory
from ranksieve.progress import listen, track
from ranksieve.threads import are_few_rows, limit_blas_threads, limit_threads, thread_count

T = TypeVar("T")

_TURN = 0.5  # seconds to wait at most before looking for an interruption
_KEPT = "Finished work is kept; run the same command again to resume it."


class OutOfTimeError(Exception):
    """Raised in a procedure if there is no time left for a cell that it awaits."""


class TimeLimit:
    """A deadline some seconds from now; None means no limit.

    A running cell is not interrupted, but a cell that is not expected to finish in time is not
    started. It is expected to take as long as the longest earlier cell of the same method with at
    most as many features.
    """

    def __init__(self, seconds: float | None = None) -> None:
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"the time limit must be at least 0 seconds, got {seconds}")
        self._end = inf if seconds is None else monotonic() + seconds
        self._known: dict[str, dict[int, float]] = {}  # method -> features -> longest time

    @property
    def left(self) -> float:
        """Seconds that are left; negative if time is up."""
        return self._end - monotonic()

    def reserve(self, seconds: float) -> None:
        """Set some time aside for later."""
        self._end -= seconds

    def expected(self, key: Key) -> float:
        """Estimate the seconds that a cell takes; 0 if no cell of its method has run."""
        name, size = _method_and_size(key)
        known = self._known.get(name, {})
        return max((seconds for n, seconds in known.items() if n <= size), default=0.0)

    def learn(self, key: Key, result: Any) -> None:
        """Record how long a cell has taken."""
        name, size = _method_and_size(key)
        known = self._known.setdefault(name, {})
        known[size] = max(getattr(result, "seconds", 0.0), known.get(size, 0.0))


def _method_and_size(key: Any) -> tuple[str, int]:
    name = getattr(key, "selector", None) or getattr(key, "ranker", type(key).__name__)
    return str(name), getattr(key, "k", None) or len(getattr(key, "features", ()))


async def gather(*procedures: Awaitable[T]) -> list[T]:
    """Run procedures side by side; return the result of each, in order.

    If one of them fails, the others are given up, and what only they wait for is not started.
    """
    results: list[T] = await _Gathered(procedures) if procedures else []
    return results


@dataclass(frozen=True, eq=False)
class _Gathered:
    procedures: tuple[Awaitable[Any], ...]

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self)


@dataclass(eq=False)
class _Request:
    """A cell on a trial, and the tasks that wait for its result."""

    cell: Cell
    trial: Trial
    key: Key
    text: str  # of the key
    waiting: list[_Task] = field(default_factory=list)

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self)


@dataclass(eq=False)
class _Task:
    """A procedure that is under way."""

    steps: Any  # generator of what it waits for
    parent: _Task | None = None  # which gathers its result
    children: list[_Task] = field(default_factory=list)
    n_open: int = 0  # children that have not ended
    result: Any = None
    is_over: bool = False

    def give_up(self) -> None:
        """End it and its children."""
        for child in self.children:
            child.give_up()
        self.is_over = True
        self.steps.close()


class _Progress:
    """One progress bar of the work that is done and expected, in microseconds of one worker.

    A cell is expected to take as long as others of its method; a request that is only announced,
    as long as the mean request so far. Nothing is expected beyond a time limit.
    """

    def __init__(self, what: str, limit: TimeLimit) -> None:
        self.n_expected = self.n_awaited = 0  # requests of cells, also of those that are known
        self._limit, self._start = limit, perf_counter()
        self.open: Counter[str] = Counter()  # cells without a result, by method
        self._advance = track(what, 0)
        self._done = self._total = 0
        self._times: dict[str, tuple[int, int]] = {}  # by method: number of cells, and their sum

    def add(self, method: str, seconds: float) -> None:
        """Count a cell that has been run."""
        amount = round(1e6 * seconds)
        n, before = self._times.get(method, (0, 0))
        self._times[method] = n + 1, before + amount
        n_done, done = sum(n for n, _ in self._times.values()), self._done + amount
        means = {name: own / n for name, (n, own) in self._times.items()}
        left = sum(n * means.get(name, done / n_done) for name, n in self.open.items())
        n_answered = max(1, self.n_awaited - self.open.total())
        left += max(0, self.n_expected - self.n_awaited) * done / n_answered
        rate = done / max(perf_counter() - self._start, 1e-3)  # of all workers
        total = done + round(max(0.0, min(left, self._limit.left * rate)))
        self._advance(amount, more=total - self._total)
        self._done, self._total = done, total

    def end(self) -> None:
        """Expect nothing more: what was announced was known already."""
        if self._total > self._done:
            self._advance(0, more=self._done - self._total)
            self._total = self._done


class Runner:
    """Runs cells, and the procedures that await them.

    Parameters
    ----------
    ledger : Ledger
        Where results are kept. Several processes can share its directory: the second one starts at
        the other end, so that they meet in the middle.
    client : distributed.Client, optional
        Run cells on a Dask cluster instead of the threads of this process.
    limit : TimeLimit, optional
        Cells that are not expected to finish in time are not started: procedures that await them
        get an OutOfTimeError.
    """

    def __init__(self, ledger: Ledger, client: Any = None, limit: TimeLimit | None = None) -> None:
        self.ledger, self.limit = ledger, limit or TimeLimit()
        self.used: dict[str, tuple[str, float]] = {}
        """Name of the method and seconds of each cell that was asked for, by key."""
        self.n_computed = 0
        self._client = client
        self._stack = ExitStack()
        self._ready: deque[tuple[_Task, Any, BaseException | None]] = deque()
        self._requests: dict[str, _Request] = {}  # that have no result yet, by key
        # Those that have not been started, by trial; trials in the order of their first request.
        self._queues: dict[str, deque[_Request]] = {}
        self._running: dict[Any, _Request] = {}  # by future
        self._source: TrialSource | None = None  # one at a time is in memory
        self._declared: set[str] = set()  # trials whose data is that of the ledger
        self._progress = _Progress("", self.limit)

    def __enter__(self) -> Runner:
        self._is_first = self._stack.enter_context(hold_directory(self.ledger.path.parent))
        self._stack.enter_context(limit_blas_threads(1))  # cells run in parallel
        own = _Threads() if self._client is None else _Cluster(self._client)
        self._workers: Any = self._stack.enter_context(own)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def __call__(self, cell: Cell, trial: Trial) -> Awaitable[Any]:
        """Awaitable result of a cell on a trial."""
        key = cell.key(trial.name)
        return _Request(cell, trial, key, key_of(key))

    def expect(self, n_cells: int) -> None:
        """Announce for the progress bar that procedures will now await cells so many times.

        That replaces what was announced before and has not come yet.
        """
        self._progress.n_expected = self._progress.n_awaited + n_cells

    def finish(self, procedure: Awaitable[T], what: str = "Selections and trainings") -> T:
        """Run a procedure to its end, and return its result."""
        main = _Task(procedure.__await__())
        self._ready.append((main, None, None))
        self._progress = _Progress(what, self.limit)
        try:
            while not main.is_over:
                while self._ready:
                    self._step(*self._ready.popleft())
                self._start()
                if not self._ready and not main.is_over:
                    self._collect()
        except BaseException:
            self._stop(main)
            raise
        self._progress.end()
        result: T = main.result
        return result

    def _step(self, task: _Task, value: Any, error: BaseException | None) -> None:
        """Resume a task with what it has waited for, until it waits again or ends."""
        if task.is_over:
            return
        try:
            wanted = task.steps.send(value) if error is None else task.steps.throw(error)
        except StopIteration as end:
            task.is_over, task.result = True, end.value
            parent = task.parent
            if parent is not None:
                parent.n_open -= 1
                if parent.n_open == 0:
                    self._ready.append((parent, [child.result for child in parent.children], None))
        except OutOfTimeError as late:
            task.is_over = True
            if task.parent is None:
                raise
            for sibling in task.parent.children:
                sibling.give_up()
            self._ready.append((task.parent, None, late))
        else:
            self._wait_for(task, wanted)

    def _wait_for(self, task: _Task, wanted: Any) -> None:
        if isinstance(wanted, _Gathered):
            task.children = [_Task(own.__await__(), task) for own in wanted.procedures]
            task.n_open = len(task.children)
            self._ready.extend((child, None, None) for child in task.children)
            return
        if not isinstance(wanted, _Request):
            raise TypeError(f"procedures can await cells and gather, not {wanted!r:.60}")
        self._progress.n_awaited += 1
        known = self._requests.get(wanted.text)
        if known is not None:
            known.waiting.append(task)
            return
        wanted.waiting = [task]
        self._requests[wanted.text] = wanted
        self._queues.setdefault(wanted.trial.name, deque()).append(wanted)
        self._progress.open[_method_and_size(wanted.key)[0]] += 1

    def _start(self) -> None:
        """Start cells until all workers are busy; those in the ledger are answered at once."""
        while len(self._running) < self._workers.most:
            request = self._next()
            if request is None:
                return
            if all(task.is_over for task in request.waiting):  # given up
                self._resume(request, None, None)
                continue
            found = self.ledger.find(request.key)
            if found is None:
                self.ledger.refresh()  # another process may have added results
                found = self.ledger.find(request.key)
            if found is not None:
                self._answer(request, found)
            elif self.limit.left < self.limit.expected(request.key):
                self._resume(request, None, OutOfTimeError())
            else:
                self._running[self._workers.submit(request.cell, request.trial)] = request

    def _next(self) -> _Request | None:
        """Take the next cell, of the first trial that has one; if we are second, the last."""
        place = -1 if self._is_first is False else 0
        names = [name for name, queue in self._queues.items() if queue]
        if not names:
            return None
        name = names[place]
        queue = self._queues[name]
        trial = queue[place].trial
        if trial.source is not self._source:
            if self._running:  # with the data of another source
                return None
            if self._source is not None:
                self._source.close()
            self._source = trial.source
        if name not in self._declared:
            self.ledger.add_trial(trial)  # raises an error if it has results of other data
            self._declared.add(name)
        return queue.pop() if place else queue.popleft()

    def _collect(self) -> None:
        """Wait until cells finish, and record their results."""
        assert self._running  # else nothing could end a wait
        done = self._workers.wait(list(self._running))
        for future in [future for future in self._running if future in done]:
            request = self._running[future]
            result, seconds = self._workers.result(future, request)
            del self._running[future]
            self._answer(request, self._record(request, result))
            self._progress.add(_method_and_size(request.key)[0], seconds)

    def _record(self, request: _Request, result: Any) -> Any:
        """Add a result to the ledger; return that of the ledger, which may have been there."""
        self.ledger.add(request.key, result)
        self.limit.learn(request.key, result)
        self.n_computed += 1
        return self.ledger.find(request.key)

    def _answer(self, request: _Request, result: Any) -> None:
        """Resume the tasks that wait for a cell with its result."""
        method, seconds = request.cell.method, getattr(result, "seconds", None)
        if seconds is not None:
            tag = str(type(request.key).__struct_config__.tag)
            self.used[request.text] = tag if method is None else method.name, seconds
        self._resume(request, result, None)

    def _resume(self, request: _Request, result: Any, error: BaseException | None) -> None:
        del self._requests[request.text]
        self._progress.open[_method_and_size(request.key)[0]] -= 1
        self._ready.extend((task, result, error) for task in request.waiting)

    def _stop(self, main: _Task) -> None:
        """Give up all work, but record what has been finished."""
        main.give_up()
        self._workers.stop()
        for future, request in self._running.items():
            with suppress(Exception, CancelledError):  # the first error is the one to tell
                if future.done():
                    self._record(request, future.result()[0])
        for own in (self._ready, self._requests, self._queues, self._running):
            own.clear()


class _Threads:
    """Threads of this process, made once: one for each cell that runs.

    Cells that would only hold each other up, because they step in Python over few rows, have one
    thread together.
    """

    def __init__(self) -> None:
        self.most = 2 * thread_count()  # so that no thread waits for others
        self._pools = (ThreadPoolExecutor(thread_count()), ThreadPoolExecutor(1))
        self._is_over = False

    def __enter__(self) -> _Threads:
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        for pool in self._pools:  # an interruption does not wait for running cells
            pool.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True)

    def submit(self, cell: Cell, trial: Trial) -> Future[Any]:
        """Start a cell."""
        steps = cell.method is not None and cell.method.steps_in_python
        is_alone = steps and are_few_rows(trial.n_rows)
        return self._pools[is_alone].submit(self._run, cell, trial)

    def _run(self, cell: Cell, trial: Trial) -> Any:
        if self._is_over:  # it was submitted, and not yet canceled
            raise CancelledError
        with limit_threads(1), listen(self._end_if_over):
            return _run_timed(cell, trial.open)

    def _end_if_over(self, what: str, done: int, total: int) -> None:
        """End a cell that reports its progress after all work was given up."""
        if self._is_over:
            raise CancelledError

    def wait(self, futures: list[Future[Any]]) -> set[Future[Any]]:
        """Wait until some are done, and return them; none if that takes long.

        Waiting in turns notices an interruption that another thread has received.
        """
        return wait(futures, _TURN, return_when=FIRST_COMPLETED).done

    def result(self, future: Future[Any], request: _Request) -> Any:
        """Result of a cell that is done."""
        return future.result()

    def stop(self) -> None:
        """Start no more cells."""
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)
        self._is_over = True  # only now, so that a thread whose cell ends finds no other


class _Cluster:
    """The workers of a Dask client, which get the source of the trials once."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._source: TrialSource | None = None
        self._there: Any = None  # the source on the cluster
        with self._explain_errors():
            self.most = max(1, 2 * sum(client.nthreads().values()))  # so that no worker waits

    def __enter__(self) -> _Cluster:
        return self

    def __exit__(self, *error: Any) -> None:
        self._there = None

    def submit(self, cell: Cell, trial: Trial) -> Any:
        """Start a cell."""
        with self._explain_errors():
            if trial.source is not self._source:
                self._there = self._client.scatter(trial.source, broadcast=True, hash=False)
                self._source = trial.source
            own = (self._there, trial.name, trial.sets, cell)
            return self._client.submit(_run_on_worker, *own, pure=False)

    def wait(self, futures: list[Any]) -> set[Any]:
        """Wait until some are done, and return them."""
        from distributed import wait as wait_on_cluster

        with self._explain_errors():
            return set(wait_on_cluster(futures, return_when=FIRST_COMPLETED).done)

    def result(self, future: Any, request: _Request) -> Any:
        """Result of a cell that is done."""
        from distributed import KilledWorker

        with self._explain_errors():
            try:
                return future.result()
            except KilledWorker as error:
                raise DataError(
                    f"{request.trial.name}: a cell was tried several times, and each time its Dask "
                    "worker died; see the cluster's logs (it may have run out of memory). " + _KEPT
                ) from error

    def stop(self) -> None:
        """Let the cluster forget its cells when their futures are dropped."""

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Raise a DataError if the cluster is lost."""
        try:
            yield
        except DataError:
            raise
        except Exception as error:
            is_closed = self._client.status != "running"  # any call may then fail, in its own way
            if not is_closed and not isinstance(error, (CancelledError, OSError)):
                raise
            reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
            reason = "its client is closed" if is_closed else reason
            raise DataError(f"the Dask cluster was lost ({reason}). {_KEPT}") from error


def _run_on_worker(source: TrialSource, name: str, sets: QuerySets, cell: Cell) -> Any:
    with limit_blas_threads(1), limit_threads(1), listen(None):
        return _run_timed(cell, lambda: source.open(name, sets))


def _run_timed(cell: Cell, open_trial: Callable[[], TrialData]) -> tuple[Any, float]:
    """Result of a cell, and the seconds that it takes with the opening of its trial."""
    start = perf_counter()
    return cell.run(open_trial()), perf_counter() - start
