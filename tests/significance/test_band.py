"""Simultaneous bands: against slow formulas and integrals, and by simulation with a known truth."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from ranksieve import DataError
from ranksieve.significance import claim_non_inferiority, simultaneous_band


def drawn(rng, n_queries, correlation, n_candidates=6, spread=0.05):
    """Differences whose true means are 0, with a base that varies."""
    shared, own = rng.normal(size=(1, n_queries)), rng.normal(size=(n_candidates, n_queries))
    differences = spread * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
    return differences, rng.uniform(0.2, 0.9, n_queries)


def slow_moves(differences, base, weights):
    """How far each query moves the relative change of one candidate."""
    change = np.average(differences, weights=weights) / np.average(base, weights=weights)
    shares = np.asarray(weights) / np.mean(weights)
    moves = [
        share * (own - change * value) / np.average(base, weights=weights)
        for share, own, value in zip(shares, differences, base, strict=True)
    ]
    return change, np.array(moves)


@pytest.mark.parametrize("weighted", [False, True])
def test_changes_and_errors_equal_slow_ones(weighted):
    rng = np.random.default_rng(0)
    differences, base = drawn(rng, 30, 0.4)
    weights = rng.uniform(0.5, 2, 30) if weighted else np.ones(30)
    how = {"variance_factor": 1.25, "deviations": 0.003}
    band = simultaneous_band(differences, base, weights=weights if weighted else None, **how)
    for place, row in enumerate(differences):
        change, moves = slow_moves(row, base, weights)
        error = np.sqrt(1.25 * np.sum(moves**2) / (30 * 29) + 0.003**2)
        assert band.change[place] == pytest.approx(change, rel=1e-9)
        assert band.error[place] == pytest.approx(error, rel=1e-9)
    assert np.allclose(band.lower, band.change - band.quantile * band.error)
    assert band.base == pytest.approx(np.average(base, weights=weights))


def test_one_candidate_has_the_bound_of_a_single_test():
    rng = np.random.default_rng(1)
    (row,), base = drawn(rng, 40, 0.0, n_candidates=1)
    band = simultaneous_band(row, base)
    assert band.quantile == pytest.approx(stats.t.ppf(0.95, 39))
    alone = claim_non_inferiority(base + row, base, 0.01, 0.95)
    assert band.change[0] == pytest.approx(alone.change)
    assert band.lower[0] == pytest.approx(alone.lower, abs=2e-4)  # that of a ratio is not centered


@pytest.mark.parametrize(("n_queries", "n_candidates"), [(10, 2), (25, 5), (2000, 12)])
def test_the_quantile_of_independent_candidates_is_an_integral(n_queries, n_candidates):
    """P(max <= z) is the integral of Phi(z s)^t over the density of s = sqrt(chi2 / df)."""
    rng = np.random.default_rng(2)
    differences = np.linalg.qr(rng.normal(size=(n_queries, n_candidates)))[0].T
    differences -= differences.mean(axis=1, keepdims=True)
    z = simultaneous_band(differences, np.ones(n_queries)).quantile
    degrees = n_queries - 1

    def density(s):
        return (
            special.ndtr(z * s) ** n_candidates
            * stats.chi.pdf(s * np.sqrt(degrees), degrees)
            * np.sqrt(degrees)
        )

    assert integrate.quad(density, 0.01, 4, limit=200)[0] == pytest.approx(0.95, abs=0.006)


def test_candidates_that_say_the_same_cost_nothing():
    rng = np.random.default_rng(3)
    (row,), base = drawn(rng, 50, 0.0, n_candidates=1)
    band = simultaneous_band(np.vstack([row] * 5), base)
    assert band.quantile == pytest.approx(stats.t.ppf(0.95, 49), rel=0.02)
    nothing = simultaneous_band(np.vstack([row, 0 * row]), base)  # e.g. a set that is all features
    assert (nothing.change[1], nothing.error[1], nothing.lower[1]) == (0, 0, 0)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_all_bounds_hold_with_the_stated_confidence(correlation, level):
    """The adversary looks for any bound above the true change, which is 0."""
    rng, runs, false = np.random.default_rng([int(100 * correlation)]), 400, 0
    for _ in range(runs):
        band = simultaneous_band(*drawn(rng, 40, correlation), level)
        false += (band.lower > 0).any()
    assert false <= stats.binom.ppf(0.999, runs, 1 - level)
    assert false >= stats.binom.ppf(0.001, runs, 1 - level)  # and is not wider than it must be


def test_bounds_one_by_one_would_not():
    """So that the simulation above can fail."""
    rng, runs, false = np.random.default_rng(0), 400, 0
    for _ in range(runs):
        band = simultaneous_band(*drawn(rng, 40, 0.0))
        false += (band.change - stats.t.ppf(0.95, 39) * band.error > 0).any()
    assert false > stats.binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize(
    ("differences", "base", "message"),
    [
        ([[0.0, np.nan]], [0.5, 0.5], "finite"),
        ([[0.0, 0.1, 0.2]], [0.5, 0.5], "one for each query"),
        ([[0.0]], [0.5], "at least 2 queries"),
        ([[0.0, 0.1]], [0.0, 0.0], "not positive"),
    ],
)
def test_what_has_no_band_is_told(differences, base, message):
    with pytest.raises(DataError, match=message):
        simultaneous_band(differences, base)
