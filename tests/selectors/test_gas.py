"""GAS: marginal gains, its exact solver, and what its parameters do."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.base import Choices
from ranksieve.metrics import evaluate
from ranksieve.selectors import GAS, Importance, Similarity, TopImportance
from ranksieve.selectors.filters.gas import objective
from tests import oracles


@pytest.fixture(scope="module")
def planted():
    return make_ranking(80, docs_per_query=(2, 20), n_informative=3, n_noise=3, random_state=4)


@pytest.mark.parametrize("importance", ["map", "ndcg@5", "loss", "one_minus_loss"])
@pytest.mark.parametrize("similarity", ["concordance", "tau_a", "tau_b", "spearman"])
def test_each_step_has_the_largest_marginal_gain(planted, importance, similarity):
    data, _ = planted
    gas = GAS(6, importance=importance, similarity=similarity, c=0.2).fit(data)
    w, e = gas.importance_, gas.similarity_
    chosen: list[int] = []
    for feature, score in gas.path_:
        before = objective(w, e, 0.2, chosen)
        gains = {
            j: objective(w, e, 0.2, [*chosen, j]) - before
            for j in range(data.n_features)
            if j not in chosen
        }
        assert score == pytest.approx(gains[feature], abs=1e-9)
        assert gains[feature] == pytest.approx(max(gains.values()), abs=1e-9)
        chosen.append(feature)
    assert gas.objective_ == pytest.approx(objective(w, e, 0.2, chosen))


def test_importance_is_that_of_the_better_direction(planted):
    data, _ = planted
    gas = GAS(2, importance="map").fit(data)
    loss = GAS(2, importance="loss").fit(data)
    for feature in range(data.n_features):
        column = data.X[:, feature]
        maps = [
            evaluate(data.y, sign * column, data.qid, "map", ties="average").mean["MAP"]
            for sign in (1, -1)
        ]
        assert gas.importance_[feature] == pytest.approx(max(maps))
        assert gas.directions_[feature] == (1 if maps[0] >= maps[1] else -1)
        errors = [
            evaluate(data.y, sign * column, data.qid, "pairwise-error").mean["PairwiseError"]
            for sign in (1, -1)
        ]
        assert loss.importance_[feature] == pytest.approx(1 / min(errors))
    one = GAS(2, importance=Importance("map", both_directions=False)).fit(data)
    assert np.all(one.directions_ == 1)
    assert np.all(one.importance_ <= gas.importance_)


def test_queries_without_pairs_have_no_loss(planted):
    """The loss is a mean over the queries that have pairs; others would make it smaller."""
    data, _ = planted
    y = np.where(data.query_codes % 3, data.y, 1.0)
    some = RankingData(data.X, y, data.qid)
    source = some
    for importance in ("loss", "one_minus_loss"):
        expected = GAS(4, importance=importance).fit(oracles.with_pairs(some)).importance_
        found = GAS(4, importance=importance).fit(source).importance_
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_similarity_it_is_the_top_by_importance(planted):
    data, _ = planted
    top = TopImportance(8, importance="map").fit(data)
    np.testing.assert_array_equal(GAS(8, c=0).fit(data).selected_, top.selected_)


def test_similarity_keeps_copies_out():
    data, truth = make_ranking(
        150, n_informative=4, n_redundant=8, n_noise=0, copy_noise=0.05, tied=0, noise=0.2
    )
    aligned = Similarity("concordance", align_directions=True)
    families = truth.families[GAS(4, c=1.0, similarity=aligned).fit(data).selected_]
    assert sorted(families) == [0, 1, 2, 3]


def test_aligned_directions_change_signs(planted):
    data, _ = planted
    plain = GAS(2, similarity="tau_a").fit(data)
    aligned = GAS(2, similarity=Similarity("tau_a", align_directions=True)).fit(data)
    signs = np.outer(plain.directions_, plain.directions_)
    np.testing.assert_allclose(aligned.similarity_, signs * plain.similarity_, atol=1e-12)


def test_a_function_can_be_the_similarity(planted):
    data, _ = planted
    gas = GAS(3, c=1, similarity=lambda source: np.eye(source.n_features)).fit(data)
    np.testing.assert_array_equal(gas.selected_, GAS(3, c=0).fit(data).selected_)
    for wrong in (np.full((data.n_features,) * 2, np.nan), [[1], [2, 3]], "abc"):
        with pytest.raises(DataError, match="must return a matrix of finite numbers"):
            GAS(3, similarity=lambda source, wrong=wrong: wrong).fit(data)


@st.composite
def problems(draw):
    n = draw(st.integers(2, 6))
    numbers = st.floats(-1, 1).map(lambda value: round(value, 3))
    w = np.array(draw(st.lists(numbers, min_size=n, max_size=n)))
    upper = draw(st.lists(numbers, min_size=n * n, max_size=n * n))
    e = np.triu(np.reshape(upper, (n, n)), k=1)
    return w, e + e.T, draw(st.sampled_from([0.0, 0.1, 1.0])), draw(st.integers(1, n))


@given(problems())
def test_the_exact_solver_finds_the_optimum(problem):
    from ranksieve.selectors.filters.gas import _solve_exactly

    w, e, c, k = problem
    ours = [
        step.group
        for step in _solve_exactly(w, e, c, Choices(np.arange(len(w)), len(w), None, [], k, False))
    ]
    best = max(objective(w, e, c, list(s)) for s in itertools.combinations(range(len(w)), k))
    assert len(ours) == k
    assert objective(w, e, c, ours) == pytest.approx(best, abs=1e-6)


def test_greedy_is_at_most_the_optimum(planted):
    data, _ = planted
    greedy = GAS(4, c=0.3).fit(data)
    exact = GAS(4, c=0.3, solver="exact").fit(data)
    assert greedy.objective_ <= exact.objective_ + 1e-9
    assert sorted(exact.selected_, key=lambda f: -exact.importance_[f]) == list(exact.selected_)


def test_many_features_are_refused_by_the_exact_solver():
    wide, _ = make_ranking(5, n_noise=60)
    with pytest.raises(DataError, match="up to 60 features"):
        GAS(2, solver="exact").fit(wide)
