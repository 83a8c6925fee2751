"""Overhead of a round: 20 rounds of a small stateful statistic, locally and on two Dask workers.

The statistic does almost nothing, so the time is that of communication. Local shards show the work
itself; the additional time on Dask is overhead.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

PARAMETERS = {"rounds": 20, "workers": 2, "queries": 500}
TINY = {"rounds": 2, "workers": 1, "queries": 50}


class Counter:
    """Statistic with a state that changes in every round."""

    def __init__(self, block: Any) -> None:
        self.state = np.zeros(len(block.y))

    def step(self, weights: np.ndarray) -> np.ndarray:
        """Change the state, and return a small array."""
        self.state += weights[0]
        return np.full(len(weights), self.state.sum())


def run(rounds: int, workers: int, queries: int) -> Table:
    """Measure and tabulate."""
    from ranksieve import make_ranking
    from ranksieve.engine.dask import connect
    from ranksieve.io.shards import open_shards, write_shards

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "shards"
        write_shards(make_ranking(queries)[0], path, shard_bytes=100_000)
        with open_shards(path) as shards:
            n_shards = shards.n_shards
            local = _rounds(shards, rounds)
        client = connect(n_workers=workers)
        with open_shards(path, client=client) as shards:
            remote = _rounds(shards, rounds)
        client.close()
    table = Table(title=f"{rounds} rounds over {n_shards} shards, milliseconds a round")
    for heading in ("", "median", "worst", "median beyond the work"):
        table.add_column(heading, justify="right" if heading else "left")
    work = statistics.median(local)
    for name, times in (("local shards", local), (f"{workers} Dask workers", remote)):
        median = statistics.median(times)
        table.add_row(name, f"{median:.2f}", f"{max(times):.2f}", f"{median - work:.2f}")
    return table


def _rounds(source: Any, rounds: int) -> list[float]:
    from ranksieve.engine import engine_of

    times = []
    with engine_of(source).start(Counter) as workers:
        weights = np.ones(100)
        workers.sum(Counter.step, weights)
        for _ in range(rounds):
            start = time.perf_counter()
            weights = weights + 0 * workers.sum(Counter.step, weights)
            times.append(1e3 * (time.perf_counter() - start))
    return times
