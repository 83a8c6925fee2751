"""The cost of checksums in the first pass over dense shards.

Synthetic shards are opened again for each run, with and without ``verify="first-read"``,
alternating and on one thread; the best of all runs counts. Seconds are CPU seconds, which depend
less on other programs. The files are in the page cache: reading from a disk would add the same time
to both.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.table import Table

PARAMETERS = {"rows": 100_000, "features": 136, "documents": 100, "repeats": 9}
TINY = {"rows": 400, "features": 62, "documents": 20, "repeats": 1}


def run(rows: int, features: int, documents: int, repeats: int) -> Table:
    """Measure and tabulate."""
    from ranksieve import make_ranking
    from ranksieve.io.shards import write_shards
    from ranksieve.threads import limit_blas_threads, limit_threads

    table = Table(title=f"{rows:,} x {features}, one thread, best of {repeats} runs")
    for heading in ("pass", "seconds", "with checksums", "more"):
        table.add_column(heading, justify="left" if heading == "pass" else "right")
    data, _ = make_ranking(
        rows // documents,
        docs_per_query=documents,
        n_informative=20,
        n_redundant=40,
        n_noise=features - 60,
    )
    with tempfile.TemporaryDirectory() as directory, limit_threads(1), limit_blas_threads(1):
        path = Path(directory, "shards")
        write_shards(data, path)
        for name, work in PASSES.items():
            plain, checked = _best(path, work, repeats)
            table.add_row(name, f"{plain:.4f}", f"{checked:.4f}", f"{checked / plain - 1:.1%}")
    return table


def _importance(measure: str) -> Callable[[Any], object]:
    def work(shards: Any) -> object:
        from ranksieve.sums.importance import Importance, feature_importance

        return feature_importance(shards, Importance(measure))

    return work


def _gram(shards: Any) -> object:
    from ranksieve.sums.gram import centered_gram

    return centered_gram(shards)


PASSES = {
    "importance, NDCG@10": _importance("ndcg@10"),
    "importance, MAP": _importance("map"),
    "Gram matrix": _gram,
}


def _best(path: Path, work: Callable[[Any], object], repeats: int) -> list[float]:
    """Return the best seconds without and with checksums, after a first run, which compiles."""
    from ranksieve.io.shards import open_shards

    best = [float("inf")] * 2
    for repeat in range(repeats + 1):
        for place, verify in enumerate((False, "first-read")):
            with open_shards(path, verify=verify) as shards:
                start = time.process_time()
                work(shards)
                seconds = time.process_time() - start
            if repeat:
                best[place] = min(best[place], seconds)
    return best
