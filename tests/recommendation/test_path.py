"""Paths: costs that sets may have, what fits into them, and what leaves before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import FeatureCosts, RankingData
from ranksieve.recommendation.path import Candidates, cost_levels, leave_out

NAMES = [f"f{number}" for number in range(8)]


def aligned(costs, groups=None, once=None):
    given = dict(zip(NAMES, costs, strict=False))
    return FeatureCosts(given, groups or {}, once or {}).aligned(NAMES[: len(costs)])


class TestLevels:
    def levels(self, costs, include=(), budget=None, is_large=False, n_all=None):
        n = len(costs)
        found = aligned(costs)
        return cost_levels(range(n), include, found, n_all or n, budget, is_large=is_large)

    def test_equal_costs_give_numbers_of_features(self):
        sizes = [1, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 40, 54, 73, 99]
        names = [f"x{number}" for number in range(108)]
        costs = FeatureCosts(dict.fromkeys(names, 2.0), {}, {}).aligned(names)
        found = cost_levels(range(108), (), costs, 108, None, is_large=False)
        assert found == [2.0 * size for size in sizes]
        fewer = cost_levels(range(108), (), costs, 108, None, is_large=True)
        assert len(fewer) < 0.75 * len(found)

    def test_all_candidates_are_a_set_if_copies_have_left(self):
        assert self.levels([1.0] * 4)[-1] == 3
        assert self.levels([1.0] * 4, n_all=6)[-1] == 4
        assert self.levels([1.0] * 4, n_all=6, is_large=True)[-1] == 4
        assert self.levels([1.0] * 7, n_all=8, is_large=True)[-1] == 4  # it costs a training

    @given(st.lists(st.just(0.0) | st.floats(1e-9, 1e6), min_size=1, max_size=8), st.floats(0, 2e6))
    def test_any_costs(self, costs, budget):
        found = self.levels(costs)
        assert found == sorted(set(found))
        assert len(found) <= 20
        total = sum(costs)
        assert all(level <= total * (1 + 1e-9) for level in found)
        within = self.levels(costs, budget=budget)
        assert within[-1] == pytest.approx(min(budget, total))

    def test_included_features_are_within_each_set(self):
        assert min(self.levels([5.0, 1.0, 2.0], include=[0])) == 5
        assert min(self.levels([1.0] * 5, include=[0, 3])) == 2


class TestWithin:
    @given(
        st.lists(st.integers(0, 9), min_size=1, max_size=8),
        st.permutations(range(8)),
        st.integers(0, 40),
        st.booleans(),
    )
    def test_equal_to_a_slow_version(self, costs, order, level, has_group):
        n = len(costs)
        groups = {"f0": "call", "f1": "call"} if has_group and n > 1 else {}
        once = {"call": 6.0} if groups else {}
        order = [f for f in order if f < n]
        found = Candidates(tuple(range(n)), (), aligned(costs, groups, once)).within(level, order)
        own = []
        for f in order:
            trial = [*own, f]
            paid = sum(costs[g] for g in trial)
            paid += 6 * any(f"f{g}" in groups for g in trial)
            if paid <= level:
                own.append(f)
        assert list(found) == own

    def test_what_is_included_comes_first(self):
        own = Candidates((0, 1, 2), (2,), aligned([1.0, 1.0, 1.0])).within(2.0, [1, 0, 2])
        assert own == (2, 1)


class TestLeaving:
    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(40, 2))
        columns = [x[:, 0], x[:, 0] ** 3, x[:, 1], 2 * x[:, 1] + 1, np.repeat(np.arange(4.0), 10)]
        return RankingData(
            np.column_stack(columns), rng.integers(0, 2, 40), np.repeat(np.arange(4), 10)
        )

    def left(self, data, costs, include=(), groups=None, once=None, for_trees=True):
        found = aligned(costs, groups, once)
        return leave_out(data, range(5), include, found, for_trees=for_trees)

    def test_copies_in_the_order_of_rows_for_trees_and_multiples_for_linear_rankers(self, data):
        equal = [1.0] * 5
        assert self.left(data, equal) == ((0, 2), {1: 0, 3: 2})
        assert self.left(data, equal, for_trees=False) == ((0, 1, 2), {3: 2})

    def test_the_cheapest_copy_stays_and_what_is_included(self, data):
        assert self.left(data, [3.0, 1.0, 1.0, 1.0, 1.0])[1] == {0: 1, 3: 2}
        assert self.left(data, [3.0, 1.0, 1.0, 1.0, 1.0], include=[0])[1] == {1: 0, 3: 2}
        assert self.left(data, [1.0] * 5, include=[0, 1])[1] == {3: 2}  # both are wanted
        assert 4 in self.left(data, [1.0] * 5, include=[4])[0]  # although it is constant

    def test_a_cheaper_copy_in_another_group_replaces_nothing(self, data):
        """Its call may be dearer than the feature, or be paid anyway: the search decides."""
        groups, once = {"f1": "call"}, {"call": 5.0}
        assert self.left(data, [3.0, 1.0, 1.0, 1.0, 1.0], groups=groups, once=once) == (
            (0, 1, 2),
            {3: 2},
        )
