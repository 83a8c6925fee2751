"""Leave-query-out errors of pairwise least squares with groups of columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import RankingData
from ranksieve.engine import engine_of
from ranksieve.solvers.rankrls.features import FeatureModel, KeptResiduals
from ranksieve.solvers.rankrls.groups import GroupModel, GroupProducts, GroupResiduals
from ranksieve.sums.gram import GramSums
from tests import oracles

N_COLUMNS = 8
CONSTANT = 7  # within every query
LAMBDAS = st.sampled_from([2.0**-10, 2.0**-3, 1.0, 30.0, 2.0**10])


def random_data(seed, n_queries=7, longest=7):
    """Queries of 1 to ``longest`` documents; a column of ones and zeros, a copy, a constant."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, longest + 1, n_queries))
    X = rng.normal(size=(len(qid), N_COLUMNS))
    y = rng.integers(0, 3, len(qid)).astype(float)
    X[:, 0] += y
    X[:, 2] = rng.random(len(qid)) < 0.2
    X[:, 4] = X[:, 3]
    X[:, CONSTANT] = qid
    return RankingData(X, y, qid)


def brute_force(data, groups, models, lam):
    """Error of each model, a list of groups."""
    columns = [[column for group in model for column in groups[group]] for model in models]
    rows = data.X, data.y, data.qid.tolist()
    return oracles.group_errors(*rows, [], columns, lam, data.query_weights)


@st.composite
def partitions(draw):
    """Columns in groups, in any order."""
    order = draw(st.permutations(range(N_COLUMNS)))
    cuts = sorted(draw(st.sets(st.integers(1, N_COLUMNS - 1), min_size=1)))
    return [tuple(order[a:b]) for a, b in zip([0, *cuts], [*cuts, N_COLUMNS], strict=True)]


class TestEqualToBruteForce:
    @given(st.integers(0, 10**6), partitions(), LAMBDAS, st.data())
    def test_any_sequence_of_additions_and_removals(self, seed, groups, lam, draw):
        weights = draw.draw(st.none() | st.lists(st.integers(0, 3), min_size=7, max_size=7))
        data = random_data(seed)
        if weights is not None:
            data = data.with_weights([1, *weights[1:]])
        changes = draw.draw(st.lists(st.integers(0, len(groups) - 1), max_size=6))
        with engine_of(data).start(GroupResiduals) as workers:
            model = GroupModel(GroupProducts(workers, groups), lam)
            for group in changes:
                model.change(group)
            chosen = model.chosen
            free = [group for group in range(len(groups)) if group not in chosen]
            fewer = [[g for g in chosen if g != group] for group in chosen]
            more = [[*chosen, group] for group in free]
            expected = brute_force(data, groups, [chosen, *fewer, *more], lam)
            errors = [model.error, *model.removal_errors(chosen)]
            if free:
                errors.extend(model.addition_errors(np.array(free)))
            np.testing.assert_allclose(errors, expected, rtol=1e-10)

    @pytest.mark.parametrize("longest", [3, 40])
    def test_weights_and_long_queries(self, longest):
        data = random_data(1, n_queries=5, longest=longest)
        groups = [(0, 1, 6), (3, 4), (5, CONSTANT)]
        with engine_of(data).start(GroupResiduals) as workers:
            model = GroupModel(GroupProducts(workers, groups), 1.0)
            model.change(2)
            model.change(0)
            expected = brute_force(data, groups, [[2, 0, 1]], 1.0)
            np.testing.assert_allclose(model.addition_errors(np.array([1])), expected, rtol=1e-10)
            pairs, targets = oracles.pairs_of(data.X, data.y, data.qid.tolist(), None, inside=False)
            pairs = pairs[:, [5, 0, 1, 6]]
            weights = np.linalg.solve(pairs.T @ pairs + np.eye(4), pairs.T @ targets)
            expected = np.insert(weights, 1, 0.0)  # that of the constant
            np.testing.assert_allclose(model.coefficients, expected, rtol=1e-10)

    @given(st.integers(0, 10**6), LAMBDAS, st.lists(st.integers(0, N_COLUMNS - 1), max_size=6))
    def test_groups_of_one_column_are_features_whose_residuals_are_kept(self, seed, lam, changes):
        data = random_data(seed)
        with (
            engine_of(data).start(GroupResiduals) as grouped,
            engine_of(data).start(KeptResiduals) as single,
        ):
            groups = [(column,) for column in range(N_COLUMNS)]
            model = GroupModel(GroupProducts(grouped, groups), lam)
            other = FeatureModel(single, GramSums(*single.sum(KeptResiduals.gram)), lam)
            for column in changes:
                model.change(column)
                other.change(column)
            free = np.setdiff1d(np.arange(N_COLUMNS), model.chosen)
            for candidates in (free, free[:2]):  # nearly all columns are read at once
                ours, theirs = (one.addition_errors(candidates) for one in (model, other))
                np.testing.assert_allclose(ours, theirs, rtol=1e-9)
            if changes and model.chosen:
                ours, theirs = (one.removal_errors(model.chosen) for one in (model, other))
                np.testing.assert_allclose(ours, theirs, rtol=1e-9)
            assert model.error == pytest.approx(other.error, rel=1e-9)
            assert model.square == pytest.approx(other.square, rel=1e-9)
            np.testing.assert_allclose(model.coefficients, other.coefficients, rtol=1e-7)


def test_everywhere_the_same(everywhere):
    data = random_data(3, n_queries=60)
    groups = [(0, 1, 2), (3, 4), (5, 6, CONSTANT)]

    def errors(source):
        with engine_of(source).start(GroupResiduals) as workers:
            model = GroupModel(GroupProducts(workers, groups), 1.0)
            model.change(1)
            return model.addition_errors(np.array([0, 2]))

    np.testing.assert_allclose(errors(everywhere(data, shard_bytes=4000)), errors(data), rtol=1e-12)
