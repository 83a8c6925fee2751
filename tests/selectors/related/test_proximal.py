"""Proximal gradient steps reach the least of a smooth loss plus lengths of rows."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from ranksieve.selectors.related import proximal


def quadratic(random, n):
    """A loss whose curvatures differ by a factor of a thousand, and where it is least."""
    basis, _ = np.linalg.qr(random.normal(size=(n, n)))
    matrix = basis @ np.diag(np.geomspace(0.01, 10, n)) @ basis.T
    center = random.normal(size=n)

    def loss_and_gradient(x):
        away = matrix @ (x - center)
        return 0.5 * float((x - center) @ away), away

    return loss_and_gradient


@pytest.mark.parametrize("seed", range(5))
def test_absolute_weights_as_by_bounds(seed):
    random = np.random.default_rng(seed)
    loss_and_gradient, costs = quadratic(random, 8), random.uniform(0.1, 1, 8)

    def of_both(split):
        loss, slopes = loss_and_gradient(split[:8] - split[8:])
        value = loss + costs @ (split[:8] + split[8:])
        return value, np.concatenate([slopes + costs, costs - slopes])

    expected = minimize(
        of_both, np.zeros(16), jac=True, bounds=[(0, None)] * 16, options={"ftol": 1e-15}
    )
    found = proximal.minimize(
        loss_and_gradient, np.zeros(8), proximal.RowPenalty(costs), 1e-8, 10_000
    )
    assert found.objective == pytest.approx(expected.fun, abs=1e-8)
    np.testing.assert_allclose(found.weights, expected.x[:8] - expected.x[8:], atol=1e-3)
    assert found.violation <= 1e-8


def test_rows_become_0_together_and_the_rest_is_free():
    random = np.random.default_rng(0)
    loss_and_gradient = quadratic(random, 11)
    penalty = proximal.RowPenalty(np.full(4, 1.0), 2)
    found = proximal.minimize(loss_and_gradient, random.normal(size=11), penalty, 1e-9, 10_000)
    rows = found.weights[:8].reshape(4, 2)
    is_zero = ~rows.any(axis=1)
    assert is_zero.any()
    assert (rows[~is_zero] != 0).all()
    slopes = loss_and_gradient(found.weights)[1]
    assert np.abs(slopes[8:]).max() < 1e-8
    for row, own in zip(rows, slopes[:8].reshape(4, 2), strict=True):
        length = np.linalg.norm(row)
        if length == 0:
            assert np.linalg.norm(own) <= 1 + 1e-8
        else:
            np.testing.assert_allclose(own, -row / length, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_small_steps_are_not_misled_by_rounding(seed):
    """Near the minimum losses do not tell a step that is too long from a good one."""
    random = np.random.default_rng(seed)
    loss_and_gradient = quadratic(random, 11)
    penalty = proximal.RowPenalty(np.full(4, 1.0), 2)
    found = proximal.minimize(loss_and_gradient, random.normal(size=11), penalty, 1e-9, 10_000)
    assert found.violation <= 1e-9
    assert found.n_iter < 2_000


def test_too_few_steps_are_told():
    loss_and_gradient = quadratic(np.random.default_rng(0), 5)
    with pytest.warns(ConvergenceWarning, match=r"after 3 steps \(max_iter=3\)"):
        found = proximal.minimize(
            loss_and_gradient, np.zeros(5), proximal.RowPenalty(np.zeros(5)), 1e-12, 3
        )
    assert found.n_iter == 3
