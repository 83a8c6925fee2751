"""Trees of libraries in the neutral form: the same bits as the libraries."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRanker, CatBoostRegressor
from lightgbm import LGBMRanker, LGBMRegressor
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRanker

from ranksieve import RankingData
from ranksieve.data import DataError
from ranksieve.export.forms import TreeBuilder
from ranksieve.export.reading import read_lightgbm, read_trained
from ranksieve.rankers import LambdaMART, RankNet, as_ranker
from tests.export.trained import KINDS, NAMES, TREES, ranker_of, rows_for


@pytest.mark.parametrize(
    ("kind", "gaps"), [*((kind, False) for kind in KINDS), *((kind, True) for kind in TREES)]
)
def test_the_same_bits(kind, gaps):
    ranker = ranker_of(kind, gaps=gaps)
    data = rows_for(ranker, gaps=gaps)
    np.testing.assert_array_equal(read_trained(ranker).model.scores(data.X), ranker.predict(data))


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("use_missing", [True, False])
def test_decimals_that_are_no_float32(kind, use_missing):
    """XGBoost rounds rows to float32; thresholds in float64 must do the same."""
    ranker = ranker_of(kind)
    model = read_trained(ranker).model
    rng = np.random.default_rng(0)
    at = model.splits
    X = np.zeros((4 * len(at), 5))
    steps = [-np.inf, np.inf]
    for place, node in enumerate(at.tolist()):
        cut = model.threshold[node]
        near = [cut, np.nextafter(cut, steps[0]), np.nextafter(cut, steps[1]), cut * (1 + 1e-9)]
        X[4 * place : 4 * place + 4] = rng.normal(size=5)
        X[4 * place : 4 * place + 4, model.feature[node]] = near
    if use_missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    data = RankingData(X, np.zeros(len(X)), np.zeros(len(X)), feature_names=NAMES)
    np.testing.assert_array_equal(model.scores(X), ranker.predict(data))


def test_treelite_agrees():
    treelite = pytest.importorskip("treelite", reason="needs treelite")
    for kind, load in (
        ("lightgbm", lambda e: treelite.frontend.from_lightgbm(e.booster_)),
        ("xgboost", lambda e: treelite.frontend.from_xgboost(e.get_booster())),
    ):
        ranker = ranker_of(kind, gaps=True, names=False)
        data = rows_for(ranker, gaps=True, names=False)
        X = np.where(np.abs(data.X) < 1e-34, 0.0, data.X)  # treelite forgets what LightGBM calls 0
        expected = treelite.gtil.predict(load(ranker.estimator_), X, nthread=1)
        found = read_trained(ranker).model.scores(X)
        np.testing.assert_allclose(found, np.ravel(expected), rtol=1e-5, atol=1e-6)


def test_trees_that_stopped_early_or_never_split():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    data = RankingData(X, y, np.repeat(np.arange(20), 20))
    train, held_out = data.take_queries(range(12)), data.take_queries(range(12, 20))
    stop = {"early_stopping_rounds": 2}
    for estimator, splits in (
        (LGBMRanker(n_estimators=40, n_jobs=1, verbose=-1, **stop), True),
        (XGBRanker(n_estimators=40, n_jobs=1, **stop), True),
        (LambdaMART(40, params={"num_threads": 1}, **stop), True),
        (LGBMRanker(n_estimators=3, min_child_samples=10_000, n_jobs=1, verbose=-1), False),
        (XGBRanker(n_estimators=3, gamma=1e9, n_jobs=1), False),
    ):
        how = {"eval_set": held_out} if splits else {}
        ranker = as_ranker(estimator).fit(train, **how)
        model = read_trained(ranker).model
        assert len(model.roots) < 41
        assert bool(model.used.tolist()) == splits
        np.testing.assert_array_equal(model.scores(X), ranker.predict(data))


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_leaves_of_catboost_that_its_json_does_not_tell_apart(policy):
    """Not every version of CatBoost writes all digits."""

    class FewDigits(CatBoostRanker):
        def save_model(self, path, format="cbm"):
            super().save_model(path, format=format)
            text = Path(path).read_text()
            Path(path).write_text(re.sub(r"\d\.\d{4,}", lambda n: f"{float(n[0]):.2f}", text))

    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (400, 4)).astype(np.float64)
    labels = np.clip(np.round(X[:, 0] * X[:, 1] + X[:, 2]), 0, 4)
    model = FewDigits(iterations=5, depth=5, grow_policy=policy, **QUIET)
    model.fit(X, labels, group_id=np.repeat(np.arange(20), 20))
    expected = model.predict(X)
    np.testing.assert_array_equal(read_trained(as_ranker(model)).model.scores(X), expected)


def test_whether_training_saw_missing_values():
    for kind in ("lightgbm", "catboost"):
        assert read_trained(ranker_of(kind)).saw_missing is False
        assert read_trained(ranker_of(kind, gaps=True)).saw_missing is True
    assert read_trained(ranker_of("xgboost", gaps=True)).saw_missing is None
    assert read_trained(ranker_of("rankboost")).saw_missing is False


QID = np.repeat(np.arange(20), 20)
QUIET = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
FEW = {"n_estimators": 2, "n_jobs": 1}
LIGHT = {"verbose": -1, **FEW}


@pytest.mark.parametrize(
    ("model", "kind", "queries", "library"),
    [
        (LGBMRanker(min_data_per_group=1, **LIGHT), "category", {"group": [20] * 20}, "LightGBM"),
        (XGBRanker(enable_categorical=True, **FEW), "category", {"qid": QID}, "XGBoost"),
        (
            CatBoostRanker(iterations=2, cat_features=["a"], **QUIET),
            str,
            {"group_id": QID},
            "CatBoost",
        ),
    ],
)
def test_splits_on_categories_are_refused(model, kind, queries, library):
    rng = np.random.default_rng(0)
    words = rng.integers(0, 6, 400)
    frame = pd.DataFrame({"a": pd.Series(words).astype(kind), "b": rng.normal(size=400)})
    model.fit(frame, (words % 2 == 0) * 2, **queries)
    with pytest.raises(DataError, match=f"{library}: a split on categories cannot be exported"):
        read_trained(as_ranker(model))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RankNet(hidden=2, max_iter=2), "RankNet cannot be exported: its model is neither"),
        (DecisionTreeRegressor(max_depth=2), "DecisionTreeRegressor cannot be exported: its"),
        (
            LGBMRegressor(objective="poisson", **LIGHT),
            "transforms its scores .*'poisson'",
        ),
        (
            LGBMRegressor(reg_sqrt=True, **LIGHT),
            "LightGBM transforms its scores .* sqrt'",
        ),
        *(
            (
                CatBoostRegressor(iterations=2, loss_function=loss, **QUIET),
                "CatBoost transforms its scores .*'(Poisson|Tweedie)'",
            )
            for loss in ("Poisson", "Tweedie:variance_power=1.5")
        ),
        (XGBRanker(missing=0.0, **FEW), "treats 0.0 as missing, which no target supports"),
        (XGBRanker(booster="dart", **FEW), "XGBoost's booster 'dart' cannot be exported"),
    ],
)
def test_models_that_cannot_be_exported(model, message):
    ranker = as_ranker(model).fit(rows_for(ranker_of("rankboost"), names=False))
    with pytest.raises(DataError, match=message):
        read_trained(ranker)


def test_zeros_that_take_too_much(monkeypatch):
    monkeypatch.setattr("ranksieve.export.reading._MOST_NODES", 20)
    with pytest.raises(DataError, match="more than 20 nodes once zeros that count as missing"):
        read_trained(ranker_of("lightgbm zero"))


def test_text_of_lightgbm_that_cannot_be_exported():
    text = ranker_of("lambdamart").booster_.model_to_string()
    head = "tree\nnum_tree_per_iteration=1\nmax_feature_idx=1\nobjective=lambdarank\n"
    for wrong, message in (
        (re.sub(r"\nleaf_value=\S+", "\nleaf_value=nan", text, count=1), "has the value nan"),
        (re.sub(r"\nthreshold=\S+", "\nthreshold=nan", text, count=1), "a threshold of"),
        (head + "average_output\n\nend of trees", "random forests"),
        (head.replace("iteration=1", "iteration=3") + "\nend of trees", "several scores"),
        (head + "\nTree=0\nnum_leaves=1\nis_linear=1\n\nend of trees", "linear_tree"),
    ):
        with pytest.raises(DataError, match=message):
            read_lightgbm(wrong)


def test_a_model_without_trees_is_constant():
    model = TreeBuilder().build(3)
    assert model.scores(np.ones((4, 3))).tolist() == [0.0] * 4
    assert model.used.tolist() == []
    assert model.depth == 0
