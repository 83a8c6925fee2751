"""Threads: the limit is local, results come in order, every query is visited once."""

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_limits
from xgboost import XGBRanker

from ranksieve import make_ranking, threads
from ranksieve.rankers import LambdaMART, as_ranker
from ranksieve.selectors import GreedyRankRLS
from ranksieve.threads import (
    limit_blas_threads,
    limit_threads,
    ordered_map,
    over_queries,
    thread_count,
)


def test_the_limit_is_restored():
    before = thread_count()
    with limit_threads(3):
        assert thread_count() == 3
        with limit_threads(1):
            assert thread_count() == 1
        assert thread_count() == 3
    assert thread_count() == before


def test_the_limit_does_not_reach_other_threads():
    seen: list[int] = []
    before = thread_count()
    with limit_threads(7):
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
    assert seen == [before]


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"), limit_threads(0):
        pass


def test_ordered_map_keeps_order_and_draws_few_items():
    drawn: list[int] = []

    def items():
        for number in range(50):
            drawn.append(number)
            yield number

    with limit_threads(2):
        results = ordered_map(lambda number: number**2, items())
        assert next(results) == 0
        assert len(drawn) <= 6
        assert list(results) == [number**2 for number in range(1, 50)]


def names_of_threads():
    """Threads that run a few items, which wait for each other."""
    ready = threading.Barrier(2)

    def name(_):
        ready.wait(60)
        return threading.current_thread().name

    return set(ordered_map(name, range(2), 2))


def test_pools_of_threads_are_made_once():
    first = names_of_threads()
    assert len(first) == 2
    assert names_of_threads() == first
    with ThreadPoolExecutor(1) as other:  # each thread has pools of its own, and none waits for it
        assert not other.submit(names_of_threads).result(60) & first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_has_pools_of_its_own():
    names_of_threads()
    child = multiprocessing.get_context("fork").Process(target=names_of_threads)
    child.start()
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("lengths", [[30_000], [1] * 25_000, [10_000, 1, 1, 10_000, 5], [3, 4]])
def test_every_query_is_visited_once(lengths, n_threads):
    query_ptr = np.concatenate([[0], np.cumsum(lengths)])
    visits = np.zeros(len(lengths), dtype=int)

    def kernel(out, first, last):
        out[first:last] += 1

    with limit_threads(n_threads):
        over_queries(kernel, query_ptr, visits)
    assert np.all(visits == 1)


def test_an_error_in_a_thread_is_raised():
    def kernel(first, last):
        raise RuntimeError("in a thread")

    with limit_threads(2), pytest.raises(RuntimeError, match="in a thread"):
        over_queries(kernel, np.arange(0, 50_000, 2))


def blas_threads() -> list[int]:
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library.num_threads for library in libraries]


@pytest.fixture
def blas_of_three():
    """Libraries set to a number that no limit of these tests has."""
    with threadpool_limits(3, user_api="blas"):
        before = blas_threads()
        assert before
        assert set(before) == {3}
        yield before


class Blocks:
    """Threads that enter and leave ``limit_blas_threads`` when they are told to."""

    def __init__(self, *limits: int) -> None:
        self.steps = [[threading.Event() for _ in range(4)] for _ in limits]
        self.threads = [
            threading.Thread(target=self._run, args=pair, daemon=True)
            for pair in zip(limits, self.steps, strict=True)
        ]
        for thread in self.threads:
            thread.start()

    def _run(self, limit: int, steps: list[threading.Event]) -> None:
        may_enter, entered, may_leave, left = steps
        may_enter.wait()
        with limit_blas_threads(limit):
            entered.set()
            may_leave.wait()
        left.set()

    def enter(self, place: int) -> None:
        self.steps[place][0].set()
        assert self.steps[place][1].wait(60)

    def leave(self, place: int) -> None:
        self.steps[place][2].set()
        assert self.steps[place][3].wait(60)


@pytest.mark.parametrize("leaving", list(permutations(range(3))))
def test_overlapping_limits_of_blas_are_restored(blas_of_three, leaving):
    limits = 1, 2, 1
    blocks = Blocks(*limits)
    open_ = []
    for place in range(3):
        blocks.enter(place)
        open_.append(place)
        assert set(blas_threads()) == {limits[place]}
    for place in leaving:
        blocks.leave(place)
        open_.remove(place)
        assert set(blas_threads()) == ({limits[open_[-1]]} if open_ else {3})
    assert blas_threads() == blas_of_three


def test_nested_limits_of_blas_are_restored_after_errors(blas_of_three):
    with limit_blas_threads(1):
        with pytest.raises(RuntimeError), limit_blas_threads(2):
            raise RuntimeError
        assert set(blas_threads()) == {1}
        with limit_blas_threads(2):
            assert set(blas_threads()) == {2}
        assert set(blas_threads()) == {1}
    assert blas_threads() == blas_of_three


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_has_the_threads_of_blas_before_the_limit(blas_of_three):
    with limit_blas_threads(1):
        child = multiprocessing.get_context("fork").Process(target=_in_child)
        child.start()
        child.join()
        assert set(blas_threads()) == {1}
    assert child.exitcode == 0


def _in_child() -> None:
    assert set(blas_threads()) == {3}
    with limit_blas_threads(1):
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {3}


def test_fits_in_threads_leave_blas_as_it_was(blas_of_three):
    data, _ = make_ranking(60, noise=0.1)
    alone = GreedyRankRLS(3).fit(data).selected_.tolist()
    with ThreadPoolExecutor(3) as pool:
        fits = [pool.submit(GreedyRankRLS(3).fit, data) for _ in range(6)]
        assert all(fit.result().selected_.tolist() == alone for fit in fits)
    assert blas_threads() == blas_of_three


TREES = [
    LambdaMART(5),
    LGBMRanker(n_estimators=5),
    XGBRanker(n_estimators=5),
    CatBoostRanker(iterations=5),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("ranker", TREES, ids=[type(tree).__name__ for tree in TREES])
def test_trees_grow_in_a_forked_child(ranker):
    data, _ = make_ranking(300, noise=0.1)
    ranker = as_ranker(ranker)
    expected = clone(ranker).fit(data).predict(data)
    queue = multiprocessing.get_context("fork").SimpleQueue()

    def train() -> None:
        queue.put(clone(ranker).fit(data).predict(data))

    child = multiprocessing.get_context("fork").Process(target=train)
    child.start()
    try:
        child.join(60)  # it is done in a moment, or never
        assert child.exitcode == 0
        np.testing.assert_allclose(queue.get(), expected)
    finally:
        child.kill()


def test_a_block_that_nobody_left_may_be_collected_while_limits_are_set(monkeypatch):
    """Its generator is closed by whatever thread collects it, which may be setting limits."""
    libraries = threads._libraries("blas").lib_controllers
    before = [library.get_num_threads() for library in libraries]
    left = [threads.limit_blas_threads(2)]
    left[0].__enter__()
    wanted = threads._blas._wanted

    def collect():
        found = wanted()
        if left:
            left.pop().gen.close()
        return found

    monkeypatch.setattr(threads._blas, "_wanted", collect)

    def enter():
        with threads.limit_blas_threads(1):
            return [library.get_num_threads() for library in libraries]

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(enter).result(timeout=30) == [1] * len(libraries)
    assert not threads._blas.open
    assert [library.get_num_threads() for library in libraries] == before
