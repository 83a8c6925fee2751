"""Trees with a price for each feature against LightGBM itself, and the orders that follow."""

from itertools import pairwise

import lightgbm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, FeatureCosts, RankingData, make_ranking
from ranksieve.base import Choices
from ranksieve.engine.memo import Memo, sharing
from ranksieve.selectors import BoostedTrees, CostEfficientTrees
from ranksieve.selectors.trees.cegb import PenalizedTrees, _from_sets
from tests.oracles import by_mean_share, from_sets

FEW = {"n_estimators": 10, "num_leaves": 5}
nan = float("nan")


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data():
    found, _ = make_ranking(
        80, docs_per_query=(2, 20), n_informative=4, n_redundant=4, n_noise=3, noise=0.5
    )
    return found


def gains_of(data, penalties=None):
    """Gain of each feature in LightGBM's own ranker with the parameters of FEW."""
    priced = {} if penalties is None else {"cegb_penalty_feature_coupled": list(penalties)}
    ranker = lightgbm.LGBMRanker(
        **FEW,
        learning_rate=0.1,
        min_child_samples=20,
        deterministic=True,
        force_row_wise=True,
        num_threads=1,
        verbosity=-1,
        importance_type="gain",
        **priced,
    )
    return ranker.fit(data.X, data.y, group=data.group_counts).feature_importances_


def as_dicts(selector):
    return [dict(zip(m.features, m.shares.tolist(), strict=True)) for m in selector.models_]


class TestPath:
    def test_it_begins_with_the_influence_of_bt_influence(self, data):
        selector = CostEfficientTrees(5, tradeoffs=[0], **FEW).fit(data)
        usual = BoostedTrees(5, **FEW).fit(data)
        (first,) = selector.models_
        assert first.tradeoff == 0
        np.testing.assert_allclose(
            selector.scores_, usual.scores_ / usual.scores_.sum(), rtol=1e-12
        )
        np.testing.assert_array_equal(selector.selected_, usual.selected_)

    def test_each_model_is_that_of_lightgbm_with_the_penalty(self, data):
        costs = np.linspace(0.5, 3, data.n_features)
        selector = CostEfficientTrees(5, tradeoffs=[0.01, 0.1], costs=costs, **FEW).fit(data)
        for model in selector.models_[1:]:
            gains = gains_of(data, model.tradeoff * costs / costs.mean())
            used = np.flatnonzero(gains)
            assert sorted(model.features) == used.tolist()
            features = list(model.features)
            np.testing.assert_allclose(model.shares, gains[features] / gains.sum(), rtol=1e-9)
            assert (np.diff(model.shares) <= 0).all()

    def test_tradeoffs_are_relative_to_the_first_split(self, data):
        selector = CostEfficientTrees(5, tradeoffs=[0.5, 0.01], **FEW).fit(data)
        stump = lightgbm.train(
            {"objective": "lambdarank", "num_leaves": 2, "verbosity": -1, "num_threads": 1},
            lightgbm.Dataset(data.X, data.y, group=data.group_counts),
            1,
        )
        root = stump.feature_importance("gain").sum()
        found = [model.tradeoff / root for model in selector.models_]
        np.testing.assert_allclose(found, [0, 0.01, 0.5], rtol=1e-6)

    def test_few_features_at_a_high_price_and_at_most_one_at_the_highest(self, data):
        sizes = [len(m.features) for m in CostEfficientTrees(5, **FEW).fit(data).models_]
        assert sizes[0] > 8
        assert sizes[-4] < 6
        assert sizes[-1] <= 1

    def test_more_documents_or_weight_change_nothing(self, data):
        few = FEW | {"tradeoffs": 5, "params": {"min_sum_hessian_in_leaf": 0}}
        once = CostEfficientTrees(8, **few).fit(data)
        heavy = CostEfficientTrees(8, **few).fit(data.with_weights(np.full(80, 4.0)))
        np.testing.assert_allclose(heavy.scores_, once.scores_, atol=1e-4)
        assert heavy.models_[-1].tradeoff == pytest.approx(4 * once.models_[-1].tradeoff, rel=1e-4)
        assert [m.features for m in heavy.models_] == [m.features for m in once.models_]

    def test_values_are_put_into_bins_once(self, data, monkeypatch):
        made = []
        usual = lightgbm.Dataset._lazy_init

        def counted(self, *arguments, **named):
            made.append(self)
            return usual(self, *arguments, **named)

        monkeypatch.setattr(lightgbm.Dataset, "_lazy_init", counted)
        selector = CostEfficientTrees(5, **FEW).fit(data)
        assert len(selector.models_) >= 15
        assert len(made) == 1

    def test_it_is_extended_while_features_are_cheap(self, data):
        costs = np.full(data.n_features, 1e-3)
        costs[-1] = 1.0
        few = FEW | {"tradeoffs": 2}
        models = CostEfficientTrees(5, costs=costs, **few).fit(data).models_
        sizes = [len(m.features) for m in models]
        assert len(models) > 3
        assert sizes[-1] <= 1 < sizes[-2]
        ratios = [b.tradeoff / a.tradeoff for a, b in pairwise(models[2:])]
        np.testing.assert_allclose(ratios, 4)
        costs[:-1] = 1e-12  # further than the path goes
        assert len(CostEfficientTrees(5, costs=costs, **few).fit(data).models_) == 8

    def test_sizes_share_a_path(self, data):
        memo = Memo()
        for k in (2, 4):
            with sharing(memo):
                CostEfficientTrees(k, order="sets", tradeoffs=2, **FEW).fit(data)
        assert [name for name, _ in memo.costs if "cegb" in name] == [
            "ranksieve.selectors.trees.cegb._penalized_path"
        ]


