"""Greedy RankRLS on bins: time by columns, rows and steps, beside one column at a time.

Both select from the same columns of zeros and ones. greedy-bins adds all bins of a feature at once;
greedy RankRLS adds single columns, as many as the final model of greedy-bins has. Seconds are CPU
seconds on one thread, the best of several runs. Memory is the peak of numpy's allocations during
the fit, not counting the input.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.greedy_rankrls import make_data
from benchmarks.harness import best_seconds, peak_memory

PARAMETERS = {"rows": 5_000, "features": 32, "documents": 40, "bins": 16, "k": 4, "repeats": 3}
TINY = {"rows": 400, "features": 4, "documents": 10, "bins": 3, "k": 1, "repeats": 1}


def run(rows: int, features: int, documents: int, bins: int, k: int, repeats: int) -> Table:
    """Measure and tabulate."""
    from ranksieve import limit_threads

    table = Table(title=f"{k} features of {bins} bins, one thread")
    for heading in ("rows", "columns", "steps", "greedy-bins s", "MB", "greedy RankRLS s", "MB"):
        table.add_column(heading, justify="right")
    with limit_threads(1):
        _work(400, 4, 10, 3, 1)[0]()  # compiles
        _work(400, 4, 10, 3, 1)[1]()
        for m, n, steps in (
            (rows, features, k),
            (rows, 2 * features, k),
            (rows, 4 * features, k),
            (2 * rows, features, k),
            (rows, features, 2 * k),
        ):
            grouped, single = _work(m, n, documents, bins, steps)
            table.add_row(
                f"{m:,}",
                f"{n * bins:,}",
                f"{steps}",
                f"{best_seconds(grouped, repeats, time.process_time):.2f}",
                f"{peak_memory(grouped) / 1e6:.0f}",
                f"{best_seconds(single, repeats, time.process_time):.2f}",
                f"{peak_memory(single) / 1e6:.0f}",
            )
    return table


def _work(m: int, n: int, documents: int, bins: int, k: int) -> tuple[Callable[[], Any], ...]:
    """Select whole features by their bins, and single columns."""
    from ranksieve import RankingData
    from ranksieve.selectors import GreedyBins, GreedyRankRLS

    data = make_data(m, n, documents)
    ranks = np.argsort(np.argsort(data.X, axis=0), axis=0) * bins // m
    columns = (ranks[:, :, None] == np.arange(bins)).reshape(m, n * bins).astype(np.float64)
    one_hot = RankingData(columns, data.y, data.qid)
    return (
        lambda: GreedyBins(k, n_bins=bins).fit(data),
        lambda: GreedyRankRLS(k * bins, lam=30.0).fit(one_hot),
    )
