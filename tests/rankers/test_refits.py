"""Refits on some features: the same trees whether bins are shared or made anew."""

import numpy as np
import pytest
from lightgbm import LGBMRanker
from scipy import sparse

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.rankers import LambdaMART, RankSVM, as_ranker
from ranksieve.rankers.base import Refits
from ranksieve.rankers.libraries.lightgbm_refits import LightGBMRefits
from ranksieve.selectors import EliminationSelector

SUBSETS = [tuple(range(7)), (0, 2, 3, 6), (5,)]


def planted(kind="dense"):
    """Data of seven features, of which one is constant and some are special."""
    data, _ = make_ranking(
        30, docs_per_query=12, n_informative=3, n_redundant=1, n_noise=2, n_constant=1, shuffle=True
    )
    X, random = data.X.copy(), np.random.default_rng(3)
    if kind == "missing":
        X[random.random(X.shape) < 0.2] = np.nan
        return RankingData(X, data.y, data.qid, missing="keep")
    if kind == "sparse":
        X[random.random(X.shape) < 0.8] = 0.0
        return RankingData(sparse.csr_matrix(X), data.y, data.qid)
    if kind == "exclusive":  # features that LightGBM bundles
        owner = random.integers(7, size=len(X))
        X[owner[:, None] != np.arange(7)] = 0.0
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "names":
        return RankingData(X, data.y, data.qid, feature_names=[f"f {n}" for n in range(7)])
    if kind == "weights":
        weights = random.integers(0, 3, size=data.n_queries)
        return RankingData(X, data.y, data.qid).with_weights(weights)
    if kind == "categories":
        X[:, [1, 4]] = random.integers(0, 5, size=(len(X), 2))
    return RankingData(X, data.y, data.qid)


RANKERS = {
    "lambdamart": LambdaMART(6, num_leaves=7, params={"num_threads": 1}),
    "lightgbm": LGBMRanker(n_estimators=6, num_leaves=7, n_jobs=1, objective="rank_xendcg"),
    "columns": LambdaMART(
        4, num_leaves=7, params={"num_threads": 1, "monotone_constraints": [1, 0, -1, 0, 0, 0, 0]}
    ),
    "bagging": LGBMRanker(
        n_estimators=5, n_jobs=1, subsample=0.6, subsample_freq=1, colsample_bytree=0.5, seed=3
    ),
    "bins": LambdaMART(
        4,
        params={
            "num_threads": 1,
            "max_bin_by_feature": [9, 8, 7, 6, 5, 4, 3],
            "bin_construct_sample_cnt": 100,
            "enable_bundle": False,
        },
    ),
    "seeds": LambdaMART(3, random_state=np.random.RandomState(5), params={"num_threads": 1}),
}
KINDS = ["dense", "missing", "sparse", "exclusive", "float32", "names", "weights"]


def trees_of(ranker):
    booster = ranker.booster_ if hasattr(ranker, "booster_") else ranker.estimator_.booster_
    return booster.model_to_string()


def assert_same(ranker, data):
    shared, plain = ranker._refits(data), Refits(ranker, data)
    assert isinstance(shared, LightGBMRefits)
    for features in SUBSETS:
        one, other = shared.fit(features), plain.fit(features)
        assert trees_of(one) == trees_of(other)
        cut = data.take_features(list(features))
        np.testing.assert_array_equal(one.predict(cut), other.predict(cut))
        np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)
        assert one.n_features_in_ == len(features)
        assert getattr(one, "missing_", None) == getattr(other, "missing_", None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["lambdamart", "lightgbm"])
def test_the_same_trees(kind, name):
    assert_same(as_ranker(RANKERS[name]), planted(kind))


@pytest.mark.parametrize("name", ["columns", "bagging", "bins", "seeds"])
def test_the_same_trees_with_other_parameters(name):
    assert_same(as_ranker(RANKERS[name]), planted())


@pytest.mark.filterwarnings("ignore:categorical_feature keyword")
@pytest.mark.parametrize("kind", [LambdaMART, LGBMRanker])
def test_categories(kind):
    given = {"categorical_feature": [1, 4], "min_data_per_group": 5}
    if kind is LambdaMART:
        ranker = LambdaMART(5, params={"num_threads": 1, **given})
    else:
        ranker = LGBMRanker(n_estimators=5, n_jobs=1, **given)
    assert_same(as_ranker(ranker), planted("categories"))


