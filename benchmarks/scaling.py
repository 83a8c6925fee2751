"""Time of every filter with 1, 2 and 4 times as many rows; linear time means ratios of 2 and 4.

The data is synthetic and in memory; smaller data sets are the first queries of the largest. Sizes
alternate, so that other programs do not slow down only one of them, and the best time counts. Work
that does not depend on the rows, such as clusters and eigenvectors of features, makes the ratios
smaller; data that no longer fits into the caches makes them larger.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.table import Table

PARAMETERS = {"rows": 25_000, "documents": 25, "features": 46, "repeats": 7, "methods": ""}
TINY = {"rows": 200, "documents": 10, "features": 10, "repeats": 1, "methods": "ig,gas-e"}
TIMES = (1, 2, 4)
NOT_FILTERS = ("greedy-rankrls", "random", "all")


def run(rows: int, documents: int, features: int, repeats: int, methods: str) -> Table:
    """Measure and tabulate."""
    from ranksieve.selectors.registry import SELECTORS
    from ranksieve.threads import thread_count

    sources = _sources(rows // documents, documents, features)
    counts = ", ".join(f"{source.n_rows:,}" for source in sources)
    how = f"{features} features, {thread_count()} threads, best of {repeats} runs"
    table = Table(title=f"{counts} rows in queries of {documents} documents\n{how}")
    for heading in ("method", "seconds at 1x", "2x / 1x", "4x / 1x"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    every = [name for name in SELECTORS if name not in NOT_FILTERS]
    for name in methods.split(",") if methods else every:
        once, twice, four_times = _best(name, sources, repeats)
        table.add_row(name, f"{once:.3f}", f"{twice / once:.2f}", f"{four_times / once:.2f}")
    return table


def _sources(queries: int, documents: int, features: int) -> list[Any]:
    from ranksieve import make_ranking

    informative = max(1, features // 8)
    redundant = min(2 * informative, features - informative)
    largest, _ = make_ranking(
        TIMES[-1] * queries,
        docs_per_query=documents,
        n_informative=informative,
        n_redundant=redundant,
        n_noise=features - informative - redundant,
    )
    return [largest.take_queries(np.arange(times * queries)) for times in TIMES]


def _best(name: str, sources: list[Any], repeats: int) -> list[float]:
    """Return the best seconds on each source, after a first run, which compiles."""
    from ranksieve.selectors.registry import make_selector

    make_selector(name).fit(sources[0])
    best = [float("inf")] * len(sources)
    for _ in range(repeats):
        for place, source in enumerate(sources):
            start = time.perf_counter()
            make_selector(name).fit(source)
            best[place] = min(best[place], time.perf_counter() - start)
    return best
