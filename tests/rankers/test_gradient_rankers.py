"""RankNet, ListNet, ListMLE and LambdaRank: optima, networks, early stopping, weights, sources."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.data import Block
from ranksieve.metrics import evaluate
from ranksieve.rankers import LambdaRank, ListMLE, ListNet, RankNet
from ranksieve.solvers.gradient.networks import ACTIVATIONS, Standard, TrainingLoss, score_rows
from tests import oracles

NAIVE = {
    RankNet: oracles.loss_ranknet,
    ListNet: oracles.loss_listnet,
    ListMLE: oracles.loss_listmle,
}
ALL = [*NAIVE, LambdaRank]
SMALL = dict(epochs=5, batch_queries=8)


@pytest.fixture(scope="module")
def data():
    return make_ranking(
        40, docs_per_query=(1, 12), n_informative=3, n_noise=2, noise=0.5, random_state=4
    )[0]


def with_offsets(data):
    """The same data with features of very different scales."""
    X = data.X * 10.0 ** np.arange(-2, data.n_features - 2) + np.arange(data.n_features)
    return RankingData(X, data.y, data.qid)


def naive_objective(kind, data, alpha, scale):
    pairs = sum(int(np.sum(y[:, None] > y)) for y in np.split(data.y, data.query_ptr[1:-1]))
    informative_queries = sum(len(set(y)) > 1 for y in np.split(data.y, data.query_ptr[1:-1]))
    terms = pairs if kind is RankNet else informative_queries

    def objective(coef):
        scores = data.X @ (coef / scale)
        parts = zip(
            np.split(scores, data.query_ptr[1:-1]),
            np.split(data.y, data.query_ptr[1:-1]),
            strict=True,
        )
        return sum(NAIVE[kind](*part) for part in parts) / terms + alpha / 2 * coef @ coef

    return objective


@pytest.mark.parametrize("kind", NAIVE)
class TestLinear:
    @pytest.mark.parametrize("standardize", [True, False])
    def test_reaches_the_optimum_of_the_naive_objective(self, kind, data, standardize):
        data = with_offsets(data) if standardize else data
        ranker = kind(alpha=0.01, standardize=standardize, tol=1e-8).fit(data)
        scale = ranker.scale_
        assert standardize or (scale == 1).all()
        objective = naive_objective(kind, data, 0.01, scale)
        best = minimize(objective, np.zeros(data.n_features), options={"gtol": 1e-4})
        ours = objective(ranker.coef_ * scale)
        assert ours <= best.fun + 1e-8
        assert ours == pytest.approx(best.fun, abs=1e-6)
        assert ranker.loss_curve_[-1] == pytest.approx(ours, rel=1e-10)
        assert ranker.n_iter_ == ranker.best_epoch_ == len(ranker.loss_curve_)
        # The certificate: at the optimum of a convex function the gradient is 0.
        slopes = oracles.slopes(objective, ranker.coef_ * scale, 1e-4)
        np.testing.assert_allclose(slopes, 0, atol=1e-6)

    def test_early_stopping(self, kind, data):
        train, held_out = data.take_queries(range(20)), data.take_queries(range(20, 40))
        ranker = kind(alpha=0, max_iter=30, early_stopping_rounds=3, measure="map").fit(
            train, eval_set=held_out
        )
        values = ranker.validation_curve_
        assert ranker.best_epoch_ == np.argmax(values) + 1
        assert len(values) == ranker.n_iter_
        score = evaluate(held_out.y, ranker.predict(held_out), held_out.qid, "map").mean["MAP"]
        assert score == pytest.approx(max(values), abs=1e-12)

    def test_separable_data_constant_features_and_one_query(self, kind):
        X = np.column_stack([np.arange(6.0), np.full(6, 7.0)])
        ranker = kind(alpha=1e-6).fit(X, np.arange(6), qid=np.zeros(6))
        assert ranker.coef_[0] > 0
        assert abs(ranker.coef_[1]) < 1e-7  # rounding, over the small penalty
        assert (np.diff(ranker.predict(X)) > 0).all()

    def test_features_that_tell_nothing(self, kind):
        ranker = kind().fit(np.ones((4, 2)), [0, 1, 0, 1], qid=[1, 1, 2, 2])
        np.testing.assert_array_equal(ranker.coef_, [0, 0])
        assert ranker.n_iter_ == 1

    def test_says_if_it_did_not_converge(self, kind, data):
        with pytest.warns(ConvergenceWarning, match="increase max_iter"):
            ranker = kind(max_iter=2).fit(data)
        assert ranker.n_iter_ == 2

    @pytest.mark.parametrize("solver", ["adam", "sgd"])
    def test_steps_approach_the_optimum(self, kind, data, solver):
        best = kind(alpha=0.1).fit(data)
        rate = 0.01 if solver == "adam" else 0.3
        how = dict(solver=solver, batch_queries=None, epochs=400, learning_rate=rate)
        stepped = kind(alpha=0.1, **how).fit(data)
        np.testing.assert_allclose(stepped.coef_, best.coef_, rtol=0.01, atol=0.01)
        assert stepped.loss_curve_[-1] < stepped.loss_curve_[0]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", NAIVE)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_backpropagation(kind, data, activation, is_sparse):
    """The gradient of the whole network, standardization included, by differences."""
    data = data.take_queries(range(15))
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(data.X) if is_sparse else data.X
    query_weights = rng.uniform(0.5, 2, data.n_queries)
    statistic = TrainingLoss(
        Block(X, data.y, data.query_ptr, query_weights=query_weights), kind._loss, activation
    )
    standard = Standard(rng.normal(size=data.n_features), rng.uniform(1, 3, data.n_features))
    weights = [rng.normal(size=shape) for shape in ((data.n_features, 3), (3,), (3,))]
    queries = np.sort(rng.permutation(data.n_queries)[:8])
    for some in (None, queries):
        chosen = range(data.n_queries) if some is None else some

        def total(weights, chosen=chosen):
            inner, bias, outer = weights
            standardized = (data.X - standard.mean) / standard.scale
            scores = ACTIVATIONS[activation][0](standardized @ inner + bias) @ outer
            rows = [slice(*data.query_ptr[q : q + 2]) for q in chosen]
            return sum(
                query_weights[q] * NAIVE[kind](scores[r], data.y[r])
                for q, r in zip(chosen, rows, strict=True)
            )

        loss, *gradient = statistic.loss_and_gradient(standard.to_original(weights), some)
        gradient = standard.to_standardized(gradient)
        assert loss == pytest.approx(total(weights), rel=1e-9)
        for place, weight in enumerate(weights):

            def moved(point, place=place):
                return total([*weights[:place], point, *weights[place + 1 :]])

            slopes = oracles.slopes(moved, weight, 1e-5)
            np.testing.assert_allclose(gradient[place], slopes, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ALL)
class TestNetworks:
    def test_learns_what_no_linear_model_can(self, kind):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (900, 2))
        labels = (np.abs(X[:, 0]) > 0.5).astype(float)
        data = RankingData(X, labels, np.repeat(np.arange(90), 10))
        train, test = data.take_queries(range(60)), data.take_queries(range(60, 90))
        linear = kind().fit(train).score(test)
        network = kind(hidden=8, epochs=60, learning_rate=0.03).fit(train)
        assert network.score(test) > max(0.95, linear + 0.1)
        assert network.loss_curve_[-1] < network.loss_curve_[0]
        assert network.feature_importances_.argmax() == 0

    def test_early_stopping_keeps_the_best_epoch(self, kind, data):
        train, held_out = data.take_queries(range(20)), data.take_queries(range(20, 40))
        how = dict(hidden=6, learning_rate=0.05, batch_queries=5, measure="pairwise-error")
        ranker = kind(epochs=60, early_stopping_rounds=4, **how).fit(train, eval_set=held_out)
        values = ranker.validation_curve_  # an error: smaller is better
        assert ranker.best_epoch_ == np.argmin(values) + 1
        assert ranker.n_iter_ == min(60, ranker.best_epoch_ + 4)
        found = evaluate(held_out.y, ranker.predict(held_out), held_out.qid, "pairwise-error")
        assert found.mean["PairwiseError"] == pytest.approx(min(values), abs=1e-12)
        shorter = kind(epochs=ranker.best_epoch_, **how).fit(train)
        for ours, theirs in zip(ranker.weights_, shorter.weights_, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_seeds(self, kind, data):
        def fitted(seed):
            return kind(hidden=3, random_state=seed, **SMALL).fit(data).predict(data)

        np.testing.assert_array_equal(fitted(1), fitted(1))
        assert not np.array_equal(fitted(1), fitted(2))

    def test_same_batches_everywhere(self, kind, data, everywhere):
        train = everywhere(data, shard_bytes=3000)
        for hidden in (0, 3):
            how = dict(hidden=hidden, solver="adam", **SMALL)
            here = kind(**how).fit(data)
            there = kind(**how).fit(train, eval_set=train)
            assert len(there.validation_curve_) == there.n_iter_
            np.testing.assert_allclose(there.loss_curve_, here.loss_curve_[: there.n_iter_])

    def test_sparse_and_float32(self, kind, data):
        expected = kind(hidden=3, **SMALL).fit(data).predict(data)
        csr = RankingData(sparse.csr_matrix(data.X), data.y, data.qid)
        np.testing.assert_allclose(kind(hidden=3, **SMALL).fit(csr).predict(csr), expected)
        single = RankingData(data.X.astype(np.float32), data.y, data.qid)
        near = kind(hidden=3, **SMALL).fit(single).predict(single)
        np.testing.assert_allclose(near, expected, rtol=1e-3, atol=1e-3)

    def test_refitting_with_another_shape(self, kind, data):
        ranker = kind(hidden=3, **SMALL).fit(data)
        assert not hasattr(ranker, "coef_")
        scores = score_rows(data.X, ranker.weights_, "tanh")
        np.testing.assert_array_equal(ranker.predict(data), scores)
        ranker.set_params(hidden=0).fit(data)
        assert not hasattr(ranker, "weights_")
        np.testing.assert_array_equal(ranker.feature_importances_, abs(ranker.coef_))


def test_lambdarank_cannot_search_lines(data):
    with pytest.raises(ValueError, match="other than LambdaRank"):
        LambdaRank(solver="lbfgs").fit(data)
    with pytest.raises(ValueError, match="needs a linear model"):
        RankNet(hidden=2, solver="lbfgs").fit(data)


def test_steps_that_are_too_large(data):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="lower learning_rate"):
        RankNet(hidden=2, activation="relu", solver="sgd", learning_rate=1e200).fit(data)


def test_lambdarank_refuses_negative_labels(data):
    with pytest.raises(DataError, match="at least 0"):
        LambdaRank().fit(data.X, data.y - 5, qid=data.qid)
