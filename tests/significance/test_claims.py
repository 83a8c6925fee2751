"""Claims that fewer features lose less than a margin, and how many queries they take."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ranksieve.data import DataError
from ranksieve.significance import (
    bootstrap_interval,
    claim_chains,
    claim_non_inferiority,
    claim_sequence,
    non_inferiority,
    queries_needed,
    showable_margin,
)
from tests.significance.test_significance import binomial_band, pairs, some_weights, two_methods

LEVEL = 0.9
levels = st.sampled_from([0.8, 0.95])
margins = st.sampled_from([0.01, 0.05, 0.3])


@given(pairs, margins, levels, st.booleans())
def test_a_claim_is_the_test_of_non_inferiority(rows, margin, level, weighted):
    a, b = rows
    weights = some_weights(len(a)) if weighted else None

    claim = claim_non_inferiority(a, b, margin, level, weights)

    assert claim.n_queries == len(a)
    assert claim.tested
    assert claim.value == pytest.approx(np.average(a, weights=weights))
    assert claim.base == pytest.approx(np.average(b, weights=weights))
    if claim.base > 0:
        test = non_inferiority(a, b, margin, True, level, weights)
        found = claim.change, claim.lower, claim.p_value, claim.shown
        assert found == pytest.approx(test, rel=1e-9, abs=1e-12)
    else:
        assert not claim.shown


@given(pairs, levels)
def test_the_bound_is_where_the_claim_turns(rows, level):
    a, b = rows[0], rows[1] + 0.1
    turn = -claim_non_inferiority(a, b, 0.01, level).lower
    if 1e-6 < turn < 0.99:
        assert claim_non_inferiority(a, b, turn + 1e-7, level).shown
        assert not claim_non_inferiority(a, b, turn - 1e-7, level).shown


@pytest.mark.parametrize(
    ("a", "b", "change"),
    [
        ([0.5], [0.4], 0.25),  # one query
        ([0.5, 0.3], [0.0, 0.0], math.nan),  # a base of zero
        ([0.0], [0.0], math.nan),
    ],
)
def test_what_cannot_be_shown(a, b, change):
    claim = claim_non_inferiority(a, b)
    assert not claim.shown
    assert claim.lower == -math.inf
    assert claim.p_value == 1
    assert claim.change == pytest.approx(change, nan_ok=True)


def test_a_single_query_of_weight():
    claim = claim_non_inferiority([0.5, 0.9], [0.4, 0.1], weights=[2.0, 0.0])
    assert (claim.n_queries, claim.value, claim.shown) == (1, 0.5, False)


def test_the_same_values_are_shown():
    b = np.linspace(0.1, 0.9, 30)
    claim = claim_non_inferiority(b, b)
    assert claim.shown
    assert claim.lower == pytest.approx(0, abs=1e-12)
    assert queries_needed(b, b) < 30


@given(st.lists(st.floats(-0.1, 0.1), max_size=6), levels)
def test_a_sequence_ends_with_the_first_that_is_not_shown(gains, level):
    a, b = two_methods(30)
    candidates = [a + gain for gain in gains]

    claims = claim_sequence(candidates, b, 0.05, level)

    alone = [claim_non_inferiority(values, b, 0.05, level) for values in candidates]
    n_shown = next((n for n, claim in enumerate(alone) if not claim.shown), len(alone))
    assert [claim.shown for claim in claims] == [n < n_shown for n in range(len(alone))]
    assert [claim.tested for claim in claims] == [n <= n_shown for n in range(len(alone))]
    assert [claim.lower for claim in claims] == [claim.lower for claim in alone]


def test_chains_share_the_level():
    a, b = two_methods(40)
    weights = some_weights(40)
    chains = {"x": [a, a - 0.1], "y": [b], "z": []}

    alone = claim_chains(chains, b, 0.05, 0.94, weights, pass_on=False)
    passed = claim_chains(chains, b, 0.05, 0.94, weights)

    assert [*alone] == [*passed] == ["x", "y", "z"]
    for name, candidates in chains.items():
        assert alone[name] == claim_sequence(candidates, b, 0.05, 0.98, weights)
    assert passed["y"] == alone["y"]
    assert passed["x"] == claim_sequence(chains["x"], b, 0.05, 0.97, weights)  # half of what y had
    assert claim_chains({}, b) == {}


@given(st.lists(st.lists(st.floats(-0.08, 0.02), min_size=1, max_size=3), min_size=1, max_size=3))
def test_chains_pass_on_like_the_graphical_procedure(gains):
    a, b = two_methods(30)
    chains = {str(n): [a + gain for gain in own] for n, own in enumerate(gains)}
    p_values = [
        [claim_non_inferiority(values, b, 0.05).p_value for values in chain]
        for chain in chains.values()
    ]

    claims = claim_chains(chains, b, 0.05, LEVEL)

    shown = [[claim.shown for claim in chain] for chain in claims.values()]
    assert shown == graphical_procedure(p_values, 1 - LEVEL)


def graphical_procedure(p_values, alpha):
    """Algorithm 1 of Bretz et al. 2009, with the whole graph."""
    nodes = [(n, place) for n, chain in enumerate(p_values) for place in range(len(chain))]
    m = len(p_values)
    share = {node: alpha / m if node[1] == 0 else 0.0 for node in nodes}
    edge = {(one, other): 0.0 for one in nodes for other in nodes}
    for n, place in nodes:
        if (n, place + 1) in share:
            edge[(n, place), (n, place + 1)] = 1.0
        else:
            for other in set(range(m)) - {n}:
                edge[(n, place), (other, 0)] = 1 / (m - 1)
    left = list(nodes)
    while rejected := [n for n in left if share[n] > 0 and p_values[n[0]][n[1]] <= share[n]]:
        gone = rejected[0]
        left.remove(gone)
        for one in left:
            share[one] += share[gone] * edge[gone, one]
        before = dict(edge)
        for one in left:
            for other in left:
                loop = before[one, gone] * before[gone, one]
                through = before[one, other] + before[one, gone] * before[gone, other]
                edge[one, other] = through / (1 - loop) if one != other and loop < 1 else 0.0
    return [[(n, place) not in left for place in range(len(own))] for n, own in enumerate(p_values)]


@pytest.mark.slow
def test_wrong_claims_of_many_candidates_are_rare():
    """All candidates lose the margin: a claim of any of them is wrong."""
    rng = np.random.default_rng(5)
    n_trials, n_queries, margin = 250, 30, 0.1

    def wrong(search):
        b = rng.normal(1.0, 0.2, n_queries)
        losses = rng.normal(margin, 0.15, (3, 4, n_queries))
        chains = {str(n): list(b - chain) for n, chain in enumerate(losses)}
        return search(chains, b)

    def together(chains, b):
        return any(
            c.shown for chain in claim_chains(chains, b, margin, LEVEL).values() for c in chain
        )

    def best_of_all(chains, b):
        best = max((values for chain in chains.values() for values in chain), key=np.mean)
        return claim_non_inferiority(best, b, margin, LEVEL).shown

    band = binomial_band(1 - LEVEL, n_trials)
    assert np.mean([wrong(together) for _ in range(n_trials)]) <= 1 - LEVEL + band
    assert np.mean([wrong(best_of_all) for _ in range(60)]) > 0.4  # the winner's curse


@pytest.mark.slow
def test_wrong_claims_are_rare_where_finished_chains_pass_their_share_on():
    """One chain is right and nearly always shown, so that all others get its share."""
    rng = np.random.default_rng(6)
    n_trials, n_queries, margin = 400, 30, 0.1
    wrong = passed = 0
    for _ in range(n_trials):
        b = rng.normal(1.0, 0.2, n_queries)
        chains = {"right": [b + rng.normal(0, 0.01, n_queries)]}
        chains |= {str(n): list(b - rng.normal(margin, 0.15, (2, n_queries))) for n in range(2)}
        claims = claim_chains(chains, b, margin, LEVEL)
        has_more = claims["0"][0].level < 1 - (1 - LEVEL) / 3 - 1e-9
        passed += has_more or claims["0"][-1].shown  # which was finished before
        wrong += any(claim.shown for name in "01" for claim in claims[name])
    assert passed == n_trials
    assert wrong / n_trials <= 1 - LEVEL + binomial_band(1 - LEVEL, n_trials)


def test_queries_needed_is_the_formula():
    a, b = two_methods(200)
    z = stats.norm.ppf(0.95) + stats.norm.ppf(0.8)
    tested = a - 0.99 * b
    expected = (z * tested.std(ddof=1) / (0.01 * b.mean())) ** 2
    assert queries_needed(a, b) == math.ceil(expected)
    # For small margins these are the differences themselves.
    of_differences = (z * (a - b).std(ddof=1) / (0.01 * b.mean())) ** 2
    assert queries_needed(a, b) == pytest.approx(of_differences, rel=0.05)
    assert queries_needed(a, b, loss=0.005) == pytest.approx(4 * expected, abs=1)


def test_so_many_queries_have_the_power():
    rng = np.random.default_rng(8)

    def draw(n):
        b = rng.normal(1.0, 0.3, n)
        return b + rng.normal(0.0, 0.2, n), b

    needed = int(queries_needed(*draw(100_000), margin=0.05, level=0.95))
    n_trials = 500
    shown = np.mean(
        [claim_non_inferiority(*draw(needed), margin=0.05).shown for _ in range(n_trials)]
    )
    assert shown == pytest.approx(0.8, abs=binomial_band(0.8, n_trials))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_margin_that_can_be_shown_needs_the_queries_at_hand(weighted):
    a, b = two_methods(80)
    weights = some_weights(80) if weighted else None
    margin = showable_margin(a, b, weights=weights)
    assert queries_needed(a, b, margin, weights=weights) in (80, 81)
    later = showable_margin(a, b, n_queries=queries_needed(a, b, 0.02), weights=None)
    assert later == pytest.approx(0.02, rel=0.01)


def test_weights_that_vary_need_more_queries():
    a, b = two_methods(400)
    even = queries_needed(a, b)
    assert queries_needed(a, b, weights=np.full(400, 3.0)) == pytest.approx(even, abs=1)
    assert queries_needed(a, b, weights=some_weights(400)) > 1.5 * even


def test_power_without_a_base_or_a_spread():
    assert queries_needed([0.1, 0.2], [0.0, 0.0]) == math.inf
    assert showable_margin([0.1, 0.2], [0.0, 0.0]) == math.inf
    assert math.isnan(queries_needed([0.1], [0.2]))
    assert math.isnan(showable_margin([0.1], [0.2]))
    assert queries_needed([0.1, 0.3], [0.1, 0.3], loss=0.01) == math.inf
    assert queries_needed([0.2, 0.2], [0.2, 0.2]) == 2
    assert showable_margin([1.0, 1.0, 1.1], [0.0, 0.0, 0.3]) == math.inf


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("weighted", [False, True])
def test_relative_bootstrap_is_that_of_scipy(method, weighted):
    a, b = two_methods(35)
    weights = some_weights(35) if weighted else np.ones(35)

    interval = bootstrap_interval(a, b, 0.9, 9999, method, 0, weights, relative=True)

    expected = stats.bootstrap(
        (a, b, weights),
        lambda a, b, w, axis: (a * w).sum(axis=axis) / (b * w).sum(axis=axis) - 1,
        paired=True,
        confidence_level=0.9,
        n_resamples=9999,
        method={"bca": "BCa"}.get(method, method),
        random_state=np.random.default_rng(5),
    ).confidence_interval
    width = expected.high - expected.low
    assert interval.estimate == pytest.approx(np.sum(a * weights) / np.sum(b * weights) - 1)
    assert interval.lower == pytest.approx(expected.low, abs=0.04 * width)
    assert interval.upper == pytest.approx(expected.high, abs=0.04 * width)


def test_bootstrap_checks_the_bound_of_a_claim():
    a, b = two_methods(300)
    claim = claim_non_inferiority(a, b, level=0.95)
    check = bootstrap_interval(a, b, 0.9, relative=True)
    assert check.estimate == pytest.approx(claim.change)
    assert check.lower == pytest.approx(claim.lower, abs=0.1 * (claim.change - claim.lower))


def test_relative_bootstrap_at_its_limits():
    b = np.array([0.2, 0.4, 0.9])
    assert bootstrap_interval(0.9 * b, b, relative=True) == pytest.approx((-0.1, -0.1, -0.1))
    assert bootstrap_interval(b, b, relative=True) == (0.0, 0.0, 0.0)
    rare = bootstrap_interval([0.1, 0.1, 0.9], [0.0, 0.0, 0.9], relative=True)
    assert (rare.lower, rare.upper) == (-np.inf, np.inf)
    with pytest.raises(DataError, match="the mean of b is 0, not positive"):
        bootstrap_interval([0.1, 0.2], [0.0, 0.0], relative=True)


@pytest.mark.parametrize("function", [claim_non_inferiority, queries_needed, showable_margin])
def test_values_that_cannot_be_compared(function):
    with pytest.raises(DataError, match="a has 2 values and b has 3"):
        function([0.1, 0.2], [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="2 weights for the values of 3 queries"):
        function([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], weights=[1, 1])
    with pytest.raises(DataError, match="at least 1 must be positive"):
        function([0.1, 0.2], [0.1, 0.2], weights=[0, 0])
    with pytest.raises(ValueError, match=r"level must lie between 0\.5 and 1"):
        function([0.1, 0.2], [0.1, 0.2], level=0.4)


def test_settings_that_make_no_sense():
    b = [0.1, 0.2]
    with pytest.raises(ValueError, match="margin must be at least 0, and below 1"):
        claim_non_inferiority(b, b, margin=1.0)
    with pytest.raises(ValueError, match=r"power must be at least 0\.5"):
        queries_needed(b, b, power=0.3)
    with pytest.raises(ValueError, match=r"power must be at least 0\.5"):
        queries_needed(b, b, power=2, loss=0.5)  # would be infinite
    with pytest.raises(ValueError, match="n_queries must be at least 1"):
        showable_margin(b, b, n_queries=0)


@pytest.mark.parametrize("margin", [1e-160, 1e-320])
def test_more_queries_than_a_number_can_count(margin):
    rng = np.random.default_rng(0)
    b = rng.uniform(0.2, 0.8, 50)
    assert queries_needed(b + rng.normal(0, 0.1, 50), b, margin) == np.inf
