"""Times that people compare have no compilation in them."""

import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from numba.core.event import TimingListener, install_listener

from ranksieve import make_ranking
from ranksieve.engine.clock import work_seconds
from ranksieve.engine.memo import Memo, shared, sharing
from ranksieve.experiments import QuerySets, Select, Trial, TrialSource
from ranksieve.selectors.registry import SELECTORS


def fresh_kernel():
    """A function that numba has yet to compile."""

    @numba.njit
    def total(n):
        found = 0.0
        for i in range(n):
            found += i**0.5
        return found

    return total


@pytest.fixture
def compiling():
    with install_listener("numba:compile", TimingListener()) as listener:
        yield listener


def test_the_clock_stands_still_while_numba_compiles(compiling):
    kernel = fresh_kernel()
    wall, start = time.perf_counter(), work_seconds()
    kernel(10)
    worked, elapsed = work_seconds() - start, time.perf_counter() - wall
    assert 0 <= worked <= elapsed - 0.9 * compiling.duration


def test_it_goes_on_otherwise():
    wall, start = time.perf_counter(), work_seconds()
    time.sleep(0.05)
    worked = work_seconds() - start
    assert 0.05 <= worked <= time.perf_counter() - wall


def test_threads_that_wait_for_a_kernel_do_not_count_it(compiling):
    kernel = fresh_kernel()

    def timed(_):
        wall, start = time.perf_counter(), work_seconds()
        kernel(10)
        return work_seconds() - start, time.perf_counter() - wall

    with ThreadPoolExecutor(3) as pool:
        times = list(pool.map(timed, range(3)))
    waited = [(worked, wall) for worked, wall in times if wall > compiling.duration / 2]
    assert waited
    for worked, wall in waited:
        assert 0 <= worked < wall - compiling.duration / 3


def test_what_is_shared_has_its_price_without_compilation(compiling):
    kernel, memo = fresh_kernel(), Memo()

    @shared
    def statistic(source):
        return kernel(source.size)

    def timed(_):
        with sharing(memo) as borrowed:
            start = work_seconds()
            statistic(source)
            return work_seconds() - start + borrowed.seconds

    source = np.zeros(10)
    with ThreadPoolExecutor(3) as pool:
        times = list(pool.map(timed, range(3)))
    [(_, price)] = memo.costs
    assert price < compiling.duration / 3
    assert all(-1e-6 < seconds < compiling.duration / 3 for seconds in times)


class Compiling:
    """A selector whose kernels are compiled each time, for much longer than they run."""

    def __init__(self, k=2):
        self.k = k

    def fit(self, X, y):
        for _ in range(8):
            fresh_kernel()(10)
        self.selected_ = list(range(self.k))


@pytest.mark.slow
def test_seconds_of_a_cell_of_a_study_are_without_compilation(compiling):
    data, _ = make_ranking(20, n_informative=2, n_redundant=0, n_noise=2, random_state=0)
    trial = Trial("Fold1", TrialSource.of(data), QuerySets(np.arange(12)))
    result = Select(SELECTORS.find(Compiling()), {}, {}, None, 2).run(trial.open())
    assert result.features == [0, 1]
    assert 0 < result.seconds < compiling.duration / 5
