"""Every selector on real data: what it reaches with few features, how stable it is, what it costs.

A study of all methods by name, with default parameters, over the folds of MQ2008 (or of another
collection: --set data=DIR), with RankSVM and LambdaMART. Finished work is kept in a directory
(--set out=DIR), from whose ledger the table is made; the same command resumes it.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from typing import Any

import numpy as np
from rich.text import Text

from benchmarks.harness import mq2008_parts

PARAMETERS = {
    "data": "MQ2008",
    "out": "",
    "methods": "all",
    "sizes": "3,5,10,20",
    "trees": 100,
    "seeds": 3,
}
TINY = {"data": "planted", "methods": "top,ig", "sizes": "2", "trees": 3, "seeds": 1}

MEASURE = "NDCG@10"
RANKERS = ("ranksvm", "lambdamart")
_STABLE_AT = 10  # features
_TREES = {"num_leaves": 10, "early_stopping_rounds": 50}


def run(data: str, out: str, methods: str, sizes: str, trees: int, seeds: int) -> Text:
    """Run what is missing, and print a table in Markdown."""
    from ranksieve.selectors.registry import SELECTORS
    from ranksieve.study import Study
    from ranksieve.study.results import BASE, RANDOM

    names = [name for name in SELECTORS if name not in (BASE, RANDOM)]
    if methods != "all":
        names = methods.split(",")
    with ExitStack() as stack:
        study = Study(
            _open(data),
            out=out or stack.enter_context(tempfile.TemporaryDirectory()),
            title=data,
            selectors=names,
            rankers=RANKERS,
            ks=[int(size) for size in sizes.split(",")],
            tune=MEASURE,
            measures=[MEASURE],
            seeds=seeds,
            grids={name: {} for name in (*names, "ranksvm")},
            parameters={"lambdamart": _TREES | {"n_estimators": trees}},
        )
        result = study.run()
    return Text("\n".join(_lines(result)))


def _open(data: str) -> Any:
    from ranksieve import make_ranking

    if data == "planted":
        return make_ranking(30, docs_per_query=5, random_state=0)[0]
    return mq2008_parts()[0].parent if data == "MQ2008" else data


def _lines(result: Any) -> list[str]:
    """A row for each selector, by its mean over rankers and sizes."""
    from ranksieve.study.results import BASE, RANDOM

    sizes = list(result.run(RANDOM, RANKERS[0]).by_k)
    head = [f"{ranker}, {k}" for ranker in RANKERS for k in sizes]
    lines = [
        f"| method | {' | '.join(head)} | beats random | stability | seconds |",
        f"|---|{'---|' * (len(head) + 3)}",
    ]
    rows = {name: _row(result, name, sizes) for name in result.selectors if name != BASE}
    for name in sorted(rows, key=lambda name: -np.mean(rows[name][0])):
        means, beaten, stability, seconds = rows[name]
        cells = " | ".join(f"{mean:.4f}" for mean in means)
        won = f"{beaten} of {len(means)}" if name != RANDOM else ""
        lines.append(f"| `{name}` | {cells} | {won} | {stability:.2f} | {seconds:.2f} |")
    everything = [result.run(BASE, ranker).chosen.mean(MEASURE) for ranker in RANKERS]
    cells = [f"{mean:.4f}" for mean in everything for _ in sizes]
    return [*lines, f"| all features | {' | '.join(cells)} | | | |"]


def _row(result: Any, name: str, sizes: list[int]) -> tuple[list[float], int, float, float]:
    """Means by ranker and size, in how many all random orders are beaten, stability, seconds."""
    from ranksieve.study.comparison import stability_of
    from ranksieve.study.results import RANDOM

    means, beaten = [], 0
    for ranker in RANKERS:
        own, random = result.run(name, ranker).by_k, result.run(RANDOM, ranker).by_k
        for k in sizes:
            means.append(own[k].mean(MEASURE))
            beaten += means[-1] > random[k].values(MEASURE).mean(axis=1).max()
    k = min(sizes, key=lambda size: abs(size - _STABLE_AT))
    tested = result.run(name, RANKERS[0]).by_k[k]
    stability = stability_of(tested, len(result.feature_names))
    agreement = (
        np.nan if stability is None or stability.nogueira is None else stability.nogueira.estimate
    )
    seconds = [one.selection_seconds for seed in tested.outcomes for one in seed]
    return means, beaten, agreement, float(np.median(seconds))
