"""Features that tree libraries round to equal values are refused, and all others are not."""

import re

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from scipy import sparse
from xgboost import XGBRanker

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.engine import whole_block
from ranksieve.rankers import LambdaMART, as_ranker
from ranksieve.rankers.libraries.rounding import (
    FLOAT32_ROUNDING,
    LIGHTGBM_ROUNDING,
    check_distinct_values,
    count_varying_rounded,
)
from ranksieve.selectors import EliminationSelector
from ranksieve.selectors.registry import SELECTORS
from tests.every_method import QUICK_TREES, make_quick

RANKERS = {
    "lightgbm": LGBMRanker(n_estimators=3, n_jobs=1, verbosity=-1, objective="rank_xendcg"),
    "xgboost": XGBRanker(n_estimators=3, n_jobs=1),
    "catboost": CatBoostRanker(iterations=3, thread_count=1),
}
TREES = [name for name in SELECTORS if "trees" in SELECTORS[name].kind.__module__.split(".")]


@pytest.fixture(scope="module")
def planted():
    """Features a, b and c, of which b ranks best."""
    data, _ = make_ranking(30, docs_per_query=12, n_informative=1, n_redundant=0, n_noise=2)
    informative = np.random.default_rng(0).permutation([0.0, 0.1] * 180) + data.y + 1.0
    return data._replace(
        X=np.column_stack([data.X[:, :1], informative, data.X[:, 1:2]]),
        feature_names=np.array(["a", "b", "c"], dtype=object),
    )


def with_b(data, values):
    return data._replace(X=np.column_stack([data.X[:, 0], values, data.X[:, 2]]))


def multiplied(data, error):
    """Data with the feature multiplied as an error message says."""
    power = int(re.search(r"multiply it by 2\.0\*\*(-?\d+)", str(error.value))[1])
    return with_b(data, data.X[:, 1] * 2.0**power)


class TestTooSmall:
    @pytest.mark.parametrize("name", [*TREES, "best-of", "teacher-bins", "lambdamart", "lightgbm"])
    def test_every_method_with_lightgbm_refuses_them(self, planted, name):
        how = {"selectors": ["bt-influence", "top"]} if name == "best-of" else {}
        data = with_b(planted, planted.X[:, 1] * 1e-50)
        with pytest.raises(DataError, match="LightGBM|LGBMRanker") as error:
            make_quick(name, **how).fit(data)
        assert "takes values up to 1e-35 for 0" in str(error.value)
        assert "feature 'b' (absolute values 1e-50 to " in str(error.value)
        make_quick(name, **how).fit(multiplied(data, error))

    def test_the_advice_is_a_number_for_the_smallest_values(self, planted):
        data = with_b(planted, planted.X[:, 1] * 1e-310)
        trees = LambdaMART(3, params=QUICK_TREES)
        with pytest.raises(DataError, match="feature 'b'") as error:
            trees.fit(data)
        trees.fit(multiplied(data, error))

    @pytest.mark.parametrize("name", sorted(RANKERS))
    def test_rankers_of_libraries(self, planted, name):
        data = with_b(planted, planted.X[:, 1] * 1e-50)
        ranker = as_ranker(RANKERS[name])
        for refused in (ranker, EliminationSelector(ranker, 2)):
            with pytest.raises(DataError, match="feature 'b'") as error:
                refused.fit(data)
        ranker.fit(multiplied(data, error))
        assert ranker.feature_importances_.argmax() == 1

    def test_a_wide_range_is_multiplied_until_all_of_it_remains(self, planted):
        data = with_b(planted, 10.0 ** (-200 + 30 * planted.X[:, 1]))
        with pytest.raises(DataError) as error:
            check_distinct_values("LightGBM", data, LIGHTGBM_ROUNDING)
        assert not LIGHTGBM_ROUNDING.changes(multiplied(data, error).X).any()
        with pytest.raises(DataError, match="take its logarithm"):
            check_distinct_values("XGBRanker", data, FLOAT32_ROUNDING)

    def test_several_features_are_named(self):
        data, _ = make_ranking(5, n_informative=6, n_redundant=0, n_noise=0)
        data = data._replace(X=data.X * 1e-40)
        with pytest.raises(DataError, match="feature '1', '2', '3' and 3 more"):
            check_distinct_values("LightGBM", data, LIGHTGBM_ROUNDING)


