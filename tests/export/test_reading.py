"""Trees of libraries in the neutral form: the same bits as the libraries."""

import re
from pathlib import Path

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.data import DataError
from ranksieve.export.forms import TreeBuilder
from ranksieve.export.reading import read_lightgbm, read_trained
from ranksieve.rankers import LambdaMART, RankNet, as_ranker
from tests.export.trained import KINDS, NAMES, TREES, ranker_of, rows_for


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits(kind):
    ranker = ranker_of(kind)
    data = rows_for(ranker)
    np.testing.assert_array_equal(read_trained(ranker).model.scores(data.X), ranker.predict(data))


@pytest.mark.parametrize("kind", TREES)
def test_the_same_bits_with_missing_values(kind):
    ranker = ranker_of(kind, gaps=True)
    data = rows_for(ranker, gaps=True)
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


def test_early_stopping_counts():
    from lightgbm import LGBMRanker
    from xgboost import XGBRanker

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    data = RankingData(X, y, np.repeat(np.arange(20), 20))
    train, held_out = data.take_queries(range(12)), data.take_queries(range(12, 20))
    for estimator in (
        LGBMRanker(n_estimators=40, early_stopping_rounds=2, n_jobs=1, verbose=-1),
        XGBRanker(n_estimators=40, early_stopping_rounds=2, n_jobs=1),
        LambdaMART(40, early_stopping_rounds=2, params={"num_threads": 1}),
    ):
        ranker = as_ranker(estimator).fit(train, eval_set=held_out)
        model = read_trained(ranker).model
        assert len(model.roots) < 41
        np.testing.assert_array_equal(model.scores(X), ranker.predict(data))


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_leaves_of_catboost_that_its_json_does_not_tell_apart(policy):
    """Not every version of CatBoost writes all digits."""
    from catboost import CatBoostRanker

    class FewDigits(CatBoostRanker):
        def save_model(self, path, format="cbm"):
            super().save_model(path, format=format)
            text = Path(path).read_text()
            Path(path).write_text(re.sub(r"\d\.\d{4,}", lambda n: f"{float(n[0]):.2f}", text))

    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (400, 4)).astype(np.float64)
    labels = np.clip(np.round(X[:, 0] * X[:, 1] + X[:, 2]), 0, 4)
    quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    model = FewDigits(iterations=5, depth=5, grow_policy=policy, **quiet)
    model.fit(X, labels, group_id=np.repeat(np.arange(20), 20))
    expected = model.predict(X)
    np.testing.assert_array_equal(read_trained(as_ranker(model)).model.scores(X), expected)


def test_whether_training_saw_missing_values():
    for kind in ("lightgbm", "catboost"):
        assert read_trained(ranker_of(kind)).saw_missing is False
        assert read_trained(ranker_of(kind, gaps=True)).saw_missing is True
    assert read_trained(ranker_of("xgboost", gaps=True)).saw_missing is None
    assert read_trained(ranker_of("rankboost")).saw_missing is False


