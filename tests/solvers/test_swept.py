"""Columns that enter and leave a model, against solving for each set of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.solvers.rankrls.swept import SweptProducts
from tests.oracles import ridge_explains

N = 6
SEEDS = st.integers(0, 10**6)
CHANGES = st.lists(st.integers(0, N - 1), max_size=12)


def problem(seed):
    """Products of columns, one of them twice and one constant, and what each set explains."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, N)) * rng.choice([0.1, 1.0, 10.0], N)
    X[:, 1], X[:, 2] = X[:, 0], 0.0
    y, lam = rng.normal(size=15) + X[:, 0], float(rng.choice([1e-2, 1.0, 30.0]))
    A, b = X.T @ X + lam * np.eye(N), X.T @ y
    products = np.block([[A, b[:, None]], [b, np.zeros(1)]])

    def explains(columns):
        own = sorted(columns)
        return ridge_explains(X[:, own], y, np.full(len(own), lam))

    return SweptProducts(products), explains


def close(values, expected):
    return np.allclose(values, expected, rtol=1e-7, atol=1e-8)


@given(SEEDS, CHANGES)
def test_what_is_explained_after_any_sequence_of_changes(seed, changes):
    model, explains = problem(seed)
    chosen = set()
    for column in changes:
        model.toggle(column)
        chosen ^= {column}
    assert set(np.flatnonzero(model.chosen)) == chosen
    assert close(model.explained, explains(chosen))
    assert close(model.toggle_gains(), [explains(chosen ^ {k}) - model.explained for k in range(N)])


@given(SEEDS, CHANGES)
def test_exchanges_and_several_at_once(seed, changes):
    model, explains = problem(seed)
    model.toggle(*changes)
    gone, new = np.flatnonzero(model.chosen), np.flatnonzero(~model.chosen)
    chosen = set(gone.tolist())
    gains = model.swap_gains(gone, new)
    expected = [[explains(chosen - {i} | {j}) - explains(chosen) for j in new] for i in gone]
    assert close(gains, np.array(expected).reshape(len(gone), len(new)))
    assert close(model.set_gain(gone), -explains(chosen))
    assert close(model.set_gain(new), explains(range(N)) - explains(chosen))
    assert close(model.set_gain([]), 0.0)


@given(SEEDS, CHANGES, CHANGES)
def test_a_part_is_the_same_model_of_fewer_columns(seed, changes, more):
    model, _ = problem(seed)
    model.toggle(*changes)
    outside = np.flatnonzero(~model.chosen)[::-1]
    part, before = model.part(outside), model.explained
    for column in more:
        if column < len(outside):
            model.toggle(int(outside[column]))
            part.toggle(column)
    assert close(part.explained, model.explained - before)
    assert close(part.toggle_gains(), model.toggle_gains()[outside])


@given(SEEDS, CHANGES)
def test_changes_can_be_taken_back(seed, changes):
    model, _ = problem(seed)
    start = model.copy()
    model.toggle(*changes, *reversed(changes))
    assert not model.chosen.any()
    assert close(model.swept[:, :-1], start.swept[:, :-1])
    assert start.explained == 0  # of a copy, which does not change
