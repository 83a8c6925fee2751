"""Planted rankings: what was planted can be found, and pieces agree with the whole."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.datasets import PlantedRanking, draw_plan, load_demo, make_ranking
from ranksieve.preprocessing import QueryStandardScaler

KINDS = {
    "n_informative": 4,
    "n_redundant": 6,
    "n_duplicate": 3,
    "n_noise": 5,
    "n_query_level": 2,
    "n_constant": 2,
}
KIND_NAMES = ["informative", "redundant", "duplicate", "noise", "query", "constant"]


def centered(values, data):
    """Subtract each query's mean."""
    means = np.add.reduceat(values, data.query_ptr[:-1], axis=0)
    counts = data.group_counts.reshape(-1, *[1] * (values.ndim - 1))
    return values - np.repeat(means / counts, data.group_counts, axis=0)


def ranks_by_query(values, data):
    """Mid-ranks within each query, as fractions; the same for all documents if constant."""
    ranks = np.empty_like(values)
    for begin, end in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        block = values[begin:end]
        below = (block[None, :, :] < block[:, None, :]).sum(axis=1)
        above = (block[None, :, :] > block[:, None, :]).sum(axis=1)
        ranks[begin:end] = (below - above) / (end - begin)
    return ranks


def correlation(data, labels):
    """Correlation of each feature's rank within a query with the labels."""
    ranks, labels = ranks_by_query(data.X, data), centered(labels, data)
    norms = np.linalg.norm(ranks, axis=0) * np.linalg.norm(labels)
    return ranks.T @ labels / np.where(norms > 0, norms, 1.0)


@given(st.integers(0, 2**40), st.integers(0, 8), st.integers(1, 8), st.booleans())
def test_pieces_equal_the_whole(seed, first, count, shuffle):
    plan = draw_plan(**KINDS, shuffle=shuffle, random_state=seed)
    ranking = PlantedRanking(plan, docs_per_query=(1, 9), random_state=seed)

    whole, utility = ranking.queries_with_utility(0, 16)
    piece, piece_utility = ranking.queries_with_utility(first, first + count)

    rows = slice(whole.query_ptr[first], whole.query_ptr[first + count])
    np.testing.assert_array_equal(piece.X, whole.X[rows])
    np.testing.assert_array_equal(piece.y, whole.y[rows])
    np.testing.assert_array_equal(piece.qid, whole.qid[rows])
    np.testing.assert_array_equal(piece_utility, utility[rows])


def test_make_ranking_is_its_pieces_and_more_queries_only_add_rows():
    options = {"docs_per_query": (1, 12), "noise": 0.1, "random_state": 3}
    few, _ = make_ranking(5, **KINDS, **options)
    many, truth = make_ranking(9, **KINDS, **options)
    single, _ = make_ranking(5, **KINDS, **options, dtype="float32")
    ranking = PlantedRanking(draw_plan(**KINDS, random_state=3), **options)
    np.testing.assert_array_equal(many.X[: few.n_rows], few.X)
    np.testing.assert_array_equal(many.X[few.n_rows :], ranking.queries(5, 9).X)
    assert single.X.dtype == np.float32
    np.testing.assert_array_equal(single.X, few.X.astype(np.float32))
    assert len(truth.utility) == many.n_rows
    assert many.query_ids.tolist() == list(range(1, 10))
    fresh, other = (PlantedRanking(draw_plan(), random_state=None) for _ in range(2))
    whole = fresh.queries(0, 3)
    np.testing.assert_array_equal(fresh.queries(2, 3).X, whole.take_queries([2]).X)
    assert not np.array_equal(whole.X, other.queries(0, 3).X)


