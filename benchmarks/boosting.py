"""AdaRank, RankBoost and coordinate ascent beside plain loops, on MQ2008.

The loops are the slow versions that the tests compare with. They run on a few queries (and, for
coordinate ascent, a few features), and ranksieve gets the same ones. AdaRank's and RankBoost's
loops run for a few rounds, from which the time of all rounds is extrapolated; coordinate ascent
runs to its end. AdaRank's loops measure all features again in each round; "first round" is the time
of one of their rounds, to compare with all rounds of ranksieve.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.harness import mq2008_parts

PARAMETERS = {"queries": 60, "features": 10, "rounds": 100, "few": 2}
TINY = {"queries": 4, "features": 2, "rounds": 2, "few": 1}


def run(queries: int, features: int, rounds: int, few: int) -> Table:
    """Return a table of seconds, with one row per method."""
    from ranksieve import read_letor

    everything = read_letor(mq2008_parts())
    some = np.unique(np.linspace(0, everything.n_queries - 1, queries, dtype=int))
    data = everything.take_queries(some)
    table = Table(title=f"{(__doc__ or '').splitlines()[0]}\n{queries} queries")
    table.add_column("")
    for heading in ("ranksieve", "loops", "first round", "times", "same"):
        table.add_column(heading, justify="right")
    _add(table, f"AdaRank, {rounds} rounds", *_adarank(data, rounds, few), rounds / few)
    _add(table, f"RankBoost, {rounds} rounds", *_rankboost(data, rounds, few), rounds / few)
    narrow = data.take_features(np.linspace(10, 45, features, dtype=int))
    _add(table, f"coordinate ascent, {features} features", *_ascent(narrow), 1.0)
    return table


def _add(
    table: Table, name: str, ours: float, theirs: float, first: float, same: bool, longer: float
) -> None:
    all_rounds = theirs * longer
    table.add_row(
        name,
        f"{ours:.4f} s",
        f"{all_rounds:.1f} s" + (", extrapolated" if longer > 1 else ""),
        f"{first:.2f} s" if longer > 1 else "",
        f"{all_rounds / ours:.0f}",
        "yes" if same else "NO",
    )


def _seconds(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the best time, and the result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def _lists(data: Any) -> tuple[list, list, list]:
    return data.X.tolist(), data.y.tolist(), data.qid.tolist()


def _average_precision(labels: list[float], scores: list[float]) -> float:
    from tests import oracles

    return oracles.average_precision(oracles.ranked(labels, scores), None, "standard")


def _adarank(data: Any, rounds: int, few: int) -> tuple[float, float, float, bool]:
    from tests import oracles

    from ranksieve.rankers import AdaRank

    ranker = AdaRank(n_rounds=rounds, ties="stable", reweighting="multiply")
    ours, _ = _seconds(lambda: ranker.fit(data), 4)

    def loops(n: int) -> list:
        return oracles.adarank(*_lists(data), _average_precision, n, multiply=True)

    first, _ = _seconds(lambda: loops(1), 1)
    theirs, expected = _seconds(lambda: loops(few), 1)
    same = np.allclose([step[:3] for step in ranker.rounds_[:few]], [e[:3] for e in expected])
    return ours, theirs, first, same


def _rankboost(data: Any, rounds: int, few: int) -> tuple[float, float, float, bool]:
    from tests import oracles

    from ranksieve.rankers import RankBoost

    ranker = RankBoost(n_rounds=rounds)
    ours, _ = _seconds(lambda: ranker.fit(data), 4)
    thresholds = [values.tolist() for values in ranker.thresholds_]

    def loops(n: int) -> list:
        return oracles.rankboost(*_lists(data), thresholds, n)

    first, _ = _seconds(lambda: loops(1), 1)
    theirs, expected = _seconds(lambda: loops(few), 1)
    same = np.allclose([step[:4] for step in ranker.rounds_[:few]], [e[:4] for e in expected])
    return ours, theirs, first, same


def _ascent(data: Any) -> tuple[float, float, float, bool]:
    from tests import oracles

    from ranksieve.rankers import CoordinateAscent

    ranker = CoordinateAscent(n_restarts=1, ties="stable", random_state=0)
    ours, _ = _seconds(lambda: ranker.fit(data), 4)

    def loops() -> list:
        rng = np.random.RandomState(0)
        return oracles.coordinate_ascent(
            *_lists(data),
            _average_precision,
            lambda: rng.permutation(data.n_features).tolist(),
            ranker.n_steps,
            ranker.tol,
        )

    theirs, expected = _seconds(loops, 1)
    ends = ranker.rounds_[-1].measure, expected[-1][2]
    return ours, theirs, theirs, bool(np.isclose(*ends))
