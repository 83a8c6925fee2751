"""Threads: the limit is local, results come in order, every query is visited once."""

import threading

import numpy as np
import pytest

from ranksieve.threads import limit_threads, ordered_map, over_queries, thread_count


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
