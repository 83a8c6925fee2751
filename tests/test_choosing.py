"""Equals of the best, the first that is nearly as good, and early stopping, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.choosing import (
    ROUNDING,
    EarlyStopping,
    equals_of_best,
    first_nearly_best,
    first_of_best,
    pareto_front,
)

VALUES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)


def test_differences_up_to_rounding_are_none():
    values = np.array([0.3, 0.5 - 0.9 * ROUNDING, 0.5, 0.5 - 1.1 * ROUNDING])
    assert equals_of_best(values).tolist() == [False, True, True, False]
    assert first_of_best(values) == 1
    assert first_of_best(values, scale=0.5) == 2
    assert first_of_best(1e6 * values, scale=1e6) == 1
    assert first_of_best(np.array([-np.inf, -np.inf]), scale=np.inf) == 0


def test_the_first_within_a_margin():
    values = np.array([0.1, 0.41, 0.5, 0.45])
    assert [first_nearly_best(values, margin) for margin in (0, 0.1, 0.5)] == [2, 1, 0]
    assert first_nearly_best(values, np.nan) == 2


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3) | st.just(np.nan)), max_size=10))
def test_the_front_is_what_nothing_dominates(candidates):
    costs, values = [c for c, _ in candidates], [v for _, v in candidates]

    front = pareto_front(costs, values)

    def beaten_by(one, other):
        """Whether the other is as good and as cheap, and better, cheaper or earlier."""
        return (
            costs[other] <= costs[one]
            and values[other] >= values[one]
            and (costs[other], -values[other], other) < (costs[one], -values[one], one)
        )

    places = [place for place, value in enumerate(values) if not np.isnan(value)]
    left = [one for one in places if not any(beaten_by(one, other) for other in places)]
    assert front == sorted(left, key=lambda place: costs[place])


def test_the_front_rises_by_more_than_rounding():
    assert pareto_front([1, 2, 3], [0.5, 0.5 + 1e-13, 0.6]) == [0, 2]
    assert pareto_front([2.0, 1.0, 1.0], [0.5, 0.3, 0.4]) == [2, 0]
    assert pareto_front([], []) == []


@given(VALUES, st.none() | st.integers(1, 4))
def test_early_stopping(values, rounds):
    stopping = EarlyStopping(rounds)
    seen = []
    for value in values:
        seen.append(value)
        best = seen.index(max(seen)) + 1
        over = stopping.add(value)
        assert (stopping.best, stopping.values) == (best, seen)
        assert over == (rounds is not None and len(seen) - best >= rounds)


@pytest.mark.parametrize(("rounding", "best"), [(ROUNDING, 1), (0.0, 2)])
def test_a_gain_of_rounding_counts_only_if_asked_for(rounding, best):
    stopping = EarlyStopping(None, rounding)
    assert stopping.best == 0
    for value in (0.5, 0.5 + ROUNDING / 2, 0.5):
        assert not stopping.add(value)
    assert stopping.best == best
