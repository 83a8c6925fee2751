"""Sums of ranks against a slow version, and selectors of all kinds as members."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_regression

from ranksieve import DataError, RankingData, Study, make_ranking, open_shards, write_shards
from ranksieve.base import RankSelector
from ranksieve.registry.foreign import make_from_record, record_of
from ranksieve.selectors import (
    GAS,
    Borda,
    EliminationSelector,
    GreedyRankRLS,
    RandomSelector,
    TopImportance,
    make_selector,
)
from tests.oracles import borda

nan = float("nan")
QUICK = ("top", "ig", "greedy-rankrls")


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data():
    found, _ = make_ranking(
        30, docs_per_query=(3, 9), n_informative=3, n_redundant=3, n_noise=3, noise=0.3
    )
    return found


def listed(name, data, k, **parameters):
    return make_selector(name, k, **parameters).fit(data).selected_.tolist()


class Fixed(RankSelector):
    """Takes features in an order that is given."""

    n_features_to_select = 10

    def __init__(self, order=(), n_features_to_select=10):
        self.order = order
        self.n_features_to_select = n_features_to_select

    include = exclude = groups = None
    count = "features"

    def _choose(self, source, choices):
        return [f for f in self.order if f < source.n_features][: choices.k]


class TestRanks:
    @pytest.mark.parametrize("depth", [3, 5, 20])
    def test_equal_to_a_slow_sum(self, data, depth):
        lists = [listed(name, data, min(depth, data.n_features)) for name in QUICK]
        expected = borda(lists, data.n_features)
        selector = Borda(3, selectors=QUICK, depth=depth).fit(data)
        assert selector.selected_.tolist() == expected[:3]
        assert [(own.name, list(own.features)) for own in selector.lists_] == [
            *zip(QUICK, lists, strict=True)
        ]
        n = data.n_features
        for feature in range(n):
            ranks = [own.index(feature) if feature in own else n for own in lists]
            assert selector.scores_[feature] == pytest.approx(1 - sum(ranks) / (n * 3))

    @given(st.data())
    def test_any_lists(self, draw):
        n = draw.draw(st.integers(2, 6))
        order = st.permutations(range(n)).flatmap(
            lambda all_: st.integers(1, n).map(lambda length: all_[:length])
        )
        lists = draw.draw(st.lists(order, min_size=1, max_size=4))
        depth, k = draw.draw(st.integers(1, n)), draw.draw(st.integers(1, n))
        X = np.random.default_rng(0).normal(size=(8, n))
        expected, length = [], depth
        while True:
            found = borda([own[:length] for own in lists], n)
            expected += [feature for feature in found if feature not in expected]
            if length >= n:
                break
            length *= 2
        expected += [feature for feature in range(n) if feature not in expected]
        members = [Fixed(order=tuple(own)) for own in lists]
        selector = Borda(k, selectors=members, depth=depth)
        selector.fit(X, [0, 1] * 4, qid=[1] * 4 + [2] * 4)
        assert selector.selected_.tolist() == expected[:k]

    def test_every_number_from_one_fit(self, data):
        n = data.n_features
        whole = Borda(n, selectors=QUICK, depth=2).fit(data).selected_.tolist()
        for k in range(1, n):
            assert Borda(k, selectors=QUICK, depth=2).fit(data).selected_.tolist() == whole[:k]
        assert Borda(selectors=QUICK).is_nested
        assert not Borda(selectors=QUICK, random_state=None).is_nested

    def test_one_selector_is_that_selector(self, data):
        assert Borda(4, selectors=["gas-e"]).fit(data).selected_.tolist() == listed(
            "gas-e", data, 4
        )

    def test_constant_features_come_last(self, data):
        X = np.column_stack([np.ones(data.n_rows), data.X])
        with_constant = RankingData(X, data.y, data.qid)
        members = [Fixed(order=(0, 1, 2)), Fixed(order=(0, 2, 1))]
        chosen = Borda(10, selectors=members).fit(with_constant).selected_.tolist()
        assert chosen == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]

    def test_reasons(self, data):
        selector = Borda(1, selectors=[("mine", Fixed(order=(4, 1))), Fixed(order=(1,))], depth=2)
        assert selector.fit(data).reasons() == ["mine 2, Fixed 1"]
        assert selector.set_params(n_features_to_select=2).fit(data).reasons()[1] == (
            "mine 1, Fixed -"
        )


class TestMembers:
    def test_objects_names_and_others(self, data):
        members = [GAS(c=0.3), "top", SelectKBest(f_regression), ("mine", GreedyRankRLS(lam=9.0))]
        selector = Borda(4, selectors=members, depth=4).fit(data)
        assert [own.name for own in selector.lists_] == ["GAS", "top", "SelectKBest", "mine"]
        assert list(selector.lists_[0].features) == listed("gas-e", data, 4, c=0.3)
        assert list(selector.lists_[3].features) == listed("greedy-rankrls", data, 4, lam=9.0)
        assert all(len(own.features) == 4 for own in selector.lists_)
        assert not hasattr(members[0], "selected_")

    def test_by_default_small_trees_and_a_linear_model_list_all_features(self, data):
        given = {"bt-influence": {"n_estimators": 5}}
        selector = Borda(3, parameters=given).fit(data)
        for own in selector.lists_:
            expected = listed(own.name, data, data.n_features, **given.get(own.name, {}))
            assert list(own.features) == expected
        assert [own.name for own in selector.lists_] == ["bt-influence", "greedy-rankrls"]

    def test_parameters_by_name(self, data):
        given = {"gas-e": {"c": 0.3, "importance.measure": "map"}}
        selector = Borda(4, selectors=["gas-e", "top"], parameters=given, depth=6).fit(data)
        plain = Borda(4, selectors=["gas-e", "top"], depth=6).fit(data)
        own = listed("gas-e", data, 6, **given["gas-e"])
        assert list(selector.lists_[0].features) == own != list(plain.lists_[0].features)
        assert selector.lists_[1] == plain.lists_[1]

    def test_seeds(self, data):
        def lists(**how):
            return Borda(2, selectors=["random", RandomSelector(random_state=5)], **how).fit(data)

        first = lists(random_state=3)
        assert list(first.lists_[0].features) == listed("random", data, 9, random_state=3)
        assert list(first.lists_[1].features) == listed("random", data, 9, random_state=5)
        assert lists(random_state=3).lists_ == first.lists_
        assert lists(random_state=4).lists_[0] != first.lists_[0]

    def test_weights_and_held_out_queries_reach_them(self, data):
        weights = np.random.default_rng(0).integers(0, 3, data.n_queries).astype(float)
        weighted = data.with_weights(weights)
        found = Borda(3, selectors=["ig"], depth=5).fit(weighted).lists_[0]
        assert list(found.features) == listed("ig", weighted, 5)
        train, held_out = data.take_queries(range(15)), data.take_queries(range(15, 30))
        around = EliminationSelector(importance="permutation")
        selector = Borda(3, selectors=[around, "top"], depth=4).fit(train, eval_set=held_out)
        alone = clone(around).set_params(n_features_to_select=4).fit(train, eval_set=held_out)
        assert list(selector.lists_[0].features) == alone.selected_.tolist()

    def test_members_that_take_no_missing_values_get_medians(self, data, tmp_path):
        X = np.array(data.X)
        X[::7, 1] = nan
        gaps = RankingData(X, data.y, data.qid, missing="keep")
        filled = RankingData(X, data.y, data.qid, missing="query-median")
        selector = Borda(3, selectors=["ig", "greedy-rankrls"], depth=5).fit(gaps)
        expected = listed("ig", gaps, 5), listed("greedy-rankrls", filled, 5)
        assert tuple(list(own.features) for own in selector.lists_) == expected
        write_shards(gaps, tmp_path / "gaps")
        with pytest.raises(DataError, match="GreedyRankRLS cannot use missing"):
            selector.fit(open_shards(tmp_path / "gaps").with_missing("keep"))

    def test_shards_if_all_work_on_them(self):
        assert Borda().works_on_shards
        assert not Borda(selectors=["top", "elimination"]).works_on_shards

    def test_clones_and_records(self, data):
        selector = Borda(3, selectors=[TopImportance(), "ig"], depth=5)
        for copy in (
            clone(selector),
            make_from_record(json.loads(json.dumps(record_of(selector)))),
        ):
            assert copy.fit(data).selected_.tolist() == selector.fit(data).selected_.tolist()

    def test_in_a_study(self, data):
        study = Study(
            data,
            selectors=["borda", ("two", Borda(selectors=["top", GAS()]))],
            rankers=["rankrls"],
            ks=[2, 4],
            protocol="kfold:3",
            baselines=False,
            parameters={"borda": {"selectors": ["ig", "top"], "parameters": {"ig": {"n_bins": 4}}}},
        )
        result = study.run()
        assert result.selectors == ["borda", "two"]
        for name in result.selectors:
            assert np.isfinite(result.run(name, "rankrls").chosen.mean(result.main_measure))


class TestChoices:
    def test_more_included_features_than_lists_have(self, data):
        selector = Borda(4, selectors=["top"], include=[5, 6, 7], depth=1).fit(data)
        assert selector.selected_[:3].tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"selectors": []}, "selectors is empty"),
        ({"selectors": ["nothing"]}, "unknown method 'nothing'"),
        ({"selectors": "top"}, "selectors"),
        ({"selectors": [3]}, "is not a selector"),
        (
            {"selectors": ["top"], "parameters": {"ig": {}}},
            "no selector is named 'ig'; the selectors are",
        ),
        ({"selectors": ["top"], "parameters": {"top": 3}}, "parameters of top should be a mapping"),
        ({"selectors": ["top"], "parameters": {"top": {"x": 3}}}, "no parameter 'x'"),
        ({"selectors": ["top"], "depth": 0}, "depth"),
    ],
)
def test_wrong_parameters(data, parameters, told):
    with pytest.raises(ValueError, match=told):
        Borda(2, **parameters).fit(data)
