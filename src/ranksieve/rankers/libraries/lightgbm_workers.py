"""LightGBM's distributed training on the workers of a Dask cluster.

Each worker holds a run of shards. LightGBM's own Dask estimator lets the scheduler place the data,
so that trees differ from one call to the next; here the runs are fixed by the number of workers.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from time import sleep
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ranksieve.choosing import EarlyStopping
from ranksieve.data import Block, DataError
from ranksieve.engine import Source, engine_of, total_weight
from ranksieve.engine.dask import Stored
from ranksieve.io.shards import Shards
from ranksieve.metrics import NDCG
from ranksieve.rankers.libraries.library import native_rows
from ranksieve.rankers.libraries.lightgbm import dataset_of, train
from ranksieve.registry.foreign import row_weights
from ranksieve.sums.held_out import Measured

_POLL = 1.0  # seconds between checks that all workers are alive
_NAMES_OF_LEARNER = {"tree_learner", "tree", "tree_type", "tree_learner_type"}
_LEARNERS = ("data", "data_parallel", "voting", "voting_parallel")
_NETWORK = re.compile(r"^\[(machines|num_machines|local_listen_port): .*\]\n", re.MULTILINE)


def train_on_workers(shards: Shards, parameters: dict[str, Any], n_trees: int) -> Any:
    """Train on the workers of a Dask cluster that hold the shards, and return a Booster.

    ``parameters`` are those of LightGBM, except for threads and the network. Workers exchange
    histograms of features x bins numbers for each split. Calls on one cluster wait for each other.
    """
    import lightgbm
    from distributed import MultiLock

    parameters = {"tree_learner": _learner(parameters)} | parameters
    client = shards.client
    threads = client.nthreads()
    workers = sorted(threads)[: shards.n_shards]
    runs = np.array_split(np.arange(shards.n_shards), len(workers))
    # All parts must run at once, so no other call may hold some of the workers.
    with MultiLock([f"ranksieve-trees-{worker}" for worker in workers], client=client):
        ports = [client.submit(_Port, workers=[worker], pure=False) for worker in workers]
        names = [
            client.submit(_Port.name, port, workers=[worker], pure=False)
            for port, worker in zip(ports, workers, strict=True)
        ]
        machines = _gather(client, workers, names)
        parts = []
        for rank, (worker, run) in enumerate(zip(workers, runs, strict=True)):
            own = parameters | {"num_threads": threads[worker]}
            what = (
                Stored.from_shards(shards),
                run.tolist(),
                own,
                n_trees,
                (machines, rank, ports[rank]),
            )
            parts.append(client.submit(_train_part, *what, workers=[worker], pure=False))
        text, *_ = _gather(client, workers, parts)
    return lightgbm.Booster(model_str=text)


def _learner(parameters: dict[str, Any]) -> str:
    """LightGBM's ``tree_learner``; raises a DataError for those that need all rows everywhere."""
    learners = [parameters[name] for name in sorted(_NAMES_OF_LEARNER & parameters.keys())]
    learner = learners[0] if learners else "data"
    if learner not in _LEARNERS:
        raise DataError(
            f"tree_learner={learner!r} cannot be used on a Dask cluster, where each worker has "
            f"some of the rows; use one of {', '.join(_LEARNERS)}"
        )
    return learner


class _Port:
    """A free port of a worker, reserved until LightGBM takes it."""

    def __init__(self) -> None:
        from distributed import get_worker

        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("", 0))
        # LightGBM compares it with the machine's IP addresses, and does not resolve names.
        self._host = socket.gethostbyname(urlsplit(get_worker().address).hostname or "localhost")

    def name(self) -> str:
        return f"{self._host}:{self._socket.getsockname()[1]}"

    def release(self) -> None:
        self._socket.close()


def _train_part(
    stored: Stored,
    run: list[int],
    parameters: dict[str, Any],
    n_trees: int,
    peer: tuple[list[str], int, _Port],
) -> str | None:
    """Train together with the other workers; the first one returns the model as text.

    ``peer`` has the addresses of all workers, the position of this one, and its port.
    """
    machines, rank, port = peer
    opened = stored.open_on_worker()
    data = dataset_of([opened.block(number) for number in run])
    network = {
        "machines": ",".join(machines),
        "num_machines": len(machines),
        "local_listen_port": int(machines[rank].rpartition(":")[2]),
    }
    port.release()
    booster = train(parameters | (network if len(machines) > 1 else {}), data, n_trees)
    booster.free_network()
    # Remove addresses, so that the same trees give the same text.
    return None if rank else _NETWORK.sub("", booster.model_to_string())


def _gather(client: Any, workers: list[str], futures: list[Any]) -> list[Any]:
    """Return the results of one future per worker; raise an error if one fails or is lost."""
    from distributed import wait

    waiting = dict(zip(workers, futures, strict=True))
    while waiting:
        with suppress(TimeoutError):
            wait(list(waiting.values()), timeout=_POLL, return_when="FIRST_COMPLETED")
        _check_alive(client, waiting)
        for worker in [worker for worker, future in waiting.items() if future.done()]:
            try:
                waiting[worker].result()
            except Exception:
                sleep(_POLL)  # this worker may fail because another was lost, which may show later
                _check_alive(client, waiting)
                raise
            del waiting[worker]
    return client.gather(futures)


def _check_alive(client: Any, workers: Iterable[str]) -> None:
    lost = set(workers) - client.nthreads().keys()
    if lost:
        raise DataError(
            f"worker {min(lost)} was lost during training; see the cluster's logs (the worker may "
            "have run out of memory)"
        )


def measure_trees(block: Block, text: str, cutoff: int) -> np.ndarray:
    """Weighted sum over held-out queries of NDCG, for each number of trees."""
    import lightgbm

    measured = Measured(_weigh_queries(block), NDCG(cutoff), "lightgbm")
    booster = lightgbm.Booster(model_str=text)
    X, scores = native_rows(block.X), np.zeros(len(block.y))
    sums = np.empty(booster.num_trees())
    for tree in range(len(sums)):
        scores += booster.predict(
            X, start_iteration=tree, num_iteration=1, raw_score=True, num_threads=1
        )
        _, sums[tree] = measured.total(scores)
    return sums


def _weigh_queries(block: Block) -> Block:
    """Queries of a block by the mean weight of their rows, as LightGBM's measures count them."""
    weights = row_weights(block)
    if block.row_weights is None or weights is None:
        return block
    sums = np.add.reduceat(weights, block.query_ptr[:-1])
    return replace(block, row_weights=None, query_weights=sums / np.diff(block.query_ptr))


def best_number_of_trees(
    booster: Any, vali: Source, cutoff: int, early_stopping_rounds: int
) -> int:
    """Number of trees that early stopping by NDCG@cutoff (LightGBM's convention) would keep."""
    sums = engine_of(vali).sum(measure_trees, booster.model_to_string(), cutoff)
    values = sums / total_weight(vali)
    stopping = EarlyStopping(early_stopping_rounds)
    for value in values.tolist():
        if stopping.add(value):
            break
    return stopping.best
