"""NSGA-II against brute force: fronts, room between neighbors, and small problems as a whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ranksieve.progress import listen
from ranksieve.selectors.related.nsga2 import crowding, evolve, front_numbers

tables = st.tuples(st.integers(1, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 3).map(float))
)


def dominates(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True)) and any(
        x < y for x, y in zip(a, b, strict=True)
    )


def peeled(rows):
    """Numbers of fronts, by taking away what nothing else dominates."""
    numbers, left, number = {}, set(range(len(rows))), 0
    while left:
        free = {i for i in left if not any(dominates(rows[j], rows[i]) for j in left)}
        numbers |= dict.fromkeys(free, number)
        left, number = left - free, number + 1
    return [numbers[i] for i in range(len(rows))]


@given(tables)
def test_fronts_are_peeled_off(table):
    assert front_numbers(table).tolist() == peeled(table.tolist())


def test_room_between_neighbors():
    front = np.array([[0.0, 8.0], [1.0, 4.0], [3.0, 3.0], [4.0, 0.0]])
    inf = float("inf")
    assert crowding(front).tolist() == [inf, 3 / 4 + 5 / 8, 3 / 4 + 4 / 8, inf]
    assert crowding(np.ones((3, 2))).tolist() == [0, 0, 0]  # no range, no room


def all_masks(n_bits):
    return (np.arange(1, 2**n_bits)[:, None] >> np.arange(n_bits) & 1).astype(bool)


def problem(n_bits, seed):
    """Number of bits, a sum of values, and a product of pairs that counter each other."""
    rng = np.random.default_rng(seed)
    values, pairs = rng.normal(size=n_bits), rng.normal(size=(n_bits, n_bits))

    def objectives(masks):
        masks = masks.astype(float)
        return np.stack([masks.sum(1), -masks @ values, ((masks @ pairs) * masks).sum(1)], axis=1)

    return objectives


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_bits", [1, 2, 8])
def test_the_true_front_is_found(n_bits, seed):
    objectives, every = problem(n_bits, seed), all_masks(n_bits)
    found = evolve(objectives, n_bits, 40, 40, np.random.RandomState(seed))
    values = np.round(objectives(every), 10)
    expected = values[np.array(peeled(values.tolist())) == 0]
    np.testing.assert_array_equal(found.objectives, expected[np.lexsort(expected.T[::-1])])
    np.testing.assert_array_equal(found.objectives, np.round(objectives(found.masks), 10))


def test_most_of_a_larger_front_is_found_by_looking_at_few_masks():
    objectives, every = problem(11, 0), all_masks(11)
    seen = []

    def counting(masks):
        seen.extend(mask.tobytes() for mask in masks)
        return objectives(masks)

    found = evolve(counting, 11, 30, 25, np.random.RandomState(0))
    assert len(seen) == len(set(seen)) < 0.2 * len(every)  # and none of them twice
    true = every[front_numbers(np.round(objectives(every), 10)) == 0]
    known = {mask.tobytes() for mask in found.masks} & {mask.tobytes() for mask in true}
    assert len(known) > 0.9 * len(true)


def test_no_mask_is_empty_and_the_full_one_is_seen():
    seen = []

    def smallest(masks):
        seen.append(masks)
        return masks.sum(axis=1, keepdims=True).astype(float)

    found = evolve(smallest, 6, 10, 20, np.random.RandomState(1))
    assert all(masks.any(axis=1).all() for masks in seen)
    assert seen[0][0].all()
    assert found.masks.sum(axis=1).tolist() == [1] * len(found.masks)


def test_seeds_and_rounding():
    def run(seed, noise=0.0):
        objectives = problem(10, 3)
        search = evolve(
            lambda masks: objectives(masks) * (1 + noise), 10, 20, 10, np.random.RandomState(seed)
        )
        return search.masks.tolist()

    assert run(0) == run(0) == run(0, noise=1e-15)
    assert run(0) != run(1)


def test_progress():
    told = []
    with listen(lambda what, done, total: told.append((what, done, total))):
        evolve(problem(4, 0), 4, 5, 3, np.random.RandomState(0))
    assert told == [("Generations", n, 3) for n in (1, 2, 3)]
