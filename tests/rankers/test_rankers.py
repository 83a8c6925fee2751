"""Checks that every ranker must pass, found by the public names."""

import inspect
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from xgboost import XGBRanker

from ranksieve import DataError, RankingData, make_ranking, rankers
from ranksieve.metrics import make_query_scorer
from ranksieve.rankers import RankerAdapter
from ranksieve.rankers.base import Ranker
from tests.every_method import quick_parameters


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


@cache  # pickle wants one class of a name
def with_one_query(kind):
    """A ranker that takes rows without query ids as one or two queries, for scikit-learn."""
    n_queries = 2 if kind.__name__.endswith("CV") else 1  # leaving a query out needs another one

    def fit(self, X, y=None, qid=None):
        if qid is None:
            n_rows = X.shape[0] if sparse.issparse(X) else len(np.asarray(X))
            qid = np.arange(n_rows) // 2 % n_queries
        return kind.fit(self, X, y, qid=qid)

    def score(self, X, y=None, qid=None):
        return kind.score(self, X, y, np.zeros(len(y), dtype=int) if qid is None else qid)

    members = {"fit": fit, "score": score, "__init__": kind.__init__, "__module__": __name__}
    name = f"OneQuery{kind.__name__}"
    made = type(name, (kind,), members)
    globals()[name] = made  # where pickle looks for it
    return made


ONE_QUERY = {kind: with_one_query(kind) for kind in RANKERS if kind not in ADAPTED}
# scikit-learn allows no estimator as a default.
ONE_QUERY |= dict.fromkeys(ADAPTED, with_one_query(RankerAdapter))


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


# Like quick_parameters, for estimators of other libraries.
FEW_TREES = {
    "LGBMRankerAdapter": {"n_estimators": 5, "objective": "rank_xendcg"},
    "XGBRankerAdapter": {"n_estimators": 5},
    "CatBoostRankerAdapter": {"iterations": 5},
}


def quick(kind):
    """A ranker that does not take long, where its quality does not matter."""
    if kind in ADAPTED:
        return kind(clone(kind().estimator).set_params(**FEW_TREES[kind.__name__]))
    return kind(**quick_parameters(kind.methods[0].name))


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

    def test_ways_to_pass_the_data(self, kind, planted):
        data, _ = planted
        expected = usual(kind).predict(data.X)
        names = [f"f{n}" for n in range(data.n_features)]
        matrix = sparse.csr_matrix(data.X)
        if kind.__name__ == "XGBRankerAdapter":  # to XGBoost, what is left out is missing, not 0
            matrix = sparse.csr_matrix(np.ones(data.X.shape))
            matrix.data[:] = data.X.ravel()
        for form in (data.X, matrix, pd.DataFrame(data.X, columns=names)):
            ranker = kind().fit(form, data.y, qid=data.qid)
            np.testing.assert_allclose(ranker.predict(form), expected, rtol=1e-4, atol=1e-6)

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

    def test_scikit_learn_checks(self, kind):
        # They are fitted often.
        few = quick(kind).get_params(deep=False)
        check_estimator(ONE_QUERY[kind](**few), on_skip=None)

    def test_pipeline_and_grid_search(self, kind, planted):
        data, _ = planted
        pipe = Pipeline([("scale", StandardScaler()), ("rank", quick(kind))])
        pipe.fit(data.X, data.y, rank__qid=data.qid)
        assert pipe.predict(data.X).shape == data.y.shape
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                Pipeline([("scale", StandardScaler()), ("rank", quick(kind))]),
                {"scale__with_mean": [True, False]},
                cv=GroupKFold(2),
                scoring=make_query_scorer("ndcg@5"),
            )
            search.fit(data.X, data.y, qid=data.qid, groups=data.qid)
        assert np.isfinite(search.best_score_)
