"""AdaRank: rounds as in the oracle, weights of queries, stopping, and MQ2008."""

import numpy as np
import pytest

from ranksieve import RankingData
from ranksieve.datasets import open_collection
from ranksieve.metrics import evaluate
from ranksieve.rankers import AdaRank
from tests import oracles
from tests.repeating import repeat_queries


def average_precision(labels, scores):
    return oracles.average_precision(oracles.ranked(labels, scores), None, "standard")


def averaged_precision(labels, scores):
    return oracles.averaged(oracles.average_precision, labels, scores, None, "standard")


def ndcg(labels, scores):
    return oracles.ndcg(oracles.ranked(labels, scores), 5, "letor4")


def right_pairs(labels, scores):
    return 1 - oracles.pairwise_error(labels, scores)


def random_data(seed, n_queries=14, n_features=6, longest=9, ties=False):
    """Queries of 1 to 8 documents, some with equal labels; features that help at random."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, longest, n_queries))
    y = rng.integers(0, 3, len(qid)).astype(float)
    X = rng.normal(size=(len(qid), n_features))
    # Each feature is good in some queries and bad in others, so that the choice changes.
    X += y[:, None] * rng.choice([-0.5, 0.5, 1.5], size=(n_queries, n_features))[qid]
    return RankingData(np.round(X) if ties else X, y, qid)


def by_hand(data, value, n_rounds, **options):
    return oracles.adarank(
        data.X.tolist(), data.y.tolist(), data.qid.tolist(), value, n_rounds, **options
    )


def assert_same(ranker, expected):
    """Rounds are the oracle's, but for those after which nothing would change."""
    assert len(ranker.rounds_) >= 1
    for ours, theirs in zip(ranker.rounds_, expected, strict=False):
        assert ours.feature == theirs[0]
        assert ours[1:] == pytest.approx(theirs[1:3], abs=1e-10)
    after = len(ranker.rounds_)
    assert len({theirs[0] for theirs in expected[after:]} | {ours.feature}) == 1
    np.testing.assert_allclose(ranker.query_weights_, expected[after - 1][3], atol=1e-12)
    assert ranker.query_weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("multiply", [False, True])
class TestOracle:
    def check(self, seed, multiply, value, ties=False, **options):
        data = random_data(seed, ties=ties)
        how = "multiply" if multiply else "model"
        ranker = AdaRank(n_rounds=12, reweighting=how, **options).fit(data)
        assert_same(ranker, by_hand(data, value, 12, multiply=multiply))
        if multiply:
            assert len(ranker.rounds_) == 12

    def test_map(self, seed, multiply):
        self.check(seed, multiply, average_precision, measure="map", ties=False)

    def test_ndcg(self, seed, multiply):
        self.check(seed, multiply, ndcg, measure="ndcg@5", convention="letor4")

    def test_smaller_is_better(self, seed, multiply):
        data = random_data(seed)
        how = "multiply" if multiply else "model"
        ranker = AdaRank("pairwise-error", n_rounds=8, reweighting=how).fit(data)
        expected = by_hand(oracles.with_pairs(data), right_pairs, 8, multiply=multiply)
        for ours, theirs in zip(ranker.rounds_, expected, strict=False):
            assert (ours.feature, ours.measure) == (theirs[0], pytest.approx(1 - theirs[2]))


def test_averaged_ties():
    data = random_data(1, longest=6, ties=True)
    ranker = AdaRank(n_rounds=6, ties="average", reweighting="multiply").fit(data)
    # Scores that tie in one sum may differ by rounding in another; they are few here.
    assert_same(ranker, by_hand(data, averaged_precision, 6, multiply=True))


def test_the_first_of_equal_features():
    data = random_data(0)
    twice = RankingData(np.hstack([data.X, data.X]), data.y, data.qid)
    ranker = AdaRank(n_rounds=10, reweighting="multiply").fit(twice)
    assert max(step.feature for step in ranker.rounds_) < data.n_features


def test_both_directions():
    data = random_data(3)
    turned = RankingData(-data.X, data.y, data.qid)
    plain = AdaRank(n_rounds=10, reweighting="multiply").fit(data)
    both = AdaRank(n_rounds=10, reweighting="multiply", directions="both").fit(turned)
    ours = [(step.feature, -step.alpha) for step in both.rounds_ if step.alpha < 0]
    assert ours  # descending order of the turned features is bad
    wide = RankingData(np.hstack([data.X, -data.X]), data.y, data.qid)
    expected = AdaRank(n_rounds=10, reweighting="multiply").fit(wide)
    mirrored = AdaRank(n_rounds=10, reweighting="multiply", directions="both").fit(data)
    np.testing.assert_allclose(mirrored.predict(data), expected.predict(wide), atol=1e-9)
    assert plain.rounds_[0].alpha > 0


