"""Sets within costs, against all sets, and what they are worth, against ridge regression."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.costs import AlignedCosts
from ranksieve.recommendation.cheap_sets import (
    measure_worth,
    sets_of_worth,
    sets_within_costs,
)
from ranksieve.solvers.rankrls.binned import make_bins
from tests import oracles

BASES = ["linear", "bins"]
NAN = float("nan")
ROUNDING = 1e-9


def random_data(seed, n_features):
    """Correlated features, some of which matter; the last is constant, the one before a copy."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(25), rng.integers(1, 12, 25))
    X = rng.normal(size=(len(qid), n_features))
    X += rng.normal(size=(len(qid), 1))
    y = np.digitize(X @ rng.choice([-1, 0, 0.5, 1], n_features) + rng.normal(size=len(qid)), [0, 2])
    if n_features > 3:
        X[:, -2], X[:, -1] = X[:, 0], 3.0
    return RankingData(X, y.astype(float), qid)


@st.composite
def problems(draw):
    """Data, costs of any size and with groups, levels and features to include."""
    n = draw(st.integers(1, 7))
    prices = st.sampled_from([0.0, 1e-9, 0.1, 1.0, 2.0, 3.0, 1e9])
    costs = AlignedCosts(
        np.array(draw(st.lists(prices, min_size=n, max_size=n))),
        np.array(draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))),
        np.array(draw(st.lists(prices, min_size=3, max_size=3))),
    )
    levels = st.sampled_from([0.0, 1e-9, 0.05, 0.3, 1.0, 2.5, 4.0, 7.0, 1e9, 8e9])
    return (
        random_data(draw(st.integers(0, 10**6)), n),
        costs,
        draw(st.lists(levels, min_size=1, max_size=4)),
        draw(st.sets(st.integers(0, n - 1), max_size=2)),
    )


def worth_of_sets(data, basis):
    """Worth of a set, with the products of all features, and the labels' squares."""
    worth = measure_worth(data, basis)

    def of(chosen):
        model = worth.products.copy()
        model.toggle(*sorted(chosen))
        return worth.of(model)

    return of, worth.scale


class TestSearch:
    @given(problems(), st.sampled_from(BASES))
    def test_against_all_sets(self, problem, basis):
        data, costs, levels, include = problem
        of, scale = worth_of_sets(data, basis)
        sets = sets_within_costs(data, costs, levels, include, basis=basis)
        assert len(sets) == len(levels)
        least = costs.total(include)
        for level, own in zip(levels, sets, strict=True):
            if least > level:
                assert own == []
                continue
            assert len(set(own)) == len(own)
            assert costs.total(own) <= level * (1 + ROUNDING)
            assert include <= set(own)
            limit = level * (1 + ROUNDING)
            best = oracles.best_within(of, costs.total, data.n_features, limit, include)
            assert of(own) <= best + ROUNDING * scale
            assert of(own) >= of(include) - ROUNDING * scale
        ascending = [of(sets[place]) for place in np.argsort(levels) if levels[place] >= least]
        assert all(b >= a - 1e-6 * scale for a, b in pairwise(ascending))

    @pytest.mark.parametrize("basis", BASES)
    def test_nearly_always_the_best_set(self, basis):
        shares = []
        for seed in range(12):
            rng, data = np.random.default_rng([seed, 1]), random_data(seed, 8)
            costs = AlignedCosts(
                rng.exponential(size=8), rng.integers(-1, 3, 8), rng.exponential(size=3)
            )
            of, _ = worth_of_sets(data, basis)
            levels = [costs.total(range(8)) * share for share in (0.1, 0.2, 0.3, 0.5, 0.8)]
            for level, own in zip(
                levels, sets_within_costs(data, costs, levels, basis=basis), strict=True
            ):
                best = oracles.best_within(of, costs.total, 8, level, set())
                shares.append(of(own) / best if best > 0 else 1.0)
        assert np.mean(shares) > 0.999
        assert np.mean(np.array(shares) > 1 - 1e-9) > 0.95

    def test_order_within_a_set(self):
        data = random_data(3, 6)
        costs = AlignedCosts(np.ones(6), np.full(6, -1), np.zeros(0))
        (own,) = sets_within_costs(data, costs, [9.0], {5}, basis="linear")
        assert own[-1] == 5  # a constant, which explains nothing
        worth = measure_worth(data, "linear")
        model = worth.products.copy()
        for feature in own[:-1]:
            gains = np.where(model.chosen, 0, model.toggle_gains())[own]
            assert gains.max() == pytest.approx(model.toggle_gains()[feature])
            model.toggle(feature)


