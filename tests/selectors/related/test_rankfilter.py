"""RankFilter and RankWrapper against neighbors found one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.data import Block
from ranksieve.preprocessing import QueryMinMaxScaler
from ranksieve.selectors import RankFilter, RankWrapper
from ranksieve.selectors.related.rankfilter import _sample, sum_relief

KINDS = (RankFilter, RankWrapper)


def relief(data, by_ordering, looks_at=lambda query, document: True):
    """Queries that count and the sum of their mean updates, as the docstrings have it."""
    X = QueryMinMaxScaler().fit_transform(data).X
    X = X.toarray() if data.is_sparse else X
    n_queries, total = 0, np.zeros(data.n_features)
    for query in range(data.n_queries):
        rows = range(data.query_ptr[query], data.query_ptr[query + 1])
        updates = []
        for i in rows:
            hits = nearest(X, i, [j for j in rows if j != i and data.y[j] == data.y[i]])
            misses = nearest(X, i, [j for j in rows if data.y[j] != data.y[i]])
            if not misses or not looks_at(query, i - rows[0]):
                continue
            if by_ordering:
                updates.append(
                    np.mean([np.sign(data.y[i] - data.y[m]) * (X[i] - X[m]) for m in misses], 0)
                )
            elif hits:
                apart = np.mean([abs(data.y[i] - data.y[m]) * abs(X[i] - X[m]) for m in misses], 0)
                updates.append(apart - np.mean([abs(X[i] - X[h]) for h in hits], 0))
        if updates:
            n_queries += 1
            total += np.mean(updates, axis=0)
    return n_queries, total


def nearest(X, document, others):
    """All of the others at the smallest L1 distance."""
    distances = {j: sum(np.abs(X[j] - X[document]).tolist()) for j in others}
    return [j for j in others if distances[j] == min(distances.values())]


def sums(data, by_ordering, max_documents=None, seed=0):
    block = Block(data.X, data.y, data.query_ptr)
    return sum_relief(block, by_ordering, max_documents, seed)


@st.composite
def rankings(draw):
    """Short queries with many equal values, labels and distances."""
    n_rows, n_features = draw(st.integers(2, 30)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, draw(st.sampled_from([2, 4, 1000])), (n_rows, n_features)).astype(float)
    y = rng.integers(0, draw(st.integers(1, 4)), n_rows)
    return RankingData(X, y, rng.integers(0, draw(st.integers(1, 5)), n_rows))


@given(rankings(), st.booleans())
def test_neighbors_are_those_found_one_by_one(data, by_ordering):
    n_queries, weights, varying = sums(data, by_ordering)
    expected_queries, expected = relief(data, by_ordering)
    assert n_queries == expected_queries
    np.testing.assert_allclose(weights, expected, atol=1e-12)
    X, starts = data.X, data.query_ptr[:-1]
    differs = (np.maximum.reduceat(X, starts) > np.minimum.reduceat(X, starts)).any(axis=0)
    np.testing.assert_array_equal(varying > 0, differs)


@given(rankings(), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(data, by_ordering, random):
    order = np.array(random.sample(range(data.n_rows), data.n_rows))
    shuffled = RankingData(data.X[order], data.y[order], data.qid[order])
    n_queries, weights, _ = sums(shuffled, by_ordering)
    expected_queries, expected, _ = sums(data, by_ordering)
    assert n_queries == expected_queries
    np.testing.assert_allclose(weights, expected, atol=1e-12)


@given(rankings(), st.booleans(), st.integers(0, 5))
def test_units_of_a_query_do_not_matter(data, by_ordering, power):
    factor = 2.0 ** (power * (data.query_codes - 1))  # exact in binary
    changed = RankingData(data.X * factor[:, None] + factor[:, None], data.y, data.qid)
    np.testing.assert_array_equal(sums(changed, by_ordering)[1], sums(data, by_ordering)[1])


@pytest.fixture(scope="module")
def planted():
    return make_ranking(60, docs_per_query=(1, 40), noise=0.3, n_constant=1, random_state=5)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_means_over_queries(kind, planted):
    selector = kind(n_features_to_select=5).fit(planted)
    n_queries, total = relief(planted, kind is RankWrapper)
    weights = total / n_queries
    expected = np.abs(weights) if kind is RankWrapper else weights
    np.testing.assert_allclose(selector.scores_, expected, atol=1e-12)
    assert [step.score for step in selector.path_] == selector.scores_[selector.selected_].tolist()


@pytest.mark.parametrize("by_ordering", [False, True])
def test_some_documents_of_longer_queries(by_ordering, planted):
    chosen = _sample(Block(planted.X, planted.y, planted.query_ptr), 7, 3)
    counts = np.add.reduceat(chosen, planted.query_ptr[:-1])
    np.testing.assert_array_equal(counts, np.minimum(planted.group_counts, 7))
    n_queries, weights, _ = sums(planted, by_ordering, 7, 3)
    expected_queries, expected = relief(
        planted, by_ordering, lambda query, i: chosen[planted.query_ptr[query] + i]
    )
    assert n_queries == expected_queries
    np.testing.assert_allclose(weights, expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_choice_of_documents_depends_on_the_seed_alone(kind, planted, everywhere):
    def fitted(source, **parameters):
        return kind(n_features_to_select=5, **parameters).fit(source).scores_

    source = everywhere(planted, shard_bytes=20_000)
    few = fitted(planted, max_documents=5)
    np.testing.assert_allclose(fitted(source, max_documents=5), few, atol=1e-12)
    assert not np.allclose(fitted(source, max_documents=5, random_state=1), few)
    everyone = fitted(source, max_documents=None)
    np.testing.assert_array_equal(fitted(source, max_documents=40), everyone)


def test_directions_of_a_feature(planted):
    X = planted.X.copy()
    X[:, 2] *= -1
    before = RankWrapper(5).fit(planted)
    after = RankWrapper(5).fit(X, planted.y, qid=planted.qid)
    np.testing.assert_allclose(after.scores_, before.scores_)
    turned = np.where(np.arange(planted.n_features) == 2, -1, 1)
    np.testing.assert_array_equal(after.directions_, before.directions_ * turned)
    told = dict(zip(after.selected_.tolist(), after.reasons(), strict=True))
    for feature, reason in told.items():
        good = "large" if after.directions_[feature] > 0 else "small"
        assert reason == f"{good} values are good"


def test_labels_without_neighbors():
    rng = np.random.default_rng(0)
    data = RankingData(rng.random((12, 3)), np.arange(12), np.arange(12) // 4)
    with pytest.raises(DataError, match="no document has both a neighbor .* use RankWrapper"):
        RankFilter(n_features_to_select=1).fit(data)
    assert RankWrapper(n_features_to_select=1).fit(data).scores_.max() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_near_the_largest(kind, planted):
    huge = RankingData(np.where(planted.X > 0, 1.0, -1.0) * 1e308, planted.y, planted.qid)
    small = RankingData(np.where(planted.X > 0, 1.0, -1.0), planted.y, planted.qid)
    found = kind(n_features_to_select=5).fit(huge)
    np.testing.assert_array_equal(found.scores_, kind(n_features_to_select=5).fit(small).scores_)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", KINDS)
def test_values_that_are_not_finite(kind, value, planted):
    X = planted.X.copy()
    X[17, 3] = value
    with pytest.raises(DataError, match="in row 17, feature '4'"):
        kind(n_features_to_select=2).fit(X, planted.y, qid=planted.qid)


@pytest.mark.parametrize("kind", KINDS)
def test_better_than_the_features_left_out(kind, mq2008_dir):
    from ranksieve.datasets import open_collection
    from ranksieve.rankers import RankRLS

    train, _, test = open_collection(mq2008_dir).read_fold(0)
    order = kind(n_features_to_select=40).fit(train).selected_
    first, last = (
        RankRLS().fit(train.take_features(part)).score(test.take_features(part))
        for part in (order[:8], order[-8:])
    )
    assert first > last
