"""Every selector and ranker by name, with parameters that make it quick."""

from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS


def make_quick(name, k=2):
    """An estimator for small data; a selector selects ``k`` features, if it takes a number."""
    if name in RANKERS:
        return RANKERS.make(name, **RANKERS[name].trial)
    method = SELECTORS[name]
    size = {"n_features_to_select": k} if "n_features_to_select" in method.defaults else {}
    return SELECTORS.make(name, **size, **method.trial)