class TestCosts:
    def test_a_group_is_worth_its_cost_only_as_a_whole(self):
        rng = np.random.default_rng(0)
        X, qid = rng.normal(size=(400, 4)), np.repeat(np.arange(40), 10)
        y = np.digitize(X @ [1.0, 1.0, 1.0, 1.1] + 0.1 * rng.normal(size=400), [0.0])
        data = RankingData(X, y.astype(float), qid)
        costs = AlignedCosts(np.array([1.0, 1, 1, 8]), np.array([0, 0, 0, -1]), np.array([6.0]))
        sets = sets_within_costs(data, costs, [7, 8, 9, 17, 10], basis="linear")
        assert [sorted(own) for own in sets[-3:]] == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2]]
        assert [len(own) for own in sets[:2]] == [1, 2]

    def test_of_copies_the_cheaper_one_and_what_is_free(self):
        data = random_data(0, 6)
        prices = np.array([3.0, 0.0, 0.0, 1.0, 2.0, 0.0])  # the feature 4 is a copy of 0
        costs = AlignedCosts(prices, np.full(6, -1), np.zeros(0))
        free, low, high = sets_within_costs(data, costs, [0, 2, 6], basis="linear")
        assert set(free) <= {1, 2}
        assert 0 not in low
        assert 0 not in high
        assert 4 in high

    @pytest.mark.parametrize("basis", BASES)
    def test_below_the_cheapest_and_below_what_is_included(self, basis):
        data, costs = random_data(0, 3), AlignedCosts(np.ones(3), np.full(3, -1), np.zeros(0))
        assert sets_within_costs(data, costs, [0.5], basis=basis) == [[]]
        empty, one = sets_within_costs(data, costs, [0.5, 1.0], [2], basis=basis)
        assert (empty, one) == ([], [2])

    @pytest.mark.parametrize("basis", BASES)
    def test_labels_that_do_not_vary(self, basis):
        data = random_data(0, 5)
        data = RankingData(data.X, np.ones(data.n_rows), data.qid)
        costs = AlignedCosts(np.arange(5.0), np.full(5, -1), np.zeros(0))
        assert sets_within_costs(data, costs, [0, 5, 10], basis=basis) == [[], [], []]