@pytest.mark.parametrize("shuffle", [False, True])
def test_truth_describes_the_features(shuffle):
    data, truth = make_ranking(40, **KINDS, shuffle=shuffle, costs=True, random_state=5)

    kinds, counts = np.unique(truth.kind, return_counts=True)
    expected = dict(zip(KIND_NAMES, KINDS.values(), strict=True))
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == expected
    assert data.n_features == 22
    assert truth.informative.tolist() == np.flatnonzero(truth.kind == "informative").tolist()
    assert np.flatnonzero(truth.weights).tolist() == truth.informative.tolist()
    np.testing.assert_allclose(np.linalg.norm(truth.weights), 1.0)
    assert np.all(truth.costs > 0)
    assert sorted(truth.families[truth.informative]) == [0, 1, 2, 3]
    assert np.all((truth.source >= 0) == np.isin(truth.kind, ["redundant", "duplicate"]))
    copies = np.flatnonzero(truth.source >= 0)
    assert np.all(truth.families[copies] == truth.families[truth.source[copies]])
    assert np.all(truth.direction[copies] == truth.direction[truth.source[copies]])
    useless = np.isin(truth.kind, ["noise", "query", "constant"])
    assert np.all(truth.families[useless] == -1)
    assert np.all(truth.direction[useless] == 0)
    assert (list(dict.fromkeys(truth.kind.tolist())) == KIND_NAMES) == (not shuffle)


def test_features_are_what_their_kind_says():
    data, truth = make_ranking(40, **KINDS, random_state=5)
    spread = np.abs(centered(data.X, data)).max(axis=0)

    duplicates = np.flatnonzero(truth.kind == "duplicate")
    np.testing.assert_array_equal(data.X[:, duplicates], data.X[:, truth.source[duplicates]])
    assert np.all(np.ptp(data.X[:, truth.kind == "constant"], axis=0) == 0)
    assert np.all(spread[truth.kind == "query"] < 1e-9)
    assert np.all(np.ptp(data.X[:, truth.kind == "query"], axis=0) > 0.1)
    varying = ~np.isin(truth.kind, ["query", "constant"])
    assert np.all(spread[varying] > 0.1)


def test_shapes_are_shares_of_the_features():
    data, _ = make_ranking(100, n_informative=8, n_redundant=4, n_noise=8, skewed=0.4, tied=0.3)

    zeros = (data.X == 0).mean(axis=0)
    z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    counts = np.all(np.rint(data.X) == data.X, axis=0)
    assert counts.sum() == 6
    assert np.all((zeros[counts] > 0.5) & (zeros[counts] < 0.8))
    assert ((z**3).mean(axis=0)[~counts] > 1.5).sum() == 8
    assert np.all(data.X[:, (z**3).mean(axis=0) > 1.5] >= 0)


def test_least_squares_recovers_the_weights():
    data, truth = make_ranking(
        400,
        docs_per_query=25,
        n_redundant=4,
        skewed=0.0,
        tied=0.0,
        noise=0.05,
        query_effect=0.0,
        small_is_good=0.4,
    )
    X = QueryStandardScaler().fit_transform(data).X

    coefficients = np.linalg.lstsq(X, centered(data.y, data), rcond=None)[0]

    largest = np.argsort(-np.abs(coefficients))[: len(truth.informative)]
    assert sorted(largest) == truth.informative.tolist()
    direction = coefficients[truth.informative] / np.linalg.norm(coefficients)
    assert direction @ truth.weights[truth.informative] > 0.98


@pytest.mark.parametrize("seed", range(3))
def test_informative_features_beat_their_copies_and_noise(seed):
    data, truth = make_ranking(
        400, **KINDS, noise=0.2, copy_noise=1.0, small_is_good=0.5, random_state=seed
    )

    agreement = correlation(data, data.y)

    good = truth.direction != 0
    assert np.all(np.sign(agreement[good]) == truth.direction[good])
    redundant = np.flatnonzero(truth.kind == "redundant")
    assert np.all(np.abs(agreement[redundant]) < np.abs(agreement[truth.source[redundant]]))
    useless = np.abs(agreement[~good]).max()
    assert np.abs(agreement[truth.informative]).min() > 2 * useless
    assert (truth.direction[truth.informative] < 0).sum() == 2


def test_labels_and_lengths_are_skewed():
    data, _ = make_ranking(600, docs_per_query=(1, 30), n_grades=4, relevant=0.25)
    shares = check_grades(data, 4, 0.05, 0.6)
    np.testing.assert_allclose(1 - shares[0], 0.25, atol=0.05)
    assert (data.group_counts.min(), data.group_counts.max()) == (1, 30)
    assert np.median(data.group_counts) < data.group_counts.mean()
    for length in (1, 7):
        assert np.all(make_ranking(50, docs_per_query=length)[0].group_counts == length)


