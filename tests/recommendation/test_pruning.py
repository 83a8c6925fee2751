"""Dropping what a set of features can do without."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.costs import AlignedCosts
from ranksieve.recommendation.pruning import prune as prune_by_steps
from ranksieve.recommendation.task import Rule
from tests.oracles import cost_of_features, prune_by_cost


def prune(start, costs, value, limit, **options):
    """Features left, and the sets that were asked for, by a function with the value of a set."""
    asked = []

    async def is_enough(features):
        asked.append(features)
        return value(features) >= limit

    with pytest.raises(StopIteration) as end:
        prune_by_steps(start, costs, is_enough, **options).send(None)
    return end.value.value, asked


@st.composite
def problems(draw):
    """A start, costs with groups, a value of sets that need not be monotone, and a limit."""
    n = draw(st.integers(1, 7))
    numbers = st.integers(0, 4).map(float)
    groups = draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
    costs = AlignedCosts(
        np.array(draw(st.lists(numbers, min_size=n, max_size=n))),
        np.array(groups),
        np.array(draw(st.lists(numbers, min_size=3, max_size=3))),
    )
    start = draw(st.permutations(range(n)))[: draw(st.integers(1, n))]
    weights = draw(st.lists(st.integers(-1, 5), min_size=n, max_size=n))
    pairs = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))

    def value(features):
        chosen = set(features)
        together = sum(pairs[f] for f in chosen if (f + 1) % n in chosen)
        return float(sum(weights[f] for f in chosen) + together)

    keep = draw(st.sets(st.sampled_from(start), max_size=2))
    limit = value(start) - draw(st.integers(-1, 6))
    features = st.integers(0, n - 1)
    others = draw(st.dictionaries(features, st.lists(features, max_size=3, unique=True)))
    how = {"include": keep, "substitutes": others}
    return start, costs, value, limit, how


def total_of(costs):
    named = {f: float(cost) for f, cost in enumerate(costs.features)}
    groups = {f: int(g) for f, g in enumerate(costs.group_of) if g >= 0}
    return lambda features: cost_of_features(features, named, groups, costs.groups.tolist())


@given(problems())
def test_it_is_the_slow_way(problem):
    start, costs, value, limit, how = problem
    group_of = {f: int(g) if g >= 0 else None for f, g in enumerate(costs.group_of)}

    features, _ = prune(start, costs, value, limit, **how)

    assert list(features) == prune_by_cost(start, total_of(costs), group_of, value, limit, **how)


@given(problems(), st.none() | st.integers(1, 6))
def test_never_dearer_always_within_the_limit(problem, most):
    start, costs, value, limit, how = problem
    whole, asked_in_all = prune(start, costs, value, limit, **how)

    features, asked = prune(start, costs, value, limit, **how, max_evaluations=most)

    assert asked == asked_in_all[:most]
    assert len(asked) == len({frozenset(own) for own in asked})
    assert features == whole or len(asked) == most
    assert features  # never nothing
    assert how["include"] <= set(features)
    assert costs.total(features) <= costs.total(start)
    if value(start) < limit:
        assert features == tuple(start)
    else:
        assert features == [own for own in asked if value(own) >= limit][-1]
    assert len(set(features)) == len(features)


def test_a_group_goes_where_no_feature_alone_would_save_much():
    costs = AlignedCosts(np.ones(4), np.array([-1, 0, 0, -1]), np.array([50.0]))

    def value(features):
        return 1.0 if {0, 3} <= set(features) else 0.0

    features, asked = prune([0, 1, 2, 3], costs, value, 0.5)

    assert asked == [(0, 1, 2, 3), (0, 3), (0,), (3,)]
    assert features == (0, 3)


def test_a_feature_is_exchanged_for_one_of_a_call_that_is_paid_for():
    costs = AlignedCosts(np.ones(4), np.array([0, 1, 0, -1]), np.array([5.0, 5.0]))

    def value(features):
        return 1.0 if {0, 1} <= set(features) or {0, 2} <= set(features) else 0.0

    features, asked = prune([1, 0], costs, value, 0.5, substitutes={1: [3, 2], 0: [2]})

    assert asked == [(1, 0), (1,), (0,), (3, 0), (2, 0), (2,)]
    assert features == (2, 0)


@pytest.mark.parametrize("name", ["half-margin", "safe", "one-se"])
class TestEnough:
    """The rule that says which sets are enough."""

    def test_differences_by_rounding_do_not_matter(self, name):
        base = np.full(4, 0.5)
        rule = Rule(name, margin=0.01)
        loss = 0.0 if name == "one-se" else rule.margin * 0.5 / (2 if name == "half-margin" else 1)
        assert rule.is_enough(base - loss - 1e-14, base, None)
        assert not rule.is_enough(base - loss - 1e-6, base, None)

    def test_values_that_are_not_there_are_not_good_enough(self, name):
        base = np.full(4, 0.5)
        assert not Rule(name, margin=0.01).is_enough(np.full(4, np.nan), base, None)
