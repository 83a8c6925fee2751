"""Feature selection for boosted trees: selectors of ranksieve and of others, by LambdaMART.

LambdaMART is trained on the 3, 5, 10 and 20 features that each method chooses. The table shows its
NDCG@10 minus that with the features of largest gain in its own model, which is the usual way to
choose: the mean difference in units of 1e-4, with its standard error. It is computed over the test
queries of five folds of MQ2008 (``--set data=MQ2008``) or of the demo (``--set data=demo``), or
over draws of synthetic data with products, thresholds and copies (``--set data=planted``; methods
were developed on draws below 100). The rows of each query are shuffled first, so that their order
reveals nothing. Trainings are models of trees; seconds are CPU seconds. Libraries that are not
installed are left out: install catboost, mrmr_selection, fastcan and probatus to include them.
``--set "methods=A;B"`` chooses methods.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import lightgbm
import numpy as np
from rich.table import Table

from benchmarks.harness import mq2008_parts
from ranksieve import RankingData, concatenate, limit_threads, load_demo, read_letor
from ranksieve.metrics import evaluate
from ranksieve.rankers import LambdaMART
from ranksieve.selectors.registry import make_selector
from ranksieve.splits import query_parts, rotate_parts

PARAMETERS = {
    "data": "MQ2008",
    "methods": "all",
    "draws": 10,
    "first": 100,
    "seeds": 3,
    "trees": 100,
}
TINY = {"data": "planted-tiny", "methods": "cegb;split count", "draws": 2, "seeds": 1, "trees": 5}

KS = (3, 5, 10, 20)
BASE = "gain of its own model"

Orders = Callable[[RankingData, int], tuple[list[int], int]]


class Task(NamedTuple):
    """Queries to select and train on, and queries to test on."""

    train: RankingData
    test: RankingData


def run(data: str, methods: str, draws: int, first: int, seeds: int, trees: int) -> Table:
    """Test all methods, each on one thread, and return a table."""
    with limit_threads(1):
        return _table(data, list(_tasks(data, range(first, first + draws))), methods, seeds, trees)


def _table(data: str, tasks: list[Task], methods: str, seeds: int, trees: int) -> Table:
    table = Table(title=f"{data}: NDCG@10 against the {BASE}, in 1e-4")
    for column in ("method", *(f"k={k}" for k in KS), "mean", "trainings", "seconds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    base = _judge(tasks, METHODS[BASE], seeds, trees)[0]
    table.add_row(f"{BASE}: NDCG@10", *(f"{np.mean(v):.4f}" for v in base.T), "", "1", "")
    names = [name for name in METHODS if name != BASE] if methods == "all" else methods.split(";")
    for name in names:
        try:
            values, trainings, seconds = _judge(tasks, METHODS[name], seeds, trees)
        except ImportError as error:
            print(f"left out: {name} ({error})", file=sys.stderr)
            continue
        gain = values - base
        cells = [_with_error(gain[:, place]) for place in range(len(KS))]
        table.add_row(
            name, *cells, _with_error(gain.mean(axis=1)), str(trainings), f"{seconds:.1f}"
        )
        print(name, *cells, file=sys.stderr)
    return table


def _with_error(gain: np.ndarray) -> str:
    return f"{1e4 * gain.mean():+.0f} +- {1e4 * gain.std(ddof=1) / np.sqrt(len(gain)):.0f}"


def _judge(
    tasks: Sequence[Task], order: Orders, seeds: int, trees: int
) -> tuple[np.ndarray, int, float]:
    """Return the value of each query or draw by number of features, trainings, and seconds."""
    values, trainings, seconds = [], 0, 0.0
    for task in tasks:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            features, trainings = order(task.train, trees)
        seconds += time.process_time() - start
        found = [_refit(task, tuple(sorted(features[:k])), seeds, trees) for k in KS]
        values.append(np.transpose(found))
    if len(tasks) > 1 and tasks[0].test.qid[0] == "draw":  # each draw counts once
        values = [own.mean(axis=0, keepdims=True) for own in values]
    return np.concatenate(values), trainings, seconds / len(tasks)


_KNOWN: dict[Any, np.ndarray] = {}


def _refit(task: Task, features: tuple[int, ...], seeds: int, trees: int) -> np.ndarray:
    """Return the value of each test query, averaged over seeds."""
    key = (id(task.train), features)
    if key not in _KNOWN:
        found = []
        for seed in range(seeds):
            bagging = {"bagging_fraction": 0.9, "bagging_freq": 1}
            ranker = _trees(trees, random_state=seed, params=bagging)
            ranker.fit(task.train.take_features(list(features)))
            scores = ranker.predict(task.test.take_features(list(features)))
            found.append(evaluate(task.test.y, scores, task.test.qid, ["ndcg@10"]))
        _KNOWN[key] = np.mean([one.per_query["NDCG@10"] for one in found], axis=0)
    return _KNOWN[key]


def _trees(trees: int, **other: Any) -> LambdaMART:
    return LambdaMART(trees, num_leaves=15, **other)


def _by(importance: np.ndarray) -> list[int]:
    return np.argsort(-np.asarray(importance, dtype=float), kind="stable").tolist()


def ours(name: str, **parameters: Any) -> Orders:
    """Order features by a selector of ours."""

    def order(train: RankingData, trees: int) -> tuple[list[int], int]:
        own = dict(parameters)
        if name == "elimination":
            own["ranker"] = _trees(trees)
        k = min(max(KS), train.n_features)
        with patch("lightgbm.train", wraps=lightgbm.train) as counted:
            selector = make_selector(name, k, **own).fit(train)
        return selector.selected_.tolist(), counted.call_count

    return order


def by_gain(train: RankingData, trees: int) -> tuple[list[int], int]:
    """Order features by their gain in a model of all of them."""
    return _by(_trees(trees).fit(train).feature_importances_), 1


def _split_count(train: RankingData, trees: int) -> tuple[list[int], int]:
    return _by(_trees(trees).fit(train).booster_.feature_importance("split")), 1


def _mean_shap(train: RankingData, trees: int) -> tuple[list[int], int]:
    parts = _trees(trees).fit(train).booster_.predict(train.X, pred_contrib=True)
    return _by(np.abs(parts[:, :-1]).mean(axis=0)), 1


def _permutation(train: RankingData, trees: int) -> tuple[list[int], int]:
    """Return the loss of NDCG@10 on held-out queries if a feature's values are shuffled."""
    parts = query_parts(train.n_queries, 5)
    held_out = train.take_queries(parts[0])
    ranker = _trees(trees).fit(train.take_queries(np.sort(np.concatenate(parts[1:]))))
    rng, X, losses = np.random.default_rng(0), np.array(held_out.X), []

    def value() -> float:
        found = evaluate(held_out.y, ranker.predict(X), held_out.qid, ["ndcg@10"])
        return float(found.per_query["NDCG@10"].mean())

    for feature in range(train.n_features):
        column = X[:, feature].copy()
        X[:, feature] = rng.permutation(column)
        losses.append(-value())
        X[:, feature] = column
    return _by(np.array(losses)), 1


