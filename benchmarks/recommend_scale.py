"""How much work a recommendation takes on large data, by kind of cell.

The data is synthetic, with copies, counts, heavy tails, noise and features of the query; the ranker
is LambdaMART, and queries are divided into five parts. Trainings' worth is time in units of a
training on all features. CPU seconds are those of the threads that run the cells, so they hardly
depend on other programs. With ``out``, finished cells and their CPU seconds are kept in that
directory, and the next run resumes.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from rich.table import Table

from ranksieve import make_ranking, recommend
from ranksieve.experiments import Select, Train
from ranksieve.recommendation.path import FindSets
from ranksieve.text import quantity

PARAMETERS = {
    "queries": 2320,
    "documents": 40,
    "features": 136,
    "trees": 200,
    "margin": 0.01,
    "out": "",
}
TINY = {"queries": 12, "documents": 5, "features": 6, "trees": 2, "margin": 0.2, "out": ""}

_SECONDS = "processor-seconds.jsonl"


def run(queries: int, documents: int, features: int, trees: int, margin: float, out: str) -> Table:
    """Recommend features, and return a table of the cells."""
    data = _data(queries, documents, features)
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(out or scratch)
        directory.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        with _measured(directory / _SECONDS):
            answer = recommend(
                data,
                margin=margin,
                parameters={"lambdamart": {"n_estimators": trees}},
                out=directory,
            )
        wall = time.perf_counter() - start
        lines = (directory / _SECONDS).read_text().splitlines()
    return _table([json.loads(line) for line in lines], wall, answer)


def _data(queries: int, documents: int, features: int) -> Any:
    informative, copies = -(-features // 9), features // 4
    planted = {
        "n_informative": informative,
        "n_redundant": copies,
        "n_duplicate": features // 40,
        "n_query_level": features // 20,
        "n_constant": features // 60,
    }
    noise = features - sum(planted.values())
    lengths = (max(1, documents // 2), 2 * documents)  # logarithmic: the mean is about 1.1 of it
    return make_ranking(
        queries, docs_per_query=lengths, n_noise=noise, random_state=0, dtype="float32", **planted
    )[0]


@contextmanager
def _measured(path: Path) -> Iterator[None]:
    """Write the CPU seconds of each cell to a file."""
    originals, lock = {kind: kind.run for kind in (Select, Train, FindSets)}, Lock()

    def measured(cell: Any, trial: Any) -> Any:
        start = time.thread_time()
        result = originals[type(cell)](cell, trial)
        kind = "sets within costs" if cell.method is None else cell.method.name
        if isinstance(cell, Train):
            n = trial.train.n_features
            kind += " on all features" if len(cell.features) == n else _range(len(cell.features))
        line = json.dumps({"kind": kind, "seconds": time.thread_time() - start})
        with lock, path.open("a") as file:
            file.write(line + "\n")
        return result

    for kind in originals:
        kind.run = measured  # type: ignore[method-assign]
    try:
        yield
    finally:
        for kind, original in originals.items():
            kind.run = original  # type: ignore[method-assign]


def _range(size: int) -> str:
    """Return the range of a number of features."""
    limits = (0, 8, 16, 32, 64)
    least = max((limit for limit in limits if limit < size), default=0)
    most = next((str(limit) for limit in limits if limit >= size), "more")
    return f" on {least + 1} to {most} features" if size else " on no features"


def _table(cells: list[dict[str, Any]], wall: float, answer: Any) -> Table:
    shown = "shown" if answer.claim.is_shown else "not shown"
    n_features = len(answer.feature_names)
    table = Table(title=f"keep {len(answer.features)} of {n_features}, {shown}; wall {wall:.0f} s")
    for column in ("cells", "number", "CPU seconds", "seconds each", "trainings' worth"):
        table.add_column(column, justify="left" if column == "cells" else "right")
    kinds: dict[str, list[float]] = {}
    for cell in cells:
        kinds.setdefault(cell["kind"], []).append(cell["seconds"])
    unit = np.mean(next(own for kind, own in kinds.items() if "all features" in kind))
    ordered = sorted(kinds.items(), key=lambda item: -sum(item[1]))
    every = [cell["seconds"] for cell in cells]
    for kind, seconds in [*ordered, ("everything", every)]:
        total, each = sum(seconds), np.mean(seconds)
        worth = f"{total / unit:.1f}"
        table.add_row(kind, str(len(seconds)), f"{total:.1f}", f"{each:.2f}", worth)
    table.caption = quantity(answer.claim.n_queries, "query judged", "queries judged")
    return table
