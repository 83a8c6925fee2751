"""Complete searches of FS-BFS, on MQ2008 and on data of the size of Yahoo's set 2.

The authors of FS-ED saw no progress of FS-BFS after seven days on the 699 features of Yahoo's set
2. The second data set here is synthetic, with about as many documents and queries as the training
part of that set: one feature in twenty is informative, two in five are noisy copies of informative
ones, and the others are noise. Of MQ2008, the training part of fold 1 is used. Both searches
continue until every feature is in a subset. CPU seconds, the sum over all cores, are shown beside
the elapsed seconds, because they depend less on what else runs on the machine.
"""

from __future__ import annotations

import time
from typing import Any

from rich.table import Table

from benchmarks.harness import mq2008_parts

PARAMETERS = {"queries": 1266, "features": 699}
TINY = {"queries": 10, "features": 10}
HEADINGS = (
    "",
    "rows",
    "features",
    "seconds",
    "CPU",
    "rounds",
    "measured",
    "subsets",
    "largest",
    "best feature",
    "best subset",
)


def run(queries: int, features: int) -> Table:
    """Measure and tabulate."""
    from ranksieve.datasets import open_collection

    table = Table(title="FS-BFS until every feature is in a subset; NDCG@10 of training")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    train = open_collection(mq2008_parts()[0].parent).read_fold(0)[0]
    _fit(_planted(20, 12))  # compiles
    table.add_row("MQ2008", *_row(train))
    table.add_row("planted", *_row(_planted(queries, features)))
    return table


def _planted(queries: int, features: int) -> Any:
    from ranksieve import make_ranking

    informative, redundant = max(1, features // 20), 2 * features // 5
    noise = features - informative - redundant
    data, _ = make_ranking(
        queries,
        docs_per_query=(22, 33),
        n_informative=informative,
        n_redundant=redundant,
        n_noise=noise,
    )
    return data


def _fit(data: Any) -> Any:
    from ranksieve.selectors import FSBFS

    return FSBFS(None, output="constructed").fit(data)


def _row(data: Any) -> list[str]:
    start, cores = time.perf_counter(), time.process_time()
    selector = _fit(data)
    seconds, of_cores = time.perf_counter() - start, time.process_time() - cores
    return [
        f"{data.n_rows:,}",
        str(data.n_features),
        f"{seconds:.1f}",
        f"{of_cores:.1f}",
        f"{selector.n_rounds_:,}",
        f"{selector.n_evaluations_:,}",
        str(len(selector.subsets_)),
        str(max(len(subset.features) for subset in selector.subsets_)),
        f"{selector.scores_.max():.4f}",
        f"{max(subset.score for subset in selector.subsets_):.4f}",
    ]
