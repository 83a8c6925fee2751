"""Importance and the Gram matrix against naive versions."""

import numpy as np
import pytest
from scipy import sparse

from ranksieve import DataError, RankingData, make_ranking, statistics
from ranksieve.statistics import centered_gram, dense_blocks, feature_importance
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


@pytest.mark.parametrize("ties", ["average", "stable"])
def test_importance_is_the_mean_over_queries_of_each_direction(data, ties):
    ours = feature_importance(data, "ndcg@3", ties=ties)
    assert ours.shape == (2, data.n_features)
    for row, sign in enumerate((1, -1)):
        for feature in range(data.n_features):
            values = []
            for X, y in queries(data):
                scores = (sign * X[:, feature]).tolist()
                arguments = (3, "standard")
                if ties == "average":
                    values.append(oracles.averaged(oracles.ndcg, y.tolist(), scores, *arguments))
                else:
                    ranked = oracles.ranked(y.tolist(), scores)
                    values.append(oracles.ndcg(ranked, *arguments))
            assert ours[row, feature] == pytest.approx(np.mean(values), rel=1e-12)


def test_gram_is_the_sum_of_products_of_centered_values(data, monkeypatch):
    expected = np.zeros((data.n_features, data.n_features))
    for X, _ in queries(data):
        for i in range(data.n_features):
            for j in range(data.n_features):
                expected[i, j] += np.sum((X[:, i] - X[:, i].mean()) * (X[:, j] - X[:, j].mean()))
    for size in (1, 100, 2**21):
        monkeypatch.setattr(statistics, "_BLOCK", size)
        np.testing.assert_allclose(centered_gram(data), expected, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("size", [1, 60, 200, 2**21])
def test_blocks_hold_every_query_whole_and_once(data, size, monkeypatch):
    monkeypatch.setattr(statistics, "_BLOCK", size)
    seen = []
    for block, starts in dense_blocks(data):
        assert starts[0] == 0
        seen += np.split(block, starts[1:])
    assert len(seen) == data.n_queries
    for part, (X, _) in zip(seen, queries(data), strict=True):
        np.testing.assert_array_equal(part, X)


def test_missing_values_are_refused():
    data = RankingData([[1.0], [np.nan]], [0, 1], [1, 1])
    for statistic in (feature_importance, centered_gram):
        with pytest.raises(DataError, match="NaN in row 1"):
            statistic(data)
