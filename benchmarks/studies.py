"""A study beside the loop that one would write: five folds, four selectors, RankSVM and LambdaMART.

The loop goes over folds, selectors, their parameters and numbers of features, selects, trains and
evaluates, with the same selectors and rankers, on as many threads. It trains each different set of
features again whenever it comes up. The study also writes its ledger. Both end with the same means,
which are compared. The third contender is the study once more, of which all is known.
"""

from __future__ import annotations

import tempfile
from itertools import product
from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {"queries": 150, "documents": 20, "features": 20}
SELECTORS = ("greedy-rankrls", "gas-e", "fs-scpr", "fs-ed")
RANKERS = ("ranksvm", "lambdamart")
SIZES = (1, 2, 5, 10)
PLAN = {"selectors": SELECTORS, "rankers": RANKERS, "ks": SIZES, "seeds": 1, "baselines": False}
TREES = {"n_estimators": 50}


def _data(queries: int, documents: int, features: int) -> Any:
    from ranksieve import make_ranking

    planted = {"n_informative": 5, "n_redundant": 5, "n_noise": features - 10}
    return make_ranking(queries, docs_per_query=documents, random_state=0, **planted)[0]


def _told(means: dict[tuple[str, str], float]) -> dict[str, str]:
    return {"MAP": " ".join(f"{means[pair]:.4f}" for pair in product(SELECTORS, RANKERS))}


def _study(data: Any, out: str | None) -> dict[tuple[str, str], float]:
    from ranksieve import Study

    study = Study(data, out=out, parameters={"lambdamart": TREES}, measures=["map"], **PLAN)
    return {pair: run.chosen.mean("MAP") for pair, run in study.run().runs.items()}


def ranksieve(**size: int) -> Task:
    """The study."""
    data = _data(**size)
    small = _data(30, 5, size["features"])
    return Task(lambda: _study(data, None), lambda: _study(small, None), _told)


def from_ledger(**size: int) -> Task:
    """The study, of which all cells are known."""
    data, directory = _data(**size), tempfile.TemporaryDirectory()
    task = Task(*[lambda: _study(data, directory.name)] * 2, _told)
    task.directory = directory  # type: ignore[attr-defined]  # as long as the task
    return task


def _points(grid: Any) -> list[dict[str, Any]]:
    names = sorted(grid)
    return [dict(zip(names, values, strict=True)) for values in product(*(grid[n] for n in names))]


def _loop(data: Any) -> dict[tuple[str, str], float]:
    from ranksieve.metrics import evaluate
    from ranksieve.rankers.registry import RANKERS as KNOWN_RANKERS
    from ranksieve.rankers.registry import make_ranker
    from ranksieve.selectors.registry import METHODS, make_selector
    from ranksieve.splits import query_kfold

    def measured(ranker: Any, part: Any, columns: list[int]) -> float:
        scores = ranker.predict(part.take_features(columns))
        return float(evaluate(part.y, scores, part.qid, ["map"]).mean["MAP"])

    found: dict[tuple[str, str], list[float]] = {pair: [] for pair in product(SELECTORS, RANKERS)}
    for split in query_kfold(data.n_queries, 5, random_state=0):
        train, vali, test = split.apply(data)
        for selector, ranker in found:
            best = (-1.0, None, [0])
            held_out = {"eval_set": vali} if METHODS[selector].uses_held_out_data else {}
            for k, point in product(SIZES, _points(METHODS[selector].grid)):
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


def loop(**size: int) -> Task:
    """The loop."""
    data, small = _data(**size), _data(30, 5, size["features"])
    return Task(lambda: _loop(data), lambda: _loop(small), _told)


CONTENDERS = {"ranksieve": ranksieve, "ranksieve, from its ledger": from_ledger, "a loop": loop}