def check_grades(data, n_grades, least, most):
    """Better grades are rarer, and a share of queries has only the worst; shares of grades."""
    shares = np.bincount(data.y.astype(int)) / data.n_rows
    best = np.maximum.reduceat(data.y, data.query_ptr[:-1])
    assert len(shares) == n_grades
    assert np.all(np.diff(shares) < 0)
    assert least < (best == 0).mean() < most
    return shares


def test_labels_are_the_order_of_the_utility_without_noise():
    data, truth = make_ranking(30, noise=0.0)
    higher_label = data.y[:, None] > data.y[None, :]
    same_query = data.qid[:, None] == data.qid[None, :]
    higher_utility = truth.utility[:, None] > truth.utility[None, :]
    assert (higher_label & same_query).any()
    assert np.all(higher_utility[higher_label & same_query])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_queries": 0}, "queries 0 to 0 - 1 are not a valid range"),
        ({"n_informative": 0}, "at least 1 informative features, got 0"),
        ({"n_noise": -1}, "at least 0 noise features, got -1"),
        ({"skewed": 1.2}, "skewed must be between 0 and 1, got 1.2"),
        ({"skewed": 0.6, "tied": 0.6}, "must not add up to more than 1: 0.6 [+] 0.6"),
        ({"copy_noise": -0.1}, "copy_noise must not be negative"),
        ({"docs_per_query": 0}, "docs_per_query must be positive and in order, got 0"),
        ({"docs_per_query": (5, 2)}, "docs_per_query must be positive and in order"),
        ({"n_grades": 1}, "at least 2 grades, got 1"),
        ({"relevant": -0.5}, "relevant must be between 0 and 1"),
        ({"noise": -1.0}, "noise and query_effect must not be negative"),
    ],
)
def test_bad_options_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        make_ranking(**options)


@pytest.fixture(scope="module")
def demo():
    return load_demo()


def test_demo_is_always_the_same(demo):
    data, truth = demo
    again, _ = load_demo()
    np.testing.assert_array_equal(data.X, again.X)
    np.testing.assert_array_equal(data.doc_ids, again.doc_ids)
    assert data.n_queries == 300
    assert 5_500 < data.n_rows == len(truth.utility) < 6_500
    assert len(truth.kind) == data.n_features == 43
    # Ids that every format can hold.
    assert len(set(data.doc_ids)) == data.n_rows
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)+", query) for query in data.query_ids)
    assert all(re.fullmatch(r"[a-z]+\.example/[a-z]+/\d{5}", doc) for doc in data.doc_ids)
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in data.feature_names)


def test_demo_shows_every_kind_of_feature(demo):
    data, truth = demo
    named = {name: data.X[:, index] for index, name in enumerate(data.feature_names)}
    kind = dict(zip(data.feature_names, truth.kind, strict=True))

    assert set(truth.kind) == set(KIND_NAMES)
    assert kind["language_match"] == "constant"
    assert np.ptp(named["language_match"]) == 0
    np.testing.assert_array_equal(named["url_depth"], named["url_slashes"])
    assert np.corrcoef(named["bm25_body"], named["tf_idf_body"])[0, 1] > 0.2
    assert (named["term_count_body"] == 0).mean() > 0.5
    assert named["pagerank"].max() > 20 * np.median(named["pagerank"])
    assert named["click_rate_30d"].min() >= 0
    assert named["click_rate_30d"].max() <= 1
    small = set(data.feature_names[truth.direction < 0])
    assert {"url_depth", "freshness_days", "spam_score"} <= small


def test_demo_labels_are_skewed_but_learnable(demo):
    data, truth = demo
    check_grades(data, 5, 0, 0.2)
    agreement, told = correlation(data, data.y), truth.informative
    assert np.abs(agreement[told]).min() > np.abs(agreement[truth.direction == 0]).max()
    assert np.all(np.sign(agreement[told]) == truth.direction[told])