class TestRefusals:
    def test_categories(self):
        from lightgbm import LGBMRanker

        rng = np.random.default_rng(0)
        X = rng.integers(0, 6, (400, 2)).astype(float)
        y = (X[:, 0] % 2 == 0) * 2
        model = LGBMRanker(n_estimators=3, min_data_per_group=1, n_jobs=1, verbose=-1)
        model.fit(X, y, group=[20] * 20, categorical_feature=[0])
        with pytest.raises(DataError, match="LightGBM: a split on categories cannot be exported"):
            read_trained(as_ranker(model))

    def test_categories_of_others(self):
        import pandas as pd
        from catboost import CatBoostRanker
        from xgboost import XGBRanker

        rng = np.random.default_rng(0)
        words = rng.integers(0, 6, 400)
        y = (words % 2 == 0) * 2
        frame = pd.DataFrame({"a": pd.Categorical(words), "b": rng.normal(size=400)})
        qid = np.repeat(np.arange(20), 20)
        model = XGBRanker(n_estimators=2, n_jobs=1, enable_categorical=True).fit(frame, y, qid=qid)
        with pytest.raises(DataError, match="XGBoost: a split on categories"):
            read_trained(as_ranker(model))
        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        model = CatBoostRanker(iterations=2, cat_features=["a"], **quiet)
        model.fit(frame.astype({"a": str}), y, group_id=qid)
        with pytest.raises(DataError, match="CatBoost: a split on categories"):
            read_trained(as_ranker(model))

    def test_networks_and_others(self):
        from sklearn.tree import DecisionTreeRegressor

        data = rows_for(ranker_of("rankboost"))
        network = RankNet(hidden=2, max_iter=2).fit(data)
        with pytest.raises(DataError, match="RankNet cannot be exported: its model is neither"):
            read_trained(network)
        tree = as_ranker(DecisionTreeRegressor(max_depth=2)).fit(data)
        with pytest.raises(DataError, match="DecisionTreeRegressor cannot be exported: its"):
            read_trained(tree)

    @pytest.mark.parametrize("options", [{"objective": "poisson"}, {"reg_sqrt": True}])
    def test_transformed_scores_of_lightgbm(self, options):
        from lightgbm import LGBMRegressor

        data = rows_for(ranker_of("rankboost"), names=False)
        estimator = LGBMRegressor(n_estimators=2, **options, n_jobs=1, verbose=-1)
        ranker = as_ranker(estimator).fit(data)
        with pytest.raises(DataError, match="LightGBM transforms its scores .*'(poisson|.* sqrt)'"):
            read_trained(ranker)

    @pytest.mark.parametrize("loss", ["Poisson", "Tweedie:variance_power=1.5"])
    def test_transformed_scores_of_catboost(self, loss):
        from catboost import CatBoostRegressor

        data = rows_for(ranker_of("rankboost"), names=False)
        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        ranker = as_ranker(CatBoostRegressor(iterations=2, loss_function=loss, **quiet)).fit(data)
        with pytest.raises(DataError, match="CatBoost transforms its scores .*'(Poisson|Tweedie)'"):
            read_trained(ranker)

    def test_other_numbers_that_are_missing(self):
        from xgboost import XGBRanker

        data = rows_for(ranker_of("rankboost"), names=False)
        ranker = as_ranker(XGBRanker(n_estimators=2, missing=0.0, n_jobs=1)).fit(data)
        with pytest.raises(DataError, match="treats 0.0 as missing, which no target supports"):
            read_trained(ranker)

    def test_zeros_that_take_too_much(self, monkeypatch):
        monkeypatch.setattr("ranksieve.export.reading._MOST_NODES", 20)
        with pytest.raises(DataError, match="more than 20 nodes once zeros that count as missing"):
            read_trained(ranker_of("lightgbm zero"))

    def test_numbers_that_no_engine_has(self):
        text = ranker_of("lambdamart").booster_.model_to_string()
        for name, message in (("leaf_value", "has the value nan"), ("threshold", "a threshold of")):
            with pytest.raises(DataError, match=message):
                read_lightgbm(re.sub(rf"\n{name}=\S+", f"\n{name}=nan", text, count=1))

    def test_other_boosters(self):
        from xgboost import XGBRanker

        data = rows_for(ranker_of("rankboost"), names=False)
        ranker = as_ranker(XGBRanker(n_estimators=2, booster="dart", n_jobs=1)).fit(data)
        with pytest.raises(DataError, match="XGBoost's booster 'dart' cannot be exported"):
            read_trained(ranker)

    def test_forests_and_linear_trees(self):
        head = "tree\nnum_tree_per_iteration=1\nmax_feature_idx=1\nobjective=lambdarank\n"
        with pytest.raises(DataError, match="random forests"):
            read_lightgbm(head + "average_output\n\nend of trees")
        with pytest.raises(DataError, match="several scores"):
            read_lightgbm(head.replace("iteration=1", "iteration=3") + "\nend of trees")
        with pytest.raises(DataError, match="linear_tree"):
            read_lightgbm(head + "\nTree=0\nnum_leaves=1\nis_linear=1\n\nend of trees")


def test_a_model_without_trees_is_constant():
    model = TreeBuilder().build(3)
    assert model.scores(np.ones((4, 3))).tolist() == [0.0] * 4
    assert model.used.tolist() == []
    assert model.depth == 0


def test_single_leaves():
    from lightgbm import LGBMRanker
    from xgboost import XGBRanker

    data = rows_for(ranker_of("rankboost"), names=False)
    for estimator in (
        LGBMRanker(n_estimators=3, min_child_samples=10_000, n_jobs=1, verbose=-1),
        XGBRanker(n_estimators=3, gamma=1e9, n_jobs=1),
    ):
        ranker = as_ranker(estimator).fit(data)
        model = read_trained(ranker).model
        assert model.used.tolist() == []
        np.testing.assert_array_equal(model.scores(data.X), ranker.predict(data))