class TestFloat32:
    @pytest.mark.parametrize("name", ["xgboost", "catboost"])
    def test_values_that_differ_in_later_digits(self, planted, name):
        data = with_b(planted, 1.7e9 + np.round(10 * planted.X[:, 1]))
        ranker = as_ranker(RANKERS[name])
        with pytest.raises(DataError, match=r"rounds values to float32.*feature 'b'") as error:
            ranker.fit(data)
        least = float(re.search(r"such as ([^,]+), or", str(error.value))[1])
        ranker.fit(with_b(data, data.X[:, 1] - least))
        assert ranker.feature_importances_.argmax() == 1
        as_ranker(RANKERS["lightgbm"]).fit(data)  # uses float64

    @pytest.mark.parametrize("name", ["xgboost", "catboost"])
    def test_values_that_are_too_large(self, planted, name):
        data = with_b(planted, planted.X[:, 1] * 1e60)
        ranker = as_ranker(RANKERS[name])
        with pytest.raises(DataError, match="feature 'b'") as error:
            ranker.fit(data)
        ranker.fit(multiplied(data, error))
        assert ranker.feature_importances_.argmax() == 1

    def test_too_large_values_of_both_signs(self, planted):
        data = with_b(planted, (planted.X[:, 1] - planted.X[:, 1].mean()) * 1e60)
        for X in (data.X, sparse.csr_matrix(data.X)):
            with pytest.raises(DataError, match=r"feature 'b'.*multiply it by 2\.0\*\*-"):
                check_distinct_values("it", data._replace(X=X), FLOAT32_ROUNDING)


@pytest.mark.parametrize(
    "rounding", [LIGHTGBM_ROUNDING, FLOAT32_ROUNDING], ids=["LightGBM", "float32"]
)
class TestNotRefused:
    """Data that is fine."""

    def check(self, planted, values, rounding):
        for X in (with_b(planted, values).X, sparse.csr_matrix(with_b(planted, values).X)):
            check_distinct_values("it", planted._replace(X=X), rounding)

    def test_many_zeros_and_a_few_tiny_values(self, planted, rounding):
        values = np.where(np.arange(360) % 3, 0.0, planted.X[:, 1])
        values[::50] = 1e-310
        self.check(planted, values, rounding)

    def test_tiny_values_of_a_few_queries(self, planted, rounding):
        self.check(planted, np.where(planted.query_codes < 9, 1e-50, 1) * planted.X[:, 1], rounding)

    def test_tiny_values_of_a_sparse_feature(self, rounding):
        data, _ = make_ranking(100, docs_per_query=3, n_informative=1, n_redundant=0, n_noise=0)
        data = data._replace(X=np.zeros_like(data.X))
        data.X[0] = 1e-50
        check_distinct_values("it", data, rounding)
        data.X[3] = 1e-50  # of a second query
        with pytest.raises(DataError):
            check_distinct_values("it", data, rounding)

    def test_constants(self, planted, rounding):
        for constant in (1e-50, 0.1, 0.0):
            self.check(planted, np.full(360, constant), rounding)
        self.check(planted, 1e-50 * (1 + planted.query_codes), rounding)

    def test_rounding_errors(self, planted, rounding):
        noise = np.random.default_rng(1).integers(0, 3, 360) * 2.0**-50
        self.check(planted, 0.3 + noise, rounding)

    def test_missing_values(self, planted, rounding):
        values = np.where(np.arange(360) % 4, planted.X[:, 1], np.nan)
        values[:24] = np.nan
        check_distinct_values("it", with_b(planted, values), rounding)


@pytest.mark.parametrize(
    "rounding", [LIGHTGBM_ROUNDING, FLOAT32_ROUNDING], ids=["LightGBM", "float32"]
)
def test_counts_equal_counting_queries(rounding):
    rng = np.random.default_rng(2)
    X = rng.choice([0.0, 0.0, 1.0, 1e-50, -2e-50, 1.7e9, 1.7e9 + 1, 1e50, 2e50], size=(200, 6))
    data = RankingData(X, rng.integers(0, 2, 200), np.sort(rng.integers(0, 60, 200)))
    expected = np.zeros((2, 6), dtype=int)
    for first, last in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        rows = data.X[first:last]
        varies = np.ptp(rows, axis=0) > 0
        rounded = rounding.round(rows)
        expected += [varies, varies & (rounded.min(axis=0) != rounded.max(axis=0))]
    for matrix in (data, data._replace(X=sparse.csr_matrix(data.X))):
        found = count_varying_rounded(whole_block(matrix), rounding, np.arange(6))
        np.testing.assert_array_equal(found, expected)
