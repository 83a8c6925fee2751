"""Blocks on a Dask cluster, as actors on the workers that hold their shards.

Each Dask worker hosts a run of shards in one actor, which calls the instances of its blocks with
the worker's threads. Arguments are broadcast to the hosts; each returns one result per block, and
they are added here in block order, so that the sum has the same bits on any number of workers.

If a worker dies, its shards are opened by another one and the calls that led to the state of its
instances are repeated there. The arguments of other calls are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Concatenate, NamedTuple

import numpy as np

from ranksieve.data import Block, DataError
from ranksieve.data.missing import Missing
from ranksieve.engine.engines import Engine, LocalWorkers, P, S, T, Workers, _in_words
from ranksieve.engine.state import Call, StateCalls
from ranksieve.io.shards import Shards, open_shards
from ranksieve.io.shards.reading import Checks
from ranksieve.threads import limit_threads

_PATIENCE = 60.0  # seconds to wait for a worker when none is left
_MOST_LOSSES = 5  # per assignment; work that kills its worker would otherwise kill all workers
_POLL = 5.0  # seconds between checks that a worker is alive


class DaskEngine(Engine):
    """Works on shards that the workers of a cluster can see."""

    def __init__(self, shards: Shards, client: Any) -> None:
        self.shards = shards
        self.client = client  # a ``distributed.Client``

    def start(
        self, statistic: Callable[Concatenate[Block, P], S], *parameters: P.args, **named: P.kwargs
    ) -> Workers[S]:
        """Make ``statistic(block, *parameters)`` for each shard, on its worker."""
        return DaskWorkers(self.shards, self.client, (statistic, parameters, named))

    def _apply(
        self, function: Callable[..., T], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Iterator[T]:
        with self.start(_OpenBlock) as workers:
            workers.title = _in_words(function)
            yield from workers._track(Call("apply", (function, *arguments), named))


class _OpenBlock:
    """Statistic without a state of its own: functions of its block."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def apply(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return function(self.block, *arguments, **named)


# Statistic, its parameters and its named parameters.
_Recipe = tuple[Callable[..., S], tuple[Any, ...], dict[str, Any]]

_checks: dict[tuple[str, str, bool], Checks] = {}  # per worker, which reopens shards often


class Stored(NamedTuple):
    """Description of shards that a worker needs to open them."""

    path: str
    data_id: str
    columns: np.ndarray | None
    missing: tuple[Missing | None, bool]  # with its indicators, and whether missing values are kept
    checksums: bool
    new_weights: tuple[np.ndarray | None] | None

    @classmethod
    def from_shards(cls, shards: Shards) -> Stored:
        """Description of opened shards."""
        path, checksums = str(shards.path.resolve()), shards.checks.checksums
        missing = shards.missing, shards.keeps_missing
        weights = shards.new_weights
        return cls(path, shards.data_id, shards.columns, missing, checksums, weights)

    def open_on_worker(self) -> Shards:
        """Open the shards in a worker."""
        from distributed import get_worker

        try:
            opened = open_shards(self.path)
        except DataError as error:
            raise DataError(
                f"worker {get_worker().address} cannot open the shards: {error}; put them on a "
                "file system that every worker can access under the same path"
            ) from None
        if opened.data_id != self.data_id:
            raise DataError(f"worker {get_worker().address} finds other data in {self.path}")
        key = (self.path, self.data_id, self.checksums)
        opened.checks = _checks.setdefault(key, Checks(self.checksums))
        missing, keeps = self.missing
        if missing is not None:
            opened = opened.with_missing(missing)
        if not keeps:
            opened = opened.refusing_missing()
        if self.new_weights is not None:
            opened = opened._copy_with(new_weights=self.new_weights)
        return opened if self.columns is None else opened.take_features(self.columns)


class _Host:
    """Actor: the instances of some shards on one Dask worker."""

    def __init__(self, stored: Stored, shards: range, n_threads: int, recipe: _Recipe[Any]) -> None:
        opened = stored.open_on_worker()
        blocks = [partial(opened.block, shard) for shard in shards]
        with limit_threads(n_threads):
            self._workers = LocalWorkers(blocks, *recipe)

    def call(self, call: Call) -> list[Any]:
        return list(self._workers._results(call))

    def replay(self, calls: list[Call]) -> None:
        for call in calls:
            self.call(call)

    def close(self) -> None:
        self._workers.close()


@dataclass
class _Assignment:
    """Shards, and the actor that hosts them on a worker."""

    shards: range
    worker: str
    creation: Any  # the actor's future; the actor lives as long as it is held
    actor: Any = None
    losses: int = 0


class _LostWorkerError(Exception):
    """The worker of an assignment is gone."""


