"""Data whose queries are there several times, which weights must equal."""

from functools import cache

import numpy as np
from hypothesis import strategies as st

from ranksieve import RankingData, make_ranking
from tests.every_method import make_quick

# LightGBM counts documents, not weights, when it makes bins and limits leaves: here each value has
# a bin and no leaf is too small. A tree of two leaves is split where there are many documents;
# further down, several features may divide the few that are left in the same way, and rounding
# would choose.
_STUMPS = {
    "num_leaves": 2,
    "params": {
        "min_child_samples": 0,
        "min_sum_hessian_in_leaf": 1e-9,
        "min_data_in_bin": 1,
        "max_bin": 1000,
        "num_threads": 1,
    },
}
_LIGHTGBM = {
    "objective": "lambdarank",
    "num_leaves": 2,
    "min_child_samples": 0,
    "min_child_weight": 1e-9,
    "min_data_in_bin": 1,
    "max_bin": 1000,
}
_CLOSE = {"tol": 1e-9}
# Batches of queries are drawn, and a query is not drawn like its two copies: here all are in one.
# MOFSRank draws samples, too, and then searches at random: here it finds the front for sure.
_EXACT = {
    "lambdamart": _STUMPS,
    "lightgbm": _LIGHTGBM,
    "bt-influence": _STUMPS,
    "cegb": _STUMPS,
    "shap": _STUMPS,
    "bt-discounted": _STUMPS,
    "bt-randomized": _STUMPS,
    "bt-genetic": _STUMPS,
    # Rounding changes the way, not the end, which it reaches slowly unless all of the ball is used.
    "fenchelrank": {"tol": 1e-13, "max_iter": 1000, "radius": 0.01},
    "ranksvm-mcp": _CLOSE,  # not convex, and flat around the least
    "ranksvm-log": _CLOSE,
    "lambdarank": {"batch_queries": None, "epochs": 5},
    "rsrank": {"batch_queries": 1000},
    "mofsrank": {"sample_size": 1.0, "population_size": 40, "n_generations": 12},
    "rankrls-cv": {"measure": "map"},  # by eval_set
}
N_TRAIN, N_HELD_OUT = 10, 6


def make_exact(name):
    """An estimator that cannot tell a query of weight 2 from the same query twice."""
    return make_quick(name, k=3, **_EXACT.get(name, {}))


def repeat_queries(data, counts):
    """Each query as often as it counts, copies next to each other, with ids 0, 1, 2, ..."""
    counts = np.asarray(counts).astype(int)
    queries = np.repeat(np.arange(data.n_queries), counts)
    rows = [np.arange(data.query_ptr[q], data.query_ptr[q + 1]) for q in queries.tolist()]
    names = data.feature_names if data.has_feature_names else None
    taken = np.concatenate(rows)
    return RankingData(
        data.X[taken],
        data.y[taken],
        np.repeat(np.arange(len(queries)), data.group_counts[queries]),
        feature_names=names,
    )


@cache
def _planted(seed):
    return make_ranking(
        N_TRAIN + N_HELD_OUT,
        docs_per_query=(4, 9),
        n_informative=2,
        n_redundant=1,
        n_noise=2,
        noise=1.0,  # where one model is perfect, many are
        tied=0,
        random_state=seed,
    )[0]


@st.composite
def weighted(draw):
    """Queries to train on and to hold out, and how often each counts: 0 to 3 times."""
    data = _planted(draw(st.integers(0, 99)))
    parts = []
    for queries in (range(N_TRAIN), range(N_TRAIN, N_TRAIN + N_HELD_OUT)):
        part = data.take_queries(queries)
        weights = st.lists(st.integers(0, 3), min_size=len(queries), max_size=len(queries))
        counts = np.array(draw(weights))
        tells = [q for q in range(part.n_queries) if np.ptp(part.y[part.query_codes == q]) > 0]
        some = tells[: len(queries) // 2]
        counts[some] = np.maximum(counts[some], 1)  # too few queries make models arbitrary
        parts.append((part, counts))
    return parts
