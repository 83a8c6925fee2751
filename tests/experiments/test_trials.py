"""Trials: sets of queries of a source, opened when they are used."""

import pickle

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.data import DataError
from ranksieve.experiments import QuerySets, Trial, TrialSource, prepare_trials
from ranksieve.experiments import trials as module


@pytest.fixture(scope="module")
def data():
    return make_ranking(12, docs_per_query=(2, 6), random_state=1)[0]


def sets(train, vali=None, **judged):
    arrays = {name: np.array(own) for name, own in judged.items()}
    return QuerySets(np.array(train), None if vali is None else np.array(vali), arrays)


def test_a_source_of_parts_is_the_whole(data):
    parts = [data.take_queries(np.arange(first, first + 4)) for first in (0, 4, 8)]
    joined = TrialSource.of(*parts)
    for queries in ([0, 1, 2], [8, 9, 10, 11, 0, 1, 2, 3], [3, 4], [11, 5, 0], np.arange(12), []):
        wanted, found = data.take_queries(queries), joined.take(np.array(queries, dtype=int))
        np.testing.assert_array_equal(found.X, wanted.X)
        np.testing.assert_array_equal(found.qid, wanted.qid)
        np.testing.assert_array_equal(found.y, wanted.y)
    assert joined.take(np.arange(4, 8)) is parts[1]  # not a copy
    assert TrialSource.of(data).take(np.arange(12)) is data


def test_a_trial_is_read_when_it_is_used_and_then_kept(data, monkeypatch):
    reads = []
    source = TrialSource(lambda: reads.append(1) or [data])
    trials = [
        Trial(str(n), source, lambda sizes, n=n: sets(np.arange(n), test=np.arange(n, *sizes)))
        for n in range(1, 8)
    ]
    assert reads == []
    opened = [trial.open() for trial in trials]
    assert len(reads) == 1
    assert [own.judged["test"].n_queries for own in opened] == [11, 10, 9, 8, 7, 6, 5]
    kept = [trial.open() is own for trial, own in list(zip(trials, opened, strict=True))[::-1]]
    assert kept == [True] * 4 + [False] * 3  # the last ones
    monkeypatch.setattr(module, "_KEPT_VALUES", 1)
    last = trials[0].open()
    assert trials[0].open() is last  # however large
    trials[1].open()
    assert trials[0].open() is not last
    source.close()
    trials[0].open()
    assert len(reads) == 2


def test_what_is_sent_elsewhere_is_the_data(data):
    source = TrialSource(lambda: [data])  # which cannot be pickled
    source.open("A", sets([1, 2]))
    there = pickle.loads(pickle.dumps(source))
    assert there.fingerprint == source.fingerprint
    np.testing.assert_array_equal(there.take(np.array([3])).X, data.take_queries([3]).X)


def test_equal_data_has_an_equal_fingerprint(data):
    def fingerprint(data, **changes):
        return Trial(
            "A", TrialSource.of(data), sets(**{"train": [0, 1], "test": [2]} | changes)
        ).fingerprint

    known = fingerprint(data)
    copy = RankingData(data.X.copy(), data.y, data.qid, feature_names=list(data.feature_names))
    assert fingerprint(copy) == known
    others = [
        fingerprint(RankingData(data.X, data.y, data.qid + 1)),
        fingerprint(
            RankingData(data.X, data.y, data.qid, feature_names=list("abcdefghijklmnopqrst"))
        ),
        fingerprint(RankingData(data.X, data.y, data.qid, sample_weight=np.ones(data.n_rows))),
        fingerprint(data, train=[1, 0]),
        fingerprint(data, train=[0], vali=[1]),
        fingerprint(data, train=[0], test=[1, 2]),
    ]
    assert len({known, *others}) == 7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (sets([0, 1], test=[1]), "A: it uses a query twice"),
        (sets([0, 0]), "A: it uses a query twice"),
        (sets([0, 12]), "A: it uses queries that the data does not have"),
        (sets([-1]), "A: it uses queries that the data does not have"),
    ],
)
def test_sets_that_cannot_be_are_refused(data, wrong, message):
    with pytest.raises(DataError, match=message):
        Trial("A", TrialSource.of(data), wrong).open()


def test_queries_of_no_use_are_named(data):
    def check(y=data.y, qid=data.qid, **own):
        Trial("A", TrialSource.of(RankingData(data.X, y, qid)), sets(**own)).open().check()

    split = dict(train=[0, 1, 2, 3], vali=[4, 5, 6, 7], test=[8, 9, 10, 11])
    check(**split)
    for role, name in (("train on", "train"), ("tune by", "vali"), ("test on", "test")):
        with pytest.raises(DataError, match=f"A: there is no query to {role}"):
            check(**split | {name: np.array([], dtype=int)})
        y = np.where(np.isin(data.query_codes, split[name]), 0, data.y)
        with pytest.raises(DataError, match=f"A: no query to {role} has"):
            check(y, **split)
    parts = [data.take_queries(np.arange(6)), data.take_queries(np.arange(5, 12))]
    source = TrialSource.of(*parts)
    with pytest.raises(
        DataError, match="among those to train on and those to test on, so the split"
    ):
        Trial("A", source, sets(np.arange(6), test=np.arange(6, 13))).open().check()


def test_preparation_is_that_of_the_whole(data):
    X = np.where(np.random.default_rng(0).random(data.X.shape) < 0.1, np.nan, data.X)
    X[:, 0] = data.X[:, 0]
    gaps = RankingData(X, data.y, data.qid)
    parts = [gaps.take_queries(np.arange(6)), gaps.take_queries(np.arange(6, 12))]
    one, two = (TrialSource.of(part) for part in parts)
    own = sets(np.arange(4), test=[4, 5])
    trials = [Trial("A", one, own), Trial("B", one, own), Trial("C", two, own)]
    with_scale = prepare_trials(trials, "query-min+indicators", "standard")
    assert with_scale[0].source is with_scale[1].source is not with_scale[2].source
    features = [trial.open().train.feature_names.tolist() for trial in with_scale]
    assert features[0] == features[2]
    assert len(features[0]) == 20 + np.isnan(X).any(axis=0).sum() < 40
    assert not np.isnan(with_scale[2].open().train.X).any()
    assert prepare_trials(trials) == trials
