"""Thresholds of float32: every float32 number goes as before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.data import DataError
from ranksieve.export.forms import TreeBuilder
from ranksieve.export.single_precision import (
    SingleThresholds,
    largest_rounding_to,
    next_above,
    round_down,
    single_thresholds,
    subtract_slack,
)

f32 = np.float32
doubles = st.floats(allow_nan=False, allow_infinity=False)
singles = st.floats(allow_nan=False, allow_infinity=False, width=32)
SLACK = f32(1e-6)


@given(doubles, singles)
def test_round_down(threshold, x):
    assert (f32(x) <= round_down(threshold)) == (float(f32(x)) <= threshold)


@given(singles, doubles)
def test_last_rounded_to(threshold, x):
    with np.errstate(over="ignore"):
        assert (x <= largest_rounding_to(threshold)) == (f32(x) <= f32(threshold))


@given(singles, st.integers(-3, 3))
def test_last_rounded_to_at_its_edge(threshold, steps):
    x = float(largest_rounding_to(threshold))
    for _ in range(abs(steps)):
        x = float(np.nextafter(x, np.inf if steps > 0 else -np.inf))
    with np.errstate(over="ignore"):
        assert (x <= largest_rounding_to(threshold)) == (f32(x) <= f32(threshold))


def test_the_ends_of_float32():
    largest = np.finfo(f32).max
    ends = np.array([-np.inf, -largest, largest, np.inf], dtype=f32)
    xs = [-1e300, -3.5e38, -3.4028235e38, 0.0, 3.4028235e38, 3.5e38, 1e300]
    with np.errstate(over="ignore"):
        for end, last in zip(ends, largest_rounding_to(ends), strict=True):
            assert [x <= last for x in xs] == [bool(f32(x) <= end) for x in xs]


@given(singles.filter(lambda x: abs(x) < 3e38), singles)
def test_next_above_makes_it_strict(threshold, x):
    assert (f32(x) < next_above(threshold)) == (f32(x) <= f32(threshold))


def stump(threshold, **facts):
    builder = TreeBuilder()
    leaves = builder.add_leaf(-1.0), builder.add_leaf(1.0)
    builder.end_tree(builder.add_split(0, threshold, False, *leaves))
    return builder.build(1, **facts)


@given(st.lists(doubles.filter(lambda x: abs(x) < 1e30), min_size=2, max_size=6), st.data())
def test_known_values_keep_their_sides(known, draw):
    column = np.array(known)
    threshold = draw.draw(st.sampled_from(known) | doubles.filter(lambda x: abs(x) < 1e30))
    found = single_thresholds(stump(threshold), column[:, None])
    left = column <= threshold
    rounded = column.astype(f32)
    told_apart = not left.any() or left.all() or rounded[left].max() < rounded[~left].min()
    assert bool(found.clashes) == (not told_apart)
    if told_apart:
        for cut in (found.wanted, found.lowest, found.highest):
            np.testing.assert_array_equal(rounded <= cut[2], left)


def test_huge_thresholds():
    for cut in (1e39, -1e200):
        with pytest.raises(DataError, match="float32, whose largest number is 3.4e[+]38: scale"):
            single_thresholds(stump(cut))
    assert single_thresholds(stump(1e300)).wanted[2] == np.finfo(f32).max
    known = np.array([[1.0], [1e39]])
    assert single_thresholds(stump(1e38), known).clashes == []
    assert single_thresholds(stump(1e39), np.array([[1e39], [2e39]])).clashes == [(2, 1e39, 2e39)]


def test_thresholds_that_are_values():
    value = 0.1  # below its float32
    assert single_thresholds(stump(value)).wanted[2] < f32(value)
    assert single_thresholds(stump(value, cuts_at_values=True)).wanted[2] == f32(value)


def exactly(wanted):
    wanted = np.array(wanted, dtype=f32)
    return SingleThresholds(wanted, wanted, wanted, [])


@given(st.floats(-8, 8), st.booleans(), singles)
def test_solr_is_right_or_refused(exponent, negative, x):
    wanted = f32((-1 if negative else 1) * 10.0**exponent)
    written, solved = subtract_slack(exactly([wanted]), SLACK)
    if solved[0]:
        assert f32(f32(str(written[0])) + SLACK) == wanted
        assert (f32(x) <= f32(written[0] + SLACK)) == (f32(x) <= wanted)


@given(st.floats(-8, 8), st.booleans())
def test_solr_refuses_only_what_cannot_be(exponent, negative):
    wanted = f32((-1 if negative else 1) * 10.0**exponent)
    _, solved = subtract_slack(exactly([wanted]), SLACK)
    middle = f32(float(wanted) - float(SLACK))
    tried, reached = middle, []
    for direction in (f32(np.inf), f32(-np.inf)):
        tried = middle
        for _ in range(40):
            reached.append(f32(tried + SLACK))
            tried = np.nextafter(tried, direction)
    assert solved[0] == (wanted in reached)


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e-2, 1.0, 1e4, 1e8])
def test_scales_of_solr(scale):
    rng = np.random.default_rng(0)
    wanted = (rng.uniform(0.5, 2, 200) * scale).astype(f32)
    _, solved = subtract_slack(exactly(wanted), SLACK)
    assert solved.all() == (scale > 1e-8)


def test_solr_takes_tiny_numbers_for_zero():
    written, solved = subtract_slack(single_thresholds(stump(1.0000000180025095e-35)), SLACK)
    assert solved[2]
    assert f32(written[2] + SLACK) == 0
    assert not subtract_slack(single_thresholds(stump(-1e-35)), SLACK)[1][2]


def test_solr_moves_where_the_data_lets_it():
    known = np.array([[1e-8], [3e-8]])
    trees = stump(2e-8 + 1e-15)
    assert not subtract_slack(single_thresholds(trees), SLACK)[1][2]
    found = single_thresholds(trees, known)
    written, solved = subtract_slack(found, SLACK)
    assert solved[2]
    assert (known.astype(f32)[:, 0] <= f32(written[2] + SLACK)).tolist() == [True, False]
