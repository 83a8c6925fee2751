"""Checks that every ranker must pass, found by the public names."""

import inspect
from functools import cache

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from xgboost import XGBRanker

from ranksieve import DataError, RankingData, make_ranking, rankers
from ranksieve.rankers import RankerAdapter
from ranksieve.rankers.base import Ranker


def adapted(estimator):
    """The adapter of an estimator, which can be made without arguments like all rankers."""

    def init(self, estimator=estimator, *, verbose=False):
        RankerAdapter.__init__(self, estimator, verbose=verbose)

    members = {"__init__": init, "__module__": __name__}
    return type(f"{type(estimator).__name__}Adapter", (RankerAdapter,), members)


ADAPTED = [
    adapted(estimator)
    for estimator in (
        LGBMRanker(n_estimators=30, n_jobs=1),
        XGBRanker(n_estimators=30, n_jobs=1),
        CatBoostRanker(iterations=30, thread_count=1),
    )
]
RANKERS = [
    item
    for item in (getattr(rankers, name) for name in rankers.__all__)
    if inspect.isclass(item) and issubclass(item, Ranker) and item is not RankerAdapter
] + ADAPTED


# Rankers to which a query whose documents have equal labels makes a difference, and why.
COUNT_ALL = {
    "RankRLS": "pairs of equal labels are to get equal scores",
    "RankRLSCV": "pairs of equal labels are to get equal scores",
    "LambdaMART": "its bins are made of all rows",
    "LGBMRankerAdapter": "its bins are made of all rows",
    "XGBRankerAdapter": "its bins are made of all rows",
    "CatBoostRankerAdapter": "its bins are made of all rows",
    "AdaRank": "every query has a weight",
}


@cache
def make_planted():
    return make_ranking(
        80, docs_per_query=(1, 20), n_informative=4, n_noise=3, noise=0.2, random_state=11
    )


@pytest.fixture(scope="module")
def planted():
    return make_planted()


@cache
def usual(kind):
    """A ranker as it is by default, trained on the planted data."""
    return kind().fit(make_planted()[0])


@pytest.mark.parametrize("kind", RANKERS)
class TestEveryRanker:
    def test_learns_to_rank(self, kind, planted):
        data, _ = planted
        train, test = data.take_queries(range(60)), data.take_queries(range(60, 80))
        ranker = kind()
        assert ranker.fit(train) is ranker
        noise = RankingData(np.random.default_rng(0).normal(size=test.X.shape), test.y, test.qid)
        assert ranker.score(test) > ranker.score(noise) + 0.1
        assert ranker.predict(test).shape == (test.n_rows,)

    def test_row_order_is_restored(self, kind, planted):
        data, _ = planted
        order = np.random.default_rng(0).permutation(data.n_rows)
        ranker = usual(kind)
        np.testing.assert_array_equal(ranker.predict(data.X[order]), ranker.predict(data.X)[order])

    def test_same_seed_same_answer_and_input_not_modified(self, kind, planted):
        data, _ = planted
        parts = [part.copy() for part in (data.X, data.y, data.qid)]
        again = kind().fit(*parts[:2], qid=parts[2])
        np.testing.assert_array_equal(again.predict(data.X), usual(kind).predict(data.X))
        for ours, theirs in zip(parts, (data.X, data.y, data.qid), strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_bad_input(self, kind, planted):
        data, _ = planted
        with pytest.raises(DataError, match="qid is required"):
            kind().fit(data.X, data.y)
        with pytest.raises(DataError, match="requires y"):
            kind().fit(data.X, qid=data.qid)
        with pytest.raises(DataError, match="equal labels"):
            kind().fit(data.X, np.ones(data.n_rows), qid=data.qid)
        with pytest.raises(DataError, match="no query has two documents"):
            kind().fit(data.X, data.y, qid=np.arange(data.n_rows))
        ranker = usual(kind)
        with pytest.raises(ValueError, match="features"):
            ranker.predict(data.X[:, :2])
        with pytest.raises(ValueError, match="features"):
            ranker.predict(data.take_features([0, 1]))

    def test_queries_that_tell_nothing_change_nothing(self, kind, planted):
        if kind.__name__ in COUNT_ALL:
            pytest.skip(COUNT_ALL[kind.__name__])
        data, _ = planted
        rng = np.random.default_rng(1)
        X = np.concatenate([data.X, rng.normal(size=(6, data.n_features))])
        y = np.concatenate([data.y, [0, 1, 1, 1, 2, 2]])
        qid = np.concatenate([data.qid, data.qid.max() + np.array([1, 2, 3, 3, 4, 4])])
        more = kind().fit(X, y, qid=qid).predict(data.X)
        np.testing.assert_allclose(more, usual(kind).predict(data.X), rtol=1e-3, atol=1e-4)
