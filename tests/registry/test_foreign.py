"""Estimators of other people: their parameters, copies, records and versions."""

import json

import numpy as np
import pytest
from catboost import CatBoostRanker
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMRanker
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import StackingRegressor
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_regression
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRanker

from ranksieve import DataError, RankingData
from ranksieve.rankers import RankSVM
from ranksieve.registry.foreign import (
    changed_parameters,
    copy_unfitted,
    copy_with,
    fit_foreign,
    make_from_record,
    parameters_of,
    record_of,
)
from ranksieve.registry.own_code import class_path, import_object, version_of
from ranksieve.selectors import GAS, Importance, as_selector


class Holder(BaseEstimator):
    """Holds anything."""

    def __init__(self, value=None, other=1):
        self.value = value
        self.other = other


class Bare:
    """Without ``get_params``."""

    def __init__(self, value=None):
        self.value = value


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(values)
def test_a_record_makes_the_same_estimator_again(value):
    for kind in (Holder, Bare):
        record = record_of(kind(value))
        stored = json.loads(json.dumps(record, allow_nan=False))
        assert stored == record
        assert parameters_of(make_from_record(stored)) == parameters_of(kind(value))
        assert record_of(make_from_record(stored)) == record
    nested = record_of(Holder([("step", Holder(value))]))
    assert record_of(make_from_record(nested)) == nested


