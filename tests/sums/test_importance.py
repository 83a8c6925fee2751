"""Importance and the Gram matrix against naive versions, wherever the data lives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import RankingData, make_ranking
from ranksieve.data import Block
from ranksieve.metrics import evaluate
from ranksieve.sums.chunks import chunks
from ranksieve.sums.gram import centered_gram
from ranksieve.sums.importance import Importance, feature_importance, importance_sums
from tests import oracles


@pytest.fixture(params=["dense", "sparse", "float32"])
def data(request):
    ranking, _ = make_ranking(12, docs_per_query=(1, 6), n_noise=2, n_constant=1, tied=0.5)
    X = {
        "dense": ranking.X,
        "sparse": sparse.csr_matrix(ranking.X),
        "float32": ranking.X.astype(np.float32),
    }[request.param]
    return RankingData(X, ranking.y, ranking.qid)


def queries(data):
    X = (data.X.toarray() if data.is_sparse else data.X).astype(float)
    for start, end in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        yield X[start:end], data.y[start:end]


def naive_importance(data, ties):
    importance = np.empty((2, data.n_features))
    for row, sign in enumerate((1, -1)):
        for feature in range(data.n_features):
            values = []
            for X, y in queries(data):
                scores, labels = (sign * X[:, feature]).tolist(), y.tolist()
                if ties == "average":
                    values.append(oracles.averaged(oracles.ndcg, labels, scores, 3, "standard"))
                else:
                    values.append(oracles.ndcg(oracles.ranked(labels, scores), 3, "standard"))
            importance[row, feature] = np.mean(values)
    return importance


@pytest.mark.parametrize("ties", ["average", "stable"])
def test_importance_is_the_mean_over_queries_of_each_direction(everywhere, data, ties):
    source = everywhere(data, shard_bytes=600)
    ours = feature_importance(source, Importance("ndcg@3", ties=ties))
    np.testing.assert_allclose(ours, naive_importance(data, ties), rtol=1e-12)


@pytest.mark.parametrize(
    "measure", ["ndcg", "mean-ndcg", "map", "p@2", "mrr", "err", "pairwise-error"]
)
@pytest.mark.parametrize("ties", ["average", "stable"])
def test_importance_is_what_evaluate_says_of_the_column(data, measure, ties):
    ours = feature_importance(data, Importance(measure, "letor4", ties))
    dense = data.X.toarray() if data.is_sparse else data.X
    for feature in range(data.n_features):
        for row, scores in enumerate((dense[:, feature], -dense[:, feature])):
            result = evaluate(data.y, scores, data.qid, measure, "letor4", ties=ties)
            (expected,) = result.mean.values()
            assert ours[row, feature] == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_sums_give_variance_and_queries_that_tell(data):
    sums = importance_sums(data, "ndcg@3")
    dense = data.X.toarray() if data.is_sparse else data.X
    for feature in range(data.n_features):
        result = evaluate(data.y, dense[:, feature], data.qid, "ndcg@3", ties="average")
        per_query = result.per_query["NDCG@3"]
        assert sums.variance[0, feature] == pytest.approx(per_query.var(ddof=1), abs=1e-12)
        varying = [len(np.unique(X[:, feature])) > 1 for X, _ in queries(data)]
        assert sums.varying[feature] == sum(varying)


def test_gram_is_the_sum_of_products_of_centered_values(everywhere, data):
    columns = data.n_features + 1
    expected = np.zeros((columns, columns))
    for X, y in queries(data):
        both = np.column_stack([X, y])
        for i in range(columns):
            for j in range(columns):
                products = (both[:, i] - both[:, i].mean()) * (both[:, j] - both[:, j].mean())
                expected[i, j] += products.sum()
    gram = centered_gram(everywhere(data, shard_bytes=600))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(gram.xx, expected[:-1, :-1], rtol=1e-9, atol=1e-13 * scale)
    np.testing.assert_allclose(gram.xy, expected[:-1, -1], rtol=1e-9, atol=1e-13 * scale)
    assert gram.yy == pytest.approx(expected[-1, -1])


def test_gram_does_not_cancel_where_means_are_large():
    rng = np.random.default_rng(0)
    small = rng.normal(size=(100, 2))
    qid = np.repeat(np.arange(10), 10)
    moved = RankingData(small + 1e7, np.zeros(100), qid)
    still = RankingData(small, np.zeros(100), qid)
    np.testing.assert_allclose(centered_gram(moved).xx, centered_gram(still).xx, rtol=1e-7)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 200), st.booleans())
def test_chunks_hold_every_query_whole_and_once(lengths, most, as_csr):
    n = sum(lengths)
    X = np.arange(3.0 * n).reshape(n, 3)
    block = Block(sparse.csr_matrix(X) if as_csr else X, np.zeros(n), np.cumsum([0, *lengths]))
    parts = list(chunks(block, most))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X)
    found = np.concatenate([np.diff(part.query_ptr) for part in parts])
    assert found.tolist() == lengths
    row = query = 0
    for part in parts:
        assert (part.rows.start, part.queries.start) == (row, query)
        assert len(part.X) == part.rows.stop - row == part.query_ptr[-1]
        assert part.X.size <= most or part.queries.stop == query + 1
        row, query = part.rows.stop, part.queries.stop
    assert (row, query) == (n, len(lengths))
