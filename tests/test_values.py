"""Importance and similarity as values: checks, repr, scikit-learn's protocol, and files."""

import json
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline

from ranksieve import Study, make_ranking
from ranksieve.data import DataError
from ranksieve.metrics import MAP, NDCG, get_convention
from ranksieve.parameters import plain_value
from ranksieve.rankers import RankRLS
from ranksieve.selectors import FSED, GAS, HCAS, FSMRank, Importance, Similarity
from ranksieve.selectors.registry import make_selector
from ranksieve.study.plan_file import read_plan
from ranksieve.study.study import load_study


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, n_informative=2, n_redundant=2, n_noise=2, tied=0.4)[0]


class TestValues:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (Importance("map"), "Importance('map')"),
            (Importance("map", convention="letor4"), "Importance('map', convention='letor4')"),
            (Importance(NDCG(5), ties="stable"), "Importance(NDCG@5, ties='stable')"),
            (
                Importance("loss", both_directions=False),
                "Importance('loss', both_directions=False)",
            ),
            (Similarity("tau_b", absolute=True), "Similarity('tau_b', absolute=True)"),
        ],
    )
    def test_the_repr_tells_what_is_not_the_default(self, value, text):
        assert repr(value) == text

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Importance("mapp"), "unknown measure 'mapp'; choose from"),
            (lambda: Importance(None), "measure must be the name of a measure, got None"),
            (lambda: Importance("map", "letor5"), "unknown convention 'letor5'; choose from"),
            (lambda: Importance("map", ties="random"), "one of average, stable, got 'random'"),
            (lambda: Importance("map", both_directions=1), "must be True or False, got 1"),
            (lambda: Similarity("cosine"), "one of concordance, tau_a, tau_b, spearman, got 'cos"),
            (lambda: Similarity(["tau_b"]), "got \\['tau_b'\\]"),
            (lambda: Similarity("tau_b", absolute="yes"), "must be True or False, got 'yes'"),
            (lambda: Importance("map").replace(tie="stable"), "no part 'tie'; it has measure, con"),
        ],
    )
    def test_parts_are_checked(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    def test_labels(self):
        values = [Importance("ndcg@5"), Importance("loss"), Importance("one_minus_loss")]
        assert [value.label for value in values] == ["NDCG@5", "inverse loss", "1 - loss"]

    def test_they_are_values(self):
        value = Importance("map", ties="stable")
        with pytest.raises(FrozenInstanceError):
            value.ties = "average"
        assert value == Importance("map", ties="stable") == pickle.loads(pickle.dumps(value))
        assert hash(value) == hash(Importance("map", ties="stable"))
        assert value != Importance("map")

    def test_what_is_given_replaces_only_the_first_part(self):
        usual = Importance("ndcg@10", ties="stable", both_directions=False)
        assert Importance.make("map", usual) == usual.replace(measure="map")
        assert Importance.make({"ties": "average"}, usual) == usual.replace(ties="average")
        assert Importance.make(Importance("map"), usual) == Importance("map")
        assert Importance.make("map", "ndcg@10") == Importance("map")


class TestEstimators:
    """The user's string or value is kept as given; a string keeps the rest of the default."""

    @pytest.mark.parametrize("given", ["map", MAP(), Importance("map", ties="stable")])
    def test_parameters_stay_as_given(self, data, given):
        selector = GAS(2, importance=given).fit(data)
        assert selector.importance is given
        assert selector.get_params()["importance"] is given
        copied = clone(selector)
        assert copied.importance == given
        assert copied.set_params(importance="ndcg@5").importance == "ndcg@5"

    def test_the_repr_is_short(self):
        assert repr(GAS(2)) == "GAS(n_features_to_select=2)"
        assert (
            repr(GAS(importance=Importance("map", ties="stable")))
            == "GAS(importance=Importance('map', ties='stable'))"
        )

    @pytest.mark.parametrize(
        ("kind", "name", "given", "completed"),
        [
            (FSED, "importance", "map", Importance("map", both_directions=False)),
            (HCAS, "similarity", "tau_a", Similarity("tau_a", absolute=True)),
            (FSMRank, "similarity", "tau_b", Similarity("tau_b", absolute=True)),
            (GAS, "similarity", "tau_b", Similarity("tau_b")),
        ],
    )
    def test_a_string_keeps_the_rest_of_the_default(self, data, kind, name, given, completed):
        by_string = kind(2, **{name: given}).fit(data)
        by_value = kind(2, **{name: completed}).fit(data)
        np.testing.assert_array_equal(getattr(by_string, f"{name}_"), getattr(by_value, f"{name}_"))
        changed = {"importance": "both_directions", "similarity": "absolute"}[name]
        other = completed.replace(**{changed: not getattr(completed, changed)})
        if kind is FSMRank:
            with pytest.raises(DataError, match="must not be negative: take absolute values"):
                kind(2, **{name: other}).fit(data)
        else:
            found = getattr(kind(2, **{name: other}).fit(data), f"{name}_")
            assert not np.array_equal(found, getattr(by_value, f"{name}_"))

    def test_a_search_over_values(self, data):
        values = ["mrr", Importance("ndcg@5", both_directions=False)]
        pipe = Pipeline([("select", GAS(1)), ("rank", RankRLS())])
        folds = {"params": {"qid": data.qid, "groups": data.qid}, "cv": GroupKFold(3)}
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(pipe, {"select__importance": values}, cv=GroupKFold(3))
            search.fit(data.X, data.y, **folds["params"])
            expected = [
                cross_val_score(
                    clone(pipe).set_params(select__importance=value), data.X, data.y, **folds
                ).mean()
                for value in values
            ]
        assert search.cv_results_["mean_test_score"].tolist() == expected
        assert search.best_params_["select__importance"] in values


class TestFiles:
    def test_plain_values_make_the_same_method_again(self):
        importance = Importance(NDCG(5), get_convention("letor4"), both_directions=False)
        selector = GAS(3, importance=importance, similarity="tau_b")
        plain = json.loads(json.dumps(plain_value(selector.get_params(), otherwise=repr)))
        assert plain["importance"] == {
            "measure": "NDCG@5",
            "convention": "letor4",
            "ties": "average",
            "both_directions": False,
        }
        again = make_selector("gas-e", **plain)
        assert again.importance == Importance("NDCG@5", "letor4", both_directions=False)

    def test_a_function_has_no_plain_form(self):
        value = Similarity(np.corrcoef)
        assert plain_value(value, otherwise=lambda found: found.__name__)["method"] == "corrcoef"

    @pytest.mark.parametrize(
        "own",
        [
            {"importance.ties": "stable", "importance.measure": "mrr"},
            {"importance": {"ties": "stable", "measure": "mrr"}},
            {"importance": Importance("mrr", ties="stable")},
        ],
    )
    def test_studies_take_parts(self, data, tmp_path, own):
        plan = dict(selectors=["gas-e"], rankers=["rankrls"], ks=[2], baselines=False)
        grids = {"gas-e": {"importance.both_directions": [False]}, "rankrls": {"lam": [1.0]}}
        study = Study(data, out=tmp_path, parameters={"gas-e": own}, grids=grids, **plan)
        study.run()
        assert read_plan(tmp_path)[0].as_dict() == study.plan.as_dict()
        found = [run.chosen.selections for run in load_study(tmp_path).runs.values()]
        importance = Importance("mrr", ties="stable", both_directions=False)
        selector = make_selector("gas-e", 2, importance=importance)
        expected = [selector.fit(fold.open().train).selected_.tolist() for fold in study.trials]
        assert [list(features) for features in found[0]] == expected

    @pytest.mark.parametrize(
        ("own", "message"),
        [
            ({"importance.tie": "stable"}, "no parameter 'importance.tie'; it has "),
            ({"importance.ties": [1, 2]}, "importance: ties must be one of average, stable, got"),
            ({"importance": {"tie": 1}}, "importance has no part 'tie'"),
        ],
    )
    def test_studies_refuse_others(self, data, own, message):
        plan = dict(selectors=["gas-e"], rankers=["rankrls"], ks=[2], baselines=False)
        with pytest.raises(ValueError, match=message):
            Study(data, parameters={"gas-e": own}, **plan).run()
