"""Selection by trees whose size held-out queries choose."""

from unittest.mock import patch

import lightgbm
import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.rankers import LambdaMART, RankRLS
from ranksieve.selectors import CostEfficientTrees, EliminationSelector, SizedTrees
from ranksieve.selectors._search.held_out import make_folds

FEW = LambdaMART(10, min_child_samples=5)


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, docs_per_query=(4, 9), n_noise=4, noise=0.2, random_state=1)[0]


def slow_sizes(data, folds, leaves):
    """Value of each size, from trees that are trained for each number anew."""
    for number in leaves:
        for trees in (1, 2, 3, 4, 6, 8, 10):
            values = []
            for train, test in folds:
                ranker = LambdaMART(trees, min_child_samples=5, num_leaves=number).fit(train)
                found = evaluate(test.y, ranker.predict(test), test.qid, "ndcg@10", ties="average")
                values += found.per_query["NDCG@10"].tolist()
            yield number, trees, np.mean(values)


@pytest.mark.slow
def test_equal_to_a_slow_version(data):
    found = SizedTrees(3, ranker=FEW, leaves=[6, 2], random_state=5).fit(data)
    halves = [(fold.train.take(), fold.test.take()) for fold in make_folds(data, 2, 5)]
    expected = list(slow_sizes(data, halves, [2, 6]))
    np.testing.assert_allclose(found.sizes_, expected, rtol=1e-12)
    leaves, trees, _ = max(expected, key=lambda size: size[2])
    assert found.size_[:2] == (leaves, trees)
    small = CostEfficientTrees(3).fit(data)
    sized = LambdaMART(trees, min_child_samples=5, num_leaves=leaves)
    large = EliminationSelector(sized, 3, step=0.3, importance="gain").fit(data)
    alone = small if leaves == 2 else large
    assert found.method_ == ("cegb" if leaves == 2 else "elimination")
    assert found.selected_.tolist() == alone.selected_.tolist()


def test_an_eval_set_takes_the_place_of_halves(data):
    train, test = data.take_queries(range(25)), data.take_queries(range(25, 40))
    found = SizedTrees(3, ranker=FEW, leaves=[3]).fit(train, eval_set=test)
    np.testing.assert_allclose(found.sizes_, list(slow_sizes(data, [(train, test)], [3])))


def test_queries_count_as_their_weights_say(data):
    train, judges = data.take_queries(range(25)), data.take_queries(range(25, 40))
    weights = np.repeat([1.0, 0.0, 3.0], 5)
    found = SizedTrees(3, ranker=FEW, leaves=[3]).fit(train, eval_set=judges.with_weights(weights))
    ranker = LambdaMART(10, min_child_samples=5, num_leaves=3).fit(train)
    each = evaluate(judges.y, ranker.predict(judges), judges.qid, "ndcg@10", ties="average")
    mean = np.average(each.per_query["NDCG@10"], weights=weights)
    assert found.sizes_[-1].value == pytest.approx(mean)


@pytest.mark.slow
def test_noise_asks_for_small_trees_and_products_for_large_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    qid = np.repeat(np.arange(100), 20)
    product = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=2000)
    noisy = 0.5 * X[:, 0] + 0.4 * X[:, 1] + 2 * rng.normal(size=2000)
    sizes = [
        SizedTrees(2, ranker=LambdaMART(40), leaves=[2, 12]).fit(RankingData(X, y, qid))
        for y in (np.digitize(product, [0.3, 1]), np.digitize(noisy, [0.5, 2]))
    ]
    assert [selector.size_.num_leaves for selector in sizes] == [12, 2]
    assert [selector.method_ for selector in sizes] == ["elimination", "cegb"]
    assert all(set(selector.selected_.tolist()) == {0, 1} for selector in sizes)


@pytest.mark.slow
def test_few_trainings(data):
    wide = np.column_stack([data.X, np.random.default_rng(0).normal(size=(data.n_rows, 136))])
    for selectors in (["cegb", "cegb"], ["elimination", "elimination"]):
        with patch("lightgbm.train", wraps=lightgbm.train) as counted:
            selector = SizedTrees(20, ranker=LambdaMART(5), selectors=selectors)
            selector.fit(RankingData(wide[:, :136], data.y, data.qid))
        assert selector.method_ == selectors[0]
        assert 4 < counted.call_count <= 20


def test_two_selectors_are_needed(data):
    with pytest.raises(ValueError, match="selectors should be two, .*; got 1"):
        SizedTrees(2, selectors=["cegb"]).fit(data)


def test_parameters_of_the_selectors(data):
    given = {"elimination": {"step": 1, "ranker": RankRLS()}}
    selector = SizedTrees(2, ranker=FEW, leaves=[9], selectors=["elimination", "elimination"])
    found = selector.set_params(parameters=given).fit(data)
    expected = EliminationSelector(RankRLS(), 2, step=1).fit(data)
    assert found.selected_.tolist() == expected.selected_.tolist()


def test_where_nothing_can_be_held_out_trees_are_as_given(data):
    one = SizedTrees(2, ranker=FEW).fit(data.take_queries([0]))
    labels = np.where(data.query_codes == 0, data.y, 0)
    half = SizedTrees(2, ranker=FEW).fit(RankingData(data.X, labels, data.qid))
    for selector in (one, half):
        assert selector.sizes_ == []
        assert selector.size_[:2] == (31, 10)
        assert selector.method_ == "elimination"
        assert len(selector.selected_) == 2


@pytest.mark.parametrize("leaves", [[], [1], [4.5], ["a"], "ab", 7])
def test_wrong_leaves(data, leaves):
    with pytest.raises(ValueError, match="leaves"):
        SizedTrees(2, ranker=FEW, leaves=leaves).fit(data)


def test_other_rankers_are_refused(data):
    with pytest.raises(ValueError, match="should be a LambdaMART, got RankRLS: use elimination"):
        SizedTrees(2, ranker=RankRLS()).fit(data)


def test_the_order_of_queries_does_not_matter_if_others_are_held_out(data):
    train, judges = data.take_queries(np.arange(30)), data.take_queries(np.arange(30, 40))
    turned = train.take_queries(np.arange(30)[::-1])
    assert turned.y.tolist() != train.y.tolist()
    found, other = (
        SizedTrees(4, ranker=FEW, leaves=[2, 6]).fit(part, eval_set=judges)
        for part in (train, turned)
    )
    np.testing.assert_allclose(found.sizes_, other.sizes_)
    assert found.selected_.tolist() == other.selected_.tolist()
