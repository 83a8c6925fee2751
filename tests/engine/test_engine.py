"""The engine: sums in block order, state beside blocks, the same bits everywhere."""

import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import ThreadpoolController, threadpool_limits

from ranksieve import DataError, RankingData, limit_threads, make_ranking
from ranksieve.engine import engine_of, engines
from ranksieve.engine.dask import connect
from ranksieve.engine.engines import LocalWorkers, block_runs
from ranksieve.engine.state import StateCalls
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.progress import listen
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS
from ranksieve.sums.gram import centered_gram
from ranksieve.sums.importance import Importance, feature_importance
from ranksieve.sums.similarity import feature_similarity
from tests.every_method import make_quick
from tests.example_statistics import Awkward, DoubleSizes, Rounds, Sizes, count_rows
from tests.processes import forked_workers


@pytest.fixture(scope="module")
def data():
    return make_ranking(1200, docs_per_query=(1, 30), n_noise=7, tied=0.4, random_state=5)[0]


def run_rounds(source, n_rounds=6, seconds=0.0, during=None):
    """Rounds whose arguments depend on the results before them."""
    results = []
    weights = np.linspace(-1e-3, 1e-3, source.n_features)
    with engine_of(source).start(Rounds, seconds) as workers:
        for number in range(n_rounds):
            if during is not None:
                during(number)
            total = workers.sum(Rounds.step, weights)
            weights = total / np.abs(total).max() / 1e3
            results.append(total)
    return np.array(results)


def test_sums_of_numbers_arrays_and_tuples(everywhere, data):
    source = everywhere(data)
    with engine_of(source).start(Sizes, 3) as workers:
        assert workers.n_blocks > 1
        assert workers.sum(Sizes.rows) == 3 * data.n_rows
        rows, labels, halves = workers.sum(Sizes.several)
        assert rows == data.n_rows
        np.testing.assert_array_equal(labels, np.bincount(data.y.astype(int), minlength=10))
        assert halves == 0.5 * workers.n_blocks
        assert sum(workers.collect(Sizes.rows)) == 3 * data.n_rows
        for _ in range(2):
            np.testing.assert_array_equal(workers.sum(Sizes.kept), [workers.n_blocks] * 2)


def test_sums_of_functions_and_of_overridden_methods(everywhere, data):
    engine = engine_of(everywhere(data))
    total, more = engine.sum(count_rows, 3, more=2)
    n_blocks = len(engine.collect(count_rows))
    assert (total, more.tolist()) == (3 * data.n_rows, [2 * n_blocks] * 2)
    with engine.start(DoubleSizes, factor=1) as workers:
        assert workers.sum(Sizes.rows) == 2 * data.n_rows


def test_terms_are_added_in_block_order(everywhere, data):
    with engine_of(everywhere(data)).start(Awkward) as workers:
        terms = [term[0] for term in workers.collect(Awkward.term)]
        total = workers.sum(Awkward.term)[0]
    expected = 0.0
    for term in terms:
        expected += term
    assert total == expected
    assert total != sum(reversed(terms))  # so that order shows


def test_state_stays_beside_its_block(everywhere, data):
    state = np.zeros(data.n_rows)
    weights = np.linspace(-1e-3, 1e-3, data.n_features)
    for total in run_rounds(everywhere(data)):
        state = np.tanh(state + data.X @ weights)
        np.testing.assert_allclose(total, data.X.T @ state, rtol=1e-9)
        weights = total / np.abs(total).max() / 1e3


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return {library.num_threads for library in libraries}


def test_products_between_rounds_use_one_thread(data):
    engine = engine_of(data)
    with threadpool_limits(3, user_api="blas"):
        with engine.start(Sizes, 3):
            assert blas_threads() == {1}
        assert blas_threads() == {3}
        with pytest.raises(TypeError):
            engine.start(Sizes)
        assert blas_threads() == {3}


def test_errors_of_a_statistic_are_raised(everywhere, data):
    with engine_of(everywhere(data)).start(Sizes, 1) as workers:
        with pytest.raises(ValueError, match="broken on purpose"):
            workers.sum(Sizes.broken)
        with pytest.raises(AttributeError, match="step"):
            workers.sum(Rounds.step, np.ones(1))
    with pytest.raises(TypeError, match="factor"):
        engine_of(data).start(Sizes)


def test_progress_counts_blocks(everywhere, data):
    reports, source = [], everywhere(data)
    with (
        engine_of(source).start(Sizes, 1) as workers,
        listen(lambda *report: reports.append(report)),
    ):
        workers.sum(Sizes.rows)
        engine_of(source).sum(count_rows)
    n = workers.n_blocks
    expected = [(what, done, n) for what in ("Sizes", "Count rows") for done in range(1, n + 1)]
    assert reports == expected


