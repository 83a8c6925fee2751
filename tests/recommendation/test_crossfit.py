"""Cross-fitting: what its parts compute, against slow versions and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import RankingData
from ranksieve.recommendation.crossfit import (
    Means,
    distance,
    distances,
    plan_effort,
    smooth,
    spread_of_paths,
)
from ranksieve.recommendation.queries import divide


@pytest.fixture(scope="module")
def queries():
    rng = np.random.default_rng(0)
    data = RankingData(
        rng.normal(size=(132, 2)), rng.integers(0, 2, 132), np.repeat(np.arange(33), 4)
    )
    return divide(data, 5, 7)


class TestDivision:
    @pytest.mark.parametrize("number", [0, 1, 8])
    def test_each_query_judges_once_what_it_did_not_train(self, queries, number):
        judged = []
        for trial in queries.division(number):
            (part,) = trial.sets.judged.values()
            assert not set(part) & set(trial.sets.train)
            assert len(part) + len(trial.sets.train) == 33
            judged += part.tolist()
        assert sorted(judged) == [*range(33)]

    def test_divisions_differ_and_have_names_of_their_own(self, queries):
        parts = [
            [tuple(*trial.sets.judged.values()) for trial in queries.division(number)]
            for number in range(4)
        ]
        assert len({tuple(one) for one in parts}) == 4
        names = [trial.name for number in range(4) for trial in queries.division(number)]
        assert len(set(names)) == 20

    def test_selectors_see_a_sample_of_the_training_queries_of_large_data(self):
        rows = np.repeat(np.arange(1000), 50)
        large = RankingData(np.zeros((50_000, 1), dtype=np.float32), rows % 2, rows)
        queries = divide(large, 5, 0)
        trial = next(queries.division(0))
        sample = queries.to_select(trial).sets.train
        assert len(sample) == 400  # 20,000 rows
        assert set(sample) < set(trial.sets.train)


class TestEffort:
    @given(
        st.sampled_from([1000, 60_000, 200_000]),
        st.integers(3, 10),
        st.lists(st.integers(1, 100), min_size=1, max_size=20),
    )
    def test_training_costs_no_more_than_it_may(self, n_rows, n_parts, sizes):
        effort = plan_effort(n_rows, n_parts, sizes, 100)
        per_part = sum(sizes) / 100 + 1
        worth = effort.divisions * (
            effort.parts * per_part + (effort.extra * n_parts if effort.extra else 0)
        )
        most = {1000: 150, 60_000: 40, 200_000: 7.5}[n_rows]
        assert worth <= max(most, per_part)
        assert 1 <= effort.parts <= n_parts

    def test_all_features_are_trained_more_often(self):
        effort = plan_effort(1000, 5, [1, 2, 3, 4, 5, 7, 9, 12, 16, 22, 30, 40, 54, 73], 108)
        assert effort == (5, 4, 3)


def test_means_equal_slow_ones():
    rng = np.random.default_rng(0)
    judged = []
    for _ in range(7):
        queries = np.sort(rng.choice(12, 5, replace=False))
        judged.append((queries, rng.normal(size=(2, 5))))
    found = Means.of(judged, 2, 14)
    for query in range(14):
        own = [values[:, list(at).index(query)] for at, values in judged if query in at]
        assert found.times[query] == len(own)
        assert np.allclose(found.mean[:, query], np.mean(own, axis=0) if own else 0)
        expected = np.var(own, axis=0, ddof=1) / len(own) if len(own) > 1 else [np.nan] * 2
        assert np.allclose(found.variance[:, query], expected, equal_nan=True)


class TestSmoothing:
    def test_each_set_is_averaged_with_its_neighbors(self):
        rows = np.arange(12.0).reshape(4, 3) ** 2
        found = smooth(rows, 1)
        assert np.array_equal(found[:2], rows[:2])  # no features, and the smallest set
        assert np.allclose(found[2], (rows[1] + 2 * rows[2] + rows[3]) / 4)
        assert np.allclose(found[3], (rows[2] + 2 * rows[3]) / 4)  # all features differ by 0

    @given(st.lists(st.floats(1e-3, 1), min_size=2, max_size=12), st.floats(0, 1))
    def test_it_never_raises_means_that_rise_ever_less(self, steps, rest):
        """The curve rises to 0, the difference of all features, by steps that get smaller."""
        steps = np.sort([*steps, rest * min(steps)])[::-1]
        curve = -np.cumsum(steps[::-1])[::-1]  # before each step, so the last is -steps[-1]
        assert (smooth(curve[:, None], 0)[:, 0] <= curve + 1e-12).all()


class TestSpreadOfPaths:
    """From data where it is known; the sets of two paths are 0.5 apart, but for the last one."""

    losses = np.array([0.1, 0.06, 0.03, 0.01])

    def judged(self, rng, spread, repeats=8, parts=5, n_queries=400, noise=0.1):
        own, found, paths = rng.normal(0, noise, (4, n_queries)), [], []
        for _ in range(repeats):
            for part in np.array_split(rng.permutation(n_queries), parts):
                paths.append([*((1, 2 + number) for number in rng.integers(0, 10**6, 3)), (1, 2)])
                unlucky = np.sqrt(spread * np.array([2 / 3] * 3 + [0])) * rng.normal()
                values = own[:, part] + rng.normal(0, noise, (4, len(part)))
                found.append((part, values + (self.losses * (unlucky - 1))[:, None]))
        means = Means.of(found, 4, n_queries)
        return found, means, means.mean, paths

    @pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
    def test_a_known_spread_is_found(self, spread):
        """With so many repeats that what other collections say hardly counts."""
        rng = np.random.default_rng(0)
        found = [spread_of_paths(*self.judged(rng, spread, noise=0.02)) for _ in range(80)]
        assert np.mean(found) == pytest.approx(spread, abs=0.1 + 0.1 * spread)

    def test_little_data_says_little(self):
        judged = self.judged(np.random.default_rng(0), 1.0, n_queries=20, noise=5.0)
        assert spread_of_paths(*judged) == pytest.approx(0.3, abs=0.1)
        assert spread_of_paths(*self.judged(np.random.default_rng(0), 1.0, repeats=1)) == 0.3

    def test_distances(self):
        assert distance((1, 2), [(1, 2), (2, 1), (1, 3), ()]) == pytest.approx((2 / 3 + 1) / 4)
        assert distance((), [(), ()]) == 0
        paths = [[(), (1,), (1, 2)], [(), (1,), (1, 3)], [(), (2,), (1, 2)]]
        assert np.allclose(distances(paths), [0, 2 / 3, 4 / 9])
