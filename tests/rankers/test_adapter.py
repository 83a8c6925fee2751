"""Rankers of other libraries."""

from types import SimpleNamespace

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost
from catboost import CatBoostRanker
from hypothesis import assume, given
from hypothesis import strategies as st
from lightgbm import DaskLGBMRanker, LGBMRanker
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from xgboost import XGBRanker

from ranksieve import DataError, RankingData, concatenate, make_ranking
from ranksieve.rankers import LambdaMART, RankerAdapter, RankRLS, as_ranker
from ranksieve.selectors import EliminationSelector
from tests.repeating import repeat_queries

QUIET = dict(verbose=False, allow_writing_files=False)


def lightgbm_as_documented(train, test, weights=None, held_out=None, **settings):
    """Scores of the library when it is used by hand, on data that is grouped already."""
    ranker = LGBMRanker(n_estimators=15, n_jobs=1, verbosity=-1, **settings)
    options = {}
    if held_out is not None:
        options = dict(eval_X=(held_out.X,), eval_y=(held_out.y,))
        options["eval_group"] = [held_out.group_counts]
    if weights is not None:
        options["sample_weight"] = np.repeat(weights, train.group_counts)
    return ranker.fit(train.X, train.y, group=train.group_counts, **options).predict(test.X)


def xgboost_as_documented(train, test, weights=None, held_out=None, **settings):
    ranker = XGBRanker(n_estimators=15, n_jobs=1, **settings)
    options = {}
    if held_out is not None:
        options["eval_set"] = [(held_out.X, held_out.y)]
        options["eval_group"] = [held_out.group_counts]
    ranker.fit(
        train.X, train.y, group=train.group_counts, sample_weight=weights, verbose=False, **options
    )
    return ranker.predict(test.X)


def catboost_as_documented(train, test, weights=None, held_out=None, **settings):
    ranker = CatBoostRanker(iterations=15, thread_count=1, **QUIET, **settings)
    rows = None if weights is None else np.repeat(weights, train.group_counts)
    pool = catboost.Pool(train.X, train.y, group_id=train.query_codes, group_weight=rows)
    validation = None
    if held_out is not None:
        validation = catboost.Pool(held_out.X, held_out.y, group_id=held_out.query_codes)
    return ranker.fit(pool, eval_set=validation).predict(test.X)