class DaskWorkers(Workers[S]):
    """Instances on the workers of a cluster."""

    def __init__(self, shards: Shards, client: Any, recipe: _Recipe[S]) -> None:
        statistic, *_ = recipe
        super().__init__(statistic, shards.n_shards)
        self._shards, self._client, self._recipe = shards, client, recipe
        self._calls = StateCalls(statistic)
        threads = self._threads_of_workers()
        runs = _shard_runs(shards.n_shards, len(threads))
        workers = sorted(threads)
        self._assignments = [self._assign(*pair) for pair in zip(runs, workers, strict=False)]
        with self._limit_blas():
            for assignment in self._assignments:
                try:
                    assignment.actor = self._wait(assignment, assignment.creation)
                except _LostWorkerError:
                    self._reopen(assignment)

    def _threads_of_workers(self) -> dict[str, int]:
        threads = self._client.nthreads()
        if not threads:
            try:
                self._client.wait_for_workers(1, timeout=_PATIENCE)
            except TimeoutError:
                raise DataError(f"the cluster has had no worker for {_PATIENCE:g} s") from None
            threads = self._client.nthreads()
        return threads

    def _assign(self, shards: range, worker: str) -> _Assignment:
        """Start to open shards on a worker."""
        n_threads = self._threads_of_workers().get(worker, 1)
        arguments = (Stored.from_shards(self._shards), shards, n_threads, self._recipe)
        creation = self._client.submit(_Host, *arguments, actor=True, workers=[worker], pure=False)
        return _Assignment(shards, worker, creation)

    def _results(self, call: Call) -> Iterator[Any]:
        pending = [self._ask(assignment, call) for assignment in self._assignments]
        for assignment, future in zip(self._assignments, pending, strict=True):
            try:
                results = self._wait(assignment, future)
            except _LostWorkerError:
                self._reopen(assignment)
                results = self._repeat_call(assignment, call)
            yield from results
        self._calls.add(call)

    def _ask(self, assignment: _Assignment, call: Call) -> Any:
        """Start a call; None if the worker was lost before."""
        try:
            return assignment.actor.call(call)
        except RuntimeError:
            return None

    def _repeat_call(self, assignment: _Assignment, call: Call) -> list[Any]:
        """Repeat a call of an assignment that moved, and may have to move again."""
        while True:
            try:
                return self._wait(assignment, self._ask(assignment, call))
            except _LostWorkerError:
                self._reopen(assignment)

    def _reopen(self, assignment: _Assignment) -> None:
        """Move an assignment to a living worker and rebuild its state."""
        while True:
            self._move(assignment)
            try:
                assignment.actor = self._wait(assignment, assignment.creation)
                self._wait(assignment, assignment.actor.replay(list(self._calls)))
                return
            except _LostWorkerError:
                continue

    def _wait(self, assignment: _Assignment, future: Any) -> Any:
        """Result of a future; raises _LostWorkerError if the assigned worker is gone."""
        while future is not None:
            try:
                return future.result(timeout=_POLL)
            except TimeoutError:
                if assignment.worker not in self._client.nthreads():
                    break
            except Exception as error:
                # The scheduler may notice the loss later than we do.
                is_lost = isinstance(error, (OSError, RuntimeError)) and "Actor" in str(error)
                if is_lost or assignment.worker not in self._client.nthreads():
                    break
                raise
        raise _LostWorkerError

    def _move(self, assignment: _Assignment) -> None:
        """Open the shards of an assignment on the living worker that hosts the fewest."""
        shards = assignment.shards
        assignment.losses += 1
        if assignment.losses > _MOST_LOSSES:
            raise DataError(
                f"the workers of shards {shards.start} to {shards.stop - 1} died "
                f"{assignment.losses} times; see the cluster's logs (they may have run out of "
                "memory)"
            )
        load = dict.fromkeys(self._threads_of_workers(), 0)
        for other in self._assignments:
            if other.worker in load:
                load[other.worker] += len(other.shards)
        worker = min(load, key=lambda address: (load[address], address))
        moved = self._assign(shards, worker)
        assignment.worker, assignment.creation, assignment.actor = worker, moved.creation, None

    def close(self) -> None:
        """Release the actors."""
        for assignment in self._assignments:
            assignment.creation.release()
            assignment.actor = None
        self._assignments = []
        super().close()


def _shard_runs(n_shards: int, n_workers: int) -> list[range]:
    """Runs of adjacent shards, at most one per worker."""
    cuts = np.linspace(0, n_shards, min(n_shards, n_workers) + 1).round().astype(int).tolist()
    return [range(first, last) for first, last in pairwise(cuts)]


def connect(
    address: str | None = None, n_workers: int | None = None, *, timeout: float = 10.0
) -> Any:
    """Connect to a running scheduler, or to a new local cluster of ``n_workers`` processes.

    Waits ``timeout`` seconds for the scheduler to answer. Closing the client of a local cluster
    ends the cluster.
    """
    try:
        from distributed import Client
    except ImportError:
        raise DataError(
            "Dask is not installed; install it with: pip install 'ranksieve[dask]'"
        ) from None
    if address is None:
        return Client(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
    try:
        return Client(address, timeout=timeout)
    except (OSError, TimeoutError, ValueError) as error:
        raise DataError(f"no Dask scheduler answers at {address} ({error})") from None
