"""Query-wise protocols."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve.data import DataError, RankingData
from ranksieve.splits import (
    Split,
    adjacent_parts,
    query_kfold,
    query_parts,
    rotate_parts,
    six_trials,
)


def roles(split):
    return split.train.tolist(), split.vali.tolist(), split.test.tolist()


def as_data(counts):
    qid = np.repeat([f"q{query}" for query in range(len(counts))], counts)
    X = np.arange(2.0 * len(qid)).reshape(-1, 2)
    return RankingData(X, np.arange(len(qid)), qid)


def test_rotation_of_five_parts_gives_the_folds_of_letor():
    folds = [roles(split) for split in rotate_parts(adjacent_parts([1] * 5))]

    assert folds == [
        ([0, 1, 2], [3], [4]),
        ([1, 2, 3], [4], [0]),
        ([2, 3, 4], [0], [1]),
        ([3, 4, 0], [1], [2]),
        ([4, 0, 1], [2], [3]),
    ]


def test_parts_keep_the_order_of_their_queries():
    split = rotate_parts([[5, 4], [9], [1, 0], [2]])[3]

    assert roles(split) == ([2, 5, 4], [9], [1, 0])


@given(st.integers(3, 40), st.data(), st.booleans(), st.integers(0, 5))
def test_kfold_tests_and_validates_each_query_once(n_queries, data, shuffle, seed):
    n_splits = data.draw(st.integers(3, n_queries))

    splits = query_kfold(n_queries, n_splits, shuffle=shuffle, random_state=seed)

    every = list(range(n_queries))
    assert len(splits) == n_splits
    assert all(sorted(split.queries) == every for split in splits)
    assert sorted(np.concatenate([split.test for split in splits])) == every
    assert sorted(np.concatenate([split.vali for split in splits])) == every
    sizes = [len(split.test) for split in splits]
    assert max(sizes) - min(sizes) <= 1


def test_the_seed_decides_the_shuffle():
    def tests(**options):
        return [split.test.tolist() for split in query_kfold(30, **options)]

    assert tests(random_state=1) == tests(random_state=1)
    assert tests(random_state=1) != tests(random_state=2)
    assert tests(shuffle=False) == tests(shuffle=False, random_state=9)
    assert tests(random_state=np.random.default_rng(1)) == tests(random_state=1)


def test_parts_without_shuffle_are_runs():
    parts = query_parts(11, 4, shuffle=False)

    assert [part.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]]


@given(st.integers(3, 30))
def test_six_trials_use_three_parts_in_every_role_twice(n_queries):
    trials = six_trials(n_queries)

    assert len({str(roles(trial)) for trial in trials}) == 6
    for role in ("train", "vali", "test"):
        parts = [getattr(trial, role).tolist() for trial in trials]
        assert all(parts.count(part) == 2 for part in parts)
        assert sorted(np.concatenate(parts)) == sorted(2 * list(range(n_queries)))


def test_apply_takes_whole_queries_in_the_order_of_the_split():
    data = as_data([2, 1, 3, 1])

    train, vali, test = Split(train=[3, 0], vali=[2], test=[1]).apply(data)

    assert train.qid.tolist() == ["q3", "q0", "q0"]
    assert train.X.tolist() == [[12.0, 13.0], [0.0, 1.0], [2.0, 3.0]]
    assert vali.y.tolist() == [3.0, 4.0, 5.0]
    assert test.query_ptr.tolist() == [0, 1]


def test_validation_may_be_empty():
    train, vali, test = Split(train=[0], vali=[], test=[1]).apply(as_data([2, 1]))

    assert (train.n_rows, vali.n_rows, test.n_rows) == (2, 0, 1)
    assert vali.n_features == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: query_kfold(4, 5), "4 queries cannot be divided into 5 parts"),
        (lambda: query_kfold(9, 2), "n_splits >= 3, got 2"),
        (lambda: query_parts(9, 1), "at least 2 parts, got 1"),
        (lambda: six_trials(2), "2 queries cannot be divided into 3 parts"),
        (lambda: rotate_parts([[0], [1]]), "at least 3 parts of the queries, got 2"),
        (lambda: rotate_parts([[0], [1], [2, 0]]), "query 0 occurs twice"),
        (lambda: Split([0], [1], [1]), "query 1 occurs twice"),
        (lambda: Split([0.5], [], [1]), "train must be a list of 0-based query positions"),
        (lambda: Split([0], [[2]], [1]), "vali must be a list of 0-based query positions"),
        (lambda: Split([0], [], [-1]), "test has the negative query position -1"),
        (lambda: Split([0], [], [7]).apply(as_data([1, 1])), "query 7 .* has 2 queries"),
    ],
)
def test_bad_input_is_explained(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_a_split_cannot_be_changed():
    split = Split([0], [], [1])

    with pytest.raises(AttributeError):
        split.train = np.array([5])
