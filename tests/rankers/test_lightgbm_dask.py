"""LambdaMART on a Dask cluster."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from distributed import get_task_stream
from scipy import sparse

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.engine.dask import connect
from ranksieve.io.shards import Shards, open_shards, write_shards
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.libraries.lightgbm_workers import best_number_of_trees
from tests.processes import forked_workers

pytestmark = pytest.mark.usefixtures("client", "one_thread")


@pytest.fixture(scope="module")
def parts():
    data, _ = make_ranking(300, docs_per_query=(1, 25), noise=0.5, random_state=4)
    return data.take_queries(range(200)), data.take_queries(range(200, 300))


@pytest.fixture(scope="module")
def client(cluster):
    """One for all tests here, which share shards; none of them uses Hypothesis."""
    with connect(cluster.start(), timeout=120) as connection:
        yield connection


@pytest.fixture(scope="module")
def on_cluster(client, tmp_path_factory):
    def put(data, shard_bytes=50_000):
        directory = tmp_path_factory.mktemp("cluster") / "shards"
        write_shards(data, directory, shard_bytes=shard_bytes)
        return open_shards(directory, client=client)

    return put


@pytest.fixture(scope="module")
def train_shards(parts, on_cluster):
    shards = on_cluster(parts[0])
    assert shards.n_shards > 4
    return shards


def test_trains_where_the_shards_are(parts, train_shards, client, monkeypatch):
    train, test = parts

    def no_rows(*arguments):
        raise AssertionError("the caller read rows")

    for method in ("read", "read_shard", "block"):
        monkeypatch.setattr(Shards, method, no_rows)
    with get_task_stream(client) as tasks:
        found = LambdaMART(20).fit(train_shards)
    used = {task["worker"] for task in tasks.data if task["key"].startswith("_train_part")}
    assert used == set(client.nthreads())
    assert found.booster_.num_trees() == found.best_iteration_ == 20
    assert found.feature_importances_.shape == (train.n_features,)
    assert found.score(test) > LambdaMART(20).fit(train).score(test) - 0.03


def test_the_same_trees_each_time(train_shards):
    settings = {"bagging_fraction": 0.7, "bagging_freq": 1, "feature_fraction": 0.7}
    texts = [
        LambdaMART(10, params=settings).fit(train_shards).booster_.model_to_string()
        for _ in range(3)
    ]
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_one_shard_is_trained_on_as_in_memory(parts, on_cluster, form):
    train, test = parts
    if form == "sparse":
        train = RankingData(sparse.csr_matrix(train.X), train.y, train.qid)
    weights = np.random.default_rng(0).random(train.n_queries)
    shards = on_cluster(train, shard_bytes=10**7)
    assert shards.n_shards == 1
    found = LambdaMART(10).fit(shards, sample_weight=weights).predict(test)
    expected = LambdaMART(10).fit(train, sample_weight=weights).predict(test)
    np.testing.assert_array_equal(found, expected)


def test_sparse_shards_and_missing_values(parts, on_cluster):
    train, test = parts
    X = np.where(np.random.default_rng(0).random(train.X.shape) < 0.05, np.nan, train.X)
    shards = on_cluster(RankingData(sparse.csr_matrix(X), train.y, train.qid))
    assert shards.n_shards > 1
    in_memory = LambdaMART(20).fit(X, train.y, qid=train.qid)
    assert LambdaMART(20).fit(shards).score(test) > in_memory.score(test) - 0.03


def test_weights_are_those_of_the_queries(parts, on_cluster):
    train, test = parts
    odd = train.query_codes % 2 == 1
    turned = RankingData(train.X, np.where(odd, train.y.max() - train.y, train.y), train.qid)
    shards = on_cluster(turned)
    weights = 1.0 - np.arange(train.n_queries) % 2
    without = LambdaMART(20).fit(shards, sample_weight=weights).score(test)
    opposite = LambdaMART(20).fit(shards, sample_weight=1 - weights).score(test)
    assert without > opposite + 0.2


def test_as_many_trees_as_early_stopping_keeps(parts, everywhere):
    train, test = parts
    validation = everywhere(test, shard_bytes=50_000)
    settings = dict(n_estimators=40, min_child_samples=5, ndcg_at=5)
    all_trees = LambdaMART(**settings).fit(train).booster_
    kept = []
    for early_stopping_rounds in (1, 4, 100):
        stopped = LambdaMART(**settings, early_stopping_rounds=early_stopping_rounds).fit(
            train, eval_set=test
        )
        kept.append(stopped.best_iteration_)
        assert best_number_of_trees(all_trees, validation, 5, early_stopping_rounds) == kept[-1]
    assert len(set(kept)) > 2


def test_validation_data_on_the_cluster(parts, train_shards, on_cluster):
    test = parts[1]
    found = LambdaMART(60, early_stopping_rounds=5).fit(train_shards, eval_set=on_cluster(test))
    assert found.best_iteration_ < found.booster_.num_trees() == 60
    best = found.booster_.predict(test.X, num_iteration=found.best_iteration_)
    np.testing.assert_array_equal(found.predict(test), best)
    np.testing.assert_array_equal(found.booster_.predict(test.X), best)
    in_memory = LambdaMART(60, early_stopping_rounds=5).fit(train_shards, eval_set=test)
    assert in_memory.best_iteration_ == found.best_iteration_


def test_two_at_a_time(parts, train_shards):
    alone = LambdaMART(10).fit(train_shards).predict(parts[1])
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: LambdaMART(10).fit(train_shards), range(2)))
    for ranker in both:
        np.testing.assert_array_equal(ranker.predict(parts[1]), alone)


def test_bad_input(parts, train_shards, on_cluster):
    train, _ = parts
    y = train.y.copy()
    y[train.n_rows - 3] = 31
    shards = on_cluster(RankingData(train.X, y, train.qid))
    with pytest.raises(DataError, match=rf"from 0 to 30, but row {train.n_rows - 3} has 31"):
        LambdaMART().fit(shards)
    with pytest.raises(DataError, match="tree_learner='feature' cannot be used .* data_parallel"):
        LambdaMART(params={"tree_learner": "feature"}).fit(train_shards)


@forked_workers()
def test_a_lost_worker_is_an_error(parts, tmp_path):
    write_shards(parts[0], tmp_path / "shards", shard_bytes=50_000)
    with connect(n_workers=2) as own:
        pids = own.run(os.getpid)

        def kill():
            while not any("_train_part" in str(keys) for keys in own.processing().values()):
                time.sleep(0.05)
            time.sleep(0.5)
            os.kill(min(pids.values()), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(DataError, match="was lost during training"):
            LambdaMART(20_000).fit(open_shards(tmp_path / "shards", client=own))
        killer.join()
