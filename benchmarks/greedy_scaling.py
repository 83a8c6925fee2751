"""Greedy RankRLS: time by rows, features and steps, speedup by two threads, memory, bandwidth.

Memory is the peak of numpy's allocations during the fit, relative to the size of the input and not
counting it. Bandwidth counts 8 bytes for each number of the residuals that a round reads; compare
it with that of a matrix-vector product of the same size on one thread. Runs with one thread and
with two alternate, and the best of many counts, because other programs may use the second core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table

from benchmarks.greedy_rankrls import make_data
from benchmarks.harness import best_seconds, peak_memory

PARAMETERS = {"rows": 50_000, "features": 64, "documents": 40, "k": 16, "repeats": 5, "turns": 20}
TINY = {"rows": 400, "features": 8, "documents": 10, "k": 2, "repeats": 1, "turns": 1}


def run(rows: int, features: int, documents: int, k: int, repeats: int, turns: int) -> Group:
    """Measure and tabulate."""
    from ranksieve import limit_threads

    def seconds(m: int, n: int, steps: int, threads: int = 1, **options: Any) -> float:
        data = make_data(m, n, documents)
        with limit_threads(threads):
            return best_seconds(lambda: _fit(data, steps, **options), repeats)

    seconds(2000, 12, 2)  # compiles
    base = seconds(rows, features, k)
    linear = Table(title=f"{rows:,} rows, {features} features, {k} steps: {base:.3f} s, one thread")
    for heading in ("", "2x / 1x", "4x / 1x"):
        linear.add_column(heading, justify="right" if heading else "left")
    for name, of in (
        ("rows", lambda factor: seconds(factor * rows, features, k)),
        ("features", lambda factor: seconds(rows, factor * features, k)),
        ("steps", lambda factor: seconds(rows, features, factor * k)),
    ):
        linear.add_row(name, f"{of(2) / base:.2f}", f"{of(4) / base:.2f}")
    return Group(linear, _variants(rows, features, documents, k, turns))


def _variants(rows: int, features: int, documents: int, k: int, turns: int) -> Table:
    variants: dict[str, dict[str, Any]] = {
        "full": {"memory": "full"},
        "full, float32": {"memory": "full", "storage": "float32"},
        "low": {"memory": "low"},
    }
    data = make_data(rows, features, documents)
    table = Table(title=f"A matrix-vector product reads {_bandwidth(data.X):.1f} GB/s")
    headings = ("memory", "seconds", "two threads faster by", "GB/s", "peak memory / size of X")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "memory" else "right")
    for name, options in variants.items():
        one, two = _in_turn(lambda options=options: _fit(data, k, **options), turns)  # type: ignore[misc]
        bandwidth = data.X.nbytes * k / one / 1e9
        peak = peak_memory(lambda options=options: _fit(data, k, **options)) / data.X.nbytes  # type: ignore[misc]
        table.add_row(name, f"{one:.3f}", f"{one / two:.2f}", f"{bandwidth:.1f}", f"{peak:.2f}")
    return table


def _fit(data: Any, k: int, **options: Any) -> None:
    from ranksieve.selectors import GreedyRankRLS

    GreedyRankRLS(k, **options).fit(data)


def _in_turn(work: Callable[[], None], turns: int) -> tuple[float, float]:
    """Return the best seconds with one thread and with two, whose runs alternate."""
    from ranksieve import limit_threads

    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(turns):
        for threads in times:
            with limit_threads(threads):
                times[threads].append(best_seconds(work, 1))
    return min(times[1]), min(times[2])


def _bandwidth(X: np.ndarray) -> float:
    from ranksieve.threads import limit_blas_threads

    vector = np.ones(len(X))
    with limit_blas_threads(1):
        return X.nbytes / best_seconds(lambda: np.dot(vector, X), 5) / 1e9
