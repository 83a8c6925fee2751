"""Coordinate ascent: changes as in the oracle, gains, restarts, and MQ2008."""

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.data import Block
from ranksieve.datasets import open_collection
from ranksieve.metrics import evaluate, get_convention, parse_measure
from ranksieve.rankers import CoordinateAscent
from ranksieve.rankers.coordinate_ascent import Trials, trial_steps
from tests import oracles
from tests.rankers.test_adarank import average_precision, ndcg, right_pairs


def random_data(seed, n_queries=14, n_features=6, longest=9, ties=False):
    """Queries of 1 to 8 documents; features that help, hurt or do neither."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, longest, n_queries))
    y = rng.integers(0, 3, len(qid)).astype(float)
    X = rng.normal(size=(len(qid), n_features))
    X += y[:, None] * np.resize([0.8, -0.8, 0.0, 0.4], n_features)
    return RankingData(np.round(X) if ties else X, y, qid)


def by_hand(data, value, seed, n_steps, **options):
    rng = np.random.RandomState(seed)
    return oracles.coordinate_ascent(
        data.X.tolist(),
        data.y.tolist(),
        data.qid.tolist(),
        value,
        lambda: rng.permutation(data.n_features).tolist(),
        n_steps,
        0.001,
        **options,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("measure", "convention", "value"),
    [
        ("map", "standard", average_precision),
        ("ndcg@5", "letor4", ndcg),
        ("pairwise-error", "standard", right_pairs),
    ],
)
def test_oracle(seed, measure, convention, value):
    data = random_data(seed, n_features=4, n_queries=10)
    ranker = CoordinateAscent(
        measure, n_restarts=1, n_steps=12, convention=convention, ties="stable", random_state=seed
    ).fit(data)
    judged = oracles.with_pairs(data) if measure == "pairwise-error" else data
    expected = by_hand(judged, value, seed, 12)
    assert len(expected) > 1
    for ours, theirs in zip(ranker.rounds_, expected, strict=True):
        reached = 1 - ours.measure if measure == "pairwise-error" else ours.measure
        assert ours.feature == theirs[0]
        assert (ours.weight, reached) == pytest.approx(theirs[1:3], abs=1e-9)
    np.testing.assert_allclose(ranker.coef_, expected[-1][3], atol=1e-9)
    assert np.abs(ranker.coef_).sum() == pytest.approx(1)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("average_ties", [False, True])
@pytest.mark.parametrize("longest", [9, 400])
def test_trials_are_measures_of_changed_scores(ties, average_ties, longest):
    """Each trial in one pass is what evaluating its scores gives; long queries are sorted anew."""
    data = random_data(3, longest=longest, ties=ties)
    weights = np.random.default_rng(0).uniform(size=data.n_queries)
    block = Block(data.X, data.y, data.query_ptr, query_weights=weights)
    for name in ("map", "ndcg@5", "mean-ndcg", "err", "pairwise-error"):
        measure = parse_measure(name)
        convention = get_convention("standard", "average" if average_ties else "stable")
        statistic = Trials(block, measure, convention)
        coef = np.array([1.0, -2, 0, 3, 0.5, 0])
        statistic.begin(coef)
        deltas = trial_steps(1.0, 12)
        found = statistic.trials(3, deltas, 12)
        for delta, ours in zip(deltas, found, strict=True):
            scores = statistic.scores + delta * data.X[:, 3]
            how = "average" if average_ties else "stable"
            values = evaluate(data.y, scores, data.qid, measure, ties=how).per_query[measure.name]
            values = values if measure.greater_is_better else 1 - values
            assert ours == pytest.approx(np.nansum(weights * values), rel=1e-12)


@pytest.mark.parametrize("measure", ["map", "ndcg@10", "pairwise-error"])
def test_training_measure_never_gets_worse(measure):
    data = random_data(1, n_queries=40)
    ranker = CoordinateAscent(measure, n_restarts=2).fit(data)
    gains = [move.measure for move in ranker.rounds_]
    if measure == "pairwise-error":
        gains = [-gain for gain in gains]
    assert np.all(np.diff(gains) > 0)
    name = parse_measure(measure).name
    reached = evaluate(data.y, ranker.predict(data), data.qid, measure, ties="average").mean[name]
    assert reached == pytest.approx(ranker.rounds_[-1].measure, abs=1e-9)
    best = ranker.restarts_[ranker.best_restart_]
    assert best.measure == ranker.rounds_[-1].measure
    assert best.validation is None


def test_the_eval_set_chooses_the_restart():
    data, held_out = random_data(0, n_queries=25), random_data(7, n_queries=25)
    ranker = CoordinateAscent(n_restarts=4).fit(data, eval_set=held_out)
    found = [restart.validation for restart in ranker.restarts_]
    assert len(set(found)) > 1
    assert ranker.best_restart_ == np.argmax(found)
    scores = ranker.predict(held_out)
    reached = evaluate(held_out.y, scores, held_out.qid, "map", ties="average").mean["MAP"]
    assert reached == pytest.approx(max(found))
    by_training = CoordinateAscent(n_restarts=4).fit(data)
    assert by_training.best_restart_ == np.argmax([r.measure for r in ranker.restarts_])


def test_weights_that_grow_without_end_are_made_smaller(monkeypatch):
    data = random_data(4)
    expected = CoordinateAscent(n_restarts=1).fit(data)
    monkeypatch.setattr("ranksieve.rankers.coordinate_ascent._LARGE", 2.0)
    ours = CoordinateAscent(n_restarts=1).fit(data)
    np.testing.assert_array_equal(ours.coef_, expected.coef_)


class TestDegenerateData:
    def test_one_feature(self):
        X = np.array([[1.0], [2], [3]])
        ranker = CoordinateAscent().fit(X, [1, 0, 0], qid=[0, 0, 0])
        assert ranker.coef_.tolist() == [-1.0]

    def test_constant_features_and_single_query(self):
        X = np.array([[5.0, 1, 2], [5, 1, 3], [5, 1, 1]])
        assert CoordinateAscent().fit(X, [0, 1, 0], qid=[0, 0, 0]).predict(X).argmax() == 1
        nothing = CoordinateAscent().fit(X[:, :2], [0, 1, 0], qid=[0, 0, 0])
        assert nothing.rounds_ == []
        assert np.ptp(nothing.predict(X[:, :2])) == 0


def test_mq2008(mq2008_dir):
    """No published result to compare with: better than the best single feature, .4312."""
    train, vali, test = open_collection(mq2008_dir).read_fold(0)
    ranker = CoordinateAscent("ndcg@10", n_restarts=2, convention="letor4")
    scores = ranker.fit(train, eval_set=vali).predict(test)
    assert evaluate(test.y, scores, test.qid, "map", "letor4").mean["MAP"] > 0.4312
