"""What every ranker does, as it is by default: each is trained once, and looked at."""

from functools import cache

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.rankers.registry import RANKERS
from tests.every_method import make_quick

# Rankers to which a query whose documents have equal labels makes a difference, and why.
PAIRS = "pairs of equal labels are to get equal scores"
BINS = "its bins are made of all rows"
COUNT_ALL = {
    **dict.fromkeys(("rankrls", "rankrls-cv"), PAIRS),
    **dict.fromkeys(("lambdamart", "lightgbm", "xgboost", "catboost"), BINS),
    **dict.fromkeys(("adarank-map", "adarank-ndcg"), "every query has a weight"),
    "ranksvm-struct": "its C is divided by the number of queries",
}
TREES = {
    "lightgbm": {"n_jobs": 1},
    "xgboost": {"n_jobs": 1},
    "catboost": {"thread_count": 1, "iterations": 100},  # of a thousand
}
each = pytest.mark.parametrize("name", RANKERS)


@cache
def parts():
    """Queries to learn from, and others."""
    data, _ = make_ranking(
        80, docs_per_query=(1, 20), n_informative=4, n_noise=3, noise=0.2, random_state=11
    )
    return data.take_queries(range(60)), data.take_queries(range(60, 80))


def make(name):
    return RANKERS.make(name, **TREES.get(name, {}))


@cache
def trained(name):
    """Nobody changes it."""
    return make(name).fit(parts()[0])


@pytest.mark.slow
@each
def test_learns_to_rank(name):
    test = parts()[1]
    noise = RankingData(np.random.default_rng(0).normal(size=test.X.shape), test.y, test.qid)
    assert trained(name).score(test) > trained(name).score(noise) + 0.1
    assert trained(name).predict(test).shape == (test.n_rows,)


@each
def test_scores_follow_their_rows(name):
    X = parts()[0].X
    order = np.random.default_rng(0).permutation(len(X))
    scores = trained(name).predict(X)
    np.testing.assert_array_equal(trained(name).predict(X[order]), scores[order])


@each
def test_queries_that_tell_nothing_change_nothing(name):
    if name in COUNT_ALL:
        pytest.skip(COUNT_ALL[name])
    train, test = parts()
    X = np.concatenate([train.X, np.random.default_rng(1).normal(size=(6, train.n_features))])
    y = np.concatenate([train.y, [0, 1, 1, 1, 2, 2]])
    qid = np.concatenate([train.qid, train.qid.max() + np.array([1, 2, 3, 3, 4, 4])])
    more = make(name).fit(X, y, qid=qid).predict(test.X)
    np.testing.assert_allclose(more, trained(name).predict(test.X), rtol=1e-3, atol=1e-4)


@each
def test_shards_say_the_same(name, tmp_path):
    """Sums over blocks are those over all rows, and so is what a ranker learns from them."""
    train, test = parts()
    write_shards(train, tmp_path / "train", shard_bytes=6000)
    write_shards(test, tmp_path / "test", shard_bytes=3000)
    with open_shards(tmp_path / "train") as shards, open_shards(tmp_path / "test") as held_out:
        assert min(shards.n_shards, held_out.n_shards) > 2
        wants_none = name == "rankrls-cv"  # an eval_set needs a measure
        found = make_quick(name).fit(shards, eval_set=None if wants_none else held_out)
    expected = make_quick(name).fit(train, eval_set=None if wants_none else test)
    np.testing.assert_allclose(found.predict(test), expected.predict(test), rtol=1e-4, atol=1e-5)
