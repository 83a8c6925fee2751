"""Boruta: its tests, its shadows, what it accepts, and what it leaves out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binomtest

from ranksieve import RankingData, limit_threads, make_ranking
from ranksieve.rankers import LambdaMART
from ranksieve.selectors import Boruta
from ranksieve.selectors.trees.boruta import shuffle_within_codes, verdicts
from ranksieve.significance import holm

SMALL = {"n_estimators": 4, "num_leaves": 6, "n_rounds": 10, "params": {"num_threads": 1}}


@pytest.fixture(scope="module")
def planted():
    return make_ranking(
        30, docs_per_query=20, n_informative=2, n_redundant=0, n_noise=4, noise=0.1, random_state=2
    )


@pytest.fixture(scope="module")
def fitted(planted):
    return Boruta(**SMALL).fit(planted[0])


@given(st.lists(st.integers(0, 14), min_size=1, max_size=8), st.floats(0.01, 0.4))
def test_verdicts_are_binomial_tests_with_holms_adjustment(hits, level):
    found = verdicts(np.array(hits), 14, level)
    adjusted = holm([binomtest(h, 14).pvalue for h in hits])
    for h, p, verdict in zip(hits, adjusted, found, strict=True):
        expected = 1 if p > level else (0 if h > 7 else 2)
        assert verdict == expected


@given(st.integers(0, 99))
def test_shadows_keep_the_values_of_each_query(seed):
    random = np.random.RandomState(seed)
    codes = np.sort(random.randint(5, size=40))
    X = random.random_sample((40, 3))
    found = shuffle_within_codes(X, codes, random)
    for code in np.unique(codes):
        rows = codes == code
        np.testing.assert_array_equal(np.sort(found[rows], axis=0), np.sort(X[rows], axis=0))
    assert (found != X).any()


def test_rounds_the_slow_way(planted, fitted):
    """Every round by hand, with the same random numbers."""
    data, _ = planted
    random, hits, n_rounds = np.random.RandomState(0), np.zeros(6, dtype=int), 0
    undecided, accepted = list(range(6)), []
    while undecided:
        n_rounds += 1
        features = sorted(undecided + accepted)
        kept = data.X[:, features]
        X = np.hstack([kept, shuffle_within_codes(kept, data.query_codes, random)])
        order = random.permutation(X.shape[1])
        trees = LambdaMART(4, num_leaves=6, params={"num_threads": 1})
        gains = np.empty(X.shape[1])
        gains[order] = trees.fit(X[:, order], data.y, qid=data.qid).feature_importances_
        real, shadows = np.split(gains, 2)
        hits[features] += real > shadows.max()
        p_values = holm([binomtest(hits[f], n_rounds).pvalue for f in undecided])
        for feature, p in zip(tuple(undecided), p_values, strict=True):
            if p <= 0.05:
                undecided.remove(feature)
                accepted += [feature] * int(hits[feature] > n_rounds / 2)
    assert (fitted.n_rounds_, set(fitted.accepted_.tolist())) == (n_rounds, set(accepted))
    np.testing.assert_array_equal(fitted.hits_, hits)


def test_it_finds_what_matters(planted, fitted):
    _, truth = planted
    assert sorted(fitted.accepted_.tolist()) == truth.informative.tolist()
    assert fitted.selected_.tolist() == sorted(
        fitted.accepted_.tolist(), key=lambda f: (-fitted.hits_[f], -fitted.scores_[f])
    )
    everything = [*fitted.accepted_, *fitted.tentative_, *fitted.rejected_]
    assert sorted(everything) == list(range(6))
    assert fitted.reasons()[0] == "accepted, 8 of 8 hits"
    assert [step.score for step in fitted.path_] == [1.0, 1.0]


@pytest.mark.slow
def test_a_number_takes_the_others_by_their_hits(planted, fitted):
    data, _ = planted
    for k in (1, 3, 6):
        found = Boruta(k, **SMALL).fit(data)
        assert len(found.selected_) == k
        np.testing.assert_array_equal(found.hits_, fitted.hits_)
        kinds = np.zeros(6, dtype=int)
        kinds[found.tentative_], kinds[found.rejected_] = 1, 2
        keys = [(kinds[f], -found.hits_[f], -found.scores_[f]) for f in found.selected_]
        assert keys == sorted(keys)


def test_nothing_may_be_accepted():
    random = np.random.default_rng(0)
    data = RankingData(
        random.normal(size=(120, 4)), random.integers(0, 3, size=120), np.arange(120) // 10
    )
    found = Boruta(**SMALL | {"n_rounds": 3}).fit(data)  # too few for any verdict
    assert found.selected_.size == found.accepted_.size == 0
    assert found.tentative_.tolist() == [0, 1, 2, 3]


def test_rounds_end_when_all_is_decided(planted):
    data, _ = planted
    found = Boruta(**SMALL | {"n_rounds": 60, "level": 0.2}).fit(data)
    assert found.tentative_.size == 0
    assert found.n_rounds_ < 60


def test_constant_features_are_rejected_without_a_test(planted):
    data, _ = planted
    of_queries = np.random.default_rng(1).normal(size=data.n_queries)[data.query_codes]
    wide = RankingData(np.column_stack([of_queries, data.X]), data.y, data.qid)
    found = Boruta(**SMALL | {"n_rounds": 1}).fit(wide)
    assert found.rejected_.tolist() == [0]
    assert Boruta(7, **SMALL).fit(wide).selected_[-1] == 0


def test_excluded_included_and_grouped_features(planted):
    data, truth = planted
    good, useless = truth.informative.tolist(), np.setdiff1d(np.arange(6), truth.informative)
    found = Boruta(**SMALL, exclude=[good[0]], include=[int(useless[0])]).fit(data)
    assert found.selected_.tolist() == [useless[0], good[1]]
    kinds = [*found.accepted_, *found.tentative_, *found.rejected_]
    assert sorted(kinds) == [f for f in range(6) if f != good[0]]
    assert found.hits_[good[0]] == 0
    groups = [[good[0], int(useless[0])], [int(useless[1]), int(useless[2])]]
    found = Boruta(**SMALL, groups=groups).fit(data)
    assert set(groups[0]) <= set(found.accepted_.tolist())
    assert found.hits_[groups[0][0]] == found.hits_[groups[0][1]]
    assert not set(groups[1]) & set(found.accepted_.tolist())


def test_sparse_missing_and_weighted_data(planted, fitted):
    data, _ = planted
    rare = RankingData(sparse.csr_matrix(data.X), data.y, data.qid)
    np.testing.assert_array_equal(Boruta(**SMALL).fit(rare).hits_, fitted.hits_)
    twice = data.with_weights(np.full(data.n_queries, 2.0))
    assert Boruta(**SMALL).fit(twice).accepted_.tolist() == fitted.accepted_.tolist()
    X = data.X.copy()
    X[::7, 0] = np.nan
    kept = RankingData(X, data.y, data.qid, missing="keep")
    assert len(Boruta(3, **SMALL).fit(kept).selected_) == 3


def test_parameters_of_single_features_follow_them(planted, monkeypatch):
    data, _ = planted
    seen = []
    train = LambdaMART.fit

    def noted(ranker, source):
        seen.append((ranker.params["monotone_constraints"], source.X))
        return train(ranker, source)

    monkeypatch.setattr(LambdaMART, "fit", noted)
    params = {"num_threads": 1, "monotone_constraints": [1, 0, 0, -1, 0, 0]}
    Boruta(**SMALL | {"params": params, "n_rounds": 1}).fit(data)
    [(constraints, X)] = seen
    sums = np.round(data.X.sum(axis=0), 6)
    for constraint, column in zip(constraints, np.round(X.sum(axis=0), 6), strict=True):
        assert params["monotone_constraints"][int(np.argmin(np.abs(sums - column)))] == constraint


@pytest.mark.slow
def test_useless_features_between_queries_need_shadows_within_them():
    """Over all rows, shadows lose what documents of a query have in common."""
    hits = {"queries": 0, "rows": 0}
    random = np.random.default_rng(0)
    for seed in range(3):
        data, _ = make_ranking(
            30, docs_per_query=80, n_informative=2, n_redundant=0, n_noise=2, random_state=seed
        )
        of_queries = random.normal(size=(30, 4))[data.query_codes]
        nearly = of_queries + 0.02 * random.normal(size=of_queries.shape)
        wide = RankingData(np.hstack([data.X, nearly]), data.y, data.qid)
        for permute in hits:
            options = {"n_estimators": 3, "num_leaves": 31, "n_rounds": 4}
            with limit_threads(1):
                found = Boruta(**options, permute=permute, random_state=seed).fit(wide)
            hits[permute] += found.hits_[4:].sum()
    assert hits["rows"] > 3 * hits["queries"]
