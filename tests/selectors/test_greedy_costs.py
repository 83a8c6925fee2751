"""Greedy RankRLS that pays for features."""

from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import FeatureCosts, RankingData, load_demo
from ranksieve.datasets import demo_costs
from ranksieve.selectors import GreedyRankRLS
from ranksieve.selectors._search.searches import errors_for_cost
from tests import oracles
from tests.selectors.test_greedy_rankrls import left_out, random_data

NAMES = [str(number) for number in range(1, 7)]
COSTS = FeatureCosts(
    dict(zip(NAMES, [4, 1, 0.5, 0.25, 2, 0.1], strict=True)),
    {"2": "call", "3": "call", "5": "index"},
    {"call": 1.5, "index": 0.75},
)
FREE = FeatureCosts(dict(zip(NAMES, [4, 1, 0, 0, 2, 0], strict=True)))
VARIES = [[0, 1, 2, 3, 4], [5]]  # the last is constant within queries


def total(costs, features):
    named = [NAMES[feature] for feature in features]
    return oracles.cost_of_features(named, costs.features, costs.groups, costs.group_costs)


@cache
def small_data(seed, weighted=False):
    """As random data, but all features that vary are of use."""
    data = random_data(seed, n_queries=10, weighted=weighted)
    X = data.X + np.outer(data.y, [0.2, 1.0, 0.9, 0.8, 0.8, 0.0])
    X[:, 3] += np.random.default_rng(seed).normal(size=len(X))  # no copy any more
    return RankingData(X, data.y, data.qid, sample_weight=data.query_weights)


@cache
def error_of(seed, weighted, features):
    return sum(left_out(small_data(seed, weighted), sorted(features), 1.0))


def by_hand(seed, costs, k, budget, weighs, weighted=False):
    """Features and error of a search whose errors come from training on the other queries."""

    def error(features):
        return error_of(seed, weighted, frozenset(features))

    price = partial(total, costs)
    chosen = oracles.greedy_by_cost(error, price, VARIES, k, budget, weighs)
    return chosen, error(chosen)


@pytest.mark.parametrize("costs", [COSTS, FREE], ids=["groups", "free"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gain_per_cost_is_that_of_brute_force(costs, weighted):
    selector = GreedyRankRLS(6, costs=costs).fit(small_data(0, weighted))
    chosen, error = by_hand(0, costs, 6, np.inf, True, weighted)
    assert selector.selected_.tolist() == chosen
    assert selector.fits_[-1].error == pytest.approx(error)
    assert selector.cost_ == pytest.approx(total(costs, range(6)))


@pytest.mark.parametrize("memory", ["full", "low"])
def test_the_better_search_within_a_budget(memory):
    wins = set()
    for seed, budget in product((0, 1, 2), (0.3, 1.0, 2.5, 4.0, 5.0, 6.0, 20.0)):
        how = {"costs": COSTS, "budget": budget, "memory": memory}
        selector = GreedyRankRLS(5, **how).fit(small_data(seed))
        ways = [by_hand(seed, COSTS, 5, budget, weighs) for weighs in (True, False)]
        expected, error = min(ways, key=lambda way: way[1])
        assert selector.selected_.tolist() == expected
        assert selector.fits_[-1].error == pytest.approx(error)
        assert selector.cost_ == pytest.approx(total(COSTS, expected))
        assert selector.cost_ <= budget * (1 + 1e-9)
        wins.add(int(np.sign(round(ways[0][1] - ways[1][1], 9))))
    assert wins == {-1, 0, 1}  # either way is the better one somewhere


@pytest.mark.parametrize("cost", [1.0, 0.1, 7.3])
@pytest.mark.parametrize("criterion", ["squared", "map"])
def test_equal_costs_are_plain_greedy_bit_by_bit(cost, criterion):
    data = random_data(3, n_queries=20)
    plain = GreedyRankRLS(5, criterion=criterion).fit(data)
    for k, how in (
        (5, {"costs": np.full(6, cost)}),
        (6, {"costs": np.full(6, cost), "budget": 5 * cost}),
        (6, {"budget": 5}),
    ):
        paid = GreedyRankRLS(k, criterion=criterion, **how).fit(data)
        assert paid.selected_.tolist() == plain.selected_.tolist()
        assert [fit.score for fit in paid.fits_] == [fit.score for fit in plain.fits_]
        assert paid.coef_.tolist() == plain.coef_.tolist()


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=8),
    st.floats(-10, 10),
    st.sampled_from([0.1, 1.0, 3.7]),
)
def test_equal_prices_leave_errors_as_they_are(errors, error, price):
    found = errors_for_cost(np.array(errors), error, np.full(len(errors), price))
    assert found.tolist() == errors


