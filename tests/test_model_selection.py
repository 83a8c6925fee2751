"""scikit-learn's model selection around selectors and rankers, compared to plain loops."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from lightgbm import LGBMRanker
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    LeaveOneGroupOut,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ranksieve import RankingData, make_ranking
from ranksieve.data import DataError
from ranksieve.metrics import evaluate, make_query_scorer
from ranksieve.preprocessing import QueryMinMaxScaler
from ranksieve.rankers import LambdaMART, RankRLS, as_ranker
from ranksieve.selectors import FSBFS, GreedyRankRLS, SequentialSelector, TopImportance
from ranksieve.splits import query_kfold, row_splits
from tests.every_method import QUICK_TREES

SIZES = [2, 4]
GRID = {"sel__n_features_to_select": SIZES}


@pytest.fixture(scope="module")
def data():
    """Rows in no order of queries, whose ids are text."""
    made, _ = make_ranking(
        24, docs_per_query=(4, 20), n_informative=3, n_redundant=1, n_noise=3, noise=0.2
    )
    order = np.random.default_rng(0).permutation(made.n_rows)
    ids = np.array([f"q{number}" for number in made.qid])
    return made.X[order], made.y[order], ids[order]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def lightgbm():
    estimator = LGBMRanker(n_estimators=4, min_child_samples=5, n_jobs=1, objective="rank_xendcg")
    return as_ranker(estimator)


PIPELINES = {
    "lightgbm": lambda: Pipeline([("sel", TopImportance(3)), ("rank", lightgbm())]),
    "ours": lambda: Pipeline([("sel", TopImportance(3)), ("rank", RankRLS())]),
    "trees": lambda: Pipeline(
        [("sel", TopImportance(3)), ("rank", LambdaMART(4, params=QUICK_TREES))]
    ),
    "wrapper": lambda: Pipeline([("sel", SequentialSelector(None, 2, cv=2)), ("rank", RankRLS())]),
    "scaled": lambda: Pipeline(
        [("scale", StandardScaler()), ("sel", GreedyRankRLS(3)), ("rank", RankRLS())]
    ),
    "embedded": lambda: Pipeline([("scale", StandardScaler()), ("sel", GreedyRankRLS(3))]),
}


def by_hand(pipe, data, folds, size=None, measure="ndcg@10", weights=None):
    """Value of each fold, without scikit-learn's model selection or routing."""
    X, y, qid = data
    values = []
    for train, test in folds:
        *before, last = [clone(step) for _, step in pipe.steps]
        inside, outside = X[train], X[test]
        for step in before:
            if size is not None and hasattr(step, "n_features_to_select"):
                step.n_features_to_select = size
            told = {"qid": qid[train]}
            if weights is not None:
                told["sample_weight"] = weights[train]
            step.fit(inside, y[train], **({} if isinstance(step, StandardScaler) else told))
            inside, outside = step.transform(inside), step.transform(outside)
        if size is not None and hasattr(last, "n_features_to_select"):
            last.n_features_to_select = size
        told = {} if weights is None else {"sample_weight": weights[train]}
        scores = last.fit(inside, y[train], qid=qid[train], **told).predict(outside)
        found = evaluate(y[test], scores, qid[test], measure).per_query
        ((_, per_query),) = found.items()
        if weights is None:
            values.append(per_query.mean())
        else:
            test_data = RankingData(outside, y[test], qid[test])
            first = test_data.row_order[test_data.query_ptr[:-1]]
            values.append(np.average(per_query, weights=weights[test][first]))
    return values


def folds_of(data, n=3):
    X, y, qid = data
    return list(GroupKFold(n).split(X, y, qid))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("name", PIPELINES)
class TestWithRouting:
    def test_grid_search(self, name, data):
        X, y, qid = data
        search = GridSearchCV(PIPELINES[name](), GRID, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, qid=qid, groups=qid)
        expected = [by_hand(PIPELINES[name](), data, folds_of(data), size) for size in SIZES]
        found = [search.cv_results_[f"split{fold}_test_score"] for fold in range(3)]
        np.testing.assert_allclose(np.transpose(found), expected, rtol=1e-12)
        assert search.best_score_ == pytest.approx(max(map(np.mean, expected)))
        assert search.predict(X).shape == y.shape
        assert 0 < search.score(X, y, qid=qid) <= 1

    def test_cross_validate(self, name, data):
        X, y, qid = data
        found = cross_validate(
            PIPELINES[name](),
            X,
            y,
            params={"qid": qid, "groups": qid},
            cv=GroupKFold(3),
            error_score="raise",
        )
        expected = by_hand(PIPELINES[name](), data, folds_of(data))
        np.testing.assert_allclose(found["test_score"], expected, rtol=1e-12)


