"""Measures of held-out queries: which of them count."""

import numpy as np
import pytest

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.rankers import AdaRank, CoordinateAscent, RankNet, RankRLSCV
from ranksieve.selectors import BestOf, RandomizedBoostedTrees, RiskPareto, SimulatedAnnealing
from ranksieve.sums.held_out import linear_scores, measure_models
from tests import oracles

BY_PAIRS = {"measure": "pairwise-error"}
METHODS = [
    CoordinateAscent(n_restarts=1, **BY_PAIRS),
    AdaRank(n_rounds=3, **BY_PAIRS),
    RankNet(**BY_PAIRS),
    RankRLSCV(**BY_PAIRS),
    SimulatedAnnealing(2, **BY_PAIRS),
    RiskPareto(2, **BY_PAIRS),
    RandomizedBoostedTrees(2, n_subsets=2, **BY_PAIRS),
    BestOf(2, **BY_PAIRS),
]


@pytest.fixture(scope="module")
def data():
    """Every third query has equal labels."""
    made, _ = make_ranking(30, n_informative=3, n_noise=3, random_state=0)
    return RankingData(made.X, np.where(made.query_codes % 3, made.y, 1.0), made.qid)


def test_queries_without_pairs_do_not_count(data, everywhere):
    models = [(np.arange(data.n_features), np.eye(data.n_features))]
    (found,) = measure_models(everywhere(data, shard_bytes=5_000), models, "pairwise-error")
    (expected,) = measure_models(oracles.with_pairs(data), models, "pairwise-error")
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=[type(method).__name__ for method in METHODS])
def test_no_held_out_query_has_pairs(data, method):
    equal = RankingData(data.X, np.ones(data.n_rows), data.qid)
    with pytest.raises(DataError, match="no held-out query has them"):
        method.fit(data, eval_set=equal)


def test_kernels_never_see_another_width(data):
    n = data.n_features
    with pytest.raises(ValueError, match=f"{n} features, but there are {n + 1} weights"):
        linear_scores(data.X, np.ones(n + 1))
    for feature in (n, -1):
        with pytest.raises(ValueError, match=f"not in 0 to {n - 1}"):
            measure_models(data, [(np.array([feature]), np.ones((1, 1)))])
