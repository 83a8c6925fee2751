"""RankBoost: rounds as in the oracle, thresholds, weights of pairs, stopping, and MQ2008."""

import numpy as np
import pytest
from scipy import sparse

from ranksieve import RankingData, make_ranking
from ranksieve.data import Block
from ranksieve.datasets import open_collection
from ranksieve.engine import engine_of
from ranksieve.metrics import evaluate
from ranksieve.rankers import RankBoost
from ranksieve.rankers.rankboost import PairPotentials, order_statistics
from tests import oracles
from tests.repeating import repeat_queries


def random_data(seed, n_queries=12, n_features=4, levels=None, longest=9):
    """Queries of 1 to 8 documents with graded labels; with ``levels``, so many distinct values."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, longest, n_queries))
    y = rng.integers(0, 4, len(qid)).astype(float)
    X = rng.normal(size=(len(qid), n_features)) + y[:, None] * rng.normal(size=n_features) / 2
    if levels is not None:
        X = np.clip(np.round(X), -(levels // 2), levels // 2)
    return RankingData(X, y, qid)


def by_hand(data, thresholds, n_rounds, **options):
    return oracles.rankboost(
        data.X.tolist(), data.y.tolist(), data.qid.tolist(), thresholds, n_rounds, **options
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("directions", ["both", "descending"])
@pytest.mark.parametrize(
    "options", [{}, {"n_thresholds": 5}, {"n_thresholds": 5, "binning": "width"}]
)
def test_oracle(seed, directions, options):
    data = random_data(seed)
    ranker = RankBoost(n_rounds=10, directions=directions, **options).fit(data)
    thresholds = [values.tolist() for values in ranker.thresholds_]
    expected = by_hand(data, thresholds, 10, both=directions == "both")
    assert len(ranker.rounds_) == 10
    for ours, theirs in zip(ranker.rounds_, expected, strict=True):
        assert ours[:2] == theirs[:2]
        assert ours[2:] == pytest.approx(theirs[2:4], abs=1e-10)
    losses = [1.0, *(step.loss for step in ranker.rounds_)]
    assert losses == sorted(losses, reverse=True)


def test_potentials_are_weights_of_pairs():
    data = random_data(3)
    ranker = RankBoost(n_rounds=4).fit(data)
    weights = np.linspace(0.5, 2, data.n_queries)
    statistic = PairPotentials(Block(data.X, data.y, data.query_ptr, query_weights=weights))
    padded = np.array([np.resize(values, 400) for values in ranker.thresholds_])[:, :250]
    n = np.array([min(250, len(values)) for values in ranker.thresholds_])
    statistic.begin(padded, n)
    statistic.scores[:] = np.random.default_rng(0).normal(size=len(statistic.scores)) * 3
    total, _ = statistic._sums()
    scores = np.zeros(data.n_rows)
    scores[statistic.rows] = statistic.scores
    expected, D = np.zeros(data.n_rows), {}
    for i, j in oracles.margin_pairs(data.y, data.qid):
        D[i, j] = weights[data.qid[i]] * np.exp(scores[j] - scores[i])
        expected[i] += D[i, j]
        expected[j] -= D[i, j]
    np.testing.assert_allclose(statistic.potentials, expected[statistic.rows], rtol=1e-9, atol=1e-9)
    assert total == pytest.approx(sum(D.values()))
    assert sum(value / total for value in D.values()) == pytest.approx(1)
    assert statistic.potentials.sum() == pytest.approx(0, abs=1e-6)


class TestThresholds:
    def told(self, data):
        """Rows of queries whose labels differ."""
        return np.concatenate(
            [np.flatnonzero(data.qid == q) for q in data.query_ids if np.ptp(data.y[data.qid == q])]
        )

    def test_all_values_if_few(self):
        data = random_data(0, levels=4)
        found = RankBoost(n_rounds=1).fit(data).thresholds_
        for column, thresholds in zip(data.X[self.told(data)].T, found, strict=True):
            np.testing.assert_array_equal(thresholds, np.unique(column)[:-1])

    @pytest.mark.parametrize("n", [1, 7, 255])
    def test_quantiles(self, n):
        data = random_data(0, n_queries=300)
        found = RankBoost(n_rounds=1, n_thresholds=n).fit(data).thresholds_
        X = np.sort(data.X[self.told(data)], axis=0)
        for column, thresholds in zip(X.T, found, strict=True):
            ranks = np.ceil(len(X) * np.arange(1, n + 1) / (n + 1)).astype(int) - 1
            np.testing.assert_array_equal(thresholds, np.unique(column[ranks]))

    def test_equal_distances(self):
        data = random_data(1, n_queries=40)
        X = np.hstack([data.X, data.y[:, None] > 1, np.ones((data.n_rows, 1))])
        data = RankingData(X, data.y, data.qid)
        *found, constant = (
            RankBoost(n_rounds=1, n_thresholds=4, binning="width").fit(data).thresholds_
        )
        assert len(constant) == 0
        for column, thresholds in zip(X[self.told(data)].T, found, strict=False):
            expected = np.linspace(column.min(), column.max(), 5)[1:]
            np.testing.assert_allclose(thresholds, expected)
            above = column > thresholds[-1]
            np.testing.assert_array_equal(above, column == column.max())

    def test_order_statistics(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 3)) * 10.0 ** rng.integers(-300, 300, size=(500, 3))
        X[:100, 1] = 0
        X[100:200, 1] = -0.0
        data = RankingData(X, rng.integers(0, 2, 500), np.arange(500) // 50)
        ranks = np.array([0, 3, 17, 250, 499])
        with engine_of(data).start(PairPotentials) as workers:
            found = order_statistics(workers, np.array([0, 1, 2]), ranks)
        np.testing.assert_array_equal(found, np.sort(X, axis=0)[ranks].T)


def test_scores_are_sums_of_steps():
    data = random_data(5)
    ranker = RankBoost(n_rounds=25).fit(data)
    expected = sum(
        step.alpha * (data.X[:, step.feature] > step.threshold) for step in ranker.rounds_
    )
    np.testing.assert_allclose(ranker.predict(data.X), expected, atol=1e-12)
    np.testing.assert_allclose(ranker.predict(sparse.csr_matrix(data.X)), expected, atol=1e-12)
    alphas = np.abs([step.alpha for step in ranker.rounds_])
    features = [step.feature for step in ranker.rounds_]
    np.testing.assert_allclose(
        ranker.feature_importances_, np.bincount(features, alphas, minlength=data.n_features)
    )


@pytest.mark.parametrize("binning", ["frequency", "width"])
def test_weight_two_is_a_query_twice(binning):
    data = random_data(2)
    weights = np.random.default_rng(0).integers(0, 3, data.n_queries)
    how = dict(n_rounds=15, n_thresholds=7, binning=binning)
    weighted = RankBoost(**how).fit(data, sample_weight=weights)
    expected = RankBoost(**how).fit(repeat_queries(data, weights))
    for ours, theirs in zip(weighted.thresholds_, expected.thresholds_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(weighted.rounds_, expected.rounds_, strict=True):
        assert ours[:2] == theirs[:2]
        assert ours[2:] == pytest.approx(theirs[2:])


@pytest.mark.parametrize("binning", ["frequency", "width"])
def test_the_same_everywhere(everywhere, binning):
    data, _ = make_ranking(150, n_informative=4, n_noise=6, noise=0.5, random_state=3)
    held_out, _ = make_ranking(40, n_informative=4, n_noise=6, noise=0.5, random_state=4)
    expected = RankBoost(n_rounds=8, binning=binning).fit(data, eval_set=held_out)
    csr = RankingData(sparse.csr_matrix(data.X), data.y, data.qid)
    for form in (data, csr):
        ours = RankBoost(n_rounds=8, binning=binning)
        ours.fit(everywhere(form, shard_bytes=50_000), eval_set=everywhere(held_out))
        for mine, theirs in zip(ours.rounds_, expected.rounds_, strict=True):
            assert mine[:2] == theirs[:2]
            assert mine[2:] == pytest.approx(theirs[2:], rel=1e-9)
        np.testing.assert_allclose(ours.validation_, expected.validation_, rtol=1e-10)


def test_an_eval_set_stops():
    data, held_out = random_data(0, n_queries=40), random_data(7, n_queries=40)
    ranker = RankBoost(n_rounds=300, early_stopping_rounds=5).fit(data, eval_set=held_out)
    assert len(ranker.validation_) == len(ranker.rounds_) == ranker.best_round_ + 5 < 300
    assert ranker.validation_[ranker.best_round_ - 1] == ranker.validation_.max()
    scores = ranker.predict(held_out)
    reached = evaluate(held_out.y, scores, held_out.qid, "map", ties="average").mean["MAP"]
    assert reached == pytest.approx(ranker.validation_.max())


class TestDegenerateData:
    def test_separable(self):
        data = RankingData([[1.0, 0], [0, 1], [1, 0], [0, 1]], [1, 0, 1, 0], [1, 1, 2, 2])
        ranker = RankBoost().fit(data)
        assert len(ranker.rounds_) == 1
        assert ranker.rounds_[0][:2] == (0, 0.0)
        assert np.isfinite(ranker.predict(data)).all()

    def test_separable_by_many_thresholds(self):
        x = np.arange(60.0)[:, None]
        ranker = RankBoost(n_rounds=3000).fit(x, x[:, 0], qid=np.zeros(60))
        assert np.isfinite([step.loss for step in ranker.rounds_]).all()
        scores = ranker.predict(x)
        assert np.all(np.diff(scores) > 0)

    def test_constant_features(self):
        X = np.ones((4, 2))
        ranker = RankBoost().fit(X, [0, 1, 0, 1], qid=[0, 0, 1, 1])
        assert ranker.rounds_ == []
        assert ranker.best_round_ == 0
        np.testing.assert_array_equal(ranker.predict(X), 0)
        np.testing.assert_array_equal(ranker.feature_importances_, 0)

    def test_nothing_helps_in_one_direction(self):
        X = np.array([[1.0], [0.0]])
        assert RankBoost(directions="descending").fit(X, [0, 1], qid=[0, 0]).rounds_ == []
        assert RankBoost().fit(X, [0, 1], qid=[0, 0]).rounds_[0].alpha < 0


LETOR_ROUNDS = [220, 11, 56, 58, 34]


def test_mq2008_as_letor(mq2008_dir):
    """The validation data chooses LETOR's numbers of rounds."""
    rounds = []
    for read in open_collection(mq2008_dir).fold_readers():
        train, vali, _ = read()
        ranker = RankBoost(
            240, binning="width", early_stopping_rounds=None, convention="letor4", ties="stable"
        )
        rounds.append(ranker.fit(train, eval_set=vali).best_round_)
    assert rounds == LETOR_ROUNDS


def test_mq2008_with_quantiles(mq2008_dir):
    collection = open_collection(mq2008_dir)
    reached = []
    for fold, n_rounds in enumerate(LETOR_ROUNDS):
        train, _, test = collection.read_fold(fold)
        scores = RankBoost(n_rounds).fit(train).predict(test)
        reached.append(evaluate(test.y, scores, test.qid, "map", "letor4").mean["MAP"])
    assert np.mean(reached) == pytest.approx(0.4775, abs=0.002)
