"""Sizes at which something quadratic would need gigabytes or hours."""

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.data import DataError
from ranksieve.rankers.registry import make_ranker
from ranksieve.selectors.registry import make_selector


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
