"""How often Boruta accepts useless features, on synthetic data with a known answer.

Each run draws new data: features that the labels depend on, features of noise, and useless features
that differ mostly between queries. Shadow features are permuted within queries, or over all rows.
The latter is wrong: such shadows lose what the documents of a query have in common.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.table import Table

PARAMETERS = {
    "runs": 100,
    "queries": 30,
    "documents": 80,
    "informative": 2,
    "noise": 10,
    "query_level": 6,
    "rounds": 20,
    "trees": 3,
    "leaves": 31,
    "level": 0.05,
}
TINY = {"runs": 2, "queries": 6, "documents": 8, "noise": 2, "query_level": 1, "rounds": 2}


def _planted(queries: int, documents: int, counts: dict[str, int], seed: int) -> tuple[Any, Any]:
    """Return data, and the kind of each feature."""
    from ranksieve import RankingData, make_ranking

    good, noise = counts["informative"], counts["noise"]
    drawn = {"n_informative": good, "n_redundant": 0, "n_noise": noise, "random_state": seed}
    data, truth = make_ranking(queries, docs_per_query=documents, **drawn)
    kinds = np.where(np.isin(np.arange(good + noise), truth.informative), "informative", "noise")
    random = np.random.default_rng(seed)
    of_queries = random.normal(size=(queries, counts["query_level"]))[data.query_codes]
    nearly = of_queries + 0.02 * random.normal(size=of_queries.shape)
    made = RankingData(np.hstack([data.X, nearly]), data.y, data.qid)
    return made, np.concatenate([kinds, ["query_level"] * counts["query_level"]])


def run(runs: int, queries: int, documents: int, **rest: Any) -> Table:
    """Return the accepted share of each kind of features, for both ways to permute shadows."""
    from ranksieve import limit_threads
    from ranksieve.selectors import Boruta

    counts = {kind: rest[kind] for kind in ("informative", "noise", "query_level")}
    fixed = {name: rest[name] for name in ("level",)}
    fixed |= {"n_rounds": rest["rounds"], "n_estimators": rest["trees"]}
    fixed |= {"num_leaves": rest["leaves"]}
    headings = ("informative", "noise", "query-level noise", "runs with a useless one", "seconds")
    table = Table(title=f"Accepted by Boruta at level {rest['level']} in {runs} runs: shares, in %")
    table.add_column("shadows permuted")
    for heading in headings:
        table.add_column(heading, justify="right")
    for permute, name in (("queries", "within queries"), ("rows", "over all rows")):
        shares, n_wrong, start = [], 0, time.perf_counter()
        for seed in range(runs):
            data, kinds = _planted(queries, documents, counts, seed)
            with limit_threads(1):
                found = Boruta(permute=permute, random_state=seed, **fixed).fit(data)
            accepted = np.isin(np.arange(len(kinds)), found.accepted_)
            shares.append([accepted[kinds == kind].mean() for kind in counts])
            n_wrong += bool(accepted[kinds != "informative"].any())
        cells = [*np.mean(shares, axis=0), n_wrong / runs]
        seconds = f"{time.perf_counter() - start:.1f}"
        table.add_row(name, *(f"{100 * cell:.2f}" for cell in cells), seconds)
    return table
