"""Rankers on clicks: weights of rows and positions get to the libraries as they are, or nowhere."""

import lightgbm
import numpy as np
import pytest
from lightgbm import LGBMRanker
from sklearn.linear_model import Ridge

from ranksieve import DataError, RankingData
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.rankers import RANKERS, LambdaMART, as_ranker
from ranksieve.rankers.libraries.lightgbm_workers import best_number_of_trees
from ranksieve.threads import limit_threads

QUICK = {"n_estimators": 8, "num_leaves": 5, "min_child_samples": 3}
TAKE_WEIGHTS = {"lambdamart", "lightgbm"}
TAKE_POSITIONS = {"lambdamart", "lightgbm"}


def make_log(n_queries=80, seed=0, **parts):
    """Clicks on ten shown documents of each query, which are seen less often further down."""
    rng = np.random.default_rng(seed)
    n = 10 * n_queries
    X, shown = rng.normal(size=(n, 4)), np.tile(np.arange(10), n_queries)
    attractive = rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1] + 1))
    y = (attractive & (rng.random(n) < 1 / (1 + shown))).astype(float)
    weights = {"row_weights": 1.0 + shown, "positions": shown}
    own = {name: weights[name] for name in parts.get("having", weights)}
    if parts.get("of_queries"):
        own["sample_weight"] = rng.uniform(0.5, 2, n_queries)
    return RankingData(X, y, np.repeat(np.arange(n_queries), 10), **own)


@pytest.fixture(scope="module")
def log():
    return make_log(of_queries=True)


@pytest.fixture(scope="module")
def weighted():
    return make_log(having=["row_weights"], of_queries=True)


def product_of(data):
    return data.row_weights * data.query_weights[data.query_codes]


@pytest.mark.slow
def test_lambdamart_is_lightgbm_with_both(log):
    ranker = LambdaMART(**QUICK).fit(log)
    parameters = ranker._dataset_parameters() | {"num_threads": 1}
    dataset = lightgbm.Dataset(
        log.X, log.y, weight=product_of(log), group=log.group_counts, position=log.positions
    )
    direct = lightgbm.train(parameters, dataset, QUICK["n_estimators"]).predict(log.X)
    np.testing.assert_array_equal(ranker.predict(log), direct)
    bare = log.with_row_weights(None).with_positions(None)
    np.testing.assert_array_equal(ranker.predict(bare), direct)  # which asks for neither
    for other in (bare, log.with_row_weights(None), log.with_positions(None)):
        assert not np.array_equal(LambdaMART(**QUICK).fit(other).predict(log), direct)
    strong = {"lambdarank_position_bias_regularization": 1e3}
    shrunk = LambdaMART(**QUICK, params=strong).fit(log).predict(log)
    assert not np.array_equal(shrunk, direct)


def test_lgbm_ranker_with_weights(weighted):
    own = LGBMRanker(**QUICK, verbosity=-1, n_jobs=1)
    direct = own.fit(
        weighted.X, weighted.y, group=weighted.group_counts, sample_weight=product_of(weighted)
    )
    ranker = as_ranker(LGBMRanker(**QUICK, n_jobs=1)).fit(weighted)
    np.testing.assert_array_equal(ranker.predict(weighted), direct.predict(weighted.X))


@pytest.mark.parametrize("patience", [None, 3])
def test_lgbm_ranker_with_positions(log, patience):
    """Its own fit takes none: it is trained like the Booster that it holds."""
    vali = make_log(30, seed=1)
    own = {**QUICK, "n_estimators": 30, "n_jobs": 1}
    settings = {} if patience is None else {"early_stopping_round": patience}
    ranker = as_ranker(LGBMRanker(**own, **settings)).fit(log, eval_set=vali)
    parameters = LGBMRanker(**own, verbosity=-1)._process_params(stage="fit")
    train = lightgbm.Dataset(
        log.X, log.y, weight=product_of(log), group=log.group_counts, position=log.positions
    )
    held_out = lightgbm.Dataset(
        vali.X, vali.y, reference=train, weight=vali.row_weights, group=vali.group_counts
    )
    direct = lightgbm.train(
        parameters | {"eval_at": [1, 2, 3, 4, 5]} | settings, train, 30, valid_sets=[held_out]
    )
    np.testing.assert_array_equal(ranker.predict(log), direct.predict(log.X))
    assert ranker.estimator_.best_iteration_ == direct.best_iteration
    assert patience is None or direct.best_iteration < 30


@pytest.mark.parametrize("patience", [1, 3, 100])
def test_workers_stop_where_lightgbm_would(log, patience):
    """LightGBM's measures count a held-out query by the mean weight of its rows."""
    vali = make_log(30, seed=1, of_queries=True)
    own = {**QUICK, "n_estimators": 30}
    stopped = LambdaMART(**own, early_stopping_rounds=patience).fit(log, eval_set=vali)
    every = LambdaMART(**own).fit(log).booster_
    found = best_number_of_trees(every, vali, 10, patience)
    assert found == stopped.best_iteration_
    assert patience > 1 or found < 30


@pytest.mark.parametrize("ranker", [LambdaMART(), as_ranker(Ridge())])
def test_weights_that_are_all_0_are_refused(weighted, ranker):
    with pytest.raises(DataError, match="row_weights must not be 0 for all rows"):
        ranker.fit(weighted.with_row_weights(np.zeros(weighted.n_rows)))


def test_regressors_get_the_product(weighted):
    direct = Ridge().fit(weighted.X, weighted.y, sample_weight=product_of(weighted))
    found = as_ranker(Ridge()).fit(weighted)
    np.testing.assert_array_equal(found.coef_, direct.coef_)
    only_rows = weighted.with_weights(None)
    direct = Ridge().fit(weighted.X, weighted.y, sample_weight=weighted.row_weights)
    np.testing.assert_array_equal(as_ranker(Ridge()).fit(only_rows).coef_, direct.coef_)