@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "sparse"])
def test_blocks_in_memory_are_views_of_whole_queries(data, as_csr):
    X = sparse.csr_matrix(data.X) if as_csr else data.X
    source = RankingData(X, data.y, data.qid)
    blocks = [open_block() for open_block in engine_of(source).blocks]
    assert len(blocks) > 1
    assert sum(len(block.y) for block in blocks) == data.n_rows
    row = 0
    for block in blocks:
        assert block.first_row == row
        assert block.query_ptr[0] == 0
        assert block.query_ptr[-1] == len(block.y) == block.X.shape[0]
        assert row in data.query_ptr
        if not as_csr:
            assert np.shares_memory(block.X, data.X)
        row += len(block.y)


@pytest.mark.parametrize(
    ("n_queries", "length", "n_features", "n_blocks"),
    [(3, 5, 4, 1), (1, 50_000, 10, 1), (1000, 100, 10, 16), (2, 40_000, 10, 2)],
)
def test_blocks_follow_the_size_of_the_data(n_queries, length, n_features, n_blocks):
    X = np.zeros((n_queries * length, n_features))
    qid = np.repeat(np.arange(n_queries), length)
    runs = block_runs(RankingData(X, np.zeros(len(X)), qid))
    assert len(runs) == n_blocks
    assert [first for first, _ in runs[1:]] == [last for _, last in runs[:-1]]
    assert (runs[0][0], runs[-1][1]) == (0, n_queries)


def test_no_rows_and_wrong_sources(data):
    with pytest.raises(DataError, match="no rows"):
        engine_of(data.take_queries([]))
    with pytest.raises(TypeError, match="expected a RankingData or opened shards, got ndarray"):
        engine_of(data.X)


def test_threads_do_not_change_a_bit(data):
    results = []
    for n in (1, 2, 5):
        with limit_threads(n):
            sums = feature_importance(data), feature_similarity(data), centered_gram(data).xx
            results.append((run_rounds(data), *sums))
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.fixture(scope="module")
def shard_directory(data, tmp_path_factory):
    directory = tmp_path_factory.mktemp("data") / "shards"
    write_shards(data, directory, shard_bytes=100_000)
    return directory


def everything(source):
    gram = centered_gram(source)
    return [
        feature_importance(source, "ndcg@10"),
        feature_importance(source, Importance("map", ties="stable")),
        gram.xx,
        gram.xy,
        np.array(gram.yy),
        run_rounds(source),
    ]


@pytest.mark.slow
@forked_workers()
def test_any_number_of_workers_gives_the_same_bits(shard_directory):
    with open_shards(shard_directory) as shards:
        assert shards.n_shards >= 7
        expected = everything(shards)
    client = connect(n_workers=3)
    try:
        for n_workers in (3, 2, 1):
            client.cluster.scale(n_workers)
            while len(client.nthreads()) > n_workers:
                time.sleep(0.05)
            with open_shards(shard_directory, client=client) as shards:
                results = everything(shards)
                with threadpool_limits(3, user_api="blas"), engine_of(shards).start(Sizes, 3):
                    assert blas_threads() == {1}  # here, as in the processes of the workers
            assert len(client.nthreads()) == n_workers
            for ours, theirs in zip(expected, results, strict=True):
                assert ours.tobytes() == theirs.tobytes()
    finally:
        client.close()


