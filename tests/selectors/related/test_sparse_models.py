"""SparseRank, EGRank, ListMLE and networks with costs of weights, RSRank, and what they find."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import minimize
from scipy.spatial.distance import squareform

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.metrics import evaluate
from ranksieve.preprocessing import QueryStandardScaler
from ranksieve.rankers import ListNet, RankSVM
from ranksieve.selectors import (
    EGRank,
    FenchelRank,
    GroupLassoNetwork,
    LifeRank,
    RSRank,
    SaliencySelector,
    SparseListMLE,
    SparseRank,
    SparseRankSVM,
)
from ranksieve.solvers.gradient.networks import first_weights
from tests import oracles


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(
        40, docs_per_query=(1, 12), n_informative=3, n_redundant=2, n_noise=3, n_constant=1
    )
    return made


@pytest.fixture(scope="module")
def scaled(data):
    return QueryStandardScaler().fit_transform(data)


class Standardized:
    """Queries that tell something, with features standardized over their rows, the long way."""

    def __init__(self, data):
        queries = [np.arange(*ends) for ends in pairwise(data.query_ptr)]
        self.telling = [place for place, own in enumerate(queries) if len(set(data.y[own])) > 1]
        self.rows = {place: queries[place] for place in self.telling}
        used = np.concatenate(list(self.rows.values()))
        self.mean, self.scale = data.X[used].mean(axis=0), data.X[used].std(axis=0)
        self.scale[self.scale < 1e-9] = 1.0
        self.X, self.y = (data.X - self.mean) / self.scale, data.y

    def mean_loss(self, loss, scores):
        parts = [loss(scores[own], self.y[own]) for own in self.rows.values()]
        return sum(parts) / len(parts)


class TestSparseRank:
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("lam", [0.5, 0.05])
    def test_it_is_on_the_path_of_l1(self, data, lam, standardize):
        found = SparseRank(lam=lam, standardize=standardize, tol=1e-8).fit(data)
        path = SparseRankSVM(lam=lam, standardize=standardize, tol=1e-9).fit(data)
        assert found.objective_ == pytest.approx(path.solutions_[-1].objective, rel=1e-8)
        np.testing.assert_allclose(found.coef_, path.coef_, atol=1e-4)
        assert set(found.selected_) == set(path.selected_)


class TestEGRank:
    @pytest.mark.parametrize("radius", [0.3, 1.0, 3.0])
    def test_its_least_is_that_of_fenchelrank(self, scaled, radius):
        shares = EGRank(radius=radius, standardize=False, tol=1e-4).fit(scaled)
        steps = FenchelRank(radius=radius, tol=1e-6).fit(scaled)
        assert steps.objective_ - 1e-6 <= shares.objective_ <= steps.objective_ + shares.gap_
        assert shares.gap_ <= 1e-4
        assert np.abs(shares.coef_).sum() <= radius * (1 + 1e-12)

    def test_units_do_not_matter(self, data):
        units = 10.0 ** np.arange(-4, data.n_features - 4)
        other = RankingData(data.X * units, data.y, data.qid)
        np.testing.assert_allclose(
            EGRank().fit(other).coef_ * units, EGRank().fit(data).coef_, rtol=1e-6, atol=1e-9
        )


class TestSparseListMLE:
    @pytest.mark.slow
    def test_it_is_the_least_by_bounds(self, data):
        selector = SparseListMLE(lam=0.1, tol=1e-7).fit(data)
        given = Standardized(data)

        def of_query(scores, labels):
            return oracles.loss_listmle(scores, labels, oracles.shares_of_ideal_dcg(labels))

        def loss(coef):
            return given.mean_loss(of_query, given.X @ coef)

        n = data.n_features
        lam = 0.1 * np.abs(oracles.slopes(loss, np.zeros(n), 1e-4)).max()
        found = selector.coef_ * given.scale
        assert selector.objective_ == pytest.approx(loss(found) + lam * np.abs(found).sum())

        def of_both(split):
            return loss(split[:n] - split[n:]) + lam * split.sum()

        least = minimize(of_both, np.full(2 * n, 0.1), bounds=[(0, None)] * (2 * n)).fun
        assert selector.objective_ == pytest.approx(least, abs=1e-6)


class TestGroupLassoNetwork:
    def test_it_is_stationary(self, data):
        n, h, lam, alpha = data.n_features, 2, 0.1, 0.01
        selector = GroupLassoNetwork(hidden=h, lam=lam, alpha=alpha, tol=1e-4).fit(data)
        given = Standardized(data)

        def loss(flat):
            W, b, v = flat[: n * h].reshape(n, h), flat[n * h : -h], flat[-h:]
            scores = np.tanh(given.X @ W + b) @ v
            return given.mean_loss(oracles.loss_listnet, scores) + alpha / 2 * (v @ v)

        _, *first = first_weights(n, h, np.random.RandomState(0))
        at_zero = oracles.slopes(loss, np.concatenate([np.zeros(n * h), *first]), 1e-3)
        largest = np.linalg.norm(at_zero[: n * h].reshape(n, h), axis=1).max()  # sqrt(h) times it
        inner, bias, outer = selector.weights_
        W = inner * given.scale[:, None]
        found = np.concatenate([W.ravel(), bias + given.mean @ inner, outer])
        lengths = np.linalg.norm(W, axis=1)
        expected = loss(found) + lam * largest * lengths.sum()
        assert selector.objective_ == pytest.approx(expected, rel=1e-9)
        slopes = oracles.slopes(loss, found, 1e-3)
        assert np.abs(slopes[n * h :]).max() <= 2e-4 * largest
        assert 0 < np.count_nonzero(lengths) < n
        for row, own, length in zip(W, slopes[: n * h].reshape(n, h), lengths, strict=True):
            if length == 0:
                assert np.linalg.norm(own) <= (lam + 2e-4) * largest
            else:
                assert np.linalg.norm(own + lam * largest * row / length) <= 2e-4 * largest

    def test_more_cost_keeps_fewer_features(self, data):
        kept = [len(GroupLassoNetwork(lam=lam).fit(data).selected_) for lam in (0.9, 0.3, 0.01)]
        assert kept[0] < kept[-1]
        assert kept == sorted(kept)

    def test_what_is_not_selected_does_not_count(self, data):
        selector = GroupLassoNetwork(3, lam=0.1).fit(data)
        X = data.X.copy()
        others = np.setdiff1d(np.arange(data.n_features), selector.selected_)
        X[:, others] = np.random.default_rng(0).normal(size=(data.n_rows, len(others)))
        np.testing.assert_array_equal(selector.predict(X), selector.predict(data.X))


class TestRSRank:
    @pytest.mark.parametrize("lam", [0.0005, 0.2])
    def test_its_steps_one_by_one(self, data, lam):
        settings = {"period": 4, "learning_rate": 0.2, "epochs": 2, "batch_queries": 7}
        selector = RSRank(lam=lam, random_state=5, **settings).fit(data)
        given = Standardized(data)

        def slope(coef, queries):
            """Gradient of pairs with weights that stay as they are, a mean over these queries."""
            total = np.zeros(data.n_features)
            for rows in (given.rows[query] for query in queries):
                X = given.X[rows]
                weights = oracles.lambdarank_weights((X @ coef).tolist(), data.y[rows].tolist())
                for (i, j), weight in weights.items():
                    total += weight * (X[j] - X[i]) / (1 + np.exp((X[i] - X[j]) @ coef))
            return total / len(queries)

        first = slope(np.zeros(data.n_features), given.telling)
        cost = lam * np.abs(slope(-1e-6 * first / np.abs(first).max(), given.telling)).max()
        coef, random, n_steps = np.zeros(data.n_features), np.random.RandomState(5), 0

        def shrink(coef, n_steps):
            return np.sign(coef) * np.maximum(0, np.abs(coef) - n_steps * 0.2 * cost)

        for _ in range(2):
            order = random.permutation(given.telling)
            for start in range(0, len(order), 7):
                coef = coef - 0.2 * slope(coef, order[start : start + 7])
                n_steps += 1
                coef = shrink(coef, 4) if n_steps % 4 == 0 else coef
        assert n_steps % 4  # some steps are left to truncate for
        coef = shrink(coef, n_steps % 4)
        np.testing.assert_allclose(selector.coef_ * given.scale, coef, atol=1e-10)

    def test_more_cost_keeps_fewer_features(self, data):
        kept = [len(RSRank(lam=lam).fit(data).selected_) for lam in (0.5, 0.1, 0.001)]
        assert kept == sorted(kept)
        assert kept[0] < kept[-1]

    def test_batches_hang_on_the_seed_alone(self, data):
        first, again = (RSRank(random_state=3).fit(data).coef_ for _ in range(2))
        np.testing.assert_array_equal(first, again)
        assert (RSRank(random_state=4).fit(data).coef_ != first).any()


class TestSaliency:
    @staticmethod
    def slopes(data):
        """How much the score of each document changes with each feature that varies."""
        network = ListNet(3, epochs=3, random_state=0).fit(data)
        found = np.zeros(data.X.shape)
        for feature, column in enumerate(data.X.T):
            if len(set(column)) > 1:
                step = np.zeros(data.n_features)
                step[feature] = 1e-5 * network.scale_[feature]
                differences = network.predict(data.X + step) - network.predict(data.X - step)
                found[:, feature] = np.abs(differences) / 2e-5
        return found

    def test_scores_are_mean_slopes(self, data):
        selector = SaliencySelector(3, hidden=3, epochs=3).fit(data)
        np.testing.assert_allclose(selector.scores_, self.slopes(data).mean(axis=0), atol=1e-8)

    def test_features_are_alike_that_share_groups(self, data):
        selector = SaliencySelector(3, hidden=3, epochs=3, group_size=5).fit(data)
        ordered = np.argsort(-self.slopes(data), axis=1, kind="stable")
        groups = [set(row) for row in ordered[:, :5].tolist()]
        for f, g in combinations(range(data.n_features), 2):
            both = sum({f, g} <= group for group in groups)
            either = sum(bool({f, g} & group) for group in groups)
            assert selector.similarity_[f, g] == pytest.approx(both / max(either, 1))
        varies = selector.clusters_ >= 0
        apart = 1 - selector.similarity_[np.ix_(varies, varies)]
        np.fill_diagonal(apart, 0.0)
        expected = fcluster(linkage(squareform(apart, checks=False), "average"), 3, "maxclust")
        found = selector.clusters_[varies]
        assert ((found[:, None] == found) == (expected[:, None] == expected)).all()

    def test_one_feature_of_each_cluster(self, data):
        selector = SaliencySelector(4, group_size=2).fit(data)
        assert selector.clusters_[selector.selected_].tolist() == [0, 1, 2, 3]
        for cluster, feature in enumerate(selector.selected_):
            members = selector.clusters_ == cluster
            assert selector.scores_[feature] == selector.scores_[members].max()


class TestLifeRank:
    def test_columns_are_orthonormal_and_rank_better_than_at_random(self, data):
        extractor = LifeRank(3).fit(data)
        scale = ListNet().fit(data).scale_
        T = extractor.components_ * scale[:, None]
        np.testing.assert_allclose(T.T @ T, np.eye(3), atol=1e-12)
        assert (np.diff(extractor.losses_) >= 0).all()
        assert extractor.losses_[0] < 0.95 * np.log(2)  # that of equal scores

    def test_one_column_is_the_best_of_its_length(self, data):
        extractor = LifeRank(1, tol=1e-9).fit(data)
        given, ranknet = Standardized(data), oracles.loss_ranknet
        n_pairs = sum(
            len(oracles.margin_pairs(data.y[own], own * 0)) for own in given.rows.values()
        )

        def loss(column):
            total = given.mean_loss(ranknet, given.X @ column) * len(given.rows)
            return total / n_pairs

        def room(column):
            return 1 - column @ column

        start = np.full(data.n_features, 0.1)
        least = minimize(loss, start, constraints={"type": "ineq", "fun": room}, tol=1e-10)
        assert room(least.x) < 1e-6  # longer ones would be better still
        assert extractor.losses_[0] == pytest.approx(least.fun, abs=1e-6)
        np.testing.assert_allclose(extractor.components_[:, 0] * given.scale, least.x, atol=1e-3)

    def test_before_a_ranker(self, data):
        X = LifeRank(2).fit(data).transform(data)
        assert X.shape == (data.n_rows, 2)
        nothing = evaluate(data.y, np.zeros(data.n_rows), data.qid, "ndcg@10").mean["NDCG@10"]
        assert RankSVM().fit(X, data.y, qid=data.qid).score(X, data.y, data.qid) > nothing + 0.05
        names = LifeRank(2).fit(data).get_feature_names_out().tolist()
        assert names == ["liferank0", "liferank1"]
        assert LifeRank(2).fit_transform(data.X, data.y, qid=data.qid).shape == X.shape

    def test_more_components_than_features(self, data):
        with pytest.raises(DataError, match="n_components=99, but there are 9 features"):
            LifeRank(99).fit(data)

    def test_equal_labels(self, data):
        with pytest.raises(DataError, match="all documents of each query have equal labels"):
            LifeRank(2).fit(RankingData(data.X, np.zeros(data.n_rows), data.qid))