class TestOrders:
    def test_nested(self, data):
        selector = CostEfficientTrees(data.n_features, tradeoffs=6, **FEW).fit(data)
        expected = by_mean_share(as_dicts(selector), data.n_features)
        assert selector.selected_.tolist() == expected
        shares = [np.mean([m.get(f, 0) for m in as_dicts(selector)[1:]]) for f in expected]
        np.testing.assert_allclose([step.score for step in selector.path_], shares)
        assert selector.is_nested
        assert (
            CostEfficientTrees(3, tradeoffs=6, **FEW).fit(data).selected_.tolist() == (expected[:3])
        )

    @pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 11])
    def test_sets(self, data, k):
        selector = CostEfficientTrees(k, order="sets", tradeoffs=6, **FEW).fit(data)
        assert selector.selected_.tolist() == from_sets(as_dicts(selector), data.n_features, k)
        assert not selector.is_nested

    @given(st.data())
    def test_sets_of_any_models(self, draw):
        n = draw.draw(st.integers(1, 6))
        share = st.sampled_from([0.1, 0.2, 0.3])
        model = st.dictionaries(st.integers(0, n - 1), share, max_size=n)
        models = draw.draw(st.lists(model, min_size=1, max_size=5))
        k = draw.draw(st.integers(1, n))
        recorded = [
            PenalizedTrees(number, tuple(model), np.array([*model.values()]))
            for number, model in enumerate(models)
        ]
        found = _from_sets(
            recorded, Choices(np.arange(n), n, None, [], k, False), np.ones(n, dtype=bool)
        )
        expected = from_sets(models, n, k)
        assert list(dict.fromkeys(found))[:k] == expected[: len(set(found))]

    def test_reasons(self, data):
        selector = CostEfficientTrees(
            data.n_features, tradeoffs=[0.5, 2], n_estimators=1, num_leaves=2
        )
        first, *others = selector.fit(data).reasons()
        assert first == "50.0% of the gain, in 2 of 3 models"
        assert set(others) == {"in no model"}
        rest = np.delete(np.arange(data.n_features), selector.selected_[0])
        assert selector.selected_[1:].tolist() == rest.tolist()


class TestChoices:
    def test_included_features_are_free(self, data):
        plain = CostEfficientTrees(3, tradeoffs=6, **FEW).fit(data)
        last = int(np.argmin(plain.scores_[:4]))
        selector = CostEfficientTrees(3, tradeoffs=6, include=[last], **FEW).fit(data)
        assert selector.selected_[0] == last
        assert last in selector.models_[-1].features
        sets = CostEfficientTrees(3, tradeoffs=6, include=[last], order="sets", **FEW).fit(data)
        assert sets.selected_[0] == last
        assert len(sets.selected_) == 3

    def test_features_of_a_group_share_the_price(self, data):
        groups = [[0, 1, 2], [3, 4]]
        few = FEW | {"tradeoffs": [0.05]}
        selector = CostEfficientTrees(5, groups=groups, **few).fit(data)
        prices = np.array([1 / 3] * 3 + [1 / 2] * 2 + [1] * 6)
        gains = gains_of(data, selector.models_[1].tradeoff * prices / prices.mean())
        assert set(selector.models_[1].features) == set(np.flatnonzero(gains))
        for order in ("nested", "sets"):
            found = CostEfficientTrees(2, groups=groups, count="groups", order=order, **few)
            assert found.fit(data).n_groups_ == 2

    def test_constant_features_come_last(self):
        data, truth = make_ranking(40, n_informative=2, n_redundant=0, n_noise=1, n_constant=2)
        constant = np.flatnonzero(truth.kind == "constant").tolist()
        by_query = np.repeat(np.arange(40.0), data.group_counts)  # trees can use it
        X = np.column_stack([by_query, np.asarray(data.X)])
        for order in ("nested", "sets"):
            selector = CostEfficientTrees(6, order=order, tradeoffs=3, **FEW)
            selector.fit(X, data.y, qid=data.qid)
            assert set(selector.selected_[3:]) == {0, *(f + 1 for f in constant)}


