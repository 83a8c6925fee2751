"""Exports of random models to every target: how many are written, refused, or change an order.

Models are linear, or trees of LightGBM, XGBoost, CatBoost and RankBoost, trained on features with
scales from 1e-8 to 1e8, with and without missing values, some with single leaves or categories. The
rows to verify are float32 numbers, as in search engines, or decimals, and many of them lie at
thresholds. A refused export is not an error; a written one must keep every order.
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from typing import Any

import numpy as np
from rich.table import Table

from ranksieve import RankingData
from ranksieve.data import DataError

PARAMETERS = {"models": 200, "rows": 20_000, "seed": 0}
TINY = {"models": 2, "rows": 60}

_KINDS = ("linear", "rankboost", "lightgbm", "lightgbm", "xgboost", "xgboost", "catboost")
_REASONS = {
    "only trees of": "trees of another library",
    "does not take linear": "no linear models",
    "split on categories": "categories",
    "cannot reach": "thresholds that Solr cannot reach",
    "would order": "values that float32 cannot tell apart",
}


def run(models: int, rows: int, seed: int) -> Table:
    """Export and verify; return a table with one row for each target."""
    from ranksieve.export import TARGETS, export_model

    written: Counter[str] = Counter()
    refused: dict[str, Counter[str]] = {name: Counter() for name in TARGETS}
    largest = dict.fromkeys(TARGETS, 0.0)
    changed: Counter[str] = Counter()
    strayed: Counter[str] = Counter()
    tied: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, about names of features
        for number in range(seed, seed + models):
            ranker, data, missing = random_model(np.random.default_rng(number), rows)
            for name in TARGETS:
                try:
                    made = export_model(ranker, name, directory, missing=missing, verify=data)
                except DataError as error:
                    refused[name][_reason(str(error))] += 1
                    continue
                found = made.verification
                assert found is not None
                written[name] += 1
                scale = max(1e-300, float(np.abs(ranker.predict(data)).max()))
                largest[name] = max(largest[name], found.largest_difference / scale)
                changed[name] += found.n_changed
                strayed[name] += found.n_strayed
                tied[name] += found.n_tied
    table = Table(
        title=f"{models} random models, {rows:,} rows, differences relative to the largest score"
    )
    headings = ("target", "written", "refused", "largest difference")
    for heading in (*headings, "orders changed", "rows beyond rounding", "orders of ties"):
        table.add_column(heading, justify="left" if heading == "target" else "right")
    for name in TARGETS:
        why = "; ".join(f"{count} {reason}" for reason, count in refused[name].items())
        table.add_row(
            name,
            str(written[name]),
            str(refused[name].total()),
            f"{largest[name]:.1e}",
            str(changed[name]),
            str(strayed[name]),
            str(tied[name]),
        )
        table.add_row("", "", "", why, end_section=True)
    return table


def _reason(message: str) -> str:
    return next((text for part, text in _REASONS.items() if part in message), message[:60])


def random_model(rng: np.random.Generator, rows: int) -> tuple[Any, RankingData, Any]:
    """Return a trained ranker, data to verify it with, and a rule for missing values."""
    kind = str(rng.choice(_KINDS))
    n_features = int(rng.integers(2, 9))
    scales = 10.0 ** rng.uniform(-8, 8, n_features)
    has_missing = kind not in ("linear", "rankboost") and rng.random() < 0.5
    train = _rows(rng, 600, scales, has_missing)
    in_single = rng.random() < 0.75
    if in_single or rng.random() < 0.5:
        train = train.astype(np.float32).astype(np.float64)
    labels = rng.integers(0, 4, len(train))
    ranker = _ranker(rng, kind, n_features)
    data = RankingData(train, labels, np.repeat(np.arange(30), 20))
    ranker = ranker.fit(data)
    X = _rows(rng, rows, scales, has_missing)
    X = _at_thresholds(rng, ranker, X)
    if rng.random() < 0.7:  # Solr cannot tell them from 0
        X[np.abs(X) < 1e-30] = 0.0
    X = np.where(rng.random(X.shape) < 0.05, 0.0, X)
    if in_single:
        X = X.astype(np.float32).astype(np.float64)
    queries = np.sort(rng.integers(0, max(1, rows // 30), rows))
    test = RankingData(X, rng.integers(0, 4, rows), queries)
    rule = None
    if has_missing or kind == "xgboost":
        rule = str(rng.choice(["nan", "zero"]))
    return ranker, test, rule


def _rows(rng: np.random.Generator, rows: int, scales: np.ndarray, gaps: bool) -> np.ndarray:
    X = rng.normal(size=(rows, len(scales))) * scales
    X[:, 0] = np.round(X[:, 0] / scales[0] * 3)
    if gaps:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X


def _at_thresholds(rng: np.random.Generator, ranker: Any, X: np.ndarray) -> np.ndarray:
    """Set some values to float32 thresholds, or to the next larger number."""
    from ranksieve.export.forms import TreeEnsemble
    from ranksieve.export.reading import read_trained
    from ranksieve.export.single_precision import next_above, round_down

    try:
        model = read_trained(ranker).model
    except DataError:  # with categories
        return X
    if not isinstance(model, TreeEnsemble):
        return X
    for feature in model.used.tolist():
        cuts = round_down(model.threshold[model.feature == feature])
        picks = np.concatenate([cuts, next_above(cuts)]).astype(np.float64)
        chosen = rng.random(len(X)) < 0.1
        X[chosen, feature] = rng.choice(picks[np.abs(picks) < 1e30], chosen.sum())
    return X


def _ranker(rng: np.random.Generator, kind: str, n_features: int) -> Any:
    from catboost import CatBoostRanker
    from lightgbm import LGBMRanker
    from xgboost import XGBRanker

    from ranksieve.rankers import LambdaMART, RankBoost, RankSVM, as_ranker

    trees = int(rng.integers(1, 25))
    single_leaf = rng.random() < 0.1
    if kind == "linear":
        return RankSVM(C=float(10.0 ** rng.uniform(-4, 0)))
    if kind == "rankboost":
        return RankBoost(n_rounds=trees)
    if kind == "lightgbm":
        if rng.random() < 0.1:
            params = {"categorical_feature": [0], "num_threads": 1, "max_cat_to_onehot": 1}
            params |= {"min_data_per_group": 1, "cat_smooth": 0}
            return LambdaMART(trees, params=params)
        return as_ranker(
            LGBMRanker(
                n_estimators=trees,
                num_leaves=int(rng.integers(2, 32)),
                min_child_samples=10_000 if single_leaf else 5,
                zero_as_missing=bool(rng.random() < 0.2),
                use_missing=bool(rng.random() < 0.9),
                n_jobs=1,
                verbose=-1,
            )
        )
    if kind == "xgboost":
        return as_ranker(
            XGBRanker(
                n_estimators=trees,
                max_depth=int(rng.integers(1, 7)),
                gamma=1e9 if single_leaf else 0,
                base_score=float(rng.normal()),
                tree_method=str(rng.choice(["hist", "exact"])),
                n_jobs=1,
            )
        )
    policy = str(rng.choice(["SymmetricTree", "SymmetricTree", "Depthwise", "Lossguide"]))
    return as_ranker(
        CatBoostRanker(
            iterations=trees,
            depth=int(rng.integers(1, 6)),
            grow_policy=policy,
            nan_mode=str(rng.choice(["Min", "Max"])),
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
        )
    )
