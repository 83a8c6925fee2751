"""A study beside a straightforward loop: five folds, four selectors, RankSVM and LambdaMART.

The loop goes over folds, selectors, their parameters and numbers of features; it selects, trains
and evaluates with the same selectors and rankers, on the same number of threads. It trains again
whenever a set of features occurs again. The study also writes its ledger. Both must give the same
means. The third contender is the same study again, with all results known.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from itertools import product
from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {
    "queries": 150,
    "documents": 20,
    "features": 20,
    "selectors": "greedy-rankrls,gas-e,fs-scpr,fs-ed",
    "rankers": "ranksvm,lambdamart",
    "sizes": "1,2,5,10",
}
TINY = {
    "queries": 20,
    "documents": 5,
    "features": 11,
    "selectors": "top",
    "rankers": "ranksvm",
    "sizes": "1",
}
TREES = {"n_estimators": 50, "num_leaves": 10}


def _data(queries: int, documents: int, features: int) -> Any:
    from ranksieve import make_ranking

    planted = {"n_informative": 5, "n_redundant": 5, "n_noise": features - 10}
    return make_ranking(queries, docs_per_query=documents, random_state=0, **planted)[0]


def _small(features: int) -> Any:
    return _data(30, 5, features)


def _plan(selectors: str, rankers: str, sizes: str) -> dict[str, Any]:
    return {
        "selectors": selectors.split(","),
        "rankers": rankers.split(","),
        "ks": [int(size) for size in sizes.split(",")],
    }


def _told(means: dict[tuple[str, str], float]) -> dict[str, str]:
    return {"MAP": " ".join(f"{mean:.4f}" for mean in means.values())}


def _study(data: Any, plan: dict[str, Any], out: str | None) -> dict[tuple[str, str], float]:
    from ranksieve import Study

    trees = {"lambdamart": TREES} if "lambdamart" in plan["rankers"] else {}
    more = {"seeds": 1, "baselines": False, "measures": ["map"], "parameters": trees}
    study = Study(data, out=out, **plan, **more)
    return {pair: run.chosen.mean("MAP") for pair, run in study.run().runs.items()}


def ranksieve(queries: int, documents: int, features: int, **what: str) -> Task:
    """Run the study."""
    data, small, plan = _data(queries, documents, features), _small(features), _plan(**what)
    return Task(lambda: _study(data, plan, None), lambda: _study(small, plan, None), _told)


def from_ledger(queries: int, documents: int, features: int, **what: str) -> Task:
    """Run the study again; all cells are known."""
    data, directory = _data(queries, documents, features), tempfile.mkdtemp()
    task = Task(*[lambda: _study(data, _plan(**what), directory)] * 2, _told)
    weakref.finalize(task, shutil.rmtree, directory)
    return task


def _points(grid: Any) -> list[dict[str, Any]]:
    names = sorted(grid)
    return [dict(zip(names, values, strict=True)) for values in product(*(grid[n] for n in names))]


def _loop(data: Any, plan: dict[str, Any]) -> dict[tuple[str, str], float]:
    from ranksieve.metrics import evaluate
    from ranksieve.rankers.registry import RANKERS as KNOWN_RANKERS
    from ranksieve.rankers.registry import make_ranker
    from ranksieve.selectors.registry import SELECTORS, make_selector
    from ranksieve.splits import query_kfold

    def measured(ranker: Any, part: Any, columns: list[int]) -> float:
        scores = ranker.predict(part.take_features(columns))
        return float(evaluate(part.y, scores, part.qid, ["map"]).mean["MAP"])

    pairs = product(plan["selectors"], plan["rankers"])
    found: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    for split in query_kfold(data.n_queries, 5, random_state=0):
        train, vali, test = split.apply(data)
        for selector, ranker in found:
            best = (-1.0, None, [0])
            held_out = {"eval_set": vali} if SELECTORS[selector].uses_held_out_data else {}
            for k, point in product(plan["ks"], _points(SELECTORS[selector].grid)):
                fitted = make_selector(selector, k, **point).fit(train, **held_out)
                columns = sorted(fitted.selected_.tolist())
                for setting in _points(KNOWN_RANKERS[ranker].grid):
                    fixed = TREES if ranker == "lambdamart" else {}
                    model = make_ranker(ranker, **fixed, **setting)
                    model.fit(train.take_features(columns), eval_set=vali.take_features(columns))
                    value = measured(model, vali, columns)
                    if value > best[0]:
                        best = (value, model, columns)
            _, model, columns = best
            found[selector, ranker].append(measured(model, test, columns))
    return {pair: float(np.mean(values)) for pair, values in found.items()}


def loop(queries: int, documents: int, features: int, **what: str) -> Task:
    """Run the loop."""
    data, small, plan = _data(queries, documents, features), _small(features), _plan(**what)
    return Task(lambda: _loop(data, plan), lambda: _loop(small, plan), _told)


CONTENDERS = {"ranksieve": ranksieve, "ranksieve, from its ledger": from_ledger, "a loop": loop}
