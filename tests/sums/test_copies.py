"""Features that say the same, against comparing all pairs of rows, and exact arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from ranksieve import RankingData
from ranksieve.sums.copies import multiples, same_order, same_splits
from tests import oracles

NAN = float("nan")
QID = [1, 1, 1, 2, 2, 3]


def data_of(*columns, qid=QID):
    X = np.column_stack(columns)
    return RankingData(X, np.zeros(len(X)), qid, missing="keep" if np.isnan(X).any() else None)


@st.composite
def few_values(draw, values):
    """Columns of few values, with transforms of them."""
    shape = len(QID), draw(st.integers(1, 3))
    X = draw(arrays(float, shape, elements=st.sampled_from(values)))
    return np.hstack([X, *draw(st.lists(st.sampled_from([-X, 3 * X - 1, X**3, X**2]), max_size=3))])


@given(few_values([-2.0, -1.0, -0.0, 0.0, 1.0, 5.0, NAN]), st.randoms(use_true_random=False))
def test_orders_against_all_pairs_of_rows(X, random):
    features = random.sample(range(X.shape[1]), X.shape[1])
    data = data_of(X)
    expected = oracles.partition(features, lambda a, b: oracles.orders_alike(*X.T[[a, b]].tolist()))
    assert same_order(data, features) == expected


@given(few_values([-2.0, -1.0, 0.0, 1.0, 5.0]), st.randoms(use_true_random=False))
def test_multiples_against_exact_arithmetic(X, random):
    features = random.sample(range(X.shape[1]), X.shape[1])
    expected = oracles.partition(
        features, lambda a, b: oracles.are_multiples(*X.T[[a, b]].tolist(), QID)
    )
    assert multiples(data_of(X), features) == expected


def test_what_counts_as_the_same_order():
    x = np.array([1.0, 2.0, 2.0, 4.0, 0.0, 7.0])
    gap = np.where(x == 4, NAN, x)
    other_gap = np.where(x == 7, NAN, x)
    tied = np.minimum(x, 4.0)
    columns = [x, -np.exp(x), gap, 10 - gap, other_gap, tied, np.full(6, NAN), np.full(6, NAN)]
    assert same_order(data_of(*columns), range(8)) == [[0, 1], [2, 3], [6, 7]]
    assert same_order(data_of(*columns), [7, 1, 4]) == []


def test_what_counts_as_a_multiple():
    x = np.array([1.0, 2.0, 4.0, 1.0, 5.0, 3.0])
    shifted = x + 100.0 * np.array(QID)  # queries have other means
    nearly = x + np.array([1e-4, 0, 0, 0, 0, 0])
    constant = np.array(QID, dtype=float)
    columns = [x, -1e9 * x, shifted, nearly, constant, constant, 0.1 * x + 0.3]
    assert multiples(data_of(*columns), range(7)) == [[0, 1, 2, 6]]


def test_linear_copies_in_single_precision_split_alike():
    x = np.random.default_rng(0).gamma(2.0, size=3000).astype(np.float32)
    x[1] = np.nextafter(x[0], np.float32(9))  # so near that the copy has one value for both
    columns = [x, np.float32(2.2) * x + np.float32(0.5), np.exp(x), x**2, -3e9 * x]
    data = RankingData(np.column_stack(columns), np.zeros(3000), np.arange(3000) // 10)
    assert same_order(data, range(5)) == [[0, 2, 3, 4]]
    assert same_splits(data, range(5), multiples(data, range(5))) == [[0, 1, 2, 3, 4]]
    assert same_splits(data, range(5), []) == [[0, 2, 3, 4]]


def test_other_means_of_queries_split_otherwise():
    x = np.array([1.0, 2.0, 4.0, 1.0, 5.0, 3.0])
    data = data_of(x, x + 100.0 * np.array(QID), 1e300 * x, -1e-300 * x)
    (group,) = multiples(data.take_features([0, 1]), range(2))
    assert group == [0, 1]
    assert same_splits(data, range(4), [[0, 1, 2, 3]]) == [[0, 2, 3]]


def test_orders_everywhere(everywhere):
    rng = np.random.default_rng(0)
    x, query = rng.random(300), np.arange(300) // 6
    other = np.where(np.arange(300) < 150, x, x + 1)  # a copy within each half
    data = data_of(x, -np.exp(x), other, np.where(x > 0.5, NAN, x), qid=query)
    assert same_order(data, range(4)) == [[0, 1]]
    assert same_order(everywhere(data, shard_bytes=1600), range(4)) == [[0, 1]]


@pytest.mark.parametrize("find", [same_order, multiples])
def test_sparse_data(find):
    X = np.array([[0.0, 0, 1], [2, -4, 0], [0, 0, 3], [1, -2, 0], [0, 0, 0], [5, -10, 1]])
    sparse_data = RankingData(sparse.csr_matrix(X), np.zeros(6), QID)
    assert find(sparse_data, range(3)) == find(data_of(X), range(3)) == [[0, 1]]
