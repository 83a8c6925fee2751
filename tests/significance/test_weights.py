"""Tests and intervals of queries that have weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ranksieve.data import DataError
from ranksieve.significance import (
    bootstrap_interval,
    effect_size,
    non_inferiority,
    paired_t_test,
    randomization_test,
    wilcoxon_test,
)
from ranksieve.significance.samples import Sample
from tests.significance.test_significance import ALTERNATIVES, binomial_band, pairs, two_methods

TESTS = (paired_t_test, randomization_test, wilcoxon_test)
COMPARISONS = (*TESTS, bootstrap_interval, effect_size, non_inferiority)


def some_weights(n_queries, seed=1):
    return np.random.default_rng(seed).lognormal(size=n_queries)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_t_test_is_that_of_the_jackknife(alternative):
    """By the formulas, one query at a time."""
    a, b = two_methods(40)
    weights = some_weights(40)

    result = paired_t_test(a, b, alternative, weights)

    total = sum(weights.tolist())
    mean = sum(w * (x - y) for w, x, y in zip(weights, a, b, strict=True)) / total
    without = [np.average(np.delete(a - b, q), weights=np.delete(weights, q)) for q in range(40)]
    error = np.sqrt(39 / 40 * sum((mean - other) ** 2 for other in without))
    effective = total**2 / sum(w * w for w in weights.tolist())
    assert result.difference == pytest.approx(mean)
    assert result.statistic == pytest.approx(mean / error)
    of_student = stats.t(effective - 1)
    p_value = {
        "two-sided": 2 * of_student.sf(abs(mean / error)),
        "greater": of_student.sf(mean / error),
        "less": of_student.cdf(mean / error),
    }[alternative]
    assert result.p_value == pytest.approx(p_value)


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("weight", [1.0, 7.5])
def test_equal_weights_are_none(comparison, weight):
    a, b = two_methods(50)
    found = comparison(a, b, weights=np.full(50, weight))
    assert found == pytest.approx(comparison(a, b), rel=1e-9)


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_weights_have_no_scale_and_those_of_zero_leave_out(comparison):
    a, b = two_methods(60)
    weights = some_weights(60)
    weights[::3] = 0.0
    found = comparison(a, b, weights=weights)
    kept = weights > 0
    assert found == pytest.approx(comparison(a, b, weights=1e6 * weights), rel=1e-9)
    assert found == pytest.approx(comparison(a[kept], b[kept], weights=weights[kept]), rel=1e-9)
    assert found != pytest.approx(comparison(a[kept], b[kept]), rel=1e-3)


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_queries_does_not_matter(rows, random):
    a, b = rows[0], rows[1] + 0.1
    weights = np.array([random.choice([0.5, 1.0, 2.0]) for _ in a])
    order = list(range(len(a)))
    random.shuffle(order)
    for comparison in COMPARISONS:
        shuffled = comparison(a[order], b[order], weights=weights[order])
        expected = pytest.approx(comparison(a, b, weights=weights), nan_ok=True)
        assert shuffled == expected, comparison.__name__


@pytest.mark.parametrize(("method", "name"), [("bca", "BCa"), ("percentile", "percentile")])
def test_bootstrap_interval_is_that_of_scipy(method, name):
    a, b = two_methods(35)
    weights = some_weights(35)

    interval = bootstrap_interval(a, b, 0.9, 9999, method, weights=weights)

    expected = stats.bootstrap(
        (a - b, weights),
        lambda d, w, axis: (d * w).sum(axis=axis) / w.sum(axis=axis),
        paired=True,
        confidence_level=0.9,
        n_resamples=9999,
        method=name,
        random_state=np.random.default_rng(5),
    ).confidence_interval
    width = expected.high - expected.low
    assert interval.estimate == pytest.approx(np.average(a - b, weights=weights))
    assert interval.lower == pytest.approx(expected.low, abs=0.03 * width)
    assert interval.upper == pytest.approx(expected.high, abs=0.03 * width)


@pytest.mark.parametrize("test", TESTS)
def test_tests_keep_their_level(test):
    rng = np.random.default_rng(3)
    n_trials = 600
    options = {"n_permutations": 400} if test is randomization_test else {}

    p_values = [
        test(*rng.normal(size=(2, 40)), weights=rng.uniform(0.2, 3, 40), **options).p_value
        for _ in range(n_trials)
    ]

    for level in (0.05, 0.2, 0.5):
        rejected = np.mean(np.array(p_values) <= level)
        assert rejected == pytest.approx(level, abs=binomial_band(level, n_trials))


@given(pairs, st.sampled_from([0.0, 0.2]), st.booleans(), st.integers(0, 100))
def test_verdict_p_value_and_bound_agree(rows, margin, relative, seed):
    a, b = rows
    if relative and b.sum() == 0:
        return
    weights = some_weights(len(a), seed)

    result = non_inferiority(a, b, margin, relative, 0.9, weights)

    assert result.non_inferior == (result.p_value < 1 - 0.9)
    if abs(result.lower + margin) > 1e-9:
        assert result.non_inferior == (result.lower > -margin)
    assert result.lower <= result.change + 1e-12


def test_bound_is_the_margin_at_which_the_verdict_turns():
    a, b = two_methods(60, gain=0.02)
    weights = some_weights(60)

    for relative in (True, False):
        turn = -non_inferiority(a, b, relative=relative, weights=weights).lower
        assert 0.001 < turn < 0.2
        assert non_inferiority(a, b, turn + 1e-9, relative, weights=weights).non_inferior
        assert not non_inferiority(a, b, turn - 1e-9, relative, weights=weights).non_inferior


def test_a_few_heavy_queries_tell_less():
    a, b = two_methods(50)
    heavy = np.where(np.arange(50) < 3, 1000.0, 1.0)
    sample = Sample.of(a - b, heavy)
    assert 2 <= sample.degrees < 2.2
    assert paired_t_test(a, b, weights=heavy).p_value > paired_t_test(a, b).p_value


def test_one_query_with_all_the_weight_shows_nothing():
    a, b = two_methods(20)
    weights = np.full(20, 1e-300)
    weights[4] = 1.0
    assert paired_t_test(a, b, weights=weights).p_value == pytest.approx(1.0)
    assert not non_inferiority(a, b, weights=weights).non_inferior


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "3 weights for the values of 4 queries"),
        ([1.0, 1.0, 1.0, -1.0], "must not be negative"),
        ([1.0, 0.0, 0.0, 0.0], "at least 2 must be positive"),
        ([1.0, 1.0, 1.0, np.nan], "weights has nan at position 3"),
    ],
)
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_wrong_weights(comparison, weights, message):
    with pytest.raises(DataError, match=message):
        comparison([0.1, 0.2, 0.3, 0.5], [0.2, 0.1, 0.4, 0.3], weights=weights)