@pytest.mark.parametrize("loss", ["QueryRMSE", "QuerySoftMax"])
def test_catboost_where_the_loss_has_weights_of_rows(weighted, loss):
    catboost = pytest.importorskip("catboost")
    own = {"loss_function": loss, "iterations": 8, "depth": 3, "thread_count": 1}
    quiet = {"verbose": False, "allow_writing_files": False}
    pool = catboost.Pool(
        weighted.X, weighted.y, group_id=weighted.query_codes, weight=product_of(weighted)
    )
    direct = catboost.CatBoostRanker(**own, **quiet).fit(pool).predict(weighted.X)
    found = as_ranker(catboost.CatBoostRanker(**own)).fit(weighted).predict(weighted)
    np.testing.assert_array_equal(found, direct)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (None, "CatBoost's YetiRank weighs queries; QueryRMSE and QuerySoftMax weigh rows"),
        ("PairLogit:max_pairs=3", "CatBoost's PairLogit:max_pairs=3 weighs queries"),
    ],
)
def test_catboost_where_it_has_none(weighted, log, loss, message):
    catboost = pytest.importorskip("catboost")
    ranker = as_ranker(catboost.CatBoostRanker(loss_function=loss))
    with pytest.raises(DataError, match=message):
        ranker.fit(weighted)
    with pytest.raises(DataError, match="CatBoostRanker takes no positions: CatBoost takes none"):
        ranker.fit(log.with_row_weights(None))


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_every_other_ranker_refuses_both_at_once(log, weighted, name):
    method = RANKERS[name]
    ranker = method.make(**method.trial)
    assert method.takes_row_weights == (name in TAKE_WEIGHTS)
    assert method.takes_positions == (name in TAKE_POSITIONS)
    if name not in TAKE_WEIGHTS:
        with pytest.raises(DataError, match=r"takes no weights of rows: .+\. Leave out --row-wei"):
            ranker.fit(weighted)
        bare = weighted.with_row_weights(None)
        with pytest.raises(DataError, match="takes no weights of rows"):
            ranker.fit(bare, eval_set=weighted)
    if name not in TAKE_POSITIONS:
        with pytest.raises(DataError, match=r"takes no positions: .+\. Leave out --position"):
            ranker.fit(log.with_row_weights(None))


def test_what_else_takes_no_positions(log):
    class Own(LGBMRanker):
        pass

    refused = [
        (LambdaMART(params={"objective": "rank_xendcg"}), "lambdarank alone takes them"),
        (as_ranker(LGBMRanker(objective="rank_xendcg")), "lambdarank alone takes them"),
        (as_ranker(Own()), "LightGBM takes them from its own LGBMRanker alone"),
        (as_ranker(Ridge()), "Ridge takes no positions: its fit has no parameter for them"),
    ]
    for ranker, message in refused:
        with pytest.raises(DataError, match=message):
            ranker.fit(log)


def test_own_estimators_that_take_the_data_get_everything(log):
    class Whole:
        def fit(self, data):
            self.seen_ = data.row_weights, data.positions
            return self

        def predict(self, X):
            return np.zeros(len(X))

    seen = as_ranker(Whole()).fit(log).estimator_.seen_
    np.testing.assert_array_equal(seen, [log.row_weights, log.positions])


@pytest.mark.parametrize("make", [LambdaMART, lambda **own: as_ranker(LGBMRanker(**own))])
def test_refits_on_shared_bins_have_them_too(log, make):
    refits = make(**QUICK)._refits(log)
    for features in ([0, 1, 2, 3], [2, 0]):
        own = log.take_features(features)
        np.testing.assert_array_equal(
            refits.fit(features).predict(own), make(**QUICK).fit(own).predict(own)
        )


@pytest.mark.slow
def test_shards_and_threads_change_nothing(log, tmp_path):
    ranker = LambdaMART(**QUICK).fit(log)
    write_shards(log, tmp_path / "shards", shard_bytes=2000)
    with open_shards(tmp_path / "shards") as shards:
        assert shards.n_shards > 3
        np.testing.assert_array_equal(
            LambdaMART(**QUICK).fit(shards).predict(log), ranker.predict(log)
        )
    with limit_threads(4):
        again = LambdaMART(**QUICK).fit(log).predict(log)
    np.testing.assert_array_equal(again, ranker.predict(log))


@pytest.mark.slow
def test_weights_and_positions_undo_the_bias_of_clicks():
    """The log showed documents by a feature that is worth nothing; then clicks follow it."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(3000, 10, 4)), rng.normal(size=(2000, 4))
    shown = np.argsort(np.argsort(-X[..., 2] + rng.normal(size=(3000, 10)), axis=1), axis=1)
    relevance, truth = (2 * of[..., 0] + of[..., 1] for of in (X, new))
    attractive = rng.random((3000, 10)) < 1 / (1 + np.exp(1 - relevance))
    clicked = attractive & (rng.random((3000, 10)) < 1 / (1 + shown))
    log = RankingData(
        X.reshape(-1, 4),
        clicked.ravel(),
        np.repeat(np.arange(3000), 10),
        row_weights=1.0 + shown.ravel(),
        positions=shown.ravel(),
    )

    def likeness(data):
        return np.corrcoef(LambdaMART(20, num_leaves=8).fit(data).predict(new), truth)[0, 1]

    naive = likeness(log.with_row_weights(None).with_positions(None))
    by_weights, by_positions = (
        likeness(log.with_positions(None)),
        likeness(log.with_row_weights(None)),
    )
    assert min(by_weights, by_positions) > naive + 0.05, (naive, by_weights, by_positions)
