"""Whatever predicts or transforms looks at its rows first, in every form of data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from xgboost import XGBRanker

from ranksieve import RankingData, make_ranking
from ranksieve.base import Predictor
from ranksieve.data import DataError
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.preprocessing import QueryMinMaxScaler, QueryStandardScaler
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.selectors.registry import SELECTORS, make_selector
from ranksieve.sums.held_out import linear_scores, measure_models
from tests.every_method import make_quick

NAMES = [f"f{number}" for number in range(8)]


def predictors():
    selecting = [name for name in SELECTORS if issubclass(SELECTORS[name].kind, Predictor)]
    for name in [*RANKERS, *selecting]:
        yield pytest.param(lambda name=name: make_quick(name, 3), id=name)


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(30, n_informative=3, n_redundant=0, n_noise=5, noise=0.1)
    return RankingData(made.X, made.y, made.qid, feature_names=NAMES)


def forms(data, tmp_path):
    """The same rows in every form that there is."""
    write_shards(data, tmp_path / "shards", shard_bytes=10_000)
    yield "array", data.X
    yield "pandas", pd.DataFrame(data.X, columns=data.feature_names)
    yield "polars", pl.DataFrame(data.X, schema=data.feature_names.tolist())
    yield "sparse", sparse.csr_matrix(data.X)
    yield "sparse array", sparse.csr_array(data.X)
    yield "RankingData", data
    yield "shards", open_shards(tmp_path / "shards")


def poisoned(data, value):
    X = data.X.copy()
    X[5, 7] = value
    return data._replace(X=X)


@pytest.fixture(scope="module", params=list(predictors()))
def fitted(request, data):
    return request.param().fit(data)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
class TestEveryPredictor:
    def test_all_forms_give_the_same_scores(self, fitted, data, tmp_path):
        expected = fitted.predict(data)
        assert np.isfinite(expected).all()
        for form, X in forms(data, tmp_path):
            if "sparse" in form and isinstance(getattr(fitted, "estimator", None), XGBRanker):
                continue  # which takes what is not stored as missing
            np.testing.assert_array_equal(fitted.predict(X), expected, err_msg=form)

    @pytest.mark.parametrize("width", [2, 7, 9])
    def test_another_number_of_features(self, fitted, data, tmp_path, width):
        X = np.concatenate([data.X, data.X], axis=1)[:, :width]
        other = RankingData(X, data.y, data.qid)
        for form, rows in forms(other, tmp_path):
            with pytest.raises(ValueError, match="feature"):
                pytest.fail(f"{form}: {fitted.predict(rows)}")

    def test_other_names(self, fitted, data, tmp_path):
        other = RankingData(data.X, data.y, data.qid, feature_names=NAMES[::-1])
        for form, rows in forms(other, tmp_path):
            if form in ("pandas", "polars", "RankingData", "shards"):
                with pytest.raises(ValueError, match="feature"):
                    pytest.fail(f"{form}: {fitted.predict(rows)}")

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_what_is_no_number(self, fitted, data, tmp_path, value):
        for form, rows in forms(poisoned(data, value), tmp_path):
            if np.isnan(value) and fitted._allows_missing:
                assert np.isfinite(fitted.predict(rows)).all()
            else:
                with pytest.raises(ValueError, match=r"NaN|infinity"):
                    pytest.fail(f"{form}: {fitted.predict(rows)}")

    def test_score_is_the_mean_over_queries_by_their_weights(self, fitted, data):
        last = data.take_queries([data.n_queries - 1])
        weights = np.arange(data.n_queries) == data.n_queries - 1
        assert fitted.score(data, sample_weight=weights) == fitted.score(last)
        by_row = np.repeat(weights, data.group_counts)
        assert fitted.score(data.X, data.y, data.qid, by_row) == fitted.score(last)


@pytest.fixture(scope="module")
def top(data):
    return make_selector("top", 3).fit(data)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
class TestTransform:
    def test_all_forms_keep_the_same_features(self, top, data, tmp_path):
        for form, rows in forms(data, tmp_path):
            kept = top.transform(rows)
            if form == "shards":
                kept = kept.read()
            X = getattr(kept, "X", kept)
            X = X.toarray() if sparse.issparse(X) else np.asarray(X)
            np.testing.assert_array_equal(X, data.X[:, top.support_], err_msg=form)

    @pytest.mark.parametrize("width", [2, 9])
    def test_another_number_of_features(self, top, data, tmp_path, width):
        X = np.concatenate([data.X, data.X], axis=1)[:, :width]
        for form, rows in forms(RankingData(X, data.y, data.qid), tmp_path):
            with pytest.raises(ValueError, match="feature"):
                pytest.fail(f"{form}: {top.transform(rows)}")

    def test_other_names(self, top, data, tmp_path):
        other = RankingData(data.X, data.y, data.qid, feature_names=NAMES[::-1])
        for form, rows in forms(other, tmp_path):
            if form in ("pandas", "polars", "RankingData", "shards"):
                with pytest.raises(ValueError, match="feature"):
                    pytest.fail(f"{form}: {top.transform(rows)}")


def test_new_features_of_other_rows_are_refused(data):
    found = make_selector("fs-bfs", 2, output="constructed").fit(data)
    other = RankingData(data.X, data.y, data.qid, feature_names=NAMES[::-1])
    for rows in (data.take_features([0, 1]), other, poisoned(data, np.nan)):
        with pytest.raises(DataError):
            found.construct(rows)


def test_held_out_data_of_other_names_are_refused(data):
    other = RankingData(data.X, data.y, data.qid, feature_names=NAMES[::-1])
    with pytest.raises(DataError, match="feature 1 is 'f7', but 'f0' in training"):
        make_ranker("rankrls-cv").fit(data, eval_set=other)
    with pytest.raises(DataError, match="feature 1 is 'f7', but 'f0' in training"):
        make_selector("annealing", 2).fit(data, eval_set=other)


def test_kernels_never_see_another_width(data):
    with pytest.raises(ValueError, match="8 features, but there are 9 weights"):
        linear_scores(data.X, np.ones(9))
    with pytest.raises(ValueError, match="not in 0 to 7"):
        measure_models(data, [(np.array([8]), np.ones((1, 1)))])
    with pytest.raises(ValueError, match="not in 0 to 7"):
        measure_models(data, [(np.array([-1]), np.ones((1, 1)))])


@pytest.mark.parametrize("scaler", [QueryMinMaxScaler, QueryStandardScaler])
def test_scalers_compare_names_as_all_others_do(scaler, data):
    other = RankingData(data.X, data.y, data.qid, feature_names=NAMES[::-1])
    with pytest.raises(DataError, match="feature 1 is 'f7', but 'f0' in training"):
        scaler().fit(data).transform(other)