@pytest.mark.slow
@forked_workers()
def test_killed_workers_are_replaced_without_changing_a_bit(shard_directory):
    with open_shards(shard_directory) as shards:
        expected = run_rounds(shards)
        seconds = 0.5 / shards.n_shards
    client = connect(n_workers=2)
    try:
        pids, timers = list(client.run(os.getpid).values()), []

        def kill_in_the_middle(number):
            if number in (2, 4):  # of a round; the second time another worker
                timers.append(
                    threading.Timer(0.2, os.kill, (pids[number // 2 - 1], signal.SIGKILL))
                )
                timers[-1].start()

        with open_shards(shard_directory, client=client) as shards:
            results = run_rounds(shards, seconds=seconds, during=kill_in_the_middle)
            for timer in timers:  # late, if the machine is busy
                timer.join()
            survivors = list(client.run(os.getpid).values())

        def kill_between_rounds(number):
            if number == 3:
                os.kill(survivors[0], signal.SIGKILL)
                time.sleep(0.5)

        with open_shards(shard_directory, client=client) as shards:
            again = run_rounds(shards, during=kill_between_rounds)
    finally:
        client.close()
    assert not set(survivors) & set(pids)
    assert results.tobytes() == again.tobytes() == expected.tobytes()


def test_only_calls_that_change_the_state_are_kept_for_a_lost_worker(shard_directory, client):
    with open_shards(shard_directory, client=client) as shards:
        weights = np.linspace(-1e-3, 1e-3, shards.n_features)
        with engine_of(shards).start(Rounds) as workers:
            workers.sum(Rounds.step, weights)
            for _ in range(20):
                workers.sum(Rounds.products, weights)
            workers.sum(Rounds.step, -weights)
            assert [call.method for call in workers._calls] == ["step", "step"]
            workers.collect(Rounds.begin, 0.5)  # whatever the state was
            workers.sum(Rounds.step, weights)
            assert [call.method for call in workers._calls] == ["begin", "step"]


class ForgetfulWorkers(LocalWorkers):
    """Workers that are lost before every call, and know only the calls that are kept for that."""

    def __init__(self, blocks, statistic, parameters, named, check=None):
        super().__init__(blocks, statistic, parameters, named, check)
        self._new = lambda: [statistic(block(), *parameters, **named) for block in blocks]
        self._calls = StateCalls(statistic)

    def _results(self, call):
        self._instances = self._new()
        for known in self._calls:
            list(super()._results(known))
        yield from super()._results(call)
        self._calls.add(call)


def _with_states():
    """Methods that work beside their blocks, and ways of theirs that use other statistics."""
    for method in (*SELECTORS.values(), *RANKERS.values()):
        if method.works_on_shards:
            yield method.name, {}
    yield "backfitting-rankrls", {"kappa": 4}
    for parameters in ({"memory": "low", "search": "floating"}, {"criterion": "map"}):
        yield "greedy-rankrls", parameters


@pytest.mark.parametrize(("name", "parameters"), list(_with_states()))
def test_methods_name_all_calls_that_change_a_state(name, parameters, monkeypatch):
    data, _ = make_ranking(12, docs_per_query=6, n_noise=2, n_grades=3, random_state=1)
    stops_early = "early_stopping_rounds" in make_quick(name).get_params()
    held_out = {"eval_set": data} if stops_early else {}
    expected = vars(make_quick(name, **parameters).fit(data, **held_out))
    monkeypatch.setattr(engines, "LocalWorkers", ForgetfulWorkers)
    found = vars(make_quick(name, **parameters).fit(data, **held_out))
    for attribute in ("coef_", "selected_", "scores_", "rounds_", "validation_"):
        if attribute in expected:
            assert pickle.dumps(found[attribute]) == pickle.dumps(expected[attribute]), attribute


def test_closed_shards_are_refused(shard_directory, client):
    for connection in (None, client):
        shards = open_shards(shard_directory, client=connection)
        shards.close()
        with pytest.raises(DataError, match="these shards are closed; open them again"):
            feature_importance(shards)


def test_a_cluster_that_cannot_see_the_directory(data, tmp_path, client):
    directory = tmp_path / "here"
    write_shards(data, directory)
    with open_shards(directory, client=client) as shards:
        directory.rename(tmp_path / "there")
        with pytest.raises(
            DataError, match=r"worker tcp://\S+ cannot open .* every worker can access"
        ):
            feature_importance(shards)
        write_shards(data, directory)
        with pytest.raises(DataError, match="finds other data"):
            feature_importance(shards)


def test_no_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DataError, match=r"pip install 'ranksieve\[dask\]'"):
        connect(n_workers=2)


def test_no_scheduler(start_program):
    # In a process of its own: a client that fails to connect leaves its event loop behind.
    code = "from ranksieve.engine.dask import connect; connect('tcp://127.0.0.1:9', timeout=0.5)"
    _, _, told = start_program(exec, code, {}).wait()
    assert "DataError: no Dask scheduler answers at tcp://127.0.0.1:9 (" in told


def test_missing_values_are_named(everywhere, data):
    X = data.X.copy()
    X[777, 3] = np.nan
    source = everywhere(RankingData(X, data.y, data.qid)).refusing_missing()
    for statistic in (feature_importance, centered_gram):
        with pytest.raises(DataError, match=r"NaN in row 777, .*column 3"):
            statistic(source)


def test_some_features_of_shards_on_a_cluster(client, tmp_path):
    data, _ = make_ranking(30, n_informative=4, n_noise=4, random_state=1)
    write_shards(data, tmp_path / "shards", shard_bytes=5_000)
    with open_shards(tmp_path / "shards", client=client) as shards:
        xx = centered_gram(shards.take_features([5, 0, 2])).xx
    np.testing.assert_allclose(xx, centered_gram(data.take_features([5, 0, 2])).xx)


def test_workers_verify_what_they_read(client, data, tmp_path):
    write_shards(data, tmp_path / "d", shard_bytes=50_000)
    path = tmp_path / "d" / "000001.X.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    damaged = pytest.raises(DataError, match=r"000001.X.npy: is damaged: its checksum is")
    with open_shards(tmp_path / "d", client=client) as shards, damaged:
        feature_importance(shards)
    with open_shards(tmp_path / "d", client=client, verify=False) as shards:
        assert feature_importance(shards).shape == (2, data.n_features)
