"""Back-fitting greedy RankRLS."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ranksieve import DataError, RankingData
from ranksieve.engine import engine_of
from ranksieve.selectors import BackfittingRankRLS
from ranksieve.selectors._search.searches import standard_error
from ranksieve.solvers.rankrls.backfitting import BackfittedModel, Backfitting
from tests import oracles

LAMBDAS = st.integers(-10, 10).map(lambda power: 2.0**power)


def sparse_data(seed, n_queries=12, n_features=10, offset=0.0):
    """Rows, labels and query ids: feature 4 equals feature 1, and 3 and 5 never vary."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 9, n_queries))
    shape = (len(qid), n_features)
    X = np.where(rng.random(shape) < 0.4, rng.normal(size=shape), 0.0)
    X[:, 2] = X[:, 2] != 0
    X[:, 3] = 0.1
    X[:, 4] = X[:, 1]
    X[:, 5] = rng.normal(size=n_queries)[qid]
    X[:, 6] += offset
    y = np.clip(np.round(X[:, 7] + X[:, 1] + rng.normal(size=len(qid))), 0, 2)
    return X, y, qid


def backfit(source, k, lam, **parameters):
    """Models of 1 to k features."""
    return BackfittingRankRLS(k, lam=lam, **parameters).fit(source).fits_


def as_csr(X, y, qid):
    return RankingData(sparse.csr_matrix(X), y, qid)


def brute_force(X, y, qid, k, lam, varies):
    """Choose by the naive errors; those that are equal but for rounding tie."""
    model, path = [], []
    for _ in range(k):
        _, errors = oracles.backfitting_errors(X, y, qid, model, lam)
        free = [i for i in range(X.shape[1]) if i not in model]
        free = [i for i in free if varies[i]] or free
        best = min(errors[i] for i in free)
        model.append(next(i for i in free if errors[i] <= best * (1 + 1e-12)))
        path.append(oracles.backfitting_errors(X, y, qid, model, lam)[0])
    return model, path


@given(st.integers(0, 10**6), LAMBDAS, st.sampled_from([0.0, 1e4]), st.booleans())
def test_errors_of_candidates_are_those_of_training_anew(seed, lam, offset, weighted):
    X, y, qid = sparse_data(seed, offset=offset)
    weights = None
    if weighted:
        weights = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 2.5], qid[-1] + 1)
        weights[0] = 1.0
    with engine_of(as_csr(X, y, qid).with_weights(weights)).start(Backfitting) as workers:
        model = BackfittedModel(workers, lam)
        for feature in (6, 1, 3, 4):
            own, errors = oracles.backfitting_errors(X, y, qid, model.chosen, lam, weights)
            free = [i for i in range(X.shape[1]) if i not in model.chosen]
            found = model.addition_errors(np.array(free))
            np.testing.assert_allclose(found, np.array(errors)[free], rtol=1e-9)
            np.testing.assert_allclose(model.error, sum(own), rtol=1e-9)
            model.change(feature)


@given(st.integers(0, 10**6), LAMBDAS)
def test_choice_is_that_of_brute_force(seed, lam):
    X, y, qid = sparse_data(seed)
    varies = [not np.isin(i, (3, 5)) for i in range(X.shape[1])]
    model, errors = brute_force(X, y, qid, 5, lam, varies)
    path = backfit(as_csr(X, y, qid), 5, lam)
    assert path[-1].features == tuple(model)
    counted = np.bincount(qid) > 1
    for fit, own in zip(path, errors, strict=True):
        assert fit.error == pytest.approx(sum(own), rel=1e-9)
        own = np.array(own)[counted]
        expected = standard_error(own.sum(), own @ own, len(own))
        assert fit.deviation == pytest.approx(expected, rel=1e-6)


def test_weights_minimize_the_pairwise_objective():
    X, y, qid = sparse_data(3)
    fit = backfit(as_csr(X, y, qid), 4, 0.5)[-1]
    pairs, targets = oracles.pairs_of(X, y, qid, None, inside=False)
    pairs = pairs[:, fit.features]
    gradient = pairs.T @ (pairs @ fit.coef - targets) + 0.5 * fit.coef
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


@pytest.mark.parametrize("kappa", [None, 4])
def test_the_same_selection_everywhere(everywhere, kappa):
    X, y, qid = sparse_data(6, n_queries=200, n_features=40)
    X[:, 20:30] = X[:, 20:30] != 0  # counts, of which errors tie more often
    data = as_csr(X, y, qid)
    expected = backfit(as_csr(X, y, qid), 8, 2.0, kappa=kappa, include=[9])
    path = backfit(everywhere(data, shard_bytes=8000), 8, 2.0, kappa=kappa, include=[9])
    assert path[-1].features == expected[-1].features
    np.testing.assert_allclose(path[-1].coef, expected[-1].coef)
    for fit, other in zip(path, expected, strict=True):
        assert fit.error == pytest.approx(other.error, rel=1e-12)
        assert fit.deviation == pytest.approx(other.deviation, rel=1e-9)


