"""Parameters of rankers that speak of single features are cut along with the features."""

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from xgboost import XGBRanker

from ranksieve import make_ranking
from ranksieve.data import DataError
from ranksieve.rankers import LambdaMART, as_ranker
from ranksieve.rankers.libraries.per_feature import groups, indices, reduce_values
from ranksieve.selectors import EliminationSelector, RandomizedBoostedTrees, SequentialSelector
from tests.every_method import QUICK_TREES


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(15, n_informative=2, n_redundant=0, n_noise=3, noise=0.1)
    return made


@pytest.mark.parametrize(
    ("cut", "value", "expected"),
    [
        (reduce_values, [1, 0, -1, 1], [-1, 1]),
        (reduce_values, (1, 0, -1, 1), (-1, 1)),
        (reduce_values, "1, 0,-1,1", "-1,1"),
        (reduce_values, "(1,0,-1,1)", "(-1,1)"),
        (reduce_values, {0: 1, 2: -1}, {0: -1}),
        (indices, [0, 2, 3], [0, 1]),
        (indices, "0,3", "1"),
        (groups, [[0, 1], [1, 2, 3]], [[0, 1]]),
        (groups, "[0,2],[1,3]", "[0], [1]"),
        (groups, "[[0, 2], [1, 3]]", "[[0], [1]]"),
    ],
)
def test_what_is_left_of_four_features(cut, value, expected):
    assert cut(value, [2, 3], 4) == expected
    assert type(cut(value, [2, 3], 4)) is type(expected)


def test_arrays_stay_arrays():
    np.testing.assert_array_equal(reduce_values(np.array([0.1, 0.2, 0.3]), [2, 0], 3), [0.3, 0.1])


RISING = [1, 0, -1, 1, 0]  # one for each feature of the data
TREES = {"n_estimators": 4, "n_jobs": 1}
QUICK = TREES | {"objective": QUICK_TREES["objective"]}
QUIET = {"iterations": 4, "thread_count": 1, "allow_writing_files": False, "verbose": False}
RANKERS = {
    "lightgbm": lambda: LGBMRanker(**QUICK, monotone_constraints=RISING),
    "lightgbm text": lambda: LGBMRanker(**QUICK, mc="1,0,-1,1,0", interaction_constraints="[0,1]"),
    "lightgbm more": lambda: LGBMRanker(
        **QUICK,
        feature_contri=[1.0, 0.5, 1.0, 0.9, 1.0],
        cegb_penalty_feature_coupled=[0.1] * 5,
        interaction_constraints=[[0, 1], [2, 3, 4]],
    ),
    "xgboost": lambda: XGBRanker(**TREES, monotone_constraints=tuple(RISING)),
    "xgboost text": lambda: XGBRanker(
        **TREES, monotone_constraints="(1,0,-1,1,0)", interaction_constraints="[[0, 1], [2, 3]]"
    ),
    "xgboost weights": lambda: XGBRanker(**TREES, feature_weights=np.array([1, 2, 3, 4, 5.0])),
    "catboost": lambda: CatBoostRanker(**QUIET, monotone_constraints=RISING),
    "catboost mapping": lambda: CatBoostRanker(
        **QUIET, monotone_constraints={0: 1, 3: -1}, feature_weights=[1, 2, 1, 2, 1.0]
    ),
    "lambdamart": lambda: LambdaMART(4, params={"monotone_constraints": RISING, **QUICK_TREES}),
}


@pytest.mark.parametrize("name", RANKERS)
def test_wrappers_cut_them(name, data):
    selector = EliminationSelector(RANKERS[name](), 2).fit(data)
    support = np.flatnonzero(selector.support_)
    ranker = as_ranker(RANKERS[name]())._for_features(support.tolist(), data.n_features)
    expected = ranker.fit(data.take_features(support)).predict(data.take_features(support))
    np.testing.assert_array_equal(selector.predict(data), expected)
    assert SequentialSelector(RANKERS[name](), 1, cv=2).fit(data).selected_.size == 1


def test_the_right_ones_are_left(data):
    selector = EliminationSelector(RANKERS["lightgbm"](), 3).fit(data)
    left = selector.ranker_.estimator_.get_params()["monotone_constraints"]
    assert left == [RISING[feature] for feature in np.flatnonzero(selector.support_)]
    given = RANKERS["lightgbm"]()
    EliminationSelector(given, 3).fit(data)
    assert given.get_params()["monotone_constraints"] == RISING


def test_random_subsets_of_trees_cut_them(data):
    params = {"monotone_constraints": RISING, "num_threads": 1}
    selector = RandomizedBoostedTrees(2, n_subsets=2, n_estimators=3, params=params).fit(data)
    assert selector.selected_.size == 2


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (LGBMRanker(monotone_constraints=[1, 0]), r"monotone_constraints of .*2 values for 5"),
        (LGBMRanker(categorical_feature="name:a"), "categorical_feature of lightgbm"),
        (LGBMRanker(forcedbins_filename="bins.json"), "forcedbins_filename of lightgbm"),
        (XGBRanker(monotone_constraints={"a": 1}), "monotone_constraints of xgboost.*'a' is not"),
        (
            CatBoostRanker(per_float_feature_quantization=["0:border_count=8"]),
            "per_float_feature_quantization of catboost",
        ),
    ],
)
def test_what_cannot_be_cut_is_named(ranker, message, data):
    with pytest.raises(DataError, match=message):
        EliminationSelector(ranker, 2).fit(data)