def _booster(trees: int) -> Any:
    from lightgbm import LGBMRanker

    return LGBMRanker(
        n_estimators=trees, num_leaves=15, importance_type="gain", verbosity=-1, n_jobs=1
    )


def by_rfe(train: RankingData, trees: int) -> tuple[list[int], int]:
    """Order features by scikit-learn's elimination of one at a time."""
    from sklearn.feature_selection import RFE

    rfe = RFE(_booster(trees), n_features_to_select=1, step=1)
    rfe.fit(train.X, train.y, group=train.group_counts)
    return np.argsort(rfe.ranking_, kind="stable").tolist(), train.n_features


def by_catboost(train: RankingData, trees: int) -> tuple[list[int], int]:
    """Order features by CatBoost's elimination."""
    from catboost import CatBoostRanker, EFeaturesSelectionAlgorithm, Pool

    pool = Pool(train.X, train.y, group_id=train.query_codes)
    ranker = CatBoostRanker(
        iterations=trees, verbose=False, random_seed=0, thread_count=1, allow_writing_files=False
    )
    found = ranker.select_features(
        pool,
        features_for_select=list(range(train.n_features)),
        num_features_to_select=1,
        steps=10,
        algorithm=EFeaturesSelectionAlgorithm.RecursiveByShapValues,
        train_final_model=False,
        logging_level="Silent",
    )
    gone = found["eliminated_features"]
    return [*found["selected_features"], *reversed(gone)], 10


def _probatus(train: RankingData, trees: int) -> tuple[list[int], int]:
    """Run ShapRFECV on a regression of the labels, since it does not pass queries to a ranker."""
    import pandas as pd
    from lightgbm import LGBMRegressor
    from probatus.feature_elimination import ShapRFECV
    from sklearn.model_selection import GroupKFold

    model = LGBMRegressor(n_estimators=trees, num_leaves=15, verbosity=-1, n_jobs=1)
    parts, scoring = GroupKFold(3), "neg_mean_squared_error"
    search = ShapRFECV(model, step=0.25, cv=parts, scoring=scoring, n_jobs=1, random_state=0)
    names = [str(feature) for feature in range(train.n_features)]
    frame = pd.DataFrame(train.X, columns=names)
    # The sums of SHAP values are off by rounding, which its check takes for an error.
    how = {"groups": train.query_codes, "check_additivity": False}
    report = search.fit_compute(frame, pd.Series(train.y), **how)
    left, order = names, []
    for kept in report["features_set"]:
        order += [name for name in left if name not in kept]
        left = kept
    return [int(name) for name in [*left, *reversed(order)]], 3 * len(report)