def overlapping(n_shared):
    """20,000 documents with two sparse features, which have values in few of the same rows."""
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    X[5_000:, 0] = 0.0
    X[: 5_000 - n_shared, 1] = X[10_000:, 1] = 0.0
    y = (X[:, 2] > 0).astype(float)
    return RankingData(X, y, np.arange(20_000) // 20)


@pytest.mark.parametrize(
    ("n_shared", "is_exact"), [(0, True), (1, False), (2, False), (3, True), (500, True)]
)
def test_bundles_that_lose_values_are_binned_anew(n_shared, is_exact):
    ranker, data = LambdaMART(2, params={"num_threads": 1}), overlapping(n_shared)
    refits = ranker._refits(data)
    assert isinstance(refits, LightGBMRefits) == is_exact
    assert refits.ignores_unused == is_exact
    assert trees_of(refits.fit((0, 1, 2))) == trees_of(Refits(ranker, data).fit((0, 1, 2)))
    kept = LambdaMART(2, params={"num_threads": 1, "enable_bundle": False})
    assert isinstance(kept._refits(data), LightGBMRefits)


def test_usual_values_other_than_zero():
    data = overlapping(1)
    shifted = RankingData(data.X + np.array([4.0, -3.0, 0.0]), data.y, data.qid)
    assert not isinstance(RANKERS["lambdamart"]._refits(shifted), LightGBMRefits)


def test_what_cannot_share_bins_is_trained_as_ever():
    data = planted()
    linear = LambdaMART(2, params={"num_threads": 1, "linear_tree": True})
    own = LGBMRanker(n_estimators=2, n_jobs=1, objective=lambda y, scores: (scores - y, y * 0 + 1))
    for ranker in (linear, as_ranker(own), RankSVM()):
        refits = ranker._refits(data)
        assert type(refits) is Refits
        assert refits.fit((0, 2)).predict(data.take_features([0, 2])).shape == (data.n_rows,)


def test_errors_are_those_of_fit():
    data = planted()
    halves = RankingData(data.X, data.y + 0.5, data.qid)
    equal = RankingData(data.X, data.y * 0, data.qid)
    usual = LGBMRanker(n_estimators=6, n_jobs=1)
    for ranker in map(as_ranker, (RANKERS["lambdamart"], RANKERS["lightgbm"], usual)):
        for wrong in (halves, equal):
            with pytest.raises(DataError) as expected:
                ranker.fit(wrong)
            with pytest.raises(DataError) as found:
                ranker._refits(wrong).fit((0, 1))
            assert str(found.value) == str(expected.value)
    unknown = LambdaMART(2, params={"objective": "no such"})
    with pytest.raises(DataError, match="LightGBM: Unknown objective"):
        unknown._refits(data).fit((0, 1))


def slow_elimination(monkeypatch):
    """Bin anew for every training, and train after every feature that goes."""
    for module in ("lambdamart", "adapter"):
        monkeypatch.setattr(f"ranksieve.rankers.{module}.share_bins", Refits)


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("lambdamart", "dense", {"n_features_to_select": 3}),
        ("lambdamart", "missing", {"n_features_to_select": "best", "cv": 2, "step": 2}),
        ("lightgbm", "weights", {"n_features_to_select": "best", "cv": 2, "step": 2}),
        ("lightgbm", "sparse", {"n_features_to_select": 3, "step": 0.4}),
        ("bagging", "dense", {"n_features_to_select": 3}),
    ],
)
def test_elimination_is_that_of_trainings_from_scratch(name, kind, options, monkeypatch):
    data = planted(kind)
    found = EliminationSelector(RANKERS[name], **options).fit(data)
    slow_elimination(monkeypatch)
    expected = EliminationSelector(RANKERS[name], **options).fit(data)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    np.testing.assert_array_equal(found.values_, expected.values_)
    np.testing.assert_array_equal(found.predict(data), expected.predict(data))


def test_features_in_no_tree_go_without_a_training(monkeypatch):
    data = planted()
    trained = []
    fit = LightGBMRefits.fit

    def counted(self, features):
        trained.append(features)
        return fit(self, features)

    monkeypatch.setattr(LightGBMRefits, "fit", counted)
    stump = LambdaMART(1, num_leaves=2, params={"num_threads": 1})
    EliminationSelector(stump, 1).fit(data)
    assert len(trained) == 1
    trained.clear()
    drawn = LambdaMART(1, num_leaves=2, params={"num_threads": 1, "sub_feature": 0.9})
    EliminationSelector(drawn, 1).fit(data)
    assert len(trained) == data.n_features - 1  # the last feature needs no training
