"""Importance and Gram matrix of shards larger than the memory that the process may use.

Synthetic data is streamed to shards in a temporary directory, which is removed at the end. The peak
is that of resident private memory (RssAnon of this process and its children, sampled), which does
not include the page cache. The same sums over the first shards are computed from a copy in memory,
and compared.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

PARAMETERS = {"gigabytes": 6.0, "features": 136, "documents": 100, "directory": ""}
TINY = {"gigabytes": 0.002, "features": 62}


class PrivateMemory:
    """Context manager that measures the peak private memory of this process and its children."""

    def __enter__(self) -> PrivateMemory:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self.peak = max(self.peak, sum(map(_private, _family(os.getpid()))))


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield from _family(int(child))


def _private(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(x.split()[1]) * 1024 for x in lines if x.startswith("RssAnon")), 0)


def run(gigabytes: float, features: int, documents: int, directory: str) -> Table:
    """Write the shards, compute the sums, compare them, and return a table."""
    from ranksieve.datasets import PlantedRanking, draw_plan
    from ranksieve.io.shards import open_shards, write_shards

    plan = draw_plan(n_informative=20, n_redundant=40, n_noise=features - 60)
    ranking = PlantedRanking(plan, docs_per_query=documents)
    n_queries = int(gigabytes * 1e9 / (8 * features * documents)) + 1
    pieces = (ranking.queries(q, min(q + 200, n_queries)) for q in range(0, n_queries, 200))
    place = Path(tempfile.mkdtemp(prefix="ranksieve-", dir=directory or None))
    table = Table(title="Larger than memory")
    for heading in ("step", "seconds", "peak private MB"):
        table.add_column(heading, justify="left" if heading == "step" else "right")
    try:
        path = place / "shards"
        _step(table, "stream to shards", lambda: write_shards(pieces, path))
        with open_shards(path) as shards:
            size = sum(file.stat().st_size for file in path.iterdir()) / 1e9
            table.title = f"{size:.2f} GB in {shards.n_shards} shards, {shards.n_rows:,} rows"
            importance = _step(table, "importance, NDCG@10", lambda: _importance(shards))
            gram = _step(table, "Gram matrix", lambda: _gram(shards))
            _compare(table, shards, importance, gram)
    finally:
        shutil.rmtree(place)
    return table


def _step(table: Table, name: str, work: Callable[[], Any]) -> Any:
    with PrivateMemory() as memory:
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
    table.add_row(name, f"{seconds:.1f}", f"{memory.peak / 1e6:.0f}")
    return result


def _importance(source: Any) -> list[Any]:
    from ranksieve.engine import engine_of
    from ranksieve.metrics import NDCG
    from ranksieve.sums.importance import rank_by_features

    found = engine_of(source).collect(rank_by_features, NDCG(10), "standard")
    return [values for _, values, *_ in found]


def _gram(source: Any) -> list[Any]:
    from ranksieve.engine import engine_of
    from ranksieve.sums.gram import multiply_features

    return [xx for xx, _, _ in engine_of(source).collect(multiply_features, None, None)]


def _compare(table: Table, shards: Any, importance: list[Any], gram: list[Any]) -> None:
    """Show the largest relative difference from sums over the first shards in memory."""
    from ranksieve import RankingData

    n_shards = min(4, shards.n_shards)
    blocks = [shards.block(shard) for shard in range(n_shards)]
    X = np.concatenate([block.X for block in blocks])
    y = np.concatenate([block.y for block in blocks])
    counts = np.concatenate([np.diff(block.query_ptr) for block in blocks])
    data = RankingData.from_group_counts(X, y, counts)
    for name, per_shard, in_memory in (
        ("importance", importance, _importance(data)),
        ("Gram matrix", gram, _gram(data)),
    ):
        ours, theirs = sum(per_shard[:n_shards]), sum(in_memory)
        difference = np.max(np.abs(ours - theirs) / np.abs(theirs).max())
        table.add_row(f"{name}: {n_shards} shards in memory differ by {difference:.1e}", "", "")
