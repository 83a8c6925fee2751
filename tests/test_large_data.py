"""Sizes at which something quadratic would need gigabytes or hours."""

import tracemalloc

import numpy as np
import pytest

from ranksieve import RankingData, read_parquet, write_parquet
from ranksieve.data import DataError
from ranksieve.rankers.registry import make_ranker
from ranksieve.selectors.registry import make_selector

pytestmark = pytest.mark.slow


def made(n_queries, n_documents, n_features):
    rng = np.random.default_rng(0)
    n_rows = n_queries * n_documents
    X = rng.normal(size=(n_rows, n_features))
    y = np.clip(np.round(X[:, 0] + 0.5 * rng.normal(size=n_rows) + 0.5), 0, 2)
    return RankingData(X, y, np.repeat(np.arange(n_queries), n_documents))


@pytest.fixture(scope="module")
def long_query():
    """One query of 100,000 documents: five billion pairs."""
    return made(1, 100_000, 2)


@pytest.mark.parametrize("name", ["gas-e", "gas-l", "ig", "fs-ed", "fsmrank", "top"])
def test_selectors_take_a_long_query(name, long_query):
    assert make_selector(name, 1).fit(long_query).selected_.tolist() == [0]


@pytest.mark.parametrize("name", ["rankrls", "ranksvm", "listnet", "listmle"])
def test_rankers_take_a_long_query(name, long_query):
    assert np.isfinite(make_ranker(name).fit(long_query).predict(long_query)).all()


@pytest.mark.parametrize("name", ["ranknet", "lambdarank"])
def test_rankers_of_pairs_refuse_a_long_query(name, long_query):
    with pytest.raises(DataError, match=r"pairs of documents.*ListNet"):
        make_ranker(name).fit(long_query)


def test_lightgbm_refuses_a_long_query(long_query):
    with pytest.raises(DataError, match="LightGBM: .*10000 for a query"):
        make_ranker("lambdamart", n_estimators=1).fit(long_query)


def test_a_million_queries():
    data = made(1_000_000, 2, 1)
    assert make_selector("top", 1).fit(data).selected_.tolist() == [0]
    assert np.isfinite(make_ranker("rankrls").fit(data).predict(data)).all()


def test_five_thousand_features():
    data = made(10, 10, 5_000)
    assert 0 in make_selector("top", 50).fit(data).selected_
    assert 0 in make_selector("ranksvm-l1", 50).fit(data).selected_
    assert np.isfinite(make_ranker("ranksvm").fit(data).predict(data)).all()


@pytest.fixture(scope="module")
def single_precision():
    """Data of float32, of which a copy would show: 8 MB."""
    data = made(400, 100, 50)
    return RankingData(data.X.astype(np.float32), data.y, data.qid)


@pytest.mark.parametrize("name", ["gas-e", "ig", "ngas", "rankfilter", "top"])
def test_filters_need_less_memory_than_the_data(name, single_precision):
    data = single_precision
    few = data.take_queries(range(4))
    bins = {"n_bins": 2} if name == "ig" else {}  # what it counts grows with them, not with rows
    selector = make_selector(name, 5, **bins)
    selector.fit(RankingData(few.X.copy(), few.y, few.qid))  # compiles
    tracemalloc.start()
    try:
        selector.fit(data.X, data.y, qid=data.qid)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < data.X.nbytes


def test_parquet_is_read_without_a_second_copy(single_precision, tmp_path):
    data = single_precision
    write_parquet(data, tmp_path / "data.parquet")
    read_parquet(tmp_path / "data.parquet")  # imports
    tracemalloc.start()
    try:
        found = read_parquet(tmp_path / "data.parquet")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.X.dtype == np.float32
    np.testing.assert_array_equal(found.X, data.X)
    assert peak < 2 * data.X.nbytes
