"""FenchelRank: steps as published, optima against the L1 path and SLSQP, gaps that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ranksieve.selectors import FenchelRank, SparseRankSVM
from tests.oracles_margins import frank_wolfe, mean_loss, mean_slopes, pair_differences
from tests.selectors.test_ranksvm_sparse import random_data


class TestSteps:
    @pytest.mark.parametrize("radius", [0.2, 2.0])
    def test_as_published(self, radius):
        data = random_data(1)
        told = frank_wolfe(pair_differences(data), radius, 12)
        for n_steps in (1, 2, 5, 11):
            settings = dict(radius=radius, away_steps=False, max_iter=n_steps, tol=1e-12)
            selector = FenchelRank(**settings).fit(data)
            coef, gap, _ = told[n_steps]
            np.testing.assert_allclose(selector.coef_, coef, atol=1e-6)
            assert selector.gap_ == pytest.approx(gap, abs=1e-6)
            assert selector.n_iter_ == n_steps or selector.gap_ <= 1e-12

    @pytest.mark.parametrize("away_steps", [True, False])
    def test_one_feature_more_at_most(self, away_steps):
        data = random_data(2, n_features=12)
        before: set = set()
        for n_steps in range(1, 12):
            settings = dict(radius=3.0, away_steps=away_steps, max_iter=n_steps, tol=1e-12)
            now = set(FenchelRank(**settings).fit(data).selected_.tolist())
            assert len(now - before) <= 1
            before = now

    def test_away_steps_save_steps(self):
        data = random_data(3, n_features=8)
        fast = FenchelRank(radius=0.8, tol=1e-6).fit(data)
        slow = FenchelRank(radius=0.8, tol=1e-6, away_steps=False).fit(data)
        assert fast.gap_ <= 1e-6
        assert fast.n_iter_ < 0.5 * slow.n_iter_

    def test_stops_at_the_gap(self):
        data = random_data(4)
        selector = FenchelRank(radius=1.0, tol=0.05).fit(data)
        assert 0 < selector.gap_ <= 0.05
        assert selector.n_iter_ < 1000


class TestOptimum:
    @pytest.mark.parametrize("share", [0.6, 0.2, 0.05])
    def test_equals_the_l1_path(self, share):
        data = random_data(5, n_features=8)
        path = SparseRankSVM(lam=share, standardize=False, tol=1e-9).fit(data)
        radius = np.abs(path.coef_).sum()
        selector = FenchelRank(radius=radius, tol=1e-7, max_iter=20_000).fit(data)
        D = pair_differences(data)
        least = mean_loss(D, path.coef_)
        assert selector.gap_ <= 1e-7
        assert selector.objective_ == pytest.approx(mean_loss(D, selector.coef_), rel=1e-9)
        assert -1e-9 <= selector.objective_ - least <= 1.1e-7
        np.testing.assert_allclose(selector.coef_, path.coef_, atol=2e-3)
        assert np.abs(selector.coef_).sum() <= radius * (1 + 1e-12)

    @pytest.mark.parametrize("radius", [0.1, 1.0, 50.0])
    def test_equals_slsqp(self, radius):
        data = random_data(6, n_features=4)
        D = pair_differences(data)
        found = minimize(
            lambda both: mean_loss(D, both[:4] - both[4:]),
            np.full(8, radius / 10),
            jac=lambda both: np.concatenate(
                [mean_slopes(D, both[:4] - both[4:]), -mean_slopes(D, both[:4] - both[4:])]
            ),
            bounds=[(0, None)] * 8,
            constraints={
                "type": "ineq",
                "fun": lambda both: radius - both.sum(),
                "jac": lambda both: -np.ones(8),
            },
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        selector = FenchelRank(radius=radius, tol=1e-6, max_iter=20_000).fit(data)
        assert selector.gap_ <= 1e-6
        assert selector.objective_ == pytest.approx(found.fun, abs=2e-6)

    @given(st.integers(0, 2**32 - 1), st.floats(0.01, 20), st.integers(1, 30), st.booleans())
    def test_the_least_objective_is_within_the_gap(self, seed, radius, n_steps, away_steps):
        data = random_data(seed, n_queries=5)
        D = pair_differences(data)
        if len(D) == 0:
            return
        selector = FenchelRank(radius=radius, away_steps=away_steps, max_iter=n_steps, tol=1e-9)
        selector.fit(data)
        path = SparseRankSVM(lam=1e-4, standardize=False, n_lams=12).fit(data)
        inside = [fit for fit in path.solutions_ if np.abs(fit.coef).sum() <= radius]
        best = min(mean_loss(D[:, fit.features], fit.coef) for fit in inside)
        assert best >= selector.objective_ - selector.gap_ - 1e-9
        assert np.abs(selector.coef_).sum() <= radius * (1 + 1e-12)


class TestSelection:
    def test_numbers_of_features(self):
        data = random_data(8, n_features=8)
        every = FenchelRank(radius=1.0).fit(data)
        assert 0 < len(every.selected_) < 8
        assert np.all(np.diff(np.abs(every.coef_[every.selected_])) <= 0)
        two = FenchelRank(2, radius=1.0).fit(data)
        np.testing.assert_array_equal(two.selected_, every.selected_[:2])
        rest = FenchelRank(8, radius=1.0).fit(data).selected_[len(every.selected_) :]
        slopes = np.abs(mean_slopes(pair_differences(data), every.coef_))
        assert np.all(np.diff(slopes[rest]) <= 1e-9)

    def test_features_that_tell_nothing(self):
        X, y, qid = np.ones((4, 2)), [0, 1, 0, 1], [1, 1, 2, 2]
        selector = FenchelRank().fit(X, y, qid=qid)
        assert selector.selected_.tolist() == []
        assert (selector.n_iter_, selector.gap_, selector.objective_) == (0, 0.0, 1.0)
