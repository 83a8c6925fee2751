"""Small trained models of all kinds, and rows that lie at their thresholds."""

import shutil
from functools import cache

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.export.forms import TreeEnsemble
from ranksieve.export.reading import read_trained
from ranksieve.export.single_precision import next_above, round_down
from ranksieve.rankers import LambdaMART, RankBoost, RankSVM, as_ranker

NAMES = ["bm25 title", 'say "hi"', "\u5c0f\u00fc", "a[b]<c", "clicks"]
SCALES = np.array([1e-2, 1.0, 30.0, 1e6, 1.0])
TREES = ("lambdamart", "lightgbm", "lightgbm zero", "xgboost", "catboost", "catboost deep")
KINDS = (*TREES, "rankboost", "ranksvm")


def values(rng, rows, *, gaps):
    X = rng.normal(size=(rows, 5)) * SCALES
    X[:, 4] = np.round(2 * X[:, 4])
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X.astype(np.float32).astype(np.float64)


def estimator(kind):
    from catboost import CatBoostRanker
    from lightgbm import LGBMRanker
    from xgboost import XGBRanker

    quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    forest = {"n_estimators": 8, "n_jobs": 1}
    leaves = {"num_leaves": 8, "min_child_samples": 5, "verbose": -1}
    return {
        "lambdamart": lambda: LambdaMART(8, params={"num_threads": 1}),
        "lightgbm": lambda: LGBMRanker(**forest, **leaves),
        "lightgbm zero": lambda: LGBMRanker(**forest, **leaves, zero_as_missing=True),
        "xgboost": lambda: XGBRanker(**forest, max_depth=4, base_score=0.25),
        "catboost": lambda: CatBoostRanker(iterations=8, depth=3, nan_mode="Max", **quiet),
        "catboost deep": lambda: CatBoostRanker(
            iterations=8, depth=4, grow_policy="Lossguide", **quiet
        ),
        "rankboost": lambda: RankBoost(n_rounds=12),
        "ranksvm": lambda: RankSVM(C=0.01),
    }[kind]()


@cache
def ranker_of(kind, gaps=False, names=True):
    rng = np.random.default_rng(3)
    X = values(rng, 300, gaps=gaps)
    if kind == "ranksvm":
        X = X / SCALES
    y = np.clip(np.round(np.nansum(X / SCALES, axis=1) / 2 + 1.5), 0, 3)
    data = RankingData(X, y, np.repeat(np.arange(15), 20), feature_names=NAMES if names else None)
    return as_ranker(estimator(kind)).fit(data)


def rows_for(ranker, *, gaps=False, rows=80, names=True, sharp=True):
    """Data of float32 numbers, many of them at thresholds and zeros.

    Unless it is ``sharp``, numbers right above thresholds are left out, as are those next to 0:
    Solr cannot reach all such thresholds.
    """
    rng = np.random.default_rng(4)
    X = values(rng, rows, gaps=gaps)
    model = read_trained(ranker).model
    if isinstance(model, TreeEnsemble):
        for feature in model.used.tolist():
            cuts = round_down(model.threshold[model.feature == feature])
            chosen = rng.random(rows) < 0.3
            picks = np.concatenate([cuts, next_above(cuts)]) if sharp else cuts
            X[chosen, feature] = rng.choice(picks[np.abs(picks) < 1e30], chosen.sum())
    if not sharp:
        X[np.abs(X) < 1e-30] = 0.0
    X[rng.random(X.shape) < 0.1] = 0.0
    y = rng.integers(0, 4, rows)
    qid = np.sort(rng.integers(0, rows // 10, rows))
    return RankingData(X, y, qid, feature_names=NAMES if names else None)


def documents(data, names):
    """Rows as dicts without missing values, under these names."""
    return [
        {name: value for name, value in zip(names, row, strict=True) if not np.isnan(value)}
        for row in data.X.tolist()
    ]


def need(target):
    """Skip a test where what verifies a target is not there."""
    if target == "onnx":
        pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
