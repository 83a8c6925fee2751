"""Every selector and ranker by name, with parameters that make it quick, and fitted once."""

import warnings
from functools import cache

import numpy as np
from hypothesis import settings
from sklearn.exceptions import ConvergenceWarning

from ranksieve import RankingData, make_ranking
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS

METHODS = {**RANKERS, **SELECTORS}
# Of tests that fit every method for each example: half as many examples as usual.
few_examples = settings(max_examples=settings.default.max_examples // 2)

# With its usual objective, lambdarank, LightGBM makes a table of a million entries for each model,
# which takes 15 times as long as five small trees. Tests of single methods use it.
QUICK_TREES = {"objective": "rank_xendcg", "num_threads": 1}
# Small trees in place of the hundred large ones of methods that train some inside, a quick selector
# inside, and solutions that are near enough: for many small data sets, not for the first run of a
# command, which compiles what it will need.
_TREES = LambdaMART(5, num_leaves=4, params=QUICK_TREES)
_INSIDE = {
    "best-of": {"ranker": _TREES},
    "teacher-bins": {"teacher": _TREES},
    "lightgbm": {"objective": "rank_xendcg"},
    "stability": {"selector": "top"},
    "ranksvm-l1": {"n_lams": 5},
    "ranksvm-mcp": {"n_lams": 5},
    "ranksvm-log": {"n_lams": 5},
    "sparserank": {"tol": 0.01},
    "listmle-l1": {"tol": 0.01},
}


def quick_parameters(name):
    """Parameters that make a method quick: its trial, with quick trees."""
    method = METHODS[name]
    trees = {"params": QUICK_TREES} if "params" in method.defaults else {}
    return dict(method.trial) | trees | _INSIDE.get(name, {})


def make_quick(name, k=2, **other):
    """An estimator for small data; a selector selects ``k`` features, if it takes a number.

    Other parameters take the place of those that make it quick.
    """
    parameters = quick_parameters(name) | other
    if name in RANKERS:
        return RANKERS.make(name, **parameters)
    size = {"n_features_to_select": k} if "n_features_to_select" in SELECTORS[name].defaults else {}
    return SELECTORS.make(name, **size, **parameters)


@cache
def planted():
    """Data from which every method learns something, with names: nobody changes them."""
    data, _ = make_ranking(
        24, docs_per_query=(2, 9), n_informative=2, n_redundant=1, n_noise=3, noise=0.3
    )
    names = [f"f{number}" for number in range(data.n_features)]
    return RankingData(data.X, data.y, data.qid, feature_names=names)


@cache
def fitted(name):
    """A method that has learned from the planted data: nobody changes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # quick ones stop early
        return make_quick(name, 3).fit(planted())


def answer(estimator, rows=None):
    """All that an estimator says, by name: of the planted rows, unless others are given."""
    found = {}
    if hasattr(estimator, "predict"):
        found["scores"] = estimator.predict(planted() if rows is None else rows)
    if hasattr(estimator, "selected_"):
        found["selected"] = estimator.selected_
    learned = ("scores_", "coef_", "feature_importances_", "importance_", "similarity_")
    for name in learned:
        if getattr(estimator, name, None) is not None:
            found[name] = np.asarray(getattr(estimator, name))
    return found


def assert_same(found, expected, message="", **tolerance):
    """Two answers are the same: to the bit, unless a tolerance is given."""
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        compare = np.testing.assert_allclose if tolerance else np.testing.assert_array_equal
        compare(found[name], values, err_msg=message, **tolerance)