def test_errors_for_cost():
    # Gains of 4 for 2, 3 for 1 and 1 for 0.5, and a loss.
    found = errors_for_cost(np.array([6.0, 7, 9, 11]), 10.0, np.array([2.0, 1, 0.5, 2]))
    assert found.tolist() == [9, 8.5, 9, 14]
    # What costs nothing and gains comes first, by its gain; what gains nothing does not.
    prices = np.array([2.0, 0, 0, 0])
    assert errors_for_cost(np.array([1.0, 9, 8, 10]), 10.0, prices).tolist() == [
        np.inf,
        9,
        8,
        np.inf,
    ]
    found = errors_for_cost(np.array([12.0, 10, 11]), 10.0, np.array([2.0, 0, 0]))
    assert found.tolist() == [12, 10, 10]
    assert errors_for_cost(np.array([12.0, 11]), 10.0, np.zeros(2)).tolist() == [12, 11]


def test_the_number_is_free_within_a_budget():
    data = random_data(1)
    best = GreedyRankRLS("best", costs=COSTS, budget=6).fit(data)
    errors = [fit.error for fit in best.fits_]
    assert len(best.selected_) == int(np.argmin(errors)) + 1
    assert best.cost_ <= 6
    assert GreedyRankRLS("one-se", costs=COSTS, budget=6).fit(data).cost_ <= best.cost_


def test_smaller_selections_know_their_cost():
    selector = GreedyRankRLS(4, costs=COSTS).fit(random_data(2))
    assert selector.is_nested
    assert not GreedyRankRLS(4, costs=COSTS, budget=3).is_nested
    for k in (1, 2, 3):
        smaller = selector.at(k)
        assert smaller.selected_.tolist() == selector.selected_[:k].tolist()
        assert smaller.cost_ == pytest.approx(total(COSTS, smaller.selected_))
        alone = GreedyRankRLS(k, costs=COSTS).fit(random_data(2))
        assert alone.selected_.tolist() == smaller.selected_.tolist()


def test_included_and_excluded_features():
    data = random_data(4)
    selector = GreedyRankRLS(4, costs=COSTS, budget=6, include=[2], exclude=[0, 3]).fit(data)
    assert selector.selected_[0] == 2
    assert not {0, 3} & set(selector.selected_.tolist())
    assert selector.cost_ == pytest.approx(total(COSTS, selector.selected_))
    # As if the excluded ones were not there.
    others = data.take_features([1, 2, 4, 5])
    left = {name: COSTS.features[name] for name in others.feature_names}
    costs = FeatureCosts(left, COSTS.groups, COSTS.group_costs)
    alone = GreedyRankRLS(4, costs=costs, budget=6, include=[1]).fit(others)
    assert [[1, 2, 4, 5][f] for f in alone.selected_] == selector.selected_.tolist()


def test_groups_that_come_together_pay_together():
    data = random_data(5)
    groups = [[0, 1], [2, 4], [3]]
    selector = GreedyRankRLS(6, costs=COSTS, budget=5.0, groups=groups).fit(data)
    assert selector.cost_ <= 5
    assert not {0, 1} & set(selector.selected_.tolist())  # 4 + 1 + 1.5 is too much
    assert {2, 4} <= set(selector.selected_.tolist())


def test_cheap_features_of_the_demo_are_enough():
    data, _ = load_demo()
    costs = demo_costs()
    plain = GreedyRankRLS(8).fit(data)
    paid = GreedyRankRLS("best", costs=costs, budget=20).fit(data)
    assert paid.cost_ <= 20 < costs.total(data.feature_names[plain.selected_])
    empty = sum(((y - y.mean()) ** 2).sum() for y in np.split(data.y, data.query_ptr[1:-1]))
    share = (empty - min(fit.error for fit in paid.fits_)) / (empty - plain.fits_[-1].error)
    assert share > 0.6


def test_without_costs_there_is_no_cost():
    selector = GreedyRankRLS(2, costs=COSTS).fit(random_data(0))
    assert selector.cost_ > 0
    selector.set_params(costs=None).fit(random_data(0))
    assert not hasattr(selector, "cost_")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"search": "floating"}, "costs and a budget need search='forward'"),
        ({"kappa": 3}, "costs and a budget need search='forward'"),
        ({"budget": 0.01}, r"within the budget of 0\.01; the cheapest feature costs 0\.1"),
        (
            {"budget": 3, "include": [0]},
            "the included features cost 4, which exceeds the budget of 3",
        ),
        ({"costs": {"1": 1}}, "5 features of the data have no cost: 2, 3, 4, 5, 6: add them"),
        ({"costs": [1, 2]}, "costs must have one number for each of 6 features"),
        ({"costs": "costs.csv"}, "The 'costs' parameter of GreedyRankRLS must be"),
    ],
)
def test_what_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        GreedyRankRLS(3, **({"costs": COSTS} | how)).fit(random_data(0))


def test_names_of_columns():
    data = random_data(0)
    named = RankingData(data.X, data.y, data.qid, feature_names=list("abcdef"))
    costs = dict(zip("fedcba", [0.1, 2, 0.25, 0.5, 1, 4], strict=True))
    by_name = GreedyRankRLS(4, costs=costs).fit(named)
    in_order = GreedyRankRLS(4, costs=[4, 1, 0.5, 0.25, 2, 0.1]).fit(data)
    assert by_name.selected_.tolist() == in_order.selected_.tolist()