class TestCosts:
    def test_of_two_copies_the_cheap_one_is_used(self, data):
        X = np.column_stack([data.X, data.X[:, 0]])
        both = RankingData(X, data.y, data.qid)
        costs = np.ones(X.shape[1])
        costs[0] = 2.0
        scores = CostEfficientTrees(2, tradeoffs=3, costs=costs, **FEW).fit(both).scores_
        usual = CostEfficientTrees(2, tradeoffs=3, **FEW).fit(both).scores_
        assert usual[0] > usual[-1] == 0
        assert scores[-1] > scores[0]

    def test_only_ratios_count_and_forms_are_equal(self, data):
        costs = np.ones(data.n_features)
        costs[2] = 3.0
        few = FEW | {"tradeoffs": 3}
        expected = CostEfficientTrees(4, costs=costs, **few).fit(data).scores_
        by_name = {str(n + 1): cost for n, cost in enumerate(costs.tolist())}
        for form in (costs * 8, costs.tolist(), by_name, FeatureCosts(by_name)):
            found = CostEfficientTrees(4, costs=form, **few).fit(data).scores_
            np.testing.assert_array_equal(found, expected)

    def test_without_any_there_is_one_model(self, data):
        selector = CostEfficientTrees(4, costs=np.zeros(data.n_features), **FEW).fit(data)
        assert len(selector.models_) == 1

    def test_a_group_of_costs_is_shared_and_paid_once(self, data):
        names = [f"f{n}" for n in range(data.n_features)]
        named = RankingData(data.X, data.y, data.qid, feature_names=names)
        costs = FeatureCosts(
            dict.fromkeys(names, 1.0), {"f0": "g", "f1": "g", "f2": "g"}, {"g": 6.0}
        )
        few = FEW | {"tradeoffs": [0.02]}
        for include, prices in (
            (None, [3.0, 3.0, 3.0] + [1.0] * 8),
            (["f1"], [1.0, 0.0, 1.0] + [1.0] * 8),
        ):
            selector = CostEfficientTrees(4, costs=costs, include=include, **few).fit(named)
            mean = np.mean([price for price in prices if price])
            gains = gains_of(data, selector.models_[1].tradeoff * np.array(prices) / mean)
            assert set(selector.models_[1].features) == set(np.flatnonzero(gains))

    @pytest.mark.parametrize("wrong", [[1, 2], [-1] * 11, [nan] * 11, {"x": 1}])
    def test_wrong_ones(self, data, wrong):
        with pytest.raises(DataError, match="cost"):
            CostEfficientTrees(4, costs=wrong).fit(data)


class TestBadInput:
    def test_a_tradeoff_that_kills_all_features(self, data):
        for order in ("nested", "sets"):
            selector = CostEfficientTrees(4, tradeoffs=[1e6], order=order, **FEW).fit(data)
            assert selector.models_[1].features == ()
            by_gain = BoostedTrees(4, **FEW).fit(data).selected_
            np.testing.assert_array_equal(selector.selected_, by_gain)

    def test_no_split_at_all(self):
        tiny = RankingData([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]], [0, 1, 2], [1, 1, 1])
        for order in ("nested", "sets"):
            selector = CostEfficientTrees(2, order=order).fit(tiny)
            assert selector.selected_.tolist() == [0, 1]
            assert len(selector.models_) == 1
            assert selector.scores_.tolist() == [0, 0]

    @pytest.mark.parametrize("tradeoffs", [[-1], [nan], ["a"], [[1, 2]]])
    def test_tradeoffs(self, data, tradeoffs):
        with pytest.raises(DataError, match="tradeoffs should be"):
            CostEfficientTrees(2, tradeoffs=tradeoffs).fit(data)
        with pytest.raises(ValueError, match="tradeoffs"):
            CostEfficientTrees(2, tradeoffs=0).fit(data)

    def test_labels_and_parameters(self, data):
        with pytest.raises(DataError, match="whole labels"):
            CostEfficientTrees(2).fit(data.X, data.y + 0.5, qid=data.qid)
        with pytest.raises(DataError, match="label"):
            CostEfficientTrees(2).fit(data.X, np.ones(data.n_rows), qid=data.qid)
        for name in ("cegb_tradeoff", "cegb_penalty_feature_coupled"):
            with pytest.raises(ValueError, match=f"params has {name}: use"):
                CostEfficientTrees(2, params={name: 1}).fit(data)
        with pytest.raises(DataError, match="LightGBM: "):
            CostEfficientTrees(2, params={"cegb_penalty_feature_lazy": [1, 2]}).fit(data)


def test_missing_values(data):
    X = np.array(data.X)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = nan
    gaps = RankingData(X, data.y, data.qid, missing="keep")
    selector = CostEfficientTrees(3, tradeoffs=4, **FEW).fit(gaps)
    gains = gains_of(gaps, np.full(X.shape[1], selector.models_[2].tradeoff))
    assert set(selector.models_[2].features) == set(np.flatnonzero(gains))
