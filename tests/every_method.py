"""Every selector and ranker by name, with parameters that make it quick."""

from ranksieve.rankers import LambdaMART
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS

# Small trees in place of the hundred large ones of methods that train some inside.
_TREES = LambdaMART(5, num_leaves=4, params={"num_threads": 1})
_INSIDE = {
    "best-of": {"ranker": _TREES},
    "teacher-bins": {"teacher": _TREES},
    "tree-elimination": {"ranker": _TREES},
}


def quick_parameters(method):
    """Parameters that make a method quick: its trial, with small trees inside."""
    return dict(method.trial) | _INSIDE.get(method.name, {})


def make_quick(name, k=2, **other):
    """An estimator for small data; a selector selects ``k`` features, if it takes a number.

    Other parameters take the place of those that make it quick.
    """
    if name in RANKERS:
        return RANKERS.make(name, **dict(RANKERS[name].trial) | other)
    method = SELECTORS[name]
    size = {"n_features_to_select": k} if "n_features_to_select" in method.defaults else {}
    return SELECTORS.make(name, **size, **quick_parameters(method) | other)
