"""LambdaMART on LightGBM."""

import lightgbm
import numpy as np
import pytest
from lightgbm import LGBMRanker

from ranksieve import limit_threads, make_ranking
from ranksieve.io.shards import Shards, open_shards, write_shards
from ranksieve.rankers import LambdaMART


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(90, docs_per_query=15, noise=0.5, random_state=4)
    return data.take_queries(range(60)), data.take_queries(range(60, 90))


def test_equal_to_lightgbm_itself(parts):
    train, test = parts
    ours = LambdaMART(15, num_leaves=7, learning_rate=0.2).fit(train)
    theirs = lightgbm.LGBMRanker(
        n_estimators=15,
        num_leaves=7,
        learning_rate=0.2,
        deterministic=True,
        force_row_wise=True,
        verbosity=-1,
    ).fit(train.X, train.y, group=train.group_counts)
    np.testing.assert_allclose(ours.predict(test), theirs.predict(test.X), rtol=1e-12)
    gain = theirs.booster_.feature_importance("gain")
    np.testing.assert_allclose(ours.feature_importances_, gain)


def test_stops_early_and_keeps_the_best(parts):
    train, test = parts
    ranker = LambdaMART(300, early_stopping_rounds=5, min_child_samples=2)
    ranker.fit(train, eval_set=test)
    assert ranker.best_iteration_ < 295
    assert ranker.booster_.num_trees() <= ranker.best_iteration_ + 5
    best = ranker.booster_.predict(test.X, num_iteration=ranker.best_iteration_)
    np.testing.assert_array_equal(ranker.predict(test), best)


def test_threads_do_not_matter(parts):
    train, test = parts
    scores = []
    for n in (1, 2):
        with limit_threads(n):
            scores.append(LambdaMART(10).fit(train).predict(test))
    np.testing.assert_array_equal(*scores)


def test_the_same_wherever_the_data_lives(parts, everywhere):
    train, test = parts  # of one shard: several workers would find other bins
    found = LambdaMART(5).fit(everywhere(train), eval_set=everywhere(test))
    expected = LambdaMART(5).fit(train, eval_set=test)
    np.testing.assert_array_equal(found.predict(test), expected.predict(test))


def test_the_defaults_are_those_of_lightgbm():
    ours, theirs = LambdaMART().get_params(), LGBMRanker().get_params()
    for name in ("n_estimators", "learning_rate", "num_leaves", "min_child_samples"):
        assert ours[name] == theirs[name]


def test_further_parameters_take_precedence():
    data, _ = make_ranking(20)
    forest = LambdaMART(3, params={"num_leaves": 2}).fit(data).booster_.trees_to_dataframe()
    assert forest.groupby("tree_index").size().max() == 3  # a root and two leaves


def test_shards_are_mapped_not_read(parts, tmp_path, monkeypatch):
    train, test = parts
    write_shards(train, tmp_path / "shards", shard_bytes=50_000)
    monkeypatch.delattr(Shards, "read")
    with open_shards(tmp_path / "shards") as shards:
        assert shards.n_shards > 2
        found = LambdaMART(5).fit(shards)
    np.testing.assert_array_equal(found.predict(test), LambdaMART(5).fit(train).predict(test))