@pytest.mark.parametrize(
    "estimator",
    [
        LGBMRanker(num_leaves=7, lambdarank_truncation_level=5),
        XGBRanker(max_depth=2, lambdarank_pair_method="topk"),
        CatBoostRanker(depth=3, custom_metric=["NDCG:top=5"]),
        make_pipeline(StandardScaler(with_mean=False), Ridge(alpha=np.float32(0.5))),
        GridSearchCV(Ridge(), {"alpha": np.array([0.1, 1.0])}, cv=3),
        StackingRegressor([("a", Ridge()), ("b", Lasso(0.5))], Ridge(2)),
        SelectFromModel(Lasso(0.1), max_features=3),
        SelectKBest(f_regression, k=2),
        RankSVM(C=0.5),
        GAS(3, c=0.1, importance=Importance("ndcg@5", ties="stable")),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_are_made_again(estimator):
    record = json.loads(json.dumps(record_of(estimator)))
    again = make_from_record(record)
    assert type(again) is type(estimator)
    assert record_of(again) == record
    assert record_of(copy_with(estimator)) == record
    assert record_of(copy_unfitted(estimator)) == record
    if isinstance(estimator, Pipeline):
        assert isinstance(again.steps[0], tuple)


def test_defaults_are_left_out():
    for kind in (LGBMRanker, XGBRanker, CatBoostRanker, Ridge, RankSVM, GAS, Holder, Bare):
        assert changed_parameters(kind()) == {}
    assert changed_parameters(Holder(None, np.int64(1))) == {}
    assert changed_parameters(LGBMRanker(num_leaves=31, learning_rate=np.float64(0.1))) == {}
    assert changed_parameters(Holder(np.array([1, 2])))["value"].tolist() == [1, 2]


def test_copies_are_independent():
    estimator = Holder([1], Holder(2))
    made = copy_with(estimator, other__value=3)
    assert made.other.value == 3
    assert estimator.other.value == 2
    assert made.value is not estimator.value
    assert copy_with(Bare(1), value=2).value == 2
    with pytest.raises(ValueError, match="Bare cannot be created: .*unexpected keyword"):
        copy_with(Bare(1), valeu=2)


class Listing(BaseEstimator):
    """Against the rules of scikit-learn, it changes its parameters."""

    def __init__(self, items=()):
        self.items = list(items)


def test_estimators_that_change_their_parameters():
    with pytest.raises(RuntimeError):
        clone(Listing((1, 2)))
    assert copy_unfitted(Listing((1, 2))).items == [1, 2]
    assert record_of(Listing((1, 2)))["parameters"] == {"items": [1, 2]}


class Old:
    """``get_params`` without ``deep``, and no ``set_params``."""

    def __init__(self, size=1):
        self.size = size

    def get_params(self):
        return {"size": self.size}


def test_an_old_interface_is_enough():
    assert parameters_of(Old(3)) == {"size": 3}
    assert copy_with(Old(3), size=4).size == 4
    assert copy_unfitted(Old(3)).size == 3


class Mixed(RegressorMixin):
    """With tags of scikit-learn that ask a base which is not there."""

    def fit(self, X, y, **further):
        self.given_ = X, y, further
        return self

    def predict(self, X):
        return X[:, 0]


class Hidden:
    """Does not say what it takes."""

    def fit(self, *args, **options):
        self.given_ = args, options


@pytest.fixture
def data():
    X = np.arange(12.0).reshape(6, 2)
    return RankingData(X, [0, 1, 0, 1, 2, 0], list("aabbba"), sample_weight=[1.0, 3.0])


def test_fit_gets_what_it_takes(data):
    plain = data.with_weights(None)
    mixed = fit_foreign(Mixed(), plain)
    assert mixed.given_[2] == {}
    hidden = Hidden()
    fit_foreign(hidden, plain)
    assert len(hidden.given_[0]) == 2
    assert hidden.given_[1] == {}

    class Everything:
        def fit(self, X, y, *, qid, group, groups, sample_weight=None, eval_set=None):
            self.given_ = (X, y, qid), group, groups, sample_weight, eval_set

    every = Everything()
    fit_foreign(every, data, data)
    rows, group, groups, weights, vali = every.given_
    for part in (rows, vali):
        for ours, theirs in zip(part, (data.X, data.y, list("aaabbb")), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert (group.tolist(), groups.tolist()) == ([3, 3], [0, 0, 0, 1, 1, 1])
    assert weights.tolist() == [1, 1, 1, 3, 3, 3]


class TestVersions:
    def test_packages(self):
        import lightgbm

        assert version_of(LGBMRanker) == f"lightgbm {lightgbm.__version__}"
        assert version_of(RankSVM).startswith("ranksieve ")

    def test_scripts(self):
        """Known by their code, and by the package of their base."""
        import lightgbm

        class Mine(LGBMRanker):
            def predict(self, X):
                return super().predict(X) + 1

        told = version_of(Mine)
        assert told.startswith("code ")
        assert told.endswith(f", lightgbm {lightgbm.__version__}")
        assert version_of(Mine) == told
        Mine().set_params(num_leaves=3)
        copy_with(Mine())
        assert version_of(Mine) == told  # copying adds to a class

    @pytest.mark.parametrize(
        ("first", "second", "same"),
        [
            ("return 1", "return 1  # one", True),
            ("return 1", "return 2", False),
            ("return x.a", "return x.b", False),
            ("return {'a', 'b', 'c'} - {x}", "return {'a', 'b', 'c'} - {x}", True),
            ("return x in {'a', 'b', 'c'}", "return x in {'c', 'b', 'a'}", True),
            ("return [y + 1 for y in x]", "return [y + 2 for y in x]", False),
            ("return (lambda y: y)(x)", "return (lambda y: -y)(x)", False),
        ],
    )
    def test_what_is_another_version(self, first, second, same):
        found = []
        for body in (first, second):
            scope = {"__name__": "__main__"}
            exec(f"class Mine:\n    def fit(self, x):\n        {body}\n", scope)
            found.append(version_of(scope["Mine"]))
        assert (found[0] == found[1]) is same

    def test_values_that_methods_depend_on(self):
        def make(constant, default=0, attribute=0):
            class Mine:
                shared = attribute

                def fit(self, x=default):
                    return x + constant

                @property
                def twice(self):
                    return 2 * constant

                @staticmethod
                def once():
                    return constant

            return Mine

        versions = [version_of(make(*given)) for given in ((1,), (2,), (1, 1), (1, 0, 1))]
        assert len(set(versions)) == 4
        assert version_of(make(1)) == versions[0]


def test_paths():
    assert class_path(Ridge) == "sklearn.linear_model:Ridge"
    assert class_path(XGBRanker) == "xgboost:XGBRanker"
    assert class_path(RankSVM) == "ranksieve.rankers:RankSVM"
    assert import_object(class_path(Holder)) is Holder
    assert import_object("json:decoder.JSONDecoder") is json.JSONDecoder
    for kind in (GAS, LGBMRanker, SelectKBest):
        assert import_object(class_path(kind)) is kind


def test_own_selectors_can_be_cloned(data):
    selector = as_selector(SelectKBest(f_regression, k=1))
    again = clone(selector)
    assert again.estimator is not selector.estimator
    with pytest.raises(DataError, match="SelectKBest takes no weights, because its fit has no"):
        again.fit(data)
    assert again.fit(data.X, data.y, qid=data.qid).selected_.shape == (1,)
    assert not hasattr(selector, "selected_")
    assert not hasattr(selector.estimator, "scores_")
