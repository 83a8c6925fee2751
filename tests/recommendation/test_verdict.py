"""The three states of a check, by simulations in which the true loss is known."""

import numpy as np
import pytest

from ranksieve.recommendation.claim import Claim
from ranksieve.recommendation.verdict import (
    FEWEST,
    DriftCost,
    Verdict,
    add_drift,
    judge,
    judge_drift,
)

MARGIN, RUNS = 0.02, 400
ENOUGH = {"normal": 700, "sparse": 750, "skewed": 700}  # queries that are just enough, about


def draw(rng, n_queries, loss, kind):
    """Values of queries with the kept features and with all, and the true relative loss."""
    base = rng.beta(2, 2, n_queries)
    if kind == "normal":
        noise = rng.normal(0, 0.1, n_queries)
    elif kind == "sparse":  # most rankings stay the same
        noise = np.where(rng.random(n_queries) < 0.15, rng.normal(0, 0.25, n_queries), 0)
    else:  # one query in twenty loses much, all others gain a little
        noise = np.where(rng.random(n_queries) < 0.05, -0.38, 0.02)
    return base * (1 - loss) + noise, base


def claim_of(values, base):
    return Claim.test(values, base, None, "new data", "NDCG@10", MARGIN, 0.95)


def shares(n_queries, loss, kind, runs=RUNS):
    """Shares of the three states."""
    rng, states = np.random.default_rng(n_queries), []
    for _ in range(runs):
        values, base = draw(rng, n_queries, loss * MARGIN, kind)
        states.append(judge(values, base, None, claim_of(values, base), is_new=True).state)
    return [states.count(state) / runs for state in ("broken", "holds", "undecided")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENOUGH)
def test_error_rates_with_just_enough_queries(kind):
    """The table of the module; losses are multiples of the margin."""
    broken, holds, _ = shares(ENOUGH[kind], 0, kind)
    assert (broken, holds > 0.9) == (0, True)
    broken, holds, _ = shares(ENOUGH[kind], 0.5, kind)
    assert broken < 0.02
    assert holds > 0.75
    broken, holds, _ = shares(ENOUGH[kind], 1, kind)
    assert broken < 0.08
    broken, holds, _ = shares(ENOUGH[kind], 2, kind)
    assert broken > 0.75
    assert holds < 0.03
    assert shares(3 * ENOUGH[kind], 2, kind)[0] > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENOUGH)
@pytest.mark.parametrize("n_queries", [FEWEST, 120])
def test_few_queries_seldom_raise_a_false_alarm(kind, n_queries):
    broken, _, undecided = shares(n_queries, 0, kind)
    assert broken < 0.03
    assert undecided > 0.5
    assert shares(n_queries, 1, kind)[0] < 0.08


def test_a_disaster_is_found_with_the_fewest_queries():
    assert shares(FEWEST, 15, "normal", 50)[0] > 0.95


def test_what_cannot_be_judged():
    values, base = draw(np.random.default_rng(0), 1000, 0, "normal")
    claim = claim_of(values, base)
    assert judge(values, base, None, claim, is_new=True).state == "holds"
    assert "exactly the data" in judge(values, base, None, claim, is_new=False).reason
    few = values[: FEWEST - 1], base[: FEWEST - 1]
    assert judge(*few, None, claim_of(*few), is_new=True).reason.startswith("49 queries")
    none = np.zeros(100), np.zeros(100)
    assert "no query has a relevant" in judge(*none, None, claim_of(*none), is_new=True).reason
    nothing = np.zeros(0), np.zeros(0)
    assert judge(*nothing, None, claim_of(*nothing), is_new=True).state == "undecided"
    short = values[:100], base[:100]
    assert "are needed" in judge(*short, None, claim_of(*short), is_new=True).reason


def test_bounds_and_verdict_agree():
    """Broken if and only if the upper bound is below minus the margin; shown if the lower is not"""
    rng = np.random.default_rng(1)
    for loss in (-2, 0, 1, 2, 5) * 4:
        values, base = draw(rng, 300, loss * MARGIN, "normal")
        claim = claim_of(values, base)
        found = judge(values, base, None, claim, is_new=True)
        assert claim.bound < claim.change < found.most
        assert (found.state == "broken") == (found.most < -MARGIN)
        assert claim.is_shown == (claim.bound > -MARGIN)


def test_weights_are_copies():
    """Twice the weight changes the mean as two copies do."""
    values, base = draw(np.random.default_rng(2), 400, 3 * MARGIN, "normal")
    weights = np.where(np.arange(400) < 200, 2.0, 1.0)
    claim = Claim.test(values, base, weights, "new data", "NDCG@10", MARGIN, 0.95)
    found = judge(values, base, weights, claim, is_new=True)
    ratio = np.average(values, weights=weights) / np.average(base, weights=weights) - 1
    assert claim.change == pytest.approx(ratio)
    assert found.most > ratio


def test_changed_values_that_cost_more_than_the_margin_break_it():
    values, base = draw(np.random.default_rng(3), 400, 0, "normal")
    claim = claim_of(values, base)
    lost = judge_drift(["a"], 0.9 * values, values, None, claim)
    assert lost.is_shown
    assert lost.change == pytest.approx(-0.1)
    verdict = Verdict("undecided", "too few", 0.0)
    assert add_drift(verdict, lost, MARGIN).state == "broken"
    small = judge_drift(["a"], 0.999 * values, values, None, claim)
    assert add_drift(verdict, small, MARGIN) == verdict
    assert add_drift(verdict, None, MARGIN) == verdict
    unsure = DriftCost(["a"], 0.5, -2 * MARGIN, 0.01, False)
    assert add_drift(Verdict("holds", "", 0.0), unsure, MARGIN).state == "undecided"
    assert judge_drift(["a"], values[:9], values[:9], None, claim_of(values[:9], base[:9])) is None
