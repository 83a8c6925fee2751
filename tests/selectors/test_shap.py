"""SHAP values within queries, of every library, against the definition."""

import lightgbm
import numpy as np
import pytest
from catboost import CatBoostRanker
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from xgboost import XGBRanker

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.rankers import LambdaMART, RankBoost, RankRLS, RankSVM, as_ranker
from ranksieve.selectors import ShapSelector
from ranksieve.selectors._search import importances
from ranksieve.selectors._search.importances import shap_within_queries
from tests.oracles import shap_within_queries as definition

FEW = {"n_estimators": 8, "num_leaves": 5}
nan = float("nan")
RANKERS = {
    "lambdamart": LambdaMART(8, num_leaves=5, params={"num_threads": 1}),
    "lightgbm": lightgbm.LGBMRanker(n_estimators=8, n_jobs=1, verbosity=-1),
    "xgboost": XGBRanker(n_estimators=5, n_jobs=1),
    "catboost": CatBoostRanker(
        iterations=8, thread_count=1, verbose=False, allow_writing_files=False
    ),
    "rankrls": RankRLS(),
}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data():
    found, _ = make_ranking(
        40, docs_per_query=(1, 15), n_informative=3, n_redundant=2, n_noise=2, noise=0.3
    )
    return found


def parts_of(ranker, X):
    """SHAP values as the library itself gives them."""
    if isinstance(ranker, RankRLS):
        return X * ranker.coef_
    if isinstance(ranker, LambdaMART):
        return ranker.booster_.predict(X, pred_contrib=True, num_threads=1)[:, :-1]
    inner = ranker.estimator_
    if isinstance(inner, lightgbm.LGBMRanker):
        return inner.predict(X, pred_contrib=True)[:, :-1]
    if isinstance(inner, XGBRanker):
        from xgboost import DMatrix

        return inner.get_booster().predict(DMatrix(X), pred_contribs=True)[:, :-1]
    from catboost import Pool

    return inner.get_feature_importance(Pool(X.copy()), type="ShapValues")[:, :-1]


@pytest.mark.parametrize("name", RANKERS)
def test_every_library(name, data):
    ranker = as_ranker(RANKERS[name]).fit(data.X, data.y, qid=data.qid)
    expected = definition(parts_of(ranker, data.X), data.qid)
    np.testing.assert_allclose(shap_within_queries(ranker, data), expected, rtol=1e-5, atol=1e-9)
    assert max(expected) > 0
    weights = np.random.default_rng(0).integers(0, 3, data.n_queries).astype(float)
    of_query = dict(zip(data.qid[data.query_ptr[:-1]].tolist(), weights.tolist(), strict=True))
    found = shap_within_queries(ranker, data.with_weights(weights))
    expected = definition(parts_of(ranker, data.X), data.qid, of_query)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
    assert data.X.flags.writeable  # CatBoost protects arrays that it gets


class Fixed:
    """A ranker whose contributions are the values of the features themselves."""

    def _contributions(self, X):
        return X


@given(st.data())
def test_any_contributions(draw):
    lengths = draw.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    seed = draw.draw(st.integers(0, 99))
    X = np.random.default_rng(seed).integers(-3, 4, (sum(lengths), 2)).astype(float)
    qid = np.repeat(np.arange(len(lengths)), lengths)
    data = RankingData(X, np.zeros(len(X)), qid)
    expected = definition(X.tolist(), qid.tolist())
    np.testing.assert_allclose(shap_within_queries(Fixed(), data), expected, atol=1e-12)
    shifted = RankingData(X + 5.0 * qid[:, None], data.y, qid)
    np.testing.assert_allclose(shap_within_queries(Fixed(), shifted), expected, atol=1e-12)


def test_rows_are_explained_in_pieces(data, monkeypatch):
    ranker = RANKERS["lambdamart"].fit(data)
    whole = shap_within_queries(ranker, data)
    monkeypatch.setattr(importances, "CHUNK", 50)
    np.testing.assert_allclose(shap_within_queries(ranker, data), whole)
    rows = RankingData(sparse.csr_matrix(data.X), data.y, data.qid)
    np.testing.assert_allclose(shap_within_queries(ranker, rows), whole)