@pytest.mark.usefixtures("routing")
class TestSearches:
    def test_halving_search_over_trees(self, data):
        X, y, qid = data
        search = HalvingGridSearchCV(
            PIPELINES["trees"](),
            GRID,
            resource="rank__n_estimators",  # rows would cut queries
            min_resources=2,
            max_resources=4,
            factor=2,
            cv=GroupKFold(3),
            error_score="raise",
        )
        search.fit(X, y, qid=qid, groups=qid)
        expected = by_hand(search.best_estimator_, data, folds_of(data))
        assert search.best_score_ == pytest.approx(np.mean(expected))

    def test_scorers_of_several_measures(self, data):
        X, y, qid = data
        measures = {"map": "map", "ndcg": "ndcg@5"}
        search = GridSearchCV(
            PIPELINES["ours"](),
            GRID,
            scoring={name: make_query_scorer(measure) for name, measure in measures.items()},
            refit="map",
            cv=GroupKFold(3),
            error_score="raise",
        )
        search.fit(X, y, qid=qid, groups=qid)
        for name, measure in measures.items():
            expected = [
                np.mean(by_hand(PIPELINES["ours"](), data, folds_of(data), size, measure))
                for size in SIZES
            ]
            np.testing.assert_allclose(search.cv_results_[f"mean_test_{name}"], expected)

    def test_cross_val_score_of_a_single_ranker(self, data):
        X, y, qid = data
        params = {"qid": qid, "groups": qid}
        pipe = Pipeline([("rank", RankRLS())])
        for cv in (GroupKFold(3), LeaveOneGroupOut()):
            found = cross_val_score(
                RankRLS(), X, y, params=params, cv=cv, scoring=make_query_scorer("map")
            )
            expected = by_hand(pipe, data, cv.split(X, y, qid), measure="map")
            np.testing.assert_allclose(found, expected)

    def test_folds_of_our_own(self, data):
        X, y, qid = data
        folds = row_splits(query_kfold(len(set(qid)), 4), qid)
        for train, test in folds:
            assert not set(qid[train]) & set(qid[test])
        found = cross_val_score(
            PIPELINES["ours"](), X, y, params={"qid": qid}, cv=folds, error_score="raise"
        )
        np.testing.assert_allclose(found, by_hand(PIPELINES["ours"](), data, folds))

    def test_weights_go_to_selectors_rankers_and_scores(self, data):
        X, y, qid = data
        of_query = {query: 1.0 + number for number, query in enumerate(dict.fromkeys(qid))}
        weights = np.array([of_query[query] for query in qid])
        pipe = PIPELINES["ours"]()
        params = {"qid": qid, "groups": qid, "sample_weight": weights}
        found = cross_val_score(pipe, X, y, params=params, cv=GroupKFold(3), error_score="raise")
        expected = by_hand(PIPELINES["ours"](), data, folds_of(data), weights=weights)
        np.testing.assert_allclose(found, expected)
        assert not np.allclose(found, by_hand(PIPELINES["ours"](), data, folds_of(data)))
        search = GridSearchCV(pipe, GRID, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, qid=qid, groups=qid, sample_weight=weights)
        best = max(
            np.mean(by_hand(PIPELINES["ours"](), data, folds_of(data), size, weights=weights))
            for size in SIZES
        )
        assert search.best_score_ == pytest.approx(best)
        scorer = make_query_scorer("map")
        found = cross_val_score(
            pipe, X, y, params=params, cv=GroupKFold(3), error_score="raise", scoring=scorer
        )
        expected = by_hand(PIPELINES["ours"](), data, folds_of(data), None, "map", weights)
        np.testing.assert_allclose(found, expected)

    def test_weights_can_be_kept_from_a_step(self, data):
        X, y, qid = data
        weights = (1.0 + np.unique(qid, return_inverse=True)[1]) ** 2
        pipe = PIPELINES["ours"]()
        pipe["rank"].set_fit_request(sample_weight=False)
        pipe.fit(X, y, qid=qid, sample_weight=weights)
        selector = TopImportance(3).fit(X, y, qid=qid, sample_weight=weights)
        expected = RankRLS().fit(selector.transform(X), y, qid=qid)
        np.testing.assert_array_equal(pipe["rank"].coef_, expected.coef_)

    def test_scalers_of_queries_are_told_the_queries(self, data):
        X, y, qid = data
        pipe = make_pipeline(QueryMinMaxScaler(), TopImportance(3), RankRLS())
        found = cross_val_score(
            pipe,
            X,
            y,
            params={"qid": qid, "groups": qid},
            cv=GroupKFold(3),
            scoring=None,
            error_score="raise",
        )
        scaled = QueryMinMaxScaler().fit_transform(X, qid=qid), y, qid
        np.testing.assert_allclose(found, by_hand(PIPELINES["ours"](), scaled, folds_of(data)))

    def test_other_selectors_before_our_rankers(self, data):
        X, y, qid = data
        pipe = Pipeline([("sel", SelectKBest(k=3)), ("rank", RankRLS())])
        search = GridSearchCV(pipe, {"sel__k": SIZES}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, qid=qid, groups=qid)
        assert np.isfinite(search.best_score_)


