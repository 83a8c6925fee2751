"""Time to score one row: LightGBM's functions beside the exported C file, full and reduced model.

LightGBM is called from Python, and through the fastest function of its C interface
(``LGBM_BoosterPredictForMatSingleRowFast``). This function and the C file are called in the same
way, with the address of a row. Times are the best of several rounds over many rows.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

PARAMETERS = {"trees": 500, "features": 136, "kept": 10, "queries": 200, "rows": 1000, "rounds": 15}
TINY = {"trees": 5, "features": 12, "kept": 3, "queries": 10, "rows": 10, "rounds": 1}


def run(trees: int, features: int, kept: int, queries: int, rows: int, rounds: int) -> Table:
    """Measure and tabulate."""
    from ranksieve import make_ranking
    from ranksieve.rankers import LambdaMART

    informative = max(2, features // 10)
    every, _ = make_ranking(
        2 * queries,
        docs_per_query=(20, 40),
        n_informative=informative,
        n_redundant=informative,
        n_noise=features - 2 * informative,
    )
    data = every.take_queries(range(queries))
    others = every.take_queries(range(queries, 2 * queries))
    full = LambdaMART(trees, params={"num_threads": 1}).fit(data)
    best = np.sort(np.argsort(-full.feature_importances_, kind="stable")[:kept])
    few = data.take_features(best)
    reduced = LambdaMART(trees, params={"num_threads": 1}).fit(few)
    table = Table(title=f"Microseconds to score a row, {trees} trees")
    headings = ("model", "features", "NDCG@10", "LightGBM, Python", "LightGBM, C", "C file", "bits")
    for heading in headings:
        table.add_column(heading, justify="right" if heading != "model" else "left")
    parts = (("full", full, others), ("reduced", reduced, others.take_features(best)))
    for name, ranker, part in parts:
        times, alike = _measure(ranker, np.ascontiguousarray(part.X[:rows]), rounds)
        shown = [f"{1e6 * seconds:.2f}" for seconds in times]
        said = "same" if alike else "differ"
        table.add_row(name, str(part.n_features), f"{ranker.score(part):.4f}", *shown, said)
    return table


def _measure(ranker: Any, X: np.ndarray, rounds: int) -> tuple[list[float], bool]:
    """Return the seconds per row of each way to score, and whether all give the same scores."""
    from ranksieve.export import export_model
    from ranksieve.export.reading import read_trained
    from ranksieve.export.targets.c import load_c, load_score_function

    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        export_model(ranker, "c", place)
        library = load_c(place / "model.c", place)
        names = read_trained(ranker).names
        score, order = load_score_function(place / "model.c", library, names)
    used = np.ascontiguousarray(X[:, order])  # which the caller computes in this order
    few = X[: max(1, len(X) // 20)]
    start, step = used.ctypes.data, used.strides[0]
    ways: list[tuple[Callable[[int], Any], np.ndarray]] = [
        (lambda row: ranker.booster_.predict(few[row : row + 1], num_threads=1)[0], few),
        (_fast_call(ranker.booster_, X), X),
        (lambda row: score(start + row * step), X),
    ]
    expected = ranker.booster_.predict(X, num_threads=1)
    alike = all(
        call(row) == expected[row] for call, rows in ways for row in range(min(50, len(rows)))
    )
    return [_seconds(call, len(rows), rounds) for call, rows in ways], alike


def _seconds(call: Callable[[int], Any], rows: int, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for row in range(rows):
            call(row)
        times.append((time.perf_counter() - start) / rows)
    return min(times)


def _fast_call(booster: Any, X: np.ndarray) -> Callable[[int], float]:
    """Prepare LightGBM's fastest function for a single row."""
    from lightgbm.basic import _LIB

    config = ctypes.c_void_p()
    status = _LIB.LGBM_BoosterPredictForMatSingleRowFastInit(
        booster._handle,
        ctypes.c_int(0),  # normal prediction
        ctypes.c_int(0),
        ctypes.c_int(-1),
        ctypes.c_int(1),  # float64
        ctypes.c_int32(X.shape[1]),
        ctypes.c_char_p(b"num_threads=1"),
        ctypes.byref(config),
    )
    assert status == 0
    length, result = ctypes.c_int64(), ctypes.c_double()
    predict = _LIB.LGBM_BoosterPredictForMatSingleRowFast
    start, step = X.ctypes.data, X.strides[0]
    at_length, at_result = ctypes.byref(length), ctypes.byref(result)

    def call(row: int) -> float:
        predict(config, ctypes.c_void_p(start + row * step), at_length, at_result)
        return result.value

    return call
