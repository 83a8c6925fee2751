"""Risk against one baseline and against several methods, by hand and query by query."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ranksieve.data import DataError
from ranksieve.significance import geo_risk, paired_t_test, t_risk, u_risk
from tests import oracles

twentieths = st.integers(0, 20).map(lambda n: n / 20)
tables = st.tuples(st.integers(2, 4), st.integers(2, 9)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=twentieths)
)
alphas = st.sampled_from([0.0, 0.5, 1.0, 5.0])


def test_by_hand():
    a, b = [0.5, 0.75, 0.25, 0.5], [0.25, 0.25, 0.5, 0.5]
    # Differences .25, .5, -.25, 0; the loss counts twice: .25, .5, -.5, 0.
    assert u_risk(a, b, 1) == 0.0625
    deviation = math.sqrt((0.1875**2 + 0.4375**2 + 0.5625**2 + 0.0625**2) / 3)
    assert t_risk(a, b, 1) == pytest.approx(0.0625 / (deviation / 2))
    # Expected of both on the first query .75, on the second .25: z = +-.25 / sqrt(e).
    z = (0.25 / math.sqrt(0.75) - 2 * 0.25 / math.sqrt(0.25)) / 2
    below = 0.5 * (1 + math.erf(z / math.sqrt(2)))
    assert geo_risk([[1.0, 0.0], [0.5, 0.5]], 1)[0] == pytest.approx(math.sqrt(0.5 * below))


@given(tables, alphas)
def test_equal_to_the_sums_query_by_query(table, alpha):
    a, b = table[:2].tolist()
    assert u_risk(a, b, alpha) == pytest.approx(oracles.u_risk(a, b, alpha))
    expected = [oracles.geo_risk(table.tolist(), row, alpha) for row in range(len(table))]
    assert geo_risk(table, alpha).tolist() == pytest.approx(expected)


@given(tables)
def test_without_a_weight_of_losses_it_is_the_t_test(table):
    a, b = table[:2]
    assert u_risk(a, b, 0) == pytest.approx(paired_t_test(a, b).difference)
    assert t_risk(a, b, 0) == pytest.approx(paired_t_test(a, b).statistic)


@given(tables)
def test_more_weight_of_losses_is_never_better(table):
    a, b = table[:2]
    risks = [u_risk(a, b, alpha) for alpha in (0, 1, 2)]
    assert risks == sorted(risks, reverse=True)
    several = np.array([geo_risk(table, alpha) for alpha in (0, 1, 2)])
    assert (np.diff(several, axis=0) <= 1e-12).all()


def test_equal_methods_risk_nothing():
    same = [0.3, 0.0, 0.9]
    assert (u_risk(same, same), t_risk(same, same)) == (0, 0)
    # Phi(0) = 1/2; queries and methods of which nothing is expected count nothing.
    assert geo_risk([same, same]) == pytest.approx([math.sqrt(0.4 / 2)] * 2)
    assert geo_risk(np.zeros((2, 3))).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: u_risk([1.0, 0.0], [1.0]), "a has 2 values and b has 1"),
        (lambda: geo_risk([0.1, 0.2]), r"methods by queries, got shape \(2,\)"),
        (lambda: geo_risk([[0.1], [np.nan]]), "nan for method 1 in query 0"),
        (lambda: geo_risk([[0.1], [-0.1]]), "values has negative numbers"),
        (lambda: t_risk([1.0, 0.0], [1.0, 1.0], -1), "alpha must be 0 or more, got -1"),
        (lambda: geo_risk([[0.1], [0.2]], math.nan), "alpha must be 0 or more, got nan"),
    ],
)
def test_input_that_cannot_be_used(call, message):
    with pytest.raises((DataError, ValueError), match=message):
        call()