class TestWithoutRouting:
    def test_a_pipeline_is_told_by_name(self, data):
        X, y, qid = data
        pipe = PIPELINES["lightgbm"]().fit(X, y, sel__qid=qid, rank__qid=qid)
        kept = TopImportance(3).fit(X, y, qid=qid).transform(X)
        expected = lightgbm().fit(kept, y, qid=qid).predict(kept)
        np.testing.assert_array_equal(pipe.predict(X), expected)

    def test_cross_val_predict(self, data):
        X, y, qid = data
        params = {"sel__qid": qid, "rank__qid": qid}
        found = cross_val_predict(
            PIPELINES["ours"](), X, y, params=params, cv=GroupKFold(3), groups=qid
        )
        with sklearn.config_context(enable_metadata_routing=True):
            params = {"qid": qid, "groups": qid}
            expected = cross_val_predict(PIPELINES["ours"](), X, y, params=params, cv=GroupKFold(3))
        np.testing.assert_array_equal(found, expected)

    def test_a_score_says_how_to_get_queries(self, data):
        X, y, qid = data
        with pytest.raises(DataError, match="enable_metadata_routing"):
            cross_val_score(
                RankRLS(),
                X,
                y,
                params={"qid": qid},
                cv=GroupKFold(3),
                groups=qid,
                error_score="raise",
            )

    def test_a_fit_without_queries_says_so(self, data):
        X, y, qid = data
        search = GridSearchCV(PIPELINES["ours"](), GRID, cv=GroupKFold(3))
        with pytest.raises(ValueError, match="qid is required"):
            search.fit(X, y, groups=qid)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "container"), [("ours", "polars"), ("lightgbm", "polars"), ("wrapper", "pandas")]
)
def test_frames_go_through(name, container, data, routing):
    X, y, qid = data
    names = [f"f{number}" for number in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names) if container == "pandas" else pl.DataFrame(X, names)
    pipe = PIPELINES[name]().set_output(transform=container)
    search = GridSearchCV(pipe, GRID, cv=GroupKFold(3), error_score="raise")
    search.fit(frame, y, qid=qid, groups=qid)
    plain = GridSearchCV(PIPELINES[name](), GRID, cv=GroupKFold(3), error_score="raise")
    plain.fit(X, y, qid=qid, groups=qid)
    assert search.best_score_ == plain.best_score_
    kept = search.best_estimator_[:-1].transform(frame)
    assert type(kept) is type(frame)
    support = search.best_estimator_["sel"].support_
    assert list(kept.columns) == [n for n, keep in zip(names, support, strict=True) if keep]
    np.testing.assert_array_equal(search.best_estimator_["rank"].feature_names_in_, kept.columns)


@pytest.mark.parametrize("container", ["default", "pandas", "polars"])
@pytest.mark.parametrize(
    "selector", [TopImportance(3), FSBFS(2), FSBFS(2, output="constructed")], ids=str
)
def test_ranking_data_stay_what_they_are(selector, container, data):
    X, y, qid = data
    whole = RankingData(X, y, qid)
    selector = clone(selector).set_output(transform=container).fit(whole)
    kept = selector.transform(whole)
    assert isinstance(kept, RankingData)
    assert isinstance(selector.fit_transform(whole), RankingData)
    rows = selector.transform(whole.X)
    assert isinstance(rows, {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(container, object))
    np.testing.assert_array_equal(np.asarray(rows), kept.X)


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.usefixtures("routing")
def test_clones_keep_parameters_and_requests(name):
    pipe = PIPELINES[name]().set_params(sel__n_features_to_select=2)
    last = pipe.steps[-1][0]
    pipe[last].set_score_request(sample_weight=True)
    copy = clone(pipe)
    assert copy.get_params()["sel__n_features_to_select"] == 2
    assert copy[last].get_metadata_routing().score.requests["sample_weight"] is True
    assert copy[last].get_metadata_routing().score.requests["qid"] is True