@pytest.mark.parametrize("lam", [2.0**-10, 1.0, 2.0**10])
def test_first_choice_is_that_of_pre_fitting(lam):
    X, y, qid = sparse_data(7, n_queries=20)
    fitted = [sum(oracles.backfitting_errors(X, y, qid, [i], lam)[0]) for i in range(10)]
    with engine_of(as_csr(X, y, qid)).start(Backfitting) as workers:
        model = BackfittedModel(workers, lam)
        np.testing.assert_allclose(model.addition_errors(np.arange(10)), fitted, rtol=1e-9)
    varying = [i for i in range(10) if i not in (3, 5)]
    first = backfit(as_csr(X, y, qid), 1, lam)[0]
    assert first.features == (min(varying, key=lambda i: round(fitted[i], 9)),)
    assert first.error == pytest.approx(min(fitted[i] for i in varying))


def test_a_feature_of_one_query_cannot_change_the_error():
    X, y, qid = sparse_data(9)
    X[:, 8] = 1e9 * np.where(qid == np.argmax(np.bincount(qid)), X[:, 7], 0.0)
    with engine_of(as_csr(X, y, qid)).start(Backfitting) as workers:
        model = BackfittedModel(workers, 2.0**-10)
        for feature in (1, 7):
            assert model.addition_errors(np.array([8])) == model.error
            model.change(feature)
    for fit in backfit(as_csr(X, y, qid), 3, 2.0**-10, include=[1, 8, 7]):
        own, _ = oracles.backfitting_errors(X, y, qid, list(fit.features), 2.0**-10)
        assert fit.error == pytest.approx(sum(own), rel=1e-9)


def test_included_features_are_in_the_model_from_the_start():
    X, y, qid = sparse_data(10, n_queries=30)
    path = backfit(as_csr(X, y, qid), 3, 1.0, include=[8, 3])
    assert [fit.features for fit in path[:2]] == [(8,), (8, 3)]
    for size in (1, 2):
        own, _ = oracles.backfitting_errors(X, y, qid, [8, 3][:size], 1.0)
        assert path[size - 1].error == pytest.approx(sum(own))
    _, errors = oracles.backfitting_errors(X, y, qid, [8, 3], 1.0)
    errors = [np.inf if i in (8, 3, 5) else error for i, error in enumerate(errors)]
    assert path[2].features[-1] == int(np.argmin(errors))


def test_random_candidates_are_seeded_and_few():
    X, y, qid = sparse_data(11, n_queries=30, n_features=30)
    data = as_csr(X, y, qid)
    paths = [backfit(data, 5, 1.0, kappa=2, random_state=s)[-1].features for s in range(8)]
    assert paths[0] == backfit(data, 5, 1.0, kappa=2, random_state=0)[-1].features
    assert len(set(paths)) > 1
    everything = backfit(data, 5, 1.0)[-1].features
    assert backfit(data, 5, 1.0, kappa=30)[-1].features == everything

    drawn = np.random.RandomState(3).choice([i for i in range(30) if i not in (3, 5)], 2, False)
    _, errors = oracles.backfitting_errors(X, y, qid, [], 1.0)
    first = min(sorted(drawn.tolist()), key=lambda i: errors[i])
    assert backfit(data, 1, 1.0, kappa=2, random_state=3)[0].features == (first,)


def test_a_hundred_thousand_features_stay_sparse():
    rng = np.random.default_rng(12)
    n_rows, n_features, per_row = 2000, 100_000, 20
    columns = (n_features * rng.random(n_rows * per_row) ** 4).astype(int)
    rows = np.repeat(np.arange(n_rows), per_row)
    X = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n_rows, n_features))
    planted = np.argsort(-np.bincount(columns))[[0, 5, 9]]
    y = X[:, planted] @ np.array([2.0, 1.0, -1.0]) + 0.1 * rng.normal(size=n_rows)
    data = RankingData(X, y, np.arange(n_rows) // 10)
    tracemalloc.start()
    try:
        path = backfit(data, 10, 1.0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert set(path[2].features) == set(planted.tolist())
    assert peak < 8 * n_rows * n_features / 20


@pytest.mark.parametrize("wrong", [{"lam": 0.0}, {"kappa": 0}])
def test_wrong_parameters(wrong):
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
        BackfittingRankRLS(2, **wrong).fit(as_csr(*sparse_data(13)))


def test_data_that_cannot_be_used():
    X, y, _ = sparse_data(14)
    with pytest.raises(DataError, match="two queries with two documents"):
        backfit(RankingData(X[:, :3], y, np.arange(len(y)) // (len(y) - 1)), 2, 1.0)
