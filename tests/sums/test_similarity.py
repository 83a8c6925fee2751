"""Similarity of features against counting by hand and SciPy, wherever the data lives."""

import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse, stats

from ranksieve import DataError, RankingData, make_ranking
from ranksieve._kernels.pair_counts import count_by_bits, count_by_sorting
from ranksieve.data import NonFiniteError
from ranksieve.sums import similarity
from ranksieve.sums.similarity import SIMILARITIES, Similarity, feature_similarity
from tests import oracles

WAYS = {"bits": 10**9, "sorting": 0}  # longest lists that are counted by bits


@st.composite
def rankings(draw):
    """Few values, so that many are tied and some features are constant; one query is longer."""
    lengths = [*draw(st.lists(st.integers(1, 6), max_size=4)), draw(st.integers(2, 20))]
    shape = sum(lengths), draw(st.integers(1, 4))
    X = draw(arrays(float, shape, elements=st.sampled_from([-2.5, -0.0, 0.0, 1.0, 1e300])))
    return RankingData(X, np.zeros(len(X)), np.repeat(np.arange(len(lengths)), lengths))


@cache
def in_form(form):
    ranking, _ = make_ranking(12, docs_per_query=(1, 9), n_noise=2, n_constant=1, tied=0.5)
    X = ranking.X.astype(np.float32)  # so that all have the same values
    X = {"dense": X.astype(float), "sparse": sparse.csr_matrix(X), "float32": X}[form]
    return RankingData(X, ranking.y, ranking.qid)