class TestWorth:
    """Of sets, against ridge regression on centered rows with penalties as further rows."""

    SETS = (set(), {0}, {1, 3}, {0, 2, 3, 4}, set(range(5)))

    @given(st.integers(0, 10**6), st.sampled_from([1e-6, 1.0, 1e6]))
    def test_linear(self, seed, unit):
        data = random_data(seed, 5)
        data = RankingData(data.X * unit, data.y, data.qid)
        ridge = 1e-3 * np.sum(oracles.centered(data.X, data.qid) ** 2, axis=0)
        ridge[4] = 1.0  # of the constant, so that it can be solved
        expected = oracles.worth_of_columns(data.X, data.y, data.qid, ridge)
        of, _ = worth_of_sets(data, "linear")
        for own in self.SETS:
            assert of(own) == pytest.approx(expected(own), rel=1e-7, abs=1e-7)

    @given(st.integers(0, 10**6), st.booleans())
    def test_bins(self, seed, has_gaps):
        data = random_data(seed, 5)
        X = data.X.copy()
        X[::3, 2] = NAN if has_gaps else 9.0
        data = RankingData(X, data.y, data.qid, missing="keep")
        codes = make_bins(data, 8).encode(X)
        X, ridge = oracles.predictions_by_bins(codes, data.y, data.qid, 30.0)
        ridge[4] = 1.0  # of the constant, so that it can be solved
        expected = oracles.worth_of_columns(X, data.y, data.qid, ridge)
        of, _ = worth_of_sets(data, "bins")
        for own in self.SETS:
            assert of(own) == pytest.approx(expected(own), rel=1e-7, abs=1e-7)

    @pytest.mark.parametrize("basis", BASES)
    def test_a_weight_is_a_number_of_copies(self, basis):
        data = random_data(5, 5)
        weighted = data.with_weights([2, 0, 3] + [1] * (data.n_queries - 3))
        rows = [np.flatnonzero(data.qid == q) for q in range(data.n_queries)]
        copies = [0, 0, 2, 2, 2, *range(3, data.n_queries)]
        qid = np.repeat(np.arange(len(copies)), [len(rows[q]) for q in copies])
        own = np.concatenate([rows[q] for q in copies])
        of, scale = worth_of_sets(weighted, basis)
        expected, expected_scale = worth_of_sets(RankingData(data.X[own], data.y[own], qid), basis)
        assert scale == pytest.approx(expected_scale)
        for own in self.SETS:
            assert of(own) == pytest.approx(expected(own), rel=1e-7, abs=1e-7)

    def test_features_that_are_too_large(self):
        data, _ = make_ranking(10, n_informative=2, n_noise=0)
        data = RankingData(data.X * 1e200, data.y, data.qid)
        costs = AlignedCosts(
            np.arange(data.n_features) + 1.0, np.full(data.n_features, -1), np.zeros(0)
        )
        with pytest.raises(DataError, match="too large"), np.errstate(all="ignore"):
            sets_within_costs(data, costs, [1], basis="linear")
        assert sets_within_costs(data, costs, [3], basis="bins")[0]


class TestShares:
    SHARES = (0.0, 0.3, 0.6, 0.9, 1.0)

    @given(problems(), st.sampled_from(BASES), st.sampled_from([0.5, 3.0, np.inf]))
    def test_sets_have_their_share_and_are_cheap(self, problem, basis, most):
        """Of all sets of the search, none that is worth as much is cheaper."""
        data, costs, _, include = problem
        of, scale = worth_of_sets(data, basis)
        most = max(most, costs.total(include))
        sets = sets_of_worth(data, costs, self.SHARES, include, most, basis=basis)
        whole = of(sets[-1])
        assert set(sets[0]) >= include
        prices = [costs.total(own) for own in sets]
        assert all(low <= high * (1 + ROUNDING) for low, high in pairwise(prices))
        assert prices[-1] <= most * (1 + ROUNDING)
        for share, own in zip(self.SHARES, sets, strict=True):
            assert include <= set(own)
            assert of(own) >= min(share * whole, whole) - ROUNDING * scale
            levels = np.geomspace(max(prices[0], 1e-9), max(prices[-1], 1e-9), 7).tolist()
            for other in sets_within_costs(data, costs, levels, include, basis=basis):
                if include <= set(other) and of(other) > max(share, 0) * whole + 1e-6 * scale:
                    assert costs.total(own) <= costs.total(other) * 1.2 + 1e-9 * sum(costs.features)

    def test_without_a_budget_the_last_set_has_all_that_pays(self):
        data, truth = make_ranking(80, n_informative=3, n_redundant=0, n_noise=3, noise=0.1)
        costs = AlignedCosts(np.ones(6), np.full(6, -1), np.zeros(0))
        assert sorted(sets_of_worth(data, costs, [1.0], basis="linear")[0]) == (
            truth.informative.tolist()
        )