class TestSelector:
    def test_order_and_reasons(self, data):
        selector = ShapSelector(data.n_features, **FEW).fit(data)
        ranker = LambdaMART(**FEW).fit(data)
        expected = shap_within_queries(ranker, data)
        np.testing.assert_array_equal(selector.scores_, expected)
        order = sorted(range(data.n_features), key=lambda f: (-expected[f], f))
        assert selector.selected_.tolist() == order
        assert selector.reasons()[0] == f"moves scores by {max(expected):.3g}"
        one = ShapSelector(data.n_features, n_estimators=1, num_leaves=2).fit(data)
        assert one.reasons()[1:] == ["moves nothing"] * (data.n_features - 1)

    def test_what_shifts_whole_queries_does_not_rank(self):
        data, _ = make_ranking(60, n_informative=2, n_redundant=0, n_noise=1, noise=0.1)
        # Splits on it find queries with many relevant documents, and rank nothing.
        shift = np.repeat(np.add.reduceat(data.y, data.query_ptr[:-1]), data.group_counts)
        X = np.column_stack([shift, data.X])
        trees = ShapSelector(2, **FEW, params={"objective": "regression", "metric": "l2"})
        trees.fit(X, data.y, qid=data.qid)
        plain = np.abs(parts_of(trees.ranker_, X)).mean(axis=0)
        assert plain[0] > plain[1]  # which is informative
        assert trees.scores_[0] < trees.scores_[1]
        assert trees.scores_[0] < plain[0] / 2

    @pytest.mark.parametrize("name", RANKERS)
    def test_any_ranker(self, name):
        data, truth = make_ranking(60, n_informative=2, n_redundant=0, n_noise=3, noise=0.05)
        selector = ShapSelector(2, ranker=RANKERS[name]).fit(data)
        assert sorted(selector.selected_.tolist()) == truth.informative.tolist()
        assert selector.is_nested
        assert selector.works_on_shards == (name in ("lambdamart", "rankrls"))

    def test_by_name_and_without_some_features(self, data):
        by_name = ShapSelector(2, ranker="rankrls", exclude=[0]).fit(data)
        kept = data.take_features(range(1, data.n_features))
        scores = ShapSelector(2, ranker=RankRLS()).fit(kept).scores_
        np.testing.assert_array_equal(by_name.scores_[1:], scores)
        assert np.isnan(by_name.scores_[0])
        constraints = {"monotone_constraints": [0, 1, 0, 0, 0, 0, 0]}
        ranker = LambdaMART(3, params=constraints)
        assert 0 not in ShapSelector(2, ranker=ranker, exclude=[0]).fit(data).selected_

    def test_a_ranker_whose_training_cannot_be_repeated(self):
        assert not ShapSelector(2, ranker=LambdaMART(random_state=None)).is_nested

    def test_groups(self, data):
        alone = ShapSelector(7, **FEW).fit(data).scores_
        groups = [(0, 6), (1, 5), (2,), (3,), (4,)]
        selector = ShapSelector(7, groups=[[0, 6], [1, 5]], **FEW).fit(data)
        order = sorted(groups, key=lambda group: -alone[list(group)].sum())
        assert selector.selected_.tolist() == [f for group in order for f in group]

    def test_missing_values(self, data):
        X = np.array(data.X)
        X[np.random.default_rng(0).random(X.shape) < 0.2] = nan
        gaps = RankingData(X, data.y, data.qid, missing="keep")
        assert np.isfinite(ShapSelector(3, **FEW).fit(gaps).scores_).all()
        with pytest.raises(DataError, match="ShapSelector of RankSVM cannot use missing values"):
            ShapSelector(3, ranker=RankSVM()).fit(gaps)

    def test_rankers_without_contributions(self, data):
        with pytest.raises(ValueError, match="RankBoost has no SHAP values"):
            ShapSelector(3, ranker=RankBoost(3)).fit(data)
        with pytest.raises(ValueError, match="ranker"):
            ShapSelector(3, ranker=7).fit(data)
        with pytest.raises(ValueError, match="unknown ranker 'nobody'"):
            ShapSelector(3, ranker="nobody").fit(data)


def test_the_same_everywhere(everywhere, data):
    ranker = RANKERS["lambdamart"].fit(data)
    found = shap_within_queries(ranker, everywhere(data, shard_bytes=4_000))
    np.testing.assert_allclose(found, shap_within_queries(ranker, data))
