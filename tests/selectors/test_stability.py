"""Stability selection: its runs, probabilities, clusters, bound and errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import SelectKBest, f_regression

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.selectors import InformationGain, StabilitySelector, make_selector
from ranksieve.selectors.wrappers.stability import mean_ranks
from ranksieve.significance import (
    false_selections_bound,
    near_copies,
    selection_probabilities,
)
from ranksieve.splits import complementary_halves


@pytest.fixture(scope="module")
def planted():
    """Two good features, of which the first has a copy that is last, and noise."""
    data, truth = make_ranking(
        40, docs_per_query=10, n_informative=2, n_redundant=0, n_noise=5, noise=0.1, random_state=3
    )
    first = truth.informative[0]
    X = np.column_stack([data.X, data.X[:, first] + 1e-9 * np.arange(data.n_rows)])
    return RankingData(X, data.y, data.qid), truth.informative.tolist()


def quick(**options):
    return StabilitySelector("ig", **{"n_features_per_run": 2, "n_pairs": 5} | options)


@given(st.integers(4, 30), st.integers(1, 5), st.integers(0, 99))
def test_halves_have_no_query_in_common(n_queries, n_pairs, seed):
    halves = complementary_halves(n_queries, n_pairs, seed)
    assert len(halves) == 2 * n_pairs
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert len(first) == len(second) == n_queries // 2
        assert not set(first) & set(second)
        assert set(first) | set(second) <= set(range(n_queries))


@given(
    st.lists(st.lists(st.integers(0, 5), unique=True, max_size=6), min_size=2, max_size=9),
    st.lists(st.integers(0, 3), min_size=6, max_size=6),
)
def test_probabilities_are_shares_of_the_runs(runs, clusters):
    found = selection_probabilities(runs, 6)
    together = selection_probabilities(runs, 6, clusters)
    for feature in range(6):
        assert found[feature] == pytest.approx(np.mean([feature in run for run in runs]))
        members = {f for f in range(6) if clusters[f] == clusters[feature]}
        expected = np.mean([bool(members & set(run)) for run in runs])
        assert together[feature] == pytest.approx(expected)
    assert (together >= found - 1e-12).all()


@given(st.integers(0, 999))
def test_clusters_are_connected_by_near_copies(seed):
    random = np.random.default_rng(seed)
    alike = random.random((7, 7))
    alike = np.maximum(alike, alike.T)
    np.fill_diagonal(alike, 1.0)
    found = near_copies(alike, 0.9)
    reach = alike >= 0.9
    for _ in range(7):
        reach = reach @ reach
    np.testing.assert_array_equal(found[:, None] == found, reach)
    assert list(dict.fromkeys(found.tolist())) == list(range(found.max() + 1))


def test_the_runs_are_those_of_the_selector_alone(planted):
    data, _ = planted
    found = quick(random_state=7).fit(data)
    random = np.random.default_rng(7)
    halves = complementary_halves(data.n_queries, 5, random)
    runs = [InformationGain(2).fit(data.take_queries(half)).selected_.tolist() for half in halves]
    for row, run in zip(found.runs_, runs, strict=True):
        assert np.flatnonzero(row).tolist() == sorted(run)
    shares = np.array([np.mean([f in run for run in runs]) for f in range(8)])
    np.testing.assert_allclose(found.probabilities_, shares)
    order = sorted(range(8), key=lambda f: (-shares[f], mean_ranks(runs, 8)[f], f))
    assert quick(random_state=7, n_features_to_select=8).fit(data).selected_.tolist() == order
    kept = [f for f in order if shares[f] >= 0.75]
    assert found.selected_.tolist() == kept
    assert found.n_selected_ == 2
    assert found.bound_ == pytest.approx(4 / (0.5 * 8))
    assert found.reasons() == [f"in {shares[f]:.0%} of the runs" for f in kept]


def test_copies_share_their_probability(planted):
    data, (first, second) = planted
    found = quick(n_pairs=10).fit(data)
    assert found.clusters_[first] == found.clusters_[7] != found.clusters_[second]
    together = found.cluster_probabilities_
    assert together[first] == together[7] >= max(found.probabilities_[[first, 7]])
    assert together[second] == found.probabilities_[second]
    alone = quick(copy_similarity=1.0).fit(data)
    np.testing.assert_array_equal(alone.cluster_probabilities_[:7], alone.probabilities_[:7])


def test_the_number_of_features_of_a_run(planted):
    data, _ = planted
    assert quick(n_features_per_run=None).fit(data).n_selected_ == 2  # sqrt(0.5 * 8)
    assert quick(n_features_per_run=None).fit(data).bound_ <= 1
    assert quick(n_features_per_run=0.5).fit(data).n_selected_ == 4
    own = StabilitySelector(InformationGain(3), n_features_per_run="own", n_pairs=2).fit(data)
    assert own.n_selected_ == 3
    named = StabilitySelector("ig", parameters={"n_features_to_select": 3}, n_pairs=2)
    assert named.set_params(n_features_per_run="own").fit(data).n_selected_ == 3
    everything = StabilitySelector("all", n_pairs=2).fit(data)
    assert everything.n_selected_ == 8
    assert everything.probabilities_.tolist() == [1.0] * 8


def test_the_bound_holds_in_simulation():
    """All features are useless here, so that all that are kept are kept by chance."""
    n_kept, p = [], 8
    for seed in range(15):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(60, p)), random.integers(0, 2, size=60)
        data = RankingData(X, y, np.arange(60) // 5)
        found = quick(n_pairs=3, threshold=0.6, random_state=seed).fit(data)
        n_kept.append(len(found.selected_))
    assert found.bound_ == pytest.approx(4 / (0.2 * p))
    assert 0 < np.mean(n_kept) < found.bound_


def test_seeds_differ_between_runs(planted):
    data, _ = planted
    found = StabilitySelector("random", n_features_per_run=2, n_pairs=8).fit(data)
    assert found.probabilities_.max() < 1
    again = StabilitySelector("random", n_features_per_run=2, n_pairs=8).fit(data)
    np.testing.assert_array_equal(found.runs_, again.runs_)


def test_a_half_that_says_nothing_selects_nothing(planted):
    data, _ = planted
    few = data.take_queries(range(8))
    equal = RankingData(few.X, np.where(few.query_codes < 7, 0.0, few.y), few.qid)
    found = quick().fit(equal)
    halves = complementary_halves(8, 5, np.random.default_rng(0))
    assert found.runs_.any(axis=1).tolist() == [7 in half for half in halves]
    assert found.n_selected_ == 2 * np.mean([7 in half for half in halves])


def test_selectors_of_others(planted):
    data, (first, second) = planted
    found = StabilitySelector(SelectKBest(f_regression), n_features_per_run=3, n_pairs=2).fit(data)
    assert {first, second} <= set(found.selected_.tolist())


def test_excluded_included_and_grouped_features(planted):
    data, (first, second) = planted
    useless = next(f for f in range(7) if f not in (first, second))
    found = quick(exclude=[first, 7], include=[useless], n_features_to_select=2).fit(data)
    others = np.where(np.arange(8) == useless, -1, np.nan_to_num(found.probabilities_))
    assert found.selected_.tolist()[0] == useless
    assert others[found.selected_[1]] == others.max()
    assert np.isnan(found.probabilities_[[first, 7]]).all()
    assert found.clusters_[first] == -1
    assert not found.runs_[:, first].any()
    found = quick(groups=[[first, 7]]).fit(data)
    assert found.probabilities_[first] == found.probabilities_[7] == 1.0
    assert {first, 7} <= set(found.selected_.tolist())


def test_weights_missing_values_and_nesting(planted):
    data, _ = planted
    weights = np.arange(data.n_queries) % 2
    even = quick().fit(data.with_weights(weights))
    odd = quick().fit(data.take_queries(np.flatnonzero(weights)))
    np.testing.assert_array_equal(even.runs_, odd.runs_)
    X = data.X.copy()
    X[::5, 0] = np.nan
    kept = RankingData(X, data.y, data.qid, missing="keep")
    assert StabilitySelector("ig").takes_missing == make_selector("ig").takes_missing
    assert quick(n_features_to_select=3).fit(kept).selected_.size == 3
    assert quick().is_nested
    assert not quick(random_state=None).is_nested
    refusing = StabilitySelector("greedy-rankrls", n_pairs=1)
    with pytest.raises(DataError, match="StabilitySelector around GreedyRankRLS cannot use missi"):
        refusing.fit(kept)


def test_errors(planted):
    data, _ = planted
    with pytest.raises(DataError, match="3 queries cannot be divided into halves: there must"):
        quick().fit(data.take_queries(range(3)))
    with pytest.raises(DataError, match="on a half of the queries: n_features_to_select=9, but"):
        quick(n_features_per_run=9).fit(data)
    with pytest.raises(ValueError, match="unknown method 'no such'"):
        StabilitySelector("no such").fit(data)
    with pytest.raises(ValueError, match="nothing"):
        quick(parameters={"nothing": 1}).fit(data)
    with pytest.raises(ValueError, match="threshold"):
        quick(threshold=0.5).fit(data)
    with pytest.raises(DataError, match="above 0.5 and at most 1"):
        false_selections_bound(2, 10, 0.5)
    with pytest.raises(DataError, match="a label for each of 3 features"):
        selection_probabilities([[0], [1]], 3, [0, 1])
