"""Every selector and ranker by name, with parameters that make it quick."""

from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS


def make_quick(name, k=2, **other):
    """An estimator for small data; a selector selects ``k`` features, if it takes a number.

    Other parameters take the place of those that make it quick.
    """
    if name in RANKERS:
        return RANKERS.make(name, **dict(RANKERS[name].trial) | other)
    method = SELECTORS[name]
    size = {"n_features_to_select": k} if "n_features_to_select" in method.defaults else {}
    return SELECTORS.make(name, **size, **dict(method.trial) | other)