def _mrmr(train: RankingData, trees: int) -> tuple[list[int], int]:
    import pandas as pd
    from mrmr import mrmr_regression

    k = min(max(KS), train.n_features)
    found = mrmr_regression(
        pd.DataFrame(train.X), pd.Series(train.y), K=k, n_jobs=1, show_progress=False
    )
    return [int(feature) for feature in found], 0


def _fastcan(train: RankingData, trees: int) -> tuple[list[int], int]:
    from fastcan import FastCan

    k = min(max(KS), train.n_features)
    found = FastCan(k, verbose=0).fit(np.asarray(train.X, dtype=float), train.y.astype(float))
    return found.indices_.tolist(), 0


METHODS: dict[str, Orders] = {
    BASE: by_gain,
    "best-of (cegb, elimination)": ours("best-of"),
    "cegb": ours("cegb"),
    "cegb, sets": ours("cegb", order="sets"),
    "bt-influence (gain of 50 x 10 trees)": ours("bt-influence"),
    "elimination, step=0.25": ours("elimination", step=0.25),
    "elimination, step=0.25, shap": ours("elimination", step=0.25, importance="shap"),
    "shap": ours("shap"),
    "borda": ours("borda"),
    "teacher-bins": ours("teacher-bins"),
    "greedy-bins": ours("greedy-bins"),
    "greedy-rankrls": ours("greedy-rankrls"),
    "gas-e": ours("gas-e"),
    "split count": _split_count,
    "mean |SHAP|": _mean_shap,
    "permutation, 5th part held out": _permutation,
    "RFE of scikit-learn, step=1": by_rfe,
    "CatBoost select_features": by_catboost,
    "ShapRFECV of probatus, step=0.25": _probatus,
    "mrmr_selection": _mrmr,
    "fastcan": _fastcan,
}


def _tasks(data: str, draws: Iterable[int]) -> Iterator[Task]:
    if data.startswith("planted"):
        sizes = (8, 8) if data.endswith("tiny") else (250, 400)
        for draw in draws:
            yield _planted(draw, *sizes)
        return
    if data == "demo":
        whole = _shuffled(load_demo()[0], 0)
        parts = query_parts(whole.n_queries, 5, random_state=0)
        for split in rotate_parts(parts):
            train, vali, test = split.apply(whole)
            yield Task(concatenate([train, vali]), test)
        return
    files = [read_letor(path, n_features=46) for path in mq2008_parts()]
    shuffled = [_shuffled(part, number) for number, part in enumerate(files)]
    for fold in range(5):
        train = concatenate([shuffled[(fold + part) % 5] for part in range(3)])
        yield Task(train, shuffled[(fold + 4) % 5])


def _shuffled(data: RankingData, seed: int) -> RankingData:
    """Return the same data with the rows of each query in random order."""
    order = np.lexsort((np.random.default_rng(seed).random(data.n_rows), data.query_codes))
    return RankingData(data.X[order], data.y[order], data.qid[order])


_INFORMATIVE, _USELESS, _COPIES = 12, 12, 12


def _planted(seed: int, n_train: int, n_test: int) -> Task:
    """Return data with sums, thresholds, a product, a switch, a bend, noise and copies."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.3, 1.0, 8)
    sources = rng.integers(0, _INFORMATIVE, _COPIES)
    noise = rng.uniform(0.1, 0.6, _COPIES)
    order = rng.permutation(_INFORMATIVE + _USELESS + _COPIES)
    parts = []
    for n_queries in (n_train, n_test):
        lengths = rng.integers(10, 30, n_queries)
        n = int(lengths.sum())
        Z = rng.normal(size=(n, _INFORMATIVE))
        score = Z[:, :3] @ weights[:3] + 1.5 * weights[3] * (Z[:, 3] > 0.5)
        score += 2 * weights[4] * (Z[:, 4] > 1) + 1.2 * weights[5] * Z[:, 5] * Z[:, 6]
        score += 1.5 * weights[6] * (Z[:, 7] > 0) * Z[:, 8] + weights[7] * np.abs(Z[:, 9])
        score += 0.3 * Z[:, 10] + 0.2 * Z[:, 11] + rng.normal(size=n)
        copies = Z[:, sources] + noise * rng.normal(size=(n, _COPIES))
        X = np.column_stack([Z, rng.normal(size=(n, _USELESS)), copies])[:, order]
        codes = np.repeat(np.arange(n_queries), lengths)
        parts.append((X, np.digitize(score, [0.8, 1.9, 3.0]).astype(float), codes))
    (X, y, codes), test = parts
    marked = np.where(test[2] == 0, "draw", test[2].astype(str))
    return Task(RankingData(X, y, codes), RankingData(*test[:2], marked))
