"""SequentialSelector around LightGBM beside scikit-learn's, with the same ranker and folds.

Both train every candidate on every fold, in two threads or processes, with one thread per training.
scikit-learn's SequentialFeatureSelector gets a ranker that takes query ids, which LightGBM's does
not, and runs in processes. The third contender is the same search again, from a checkpoint; the
fourth is a floating search, which returns to subsets that it has already evaluated.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.harness import Task

PARAMETERS = {"queries": 100, "documents": 20, "features": 20, "k": 4, "trees": 20}
TINY = {"queries": 12, "documents": 6, "features": 3, "k": 1, "trees": 2}


def _data(queries: int, documents: int, features: int) -> Any:
    from ranksieve import make_ranking

    planted = {"n_informative": features // 2, "n_redundant": 0, "n_noise": -(-features // 2)}
    return make_ranking(queries, docs_per_query=documents, random_state=0, **planted)[0]


def _trees(n: int) -> Any:
    from lightgbm import LGBMRanker

    return LGBMRanker(n_estimators=n, n_jobs=1, verbosity=-1)


def _names(chosen: Any) -> dict[str, str]:
    return {"selected": " ".join(str(feature + 1) for feature in sorted(chosen))}


def _ours(options: dict[str, Any], size: dict[str, int], again: bool = False) -> Task:
    from ranksieve.selectors import SequentialSelector

    data = _data(size["queries"], size["documents"], size["features"])
    small = data.take_queries(range(10))
    options = {"cv": 5, "ties": "stable", **options}

    def run(source: Any = data, k: int = size["k"]) -> np.ndarray:
        return SequentialSelector(_trees(size["trees"]), k, **options).fit(source).selected_

    if again:
        directory = tempfile.mkdtemp()
        options["checkpoint"] = Path(directory) / "search.jsonl"
        task = Task(run, run, _names)
        weakref.finalize(task, shutil.rmtree, directory)
        return task
    return Task(run, lambda: run(small, 1), _names)


def ranksieve(**size: int) -> Task:
    """Run the selector."""
    return _ours({}, size)


def from_checkpoint(**size: int) -> Task:
    """Run the same search again; all of its values are known."""
    return _ours({}, size, again=True)


def floating(**size: int) -> Task:
    """Run a floating search."""
    return _ours({"floating": True}, size)


class QueryRanker(BaseEstimator):
    """LightGBM's ranker with query ids, for scikit-learn."""

    def __init__(self, trees: int = 30) -> None:
        self.trees = trees

    def fit(self, X: np.ndarray, y: np.ndarray, qid: Any = None) -> QueryRanker:
        """Train on rows in which each query is contiguous."""
        starts = np.flatnonzero(np.r_[True, qid[1:] != qid[:-1]])
        self.ranker_ = _trees(self.trees).fit(X, y, group=np.diff(np.r_[starts, len(qid)]))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return scores."""
        return self.ranker_.booster_.predict(X)


def scikit_learn(queries: int, documents: int, features: int, k: int, trees: int) -> Task:
    """Run scikit-learn's SequentialFeatureSelector."""
    import sklearn
    from sklearn.feature_selection import SequentialFeatureSelector

    from ranksieve.metrics import make_query_scorer
    from ranksieve.selectors._search.held_out import make_folds
    from ranksieve.threads import thread_count

    sklearn.set_config(enable_metadata_routing=True)
    data = _data(queries, documents, features)
    codes = data.query_codes
    folds = [
        tuple(np.flatnonzero(np.isin(codes, part.positions)) for part in fold)
        for fold in make_folds(data, 5, 0)
    ]
    n_jobs = thread_count()

    def run(n_features: int = k) -> np.ndarray:
        search = SequentialFeatureSelector(
            QueryRanker(trees).set_fit_request(qid=True),
            n_features_to_select=n_features,
            cv=folds,
            scoring=make_query_scorer("ndcg@10"),
            n_jobs=n_jobs,
        )
        return np.flatnonzero(search.fit(data.X, data.y, qid=codes).get_support())

    return Task(run, lambda: run(1), _names)


CONTENDERS = {
    "ranksieve": ranksieve,
    "ranksieve, from a checkpoint": from_checkpoint,
    "ranksieve, floating": floating,
    "scikit-learn": scikit_learn,
}