@pytest.mark.parametrize("seed", range(4))
def test_bound_of_the_training_error(seed):
    """Theorem 1 of Xu and Li: what is lost is below a product over rounds."""
    data = random_data(seed, n_queries=30)
    expected = by_hand(data, average_precision, 8)
    queries = oracles.rows_by_query(data.qid.tolist())
    scores, before, bound = np.zeros(data.n_rows), np.zeros(len(queries)), 1.0
    P = np.full(len(queries), 1 / len(queries))
    ranker = AdaRank(n_rounds=8).fit(data)
    for ours, theirs in zip(ranker.rounds_, expected, strict=False):
        column = data.X[:, ours.feature]
        E = np.array(oracles.values_by_query(column, data.y, queries, average_precision))
        scores = scores + ours.alpha * column
        now = np.array(oracles.values_by_query(scores, data.y, queries, average_precision))
        bound *= np.exp(-np.min(now - before - ours.alpha * E)) * np.sqrt(1 - (P @ E) ** 2)
        assert 1 - ours.measure <= bound + 1e-12
        before, P = now, np.array(theirs[3])


@pytest.mark.parametrize("seed", range(4))
def test_the_model_is_that_of_the_best_round(seed):
    data = random_data(seed, n_queries=30)
    ranker = AdaRank(n_rounds=20).fit(data)
    measures = [step.measure for step in ranker.rounds_]
    assert ranker.best_round_ == np.argmax(measures) + 1
    reached = evaluate(data.y, ranker.predict(data), data.qid, "map").mean["MAP"]
    assert reached == pytest.approx(max(measures), abs=1e-9)
    assert reached >= measures[0] - 1e-9
    total = sum(step.alpha for step in ranker.rounds_[: ranker.best_round_])
    assert ranker.coef_.sum() == pytest.approx(total)


def test_weight_two_is_a_query_twice():
    """Also if the weights of the queries that the method has itself are multiplied."""
    data = random_data(2)
    weights = np.random.default_rng(0).integers(0, 3, data.n_queries)
    weights[0] = 2
    how = dict(n_rounds=8, reweighting="multiply")
    weighted = AdaRank(**how).fit(data, sample_weight=weights)
    expected = AdaRank(**how).fit(repeat_queries(data, weights))
    assert [step.feature for step in weighted.rounds_] == [
        step.feature for step in expected.rounds_
    ]
    np.testing.assert_allclose(weighted.coef_, expected.coef_, atol=1e-10)


def test_an_eval_set_stops():
    data, held_out = random_data(0, n_queries=40), random_data(7, n_queries=40)
    ranker = AdaRank(n_rounds=100, reweighting="multiply", early_stopping_rounds=5).fit(
        data, eval_set=held_out
    )
    values = ranker.validation_
    assert len(values) == len(ranker.rounds_) == ranker.best_round_ + 5 < 100
    assert values[ranker.best_round_ - 1] == values.max()
    reached = evaluate(
        held_out.y, ranker.predict(held_out), held_out.qid, "map", ties="average"
    ).mean["MAP"]
    assert reached == pytest.approx(values.max())
    other = AdaRank(
        n_rounds=9,
        reweighting="multiply",
        eval_measure="pairwise-error",
        early_stopping_rounds=None,
    )
    other.fit(data, eval_set=held_out)
    assert other.validation_[other.best_round_ - 1] == other.validation_.min()
    assert len(other.rounds_) == 9


class TestDegenerateData:
    def test_a_perfect_feature(self):
        data = RankingData([[1.0, 0], [0, 1], [1, 0], [0, 1]], [1, 0, 1, 0], [1, 1, 2, 2])
        ranker = AdaRank().fit(data)
        assert len(ranker.rounds_) == 1
        assert np.isfinite(ranker.coef_).all()
        assert ranker.rounds_[0].measure == 1

    def test_constant_features_and_single_query(self):
        X = np.array([[5.0, 1, 2], [5, 1, 3], [5, 1, 1]])
        ranker = AdaRank(n_rounds=5).fit(X, [0, 1, 0], qid=[0, 0, 0])
        assert ranker.predict(X).argmax() == 1
        nothing = AdaRank(n_rounds=5).fit(X[:, :2], [0, 1, 0], qid=[0, 0, 0])
        assert np.ptp(nothing.predict(X[:, :2])) == 0


def test_mq2008_as_published_is_one_feature(mq2008_dir):
    """The oracle, too, takes feature 39 for NDCG, and takes it again."""
    train, _, _ = open_collection(mq2008_dir).read_fold(0)

    def ndcg_at_ten(labels, scores):
        return oracles.ndcg(oracles.ranked(labels, scores), 10, "letor4")

    ranker = AdaRank("ndcg@10", convention="letor4", ties="stable").fit(train)
    expected = by_hand(train, ndcg_at_ten, 2)
    assert [step.feature for step in ranker.rounds_] == [38]
    assert [theirs[0] for theirs in expected] == [38, 38]
    assert ranker.rounds_[0][1:] == pytest.approx(expected[0][1:3])