LIBRARIES = {
    "lightgbm": SimpleNamespace(
        make=lambda **own: LGBMRanker(n_estimators=15, n_jobs=1, **own),
        as_documented=lightgbm_as_documented,
        stopping=dict(early_stopping_round=2),
        leaves="num_leaves",
    ),
    "xgboost": SimpleNamespace(
        make=lambda **own: XGBRanker(n_estimators=15, n_jobs=1, **own),
        as_documented=xgboost_as_documented,
        stopping=dict(early_stopping_rounds=2),
        leaves="max_depth",
    ),
    "catboost": SimpleNamespace(
        make=lambda **own: CatBoostRanker(iterations=15, thread_count=1, **own),
        as_documented=catboost_as_documented,
        stopping=dict(early_stopping_rounds=2),
        leaves="depth",
    ),
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return LIBRARIES[request.param]


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(90, docs_per_query=(1, 20), noise=0.5, random_state=4)
    return [data.take_queries(range(first, first + 30)) for first in (0, 30, 60)]


@pytest.fixture
def weights(parts):
    return np.random.default_rng(0).random(parts[0].n_queries)


class TestEveryLibrary:
    def test_as_by_hand(self, library, parts, weights):
        train, _, test = parts
        for query_weights in (None, weights):
            given = library.make()
            before = given.get_params()
            ranker = as_ranker(given).fit(train, sample_weight=query_weights)
            assert given.get_params() == before
            expected = library.as_documented(train, test, weights=query_weights)
            np.testing.assert_allclose(ranker.predict(test), expected, rtol=1e-12)

    def test_stops_early_only_if_told_to(self, library, parts):
        train, held_out, test = parts
        found = []
        for setting in ({}, library.stopping):
            ranker = as_ranker(library.make(**setting)).fit(train, eval_set=held_out)
            expected = library.as_documented(train, test, held_out=held_out, **setting)
            np.testing.assert_allclose(ranker.predict(test), expected, rtol=1e-12)
            found.append(ranker)
        assert found[0].feature_importances_.sum() > 0
        if not isinstance(found[0].estimator, CatBoostRanker):  # which keeps the best of all trees
            all_trees = library.as_documented(train, test)
            np.testing.assert_allclose(found[0].predict(test), all_trees, rtol=1e-12)

    def test_held_out_queries_count_as_often_as_their_weights_say(self, library, parts):
        train, held_out, test = parts
        turned = RankingData(held_out.X, held_out.y.max() - held_out.y, held_out.qid)
        mixed = concatenate([held_out.take_queries(range(20)), turned.take_queries(range(20, 30))])
        counts = np.where(np.arange(30) < 20, np.arange(30) % 3, 8)
        found = []
        for validation in (mixed.with_weights(counts), repeat_queries(mixed, counts), mixed):
            ranker = as_ranker(library.make(**library.stopping))
            found.append(ranker.fit(train, eval_set=validation).predict(test))
        np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
        assert not np.allclose(found[0], found[2])

    def test_an_estimator_that_is_fitted_already(self, library, parts):
        train, _, test = parts
        fitted = as_ranker(library.make()).fit(train).estimator_
        ranker = as_ranker(fitted)
        assert ranker.estimator_ is fitted
        assert ranker.n_features_in_ == train.n_features
        np.testing.assert_allclose(ranker.predict(test), fitted.predict(test.X), rtol=1e-12)
        before = fitted.predict(test.X)
        again = clone(ranker).fit(train.take_queries(range(10)))
        np.testing.assert_array_equal(fitted.predict(test.X), before)
        assert not np.allclose(again.predict(test), before)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            clone(ranker).predict(test)

    def test_names_of_a_fitted_estimator(self, library, parts):
        train, _, test = parts
        names = [f"feature{n}" for n in range(train.n_features)]
        frame = pd.DataFrame(train.X, columns=names)
        fitted = library.make()
        if isinstance(fitted, LGBMRanker):
            fitted.set_params(verbosity=-1).fit(frame, train.y, group=train.group_counts)
        elif isinstance(fitted, XGBRanker):
            fitted.fit(frame, train.y, qid=train.query_codes)
        else:
            fitted.set_params(**QUIET).fit(frame, train.y, group_id=train.query_codes)
        ranker = as_ranker(fitted)
        assert ranker.feature_names_in_.tolist() == names
        expected = fitted.predict(pd.DataFrame(test.X, columns=names))
        np.testing.assert_allclose(ranker.predict(test), expected, rtol=1e-12)
        np.testing.assert_allclose(
            ranker.predict(pd.DataFrame(test.X, columns=names)), expected, rtol=1e-12
        )
        with pytest.raises(ValueError, match="feature names"):
            ranker.predict(pd.DataFrame(test.X, columns=names[::-1]))
        assert ranker.feature_importances_.shape == (train.n_features,)

    def test_nothing_is_written(self, library, parts, capfd, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        as_ranker(library.make()).fit(parts[0], eval_set=parts[1])
        assert capfd.readouterr() == ("", "")
        assert not list(tmp_path.iterdir())


@given(qid=st.lists(st.integers(0, 4), min_size=6, max_size=30))
def test_however_rows_are_mixed_they_reach_the_library_grouped(qid):
    rng = np.random.default_rng(len(qid))
    X, y = rng.normal(size=(len(qid), 2)), rng.integers(0, 3, len(qid))
    grouped = RankingData(X, y, qid)
    assume(any(len(set(y[np.array(qid) == query])) > 1 for query in set(qid)))
    ours = as_ranker(XGBRanker(n_estimators=3, n_jobs=1)).fit(X, y, qid=qid)
    theirs = XGBRanker(n_estimators=3, n_jobs=1)
    theirs.fit(grouped.X, grouped.y, group=grouped.group_counts)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_importances_are_gains(parts):
    train = parts[0]
    ours = as_ranker(LGBMRanker(n_estimators=15)).fit(train)
    gains = ours.estimator_.booster_.feature_importance("gain")
    np.testing.assert_array_equal(ours.feature_importances_, gains)
    wide = RankingData(np.c_[np.zeros(train.n_rows), train.X], train.y, train.qid)
    ours = as_ranker(XGBRanker(n_estimators=15)).fit(wide)
    assert ours.feature_importances_.shape == (wide.n_features,)
    assert ours.feature_importances_[0] == 0
    mean_gain = ours.estimator_.get_booster().get_score(importance_type="gain")
    splits = ours.estimator_.get_booster().get_score(importance_type="weight")
    for name, gain in mean_gain.items():
        total = ours.feature_importances_[int(name[1:])]
        np.testing.assert_allclose(total, gain * splits[name], rtol=1e-4)
    ours = as_ranker(CatBoostRanker(iterations=15)).fit(train)
    np.testing.assert_allclose(ours.feature_importances_.sum(), 100)


@pytest.mark.parametrize(
    ("estimator", "label", "message"),
    [
        (LGBMRanker(), 31, "LGBMRanker needs whole labels from 0 to 30, but row 7 has 31"),
        (LambdaMART(), 31, "LambdaMART needs whole labels from 0 to 30, but row 7 has 31"),
        (LGBMRanker(), 0.5, "LGBMRanker needs whole labels from 0 to 30, but row 7 has 0.5"),
        (LGBMRanker(label_gain=[0, 1, 2, 3, 4]), 5, "from 0 to 4, but row 7 has 5"),
        (LGBMRanker(label_gain="0,1,2,3,4"), 5, "from 0 to 4, but row 7 has 5"),
        (XGBRanker(), 32, "XGBRanker needs whole labels from 0 to 31, but row 7 has 32"),
        (XGBRanker(), -1, "XGBRanker needs whole labels from 0 to 31, but row 7 has -1"),
        (XGBRanker(objective="rank:map"), 2, "rank:map needs whole labels from 0 to 1"),
    ],
)
def test_labels_that_a_library_cannot_take(parts, estimator, label, message):
    train = parts[0]
    y = train.y.copy()
    if label == 2:
        y = np.minimum(y, 1)
    y[7] = label
    with pytest.raises(DataError, match=message):
        as_ranker(estimator).fit(train.X, y, qid=train.qid)
    fine = np.minimum(train.y, 1)
    with pytest.raises(DataError, match=message):
        as_ranker(estimator).fit(train.X, fine, qid=train.qid, eval_set=(train.X, y, train.qid))


@pytest.mark.parametrize(
    "estimator",
    [
        LGBMRanker(label_gain=list(range(41)), n_estimators=2),
        XGBRanker(ndcg_exp_gain=False, n_estimators=2),
        XGBRanker(objective="rank:pairwise", n_estimators=2),
        CatBoostRanker(iterations=2),
    ],
)
def test_labels_that_it_can(parts, estimator):
    train = parts[0]
    y = train.y * 10
    assert np.isfinite(as_ranker(estimator).fit(train.X, y, qid=train.qid).predict(train)).all()


def test_what_is_a_ranker():
    for ranker in (RankRLS(), LambdaMART(), as_ranker(XGBRanker())):
        assert as_ranker(ranker) is ranker

    class MyRanker(LGBMRanker):
        pass

    assert isinstance(as_ranker(MyRanker()), RankerAdapter)
    accepted = r"lightgbm\.LGBMRanker, xgboost\.XGBRanker or catboost\.CatBoostRanker"
    for other in (lightgbm.LGBMClassifier(), KMeans(), StandardScaler(), LGBMRanker, None):
        with pytest.raises(TypeError, match=f"{accepted}, .*; got"):
            as_ranker(other)
    with pytest.raises(TypeError, match="use LambdaMART on a Dask cluster"):
        as_ranker(DaskLGBMRanker())
    with pytest.raises(TypeError, match=accepted):
        RankerAdapter("lightgbm").fit([[1.0], [2.0]], [0, 1], qid=[1, 1])


def test_lists_among_the_parameters_of_catboost(parts):
    ranker = as_ranker(CatBoostRanker(iterations=2, custom_metric=["NDCG:top=5"]))
    with sklearn.config_context(enable_metadata_routing=True):
        copy = clone(ranker.set_fit_request(sample_weight=True))
        assert copy.get_metadata_routing().fit.requests["sample_weight"] is True
    assert copy.estimator.get_params() == ranker.estimator.get_params()
    assert copy.estimator is not ranker.estimator
    copy.fit(parts[0])


def test_own_settings_of_the_log_are_kept(parts, capfd):
    as_ranker(CatBoostRanker(iterations=2, verbose=1, allow_writing_files=False)).fit(parts[0])
    assert "total:" in capfd.readouterr().out
    as_ranker(LGBMRanker(n_estimators=2, verbose=1)).fit(parts[0])
    assert "[LightGBM]" in capfd.readouterr().out
    RankerAdapter(LGBMRanker(n_estimators=2), verbose=True).fit(parts[0])
    assert "[LightGBM]" in capfd.readouterr().out


def test_other_libraries_are_not_imported(start_program):
    code = (
        "import sys\n"
        "from lightgbm import LGBMRanker\n"
        "from ranksieve.rankers import as_ranker\n"
        "as_ranker(LGBMRanker())\n"
        "print({'lightgbm', 'xgboost', 'catboost'} & sys.modules.keys())\n"
    )
    assert start_program(exec, code, {}).wait() == (0, "{'lightgbm'}\n", "")


REGRESSORS = {
    "ridge": Ridge(alpha=2.0),
    "forest": RandomForestRegressor(5, random_state=0),
    "histogram": HistGradientBoostingRegressor(max_iter=5, random_state=0),
    "neighbors": KNeighborsRegressor(3),
    "pipeline": make_pipeline(StandardScaler(), SVR()),
    "lightgbm": lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbosity=-1),
    "xgboost": xgboost.XGBRegressor(n_estimators=5, n_jobs=1),
    "catboost": catboost.CatBoostRegressor(iterations=5, thread_count=1, **QUIET),
}


@pytest.mark.parametrize("name", REGRESSORS)
class TestRegressors:
    """Regressors rank by the label that they predict for each document."""

    def test_as_by_hand(self, name, parts):
        train, held_out, test = parts
        ours = as_ranker(REGRESSORS[name]).fit(train, eval_set=held_out).predict(test)
        fitted = clone(REGRESSORS[name]).fit(train.X, train.y)
        expected = fitted.predict(test.X)
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
        np.testing.assert_array_equal(as_ranker(fitted).predict(test), expected)
        assert not hasattr(REGRESSORS[name], "n_features_in_") or name == "catboost"

    def test_sparse_rows(self, name, parts):
        train, _, test = parts
        ranker = as_ranker(REGRESSORS[name])
        ranker.fit(sparse.csr_array(train.X), train.y, qid=train.qid)
        assert np.isfinite(ranker.predict(sparse.csr_array(test.X))).all()

    def test_no_model_file(self, name, parts, tmp_path):
        ranker = as_ranker(REGRESSORS[name]).fit(parts[0])
        with pytest.raises(ValueError, match="cannot be written to a model file, .* no code: keep"):
            ranker.save_model(tmp_path / "model.json")
        assert not list(tmp_path.iterdir())

    def test_missing_values_reach_those_that_take_them(self, name, parts):
        train, _, _ = parts
        X = train.X.copy()
        X[3, 2] = np.nan
        ranker = as_ranker(REGRESSORS[name])
        takes = name in ("forest", "histogram", "lightgbm", "xgboost", "catboost")
        assert ranker.__sklearn_tags__().input_tags.allow_nan is takes
        if takes:
            ranker.fit(X, train.y, qid=train.qid)
            assert np.isfinite(ranker.predict(X)).all()
        else:
            with pytest.raises(DataError, match="X has NaN in row 3, "):
                ranker.fit(X, train.y, qid=train.qid)


def test_weights_of_regressors(parts, weights):
    train, _, test = parts
    rows = np.repeat(weights, train.group_counts)
    ours = as_ranker(Ridge()).fit(train, sample_weight=weights)
    expected = Ridge().fit(train.X, train.y, sample_weight=rows)
    np.testing.assert_allclose(ours.predict(test), expected.predict(test.X))
    with pytest.raises(DataError, match="KNeighborsRegressor takes no weights, .*: use data"):
        as_ranker(KNeighborsRegressor()).fit(train, sample_weight=weights)


def test_regressors_stop_early_if_told_to(parts):
    train, held_out, test = parts
    told = dict(n_estimators=50, learning_rate=1.0, n_jobs=1)
    ours = as_ranker(xgboost.XGBRegressor(**told, early_stopping_rounds=1))
    theirs = xgboost.XGBRegressor(**told, early_stopping_rounds=1)
    theirs.fit(train.X, train.y, eval_set=[(held_out.X, held_out.y)], verbose=False)
    found = ours.fit(train, eval_set=held_out).predict(test)
    np.testing.assert_allclose(found, theirs.predict(test.X), rtol=1e-12)
    trees = as_ranker(lightgbm.LGBMRegressor(**told, early_stopping_round=1))
    assert trees.fit(train, eval_set=held_out).estimator_.best_iteration_ < 50


def test_importances_of_regressors(parts):
    train = parts[0]
    ridge = as_ranker(make_pipeline(StandardScaler(), Ridge())).fit(train)
    np.testing.assert_array_equal(ridge.coef_, ridge.estimator_[-1].coef_)
    np.testing.assert_array_equal(ridge.feature_importances_, abs(ridge.coef_))
    forest = as_ranker(REGRESSORS["forest"]).fit(train)
    np.testing.assert_array_equal(
        forest.feature_importances_, forest.estimator_.feature_importances_
    )
    assert not hasattr(forest, "coef_")
    neighbors = as_ranker(KNeighborsRegressor()).fit(train)
    assert not hasattr(neighbors, "feature_importances_")
    with pytest.raises(ValueError, match="no importances of features; use 'permutation'"):
        EliminationSelector(KNeighborsRegressor(), 2).fit(train)
    with pytest.raises(ValueError, match="KNeighborsRegressor has no SHAP values"):
        EliminationSelector(KNeighborsRegressor(), 2, importance="shap").fit(train)


class Plain:
    """Not even an estimator of scikit-learn."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        pass

    def predict(self, X):
        return X[:, self.column].tolist()


def test_an_object_with_fit_and_predict_is_enough(parts):
    train, _, test = parts
    ranker = as_ranker(Plain(1)).fit(train)
    np.testing.assert_array_equal(ranker.predict(test), test.X[:, 1])
    again = clone(ranker)
    assert again.estimator is not ranker.estimator
    assert again.fit(train).estimator_.column == 1


class Wrong(Plain):
    def predict(self, X):
        return np.zeros((len(X), 3))


def test_scores_of_another_shape_are_refused(parts):
    with pytest.raises(DataError, match=r"predict of Wrong returned an array of shape \(\d+, 3\)"):
        as_ranker(Wrong()).fit(parts[0]).predict(parts[0])


def test_what_a_library_refuses_to_predict():
    data, _ = make_ranking(20, n_informative=2, n_noise=1)
    linear = {"linear_tree": True, "verbosity": -1}
    for ranker in (as_ranker(LGBMRanker(n_estimators=2, **linear)), LambdaMART(2, params=linear)):
        with pytest.raises(DataError, match="not implemented for linear trees"):
            ranker.fit(data)._contributions(data.X)