@pytest.fixture(params=["dense", "sparse", "float32"])
def data(request):
    return in_form(request.param)


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Force one way to count."""
    monkeypatch.setattr(similarity, "_MOST_BY_BITS", WAYS[request.param])


def dense(data):
    return (data.X.toarray() if data.is_sparse else data.X).astype(float)


def naive(data, method, **options):
    X, qid = dense(data).tolist(), data.qid.tolist()
    return oracles.similarity(X, qid, getattr(oracles, method), **options)


@cache
def naive_of_data(method, absolute):
    """The same for all forms of the data."""
    return naive(in_form("dense"), method, absolute=absolute)


def counts(count, columns):
    values = np.ascontiguousarray(columns.T)
    agree, shared = np.full((2, len(columns), len(columns)), -1)
    count(values, agree, shared)
    return np.triu(agree), np.triu(shared)


def test_is_the_mean_of_what_counting_pairs_gives(everywhere, data):
    source = everywhere(data, shard_bytes=600)
    for method, absolute in product(SIMILARITIES, [False, True]):
        ours = feature_similarity(source, Similarity(method, absolute=absolute))
        expected = naive_of_data(method, absolute)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-14, err_msg=method)
        np.testing.assert_array_equal(ours, ours.T)


@given(rankings(), st.booleans(), st.data())
def test_both_ways_are_right_for_any_ties(data, absolute, draw):
    directions = draw.draw(
        st.lists(st.sampled_from([1, -1]), min_size=data.n_features, max_size=data.n_features)
    )
    for method in SIMILARITIES:
        expected = naive(data, method, directions=directions, absolute=absolute)
        for way, most in WAYS.items():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(similarity, "_MOST_BY_BITS", most)
                how = Similarity(method, absolute=absolute)
                ours = feature_similarity(data, how, directions=directions)
            told = f"{method} by {way}"
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-14, err_msg=told)


@given(st.integers(2, 40), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_both_ways_count_the_same(n, n_values, seed):
    columns = np.random.default_rng(seed).integers(0, n_values, (3, n)).astype(float)
    agree, shared = counts(count_by_bits, columns)
    for ours, again in zip((agree, shared), counts(count_by_sorting, columns), strict=True):
        np.testing.assert_array_equal(ours, again)
    for i, j in zip(*np.triu_indices(3), strict=True):
        expected = oracles.pair_counts(columns[i].tolist(), columns[j].tolist())
        concordant, discordant, untied_i, untied_j, _ = expected
        assert (agree[i, j], shared[i, j]) == (concordant, concordant + discordant)
        assert (shared[i, i], shared[j, j]) == (untied_i, untied_j)


# 91 and 92 documents: the pairs end just before and just after the first 4096 that are counted at
# a time; with 128 they fill whole words.
@pytest.mark.parametrize("n", [64, 65, 91, 92, 128, 1500])
@pytest.mark.parametrize("n_values", [2, 30, 10**9])
def test_both_ways_count_long_lists_as_matrix_products_do(n, n_values):
    columns = np.random.default_rng(n).integers(0, n_values, (4, n)).astype(float)
    s, t = np.triu_indices(n, 1)
    signs = np.sign(columns[:, s] - columns[:, t])
    shared = np.triu(abs(signs) @ abs(signs).T)
    agree = np.triu((signs @ signs.T + shared) / 2)
    for count in (count_by_bits, count_by_sorting):
        ours = counts(count, columns)
        np.testing.assert_array_equal(ours[0], agree)
        np.testing.assert_array_equal(ours[1], shared)


def scipy_coefficient(coefficient, a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        return np.nan_to_num(coefficient(a, b).statistic)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("method", "coefficient"), [("tau_b", stats.kendalltau), ("spearman", stats.spearmanr)]
)
@pytest.mark.parametrize("lengths", [[1, 2, 3, 5, 30, 100], [1500]])
def test_equals_scipy_query_by_query(method, coefficient, lengths):
    rng = np.random.default_rng(3)
    X = rng.integers(0, [1, 3, 20, 10**6], (sum(lengths), 4)).astype(float)
    X[:, 3] += 1e5 * X[:, 2]
    data = RankingData(X, np.zeros(len(X)), np.repeat(np.arange(len(lengths)), lengths))
    expected = np.zeros((4, 4))
    for start, end in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        if end - start > 1:
            for i, j in np.ndindex(4, 4):
                expected[i, j] += scipy_coefficient(coefficient, X[start:end, i], X[start:end, j])
    expected /= sum(length > 1 for length in lengths)
    np.testing.assert_allclose(feature_similarity(data, method), expected, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("method", SIMILARITIES)
def test_order_of_documents_and_increasing_transforms_change_nothing(method):
    data, _ = make_ranking(8, docs_per_query=(1, 30), n_constant=1, tied=0.3, random_state=1)
    expected = feature_similarity(data, method)
    rows = np.random.default_rng(0).permutation(data.n_rows)
    rows = rows[np.argsort(data.query_codes[rows], kind="stable")]  # queries stay where they are
    shuffled = RankingData(data.X[rows], data.y[rows], data.qid[rows])
    np.testing.assert_array_equal(feature_similarity(shuffled, method), expected)
    ranks = stats.rankdata(data.X, method="dense", axis=0)
    ranks[:, 0] = ranks[:, 0] ** 3 - 7.0
    transformed = RankingData(ranks, data.y, data.qid)
    np.testing.assert_array_equal(feature_similarity(transformed, method), expected)


def test_errors_say_what_is_wrong(data):
    with pytest.raises(ValueError, match="one of concordance, tau_a, tau_b, spearman, got 'tau'"):
        feature_similarity(data, "tau")
    with pytest.raises(ValueError, match=r"shape \(2,\), but the data has"):
        feature_similarity(data, directions=[1, -1])
    with pytest.raises(ValueError, match="must be 1 or -1, but is 0.5 for feature 0"):
        feature_similarity(data, directions=np.full(data.n_features, 0.5))
    with pytest.raises(DataError, match=r"shape \(2, 2\), but there are"):
        feature_similarity(data, lambda source: np.eye(2))
    lonely = RankingData(np.ones((3, 2)), np.zeros(3), [1, 2, 3])
    with pytest.raises(DataError, match="at least two documents"):
        feature_similarity(lonely)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("method", SIMILARITIES)
def test_names_the_place_of_a_value_that_is_not_finite(everywhere, method, value):
    X = np.ones((4, 2))
    X[1, 1] = value
    qid = ["b", "a", "b", "b"]  # the only document of its query; moved to the end
    source = everywhere(RankingData(X, np.zeros(4), qid, feature_names=["x", "speed"]))
    source = source.refusing_missing()
    place = "row 1, feature 'speed'" if isinstance(source, RankingData) else "row 3, column 1"
    with pytest.raises(NonFiniteError, match=place):
        feature_similarity(source, method)


@pytest.mark.parametrize("directions", [None, [1, -1, 1, -1]])
def test_ties_can_be_broken_by_the_order_of_the_rows(directions):
    random = np.random.default_rng(0)
    X = random.integers(0, 3, (40, 4)).astype(float)
    qid = np.repeat(np.arange(5), 8)
    data = RankingData(X, np.zeros(40), qid)
    signs = np.ones(4) if directions is None else np.array(directions)
    positions = np.empty_like(X)
    for query in range(5):
        rows = qid == query
        order = np.argsort(-X[rows] * signs, axis=0, kind="stable")
        positions[rows] = -np.argsort(order, axis=0)
    expected = feature_similarity(RankingData(positions, np.zeros(40), qid), "tau_a")
    for method in ("tau_a", "tau_b"):  # the same without ties
        how = Similarity(method, ties="stable")
        np.testing.assert_allclose(feature_similarity(data, how, directions=directions), expected)
