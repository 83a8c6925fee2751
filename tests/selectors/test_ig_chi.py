"""Binned features against grades: InformationGain and ChiSquare."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.engine import engine_of
from ranksieve.selectors import ChiSquare, InformationGain
from ranksieve.sums.grades import Classes, grades_of, order_statistics, totals

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308]),
    st.floats(-1e3, 1e3),
)


def labeled(rng, values):
    """Data with these columns, three grades and queries of seven rows."""
    n = len(values)
    return RankingData(values, rng.integers(0, 3, n), np.arange(n) // 7)


@given(arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 3)), elements=NUMBERS))
def test_order_statistics_are_those_of_sorting(X):
    y = np.arange(len(X)) % 2
    data = RankingData(X, y, np.arange(len(X)) // 5)
    everything, n = np.arange(len(X))[None], np.array([np.sum(y == 0), np.sum(y == 1)])
    by_class = np.stack([np.zeros(2, int), (n - 1) // 2, n - 1], axis=1)
    with engine_of(data).start(Classes, grades_of(data)) as workers:
        together = order_statistics(workers, everything, X.shape[1])
        apart = order_statistics(workers, by_class, X.shape[1])
    np.testing.assert_array_equal(together[0].T, np.sort(X, axis=0))
    for c in (0, 1):
        np.testing.assert_array_equal(apart[c].T, np.sort(X[y == c], axis=0)[by_class[c]])


def test_order_statistics_of_narrow_numbers_and_of_some_queries(everywhere):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    data = RankingData(X, rng.integers(0, 2, 300), np.repeat(np.arange(60), 5))
    some = np.arange(60) % 3 == 0
    inside = X[np.repeat(some, 5)]
    somewhere = everywhere(data, shard_bytes=1000)
    with engine_of(somewhere).start(Classes, np.array([0.0, 1.0]), some) as workers:
        found = order_statistics(workers, np.array([[0, 10, 99]]), 4)[0].T
        seen = totals(workers)
    np.testing.assert_array_equal(found, np.sort(inside, axis=0)[[0, 10, 99]])
    assert seen.counts.sum() == 100
    np.testing.assert_array_equal(seen.low, inside.min(axis=0))
    np.testing.assert_array_equal(seen.high, inside.max(axis=0))


@pytest.mark.parametrize("binning", ["frequency", "width"])
@pytest.mark.parametrize("n_bins", [2, 7, 10])
def test_equal_to_scikit_learn_and_scipy_on_the_binned_feature(binning, n_bins):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(350, 6))
    X[:, 1] = np.round(X[:, 1])  # ties
    X[:, 2] = np.where(rng.random(350) < 0.8, 0, X[:, 2])  # mostly zero
    X[:, 3] = 4.0
    X[:, 4] = rng.random(350) < 0.3
    data = labeled(rng, X)
    gain = InformationGain(6, n_bins=n_bins, binning=binning).fit(data)
    chi = ChiSquare(6, n_bins=n_bins, binning=binning).fit(data)
    for feature in range(6):
        x = X[:, feature]
        if binning == "frequency":
            edges = np.quantile(x, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
        else:
            edges = np.linspace(x.min(), x.max(), n_bins + 1)[1:-1]
        np.testing.assert_allclose(gain.edges_[feature], np.unique(edges), rtol=0, atol=1e-14)
        bins = np.searchsorted(gain.edges_[feature], x)
        expected = mutual_info_score(data.y, bins) / np.log(2)
        assert gain.scores_[feature] == pytest.approx(expected, abs=1e-12)
        table = np.array(
            [[np.sum((bins == b) & (data.y == c)) for c in range(3)] for b in set(bins)]
        )
        statistic = chi2_contingency(table, correction=False).statistic
        assert chi.scores_[feature] == pytest.approx(statistic, abs=1e-9)
    assert gain.scores_[3] == pytest.approx(0, abs=1e-12)
    assert gain.selected_.tolist() == np.argsort(-gain.scores_, kind="stable").tolist()


def test_bins_have_equally_many_rows_if_there_are_no_ties():
    rng = np.random.default_rng(4)
    selector = ChiSquare(2, n_bins=8).fit(labeled(rng, rng.normal(size=(160, 2))))
    assert selector.tables_.shape == (2, 8, 3)
    assert (selector.tables_.sum(axis=2) == 20).all()


def test_more_bins_than_rows():
    rng = np.random.default_rng(5)
    data = labeled(rng, rng.normal(size=(8, 2)))
    selector = InformationGain(2, n_bins=50).fit(data)
    assert selector.scores_ == pytest.approx(mutual_info_score(data.y, np.arange(8)) / np.log(2))


@given(st.sampled_from([2.0**-20, 0.5, 3.0, 1e6]), st.floats(-5, 5), st.integers(0, 9))
def test_grades_and_values_matter_by_their_order_alone(scale, shift, seed):
    data, tables = whole_numbers(seed)
    moved = RankingData(data.X * scale, data.y * abs(scale) + shift, data.qid)
    for kind in (InformationGain, ChiSquare):
        np.testing.assert_array_equal(kind(3).fit(moved).tables_, tables[kind])


@cache
def whole_numbers(seed):
    """Data, and the tables that each kind makes of it."""
    rng = np.random.default_rng(seed)
    data = labeled(rng, rng.integers(-4, 5, size=(70, 3)).astype(float))
    return data, {kind: kind(3).fit(data).tables_ for kind in (InformationGain, ChiSquare)}


def test_a_feature_that_only_tells_the_query_comes_last():
    rng = np.random.default_rng(6)
    qid = np.repeat(np.arange(20), 10)
    good_query = qid < 10
    y = np.where(np.arange(200) % 10 == 0, ~good_query, good_query)  # one document is unlike
    X = np.column_stack([good_query, rng.normal(size=200)])
    selector = InformationGain(2).fit(X, y, qid=qid)
    assert selector.scores_[0] > selector.scores_[1]
    assert selector.selected_.tolist() == [1, 0]


def test_too_many_labels_to_be_grades():
    data, truth = make_ranking(60, docs_per_query=10)
    with pytest.raises(DataError, match="600 different ones, more than 256; round them to grades"):
        InformationGain(2).fit(data.X, truth.utility, qid=data.qid)
