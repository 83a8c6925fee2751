"""Tests and intervals of queries that have weights."""

import numpy as np
import pytest
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
from tests.significance.test_significance import ALTERNATIVES, some_weights, two_methods

TESTS = (paired_t_test, randomization_test, wilcoxon_test)
COMPARISONS = (*TESTS, bootstrap_interval, effect_size, non_inferiority)


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
