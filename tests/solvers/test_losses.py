"""Each loss and its gradient equal explicit pairs or draws, and numerical differentiation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ranksieve.solvers.gradient.losses import LOSSES
from tests import oracles

NAIVE = {
    "ranknet": oracles.loss_ranknet,
    "listnet": oracles.loss_listnet,
    "listmle": oracles.loss_listmle,
    "listmle-cost": lambda scores, labels: oracles.loss_listmle(
        scores, labels, oracles.shares_of_ideal_dcg(labels)
    ),
}
SCORES = st.one_of(st.floats(-5, 5), st.sampled_from([-1.0, 0.0, 0.5, 2.0]))


@st.composite
def queries(draw, most=3):
    """Scores and labels of a few queries, many of them tied, and where they begin."""
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=most))
    n = sum(lengths)
    scores = draw(arrays.arrays(np.float64, n, elements=SCORES))
    labels = draw(arrays.arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0, 2.0, 3.5])))
    return scores, labels, np.cumsum([0, *lengths])


def loss_of(name, scores, labels, query_ptr, weights=None):
    prepared = LOSSES[name].prepare(labels, query_ptr)
    weights = np.ones(len(query_ptr) - 1) if weights is None else weights
    return prepared(scores, weights)


def parts(scores, labels, query_ptr):
    for start, end in itertools.pairwise(query_ptr):
        yield scores[start:end], labels[start:end]


@given(given_queries=queries())
def test_equals_the_explicit_loss_and_its_differences(given_queries):
    scores, labels, query_ptr = given_queries
    for name, naive in NAIVE.items():

        def total(at, naive=naive):
            return sum(naive(*part) for part in parts(at, labels, query_ptr))

        loss, gradient = loss_of(name, scores, labels, query_ptr)
        assert loss == pytest.approx(total(scores), rel=1e-12, abs=1e-12), name
        slopes = oracles.slopes(total, scores, 1e-3)
        np.testing.assert_allclose(gradient, slopes, atol=1e-8, err_msg=name)


@given(given_queries=queries())
def test_lambdarank_equals_explicit_swaps(given_queries):
    scores, labels, query_ptr = given_queries
    expected, slopes = 0.0, []
    for part, its_labels in parts(scores, labels, query_ptr):
        weights = oracles.lambdarank_weights(part.tolist(), its_labels.tolist())
        expected += oracles.loss_weighted_pairs(part, weights)

        def frozen(at, weights=weights):
            return oracles.loss_weighted_pairs(at, weights)

        slopes.append(oracles.slopes(frozen, part, 1e-3))
    loss, gradient = loss_of("lambdarank", scores, labels, query_ptr)
    assert loss == pytest.approx(expected, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, np.concatenate(slopes), atol=1e-8)


class TestEveryLoss:
    """Queries are drawn once for all losses, which takes longer than to compute them."""

    @given(given_queries=queries(), weight=st.floats(0, 3))
    def test_weights_and_order_of_queries(self, given_queries, weight):
        scores, labels, query_ptr = given_queries
        weights = np.full(len(query_ptr) - 1, weight)
        for name in LOSSES:
            loss, gradient = loss_of(name, scores, labels, query_ptr, weights)
            plain, plain_gradient = loss_of(name, scores, labels, query_ptr)
            assert loss == pytest.approx(weight * plain, abs=1e-12), name
            expected = weight * plain_gradient
            np.testing.assert_allclose(gradient, expected, atol=1e-12, err_msg=name)

    @given(given_queries=queries(most=5), data=st.data())
    def test_some_queries(self, given_queries, data):
        scores, labels, query_ptr = given_queries
        n_queries = len(query_ptr) - 1
        chosen = np.array(data.draw(st.permutations(range(n_queries)))[: (n_queries + 1) // 2])
        rows = np.concatenate([np.arange(query_ptr[q], query_ptr[q + 1]) for q in chosen])
        score_ptr = np.cumsum([0, *np.diff(query_ptr)[chosen]])
        weights = np.linspace(1, 2, n_queries)
        others = np.where(np.isin(np.arange(n_queries), chosen), weights, 0.0)
        for name, kind in LOSSES.items():
            prepared = kind.prepare(labels, query_ptr)
            _, everywhere = prepared(scores, weights)
            loss, gradient = prepared(scores[rows], weights, chosen, score_ptr)
            np.testing.assert_array_equal(gradient, everywhere[rows], err_msg=name)
            assert loss == pytest.approx(prepared(scores, others)[0], abs=1e-12), name

    @given(given_queries=queries(), shift=st.sampled_from([-1e6, 3.0, 1e6]))
    def test_shift_of_all_scores_changes_nothing(self, given_queries, shift):
        scores, labels, query_ptr = given_queries
        scores = scores.round(2)
        for name in LOSSES:
            loss, gradient = loss_of(name, scores, labels, query_ptr)
            shifted, shifted_gradient = loss_of(name, scores + shift, labels, query_ptr)
            # Numbers near 1e6 have a spacing of 1e-10, which may also break ties of scores.
            if name != "lambdarank":
                assert shifted == pytest.approx(loss, abs=1e-7), name
                np.testing.assert_allclose(shifted_gradient, gradient, atol=1e-7, err_msg=name)
            assert abs(np.add.reduceat(shifted_gradient, query_ptr[:-1])).max() < 1e-9, name

    @pytest.mark.parametrize("name", LOSSES)
    @pytest.mark.parametrize("size", [1e3, 1e150, 1e300])
    def test_large_scores_do_not_overflow(self, name, size):
        labels = np.array([2.0, 0, 1, 0, 1])
        for signs in itertools.product([-1.0, 0.0, 1.0], repeat=5):
            scores = size * np.array(signs)
            with np.errstate(all="raise"):
                loss, gradient = loss_of(name, scores, labels, np.array([0, 5]))
            assert np.isfinite(loss)
            assert np.isfinite(gradient).all()
            assert loss >= 0

    @pytest.mark.parametrize("name", LOSSES)
    def test_queries_that_tell_nothing(self, name):
        labels = np.array([1.0, 2, 2, 2, 0, 0])
        loss, gradient = loss_of(name, np.arange(6.0), labels, np.array([0, 1, 4, 6]))
        assert loss == 0
        assert not gradient.any()
        assert not LOSSES[name].prepare(labels, np.array([0, 1, 4, 6])).terms.any()


def test_listmle_is_a_distribution_over_orders():
    scores = np.array([0.3, -1.2, 2.0, 0.1])
    chances = [
        np.exp(-loss_of("listmle", scores, np.array(labels, float), np.array([0, 4]))[0])
        for labels in itertools.permutations(range(4))
    ]
    assert sum(chances) == pytest.approx(1, rel=1e-12)


def test_number_of_terms():
    labels, query_ptr = np.array([2.0, 1, 1, 0, 5, 5, 7]), np.array([0, 4, 6, 7])
    assert LOSSES["ranknet"].prepare(labels, query_ptr).terms.tolist() == [5, 0, 0]
    assert LOSSES["listnet"].prepare(labels, query_ptr).terms.tolist() == [1, 0, 0]
