"""EliminationSelector around LambdaMART beside training from scratch and scikit-learn's RFE.

All of them drop one feature at a time until k are left, with the same trees, on synthetic data.
"each refit bins anew" bins and trains again after every dropped feature; it must end with the same
features. scikit-learn's RFE does not pass queries on, so it gets a ranker that knows them. The last
contender drops a tenth of the features at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.harness import Task

PARAMETERS = {"queries": 250, "documents": 40, "features": 60, "k": 10, "trees": 50, "leaves": 15}
TINY = {"queries": 10, "documents": 6, "features": 7, "k": 2, "trees": 2, "leaves": 3}


def _data(queries: int, documents: int, features: int) -> Any:
    from ranksieve import make_ranking

    good, copies = features // 7, 2 * features // 7
    noise = features - good - copies
    planted = {"n_informative": good, "n_redundant": copies, "n_noise": noise}
    return make_ranking(queries, docs_per_query=documents, random_state=0, **planted)[0]


def _ranker(trees: int, leaves: int) -> Any:
    from ranksieve.rankers import LambdaMART

    return LambdaMART(trees, num_leaves=leaves)


def _facts(chosen: Any) -> dict[str, str]:
    return {"selected": " ".join(str(feature + 1) for feature in sorted(chosen))}


def _ours(size: dict[str, int], step: Any = 1, make: Any = _ranker) -> Task:
    from ranksieve.selectors import EliminationSelector

    data = _data(size["queries"], size["documents"], size["features"])
    ranker = make(size["trees"], size["leaves"])

    def run(source: Any = data) -> np.ndarray:
        return EliminationSelector(ranker, size["k"], step=step).fit(source).selected_

    return Task(run, lambda: run(data.take_queries(range(10))), _facts)


def ranksieve(**size: int) -> Task:
    """Run the selector."""
    return _ours(size)


def from_scratch(**size: int) -> Task:
    """Run the selector with a ranker whose copies share nothing."""
    from ranksieve.rankers import LambdaMART
    from ranksieve.rankers.base import Ranker

    class Alone(LambdaMART):
        _refits = Ranker._refits

    return _ours(size, make=lambda trees, leaves: Alone(trees, num_leaves=leaves))


def shares(**size: int) -> Task:
    """Run the selector, dropping a tenth of the features at a time."""
    return _ours(size, step=0.1)


class Trees(BaseEstimator):
    """LambdaMART with the interface of scikit-learn, for one data set."""

    def __init__(self, trees: int, leaves: int, qid: Any) -> None:
        self.trees, self.leaves, self.qid = trees, leaves, qid

    def fit(self, X: np.ndarray, y: np.ndarray) -> Trees:
        """Train on all rows."""
        fitted = _ranker(self.trees, self.leaves).fit(X, y, qid=self.qid)
        self.feature_importances_ = fitted.feature_importances_
        return self


def scikit_learn(**size: int) -> Task:
    """Run scikit-learn's RFE."""
    from sklearn.feature_selection import RFE

    data = _data(size["queries"], size["documents"], size["features"])

    def run(source: Any = data) -> np.ndarray:
        trees = Trees(size["trees"], size["leaves"], source.qid)
        return np.flatnonzero(
            RFE(trees, n_features_to_select=size["k"]).fit(source.X, source.y).support_
        )

    return Task(run, lambda: run(data.take_queries(range(10))), _facts)


CONTENDERS = {
    "ranksieve": ranksieve,
    "each refit bins anew": from_scratch,
    "scikit-learn's RFE": scikit_learn,
    "ranksieve, step=0.1": shares,
}
